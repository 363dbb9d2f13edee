"""The text of the roofline screen if operations cannot be counted, with remedies."""

from __future__ import annotations

from typing import Final

from turbotui.quantities.sentences import as_sentence
from turbotui.quantities.unavailable import Unavailable
from turbotui.widgets.absence import wrapped
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.painter import TextSegment

_BLANK: Final = [("", StyleRole.PLAIN)]
_SIMULATED: Final = "a simulated machine"
"""A remedy that is shown below with examples."""


def missing_lines(why: Unavailable, roofs: str, width: int) -> list[list[TextSegment]]:
    """Format the reason, its remedy, and the source of roofs that are known without counters."""
    remedies = [part.strip() for part in why.remedy.split(";") if not part.strip().startswith(_SIMULATED)]
    until = "" if not roofs else f" Until then: {roofs}."
    return [
        _BLANK, [("  No point can be placed on the roofline here.", StyleRole.SUMMARY)], _BLANK,
        *wrapped(as_sentence(f"{why.reason.value}: {why.detail}."), StyleRole.PLAIN, width),
        *wrapped(f"to do: {'; '.join(remedies)}" if any(remedies) else "", StyleRole.KEY, width, hang=7),
        _BLANK,
        *wrapped(f"Its roofs can be measured all the same: turbotui roofs.{until}", StyleRole.DIM, width),
        _BLANK,
        [("  Functions have shares of time here, too: ", StyleRole.PLAIN), ("f", StyleRole.KEY),
         (" samples those that run now.", StyleRole.PLAIN)],
        [("  Those and the regions of a command:", StyleRole.PLAIN)],
        [("    turbotui roofline --by function -- COMMAND", StyleRole.KEY)],
        _BLANK,
        [("  A simulated machine has the counters:", StyleRole.PLAIN)],
        [("    turbotui --machine laptop-old+calculix", StyleRole.KEY), ("   two behaviours", StyleRole.DIM)],
        [("    turbotui --machine sapphire-2s+tonto", StyleRole.KEY), ("     two widths, 224 CPUs", StyleRole.DIM)],
    ]
