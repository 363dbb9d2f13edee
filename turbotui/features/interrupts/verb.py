"""`turbotui interrupts`: the interrupts of each source, as text, CSV, JSON and OpenMetrics."""

from turbotui.commands.row_verb import RowVerb
from turbotui.features.interrupts.rows import INTERRUPTS

_VERB = RowVerb(INTERRUPTS, ("--cpus", "also a row for each CPU that has taken any of a source's interrupts"),
                of_cpus=True)
add_arguments, run = _VERB.add_arguments, _VERB.run
