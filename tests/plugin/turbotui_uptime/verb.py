"""`turbotui uptime`: a row for each number of /proc/uptime."""

from turbotui.commands.row_verb import RowVerb
from turbotui_uptime.rows import CLOCKS

_VERB = RowVerb(CLOCKS)
add_arguments, run = _VERB.add_arguments, _VERB.run
