"""The line on top of a screen whose readings come from another process or machine."""

from __future__ import annotations

from turbotui.cell_widths import cell_count, centred, cut
from turbotui.machine.host import HostKind


def remote_banner(kind: HostKind, machine: str, way: str, trouble: str, width: int) -> str:
    """Text of this width that names the machine and says whether its readings still arrive.

    Args:
        kind: of the machine; a real one needs no word.
        way: how the machine is reached.
        trouble: why no readings arrive; "" while they do.
    """
    who = machine if kind is HostKind.REAL else f"{kind.value} {machine}"
    words: tuple[str, ...]
    if trouble:
        words = (f"{who}: {trouble}", trouble)
    else:
        unreal = "" if kind is HostKind.REAL else ": no number on this screen was measured"
        if kind is HostKind.RECORDED:
            unreal = ": these numbers are old"
        words = (f"{who}, read through {way}{unreal}", f"{who}, read through {way}", f"{who}, by {way}", who)
    text = next((one for one in words if cell_count(one) + 2 <= width), words[-1])
    return centred(cut(text, width), width)
