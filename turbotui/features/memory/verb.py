"""`turbotui memory`: where the bytes go, as text, CSV, JSON and OpenMetrics."""

from turbotui.commands.row_verb import RowVerb
from turbotui.features.memory.rows import MEMORY

_VERB = RowVerb(MEMORY)
add_arguments, run = _VERB.add_arguments, _VERB.run
