"""What each row of the key table lets one see, screen by screen.

Patterns are of lines as a terminal shows them; a pattern must not fit before the key is pressed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from turbotui.screens.actions import Where


@dataclass(frozen=True, slots=True)
class Promise:
    """What one key shows.

    Attributes:
        then: pattern that fits once the key was pressed, and not before; "" for what only `gone` tells.
        first: keys without which this one has nothing to do.
        now: pattern that fits before the key is pressed; "" for the screen as it is come to.
        typed: keys that go on what the key began.
        gone: pattern that fits before the key, and not after it.
        compared: says of the pictures before and after the key whether it did what it should; None: the patterns do.
        undo: keys that bring back what there was.
    """

    then: str = ""
    first: tuple[str, ...] = ()
    now: str = ""
    typed: tuple[str, ...] = ()
    gone: str = ""
    compared: Callable[[str, str], bool] | None = None
    undo: tuple[str, ...] = ()

    def kept(self, before: str, after: str) -> bool:
        """Whether the picture after a key shows what the key promises."""
        if self.compared is not None:
            return self.compared(before, after)
        return (not self.then or bool(re.search(self.then, after))) and not (self.gone and re.search(self.gone, after))


def swapped(before: str, after: str) -> bool:
    """Whether the first two rows of packages have changed places."""
    was, now = (re.findall(r"(?m)^ (pkg \d)", picture)[:2] for picture in (before, after))
    return now == was[::-1] != was


@dataclass(frozen=True, slots=True)
class Place:
    """One screen of one machine, and what its keys show there.

    Attributes:
        number: key of the screen.
        where: heading of its rows in the key table.
        machine: simulated machine, with options.
        size: columns and lines of the terminal: so few that there is a second page.
        calm: keys that put the cursor where `home` says.
        home: pattern of the screen with nothing open and the cursor at its place.
        keys: id of an action, and what it promises.
    """

    number: str
    where: Where
    machine: tuple[str, ...]
    size: tuple[int, int]
    home: str
    keys: dict[str, Promise]
    calm: tuple[str, ...] = ("End", "Home")


_ESC = ("Escape",)
_HELP = "keys and columns"
MARKS = {"1": r"(?m)^ Package  CPU │|^ +CPU │", "2": r"(?m)^ machine +│", "3": r"(?m)below \S+ .*unknown",
         "4": r"┌ package 0|nothing holds", "5": r"\d x (uncore|nvidia)|No uncore PMU",
         "6": r"arithmetic intensity|No point can be placed", "7": "watching everything", "8": r"(?m)^ program$",
         "9": r"(?m)^ source +state"}
"""What stands on each screen and on no other."""

EVERYWHERE = {
    "help": Promise(_HELP, undo=_ESC),
    "pause": Promise("PAUSED", undo=("p",)),
    "longer": Promise(r"interval 60 s", first=("-", "-"), now="interval 20 s|interval 30 s", typed=("+",)),
    "shorter": Promise(r"interval 30 s", undo=("+",)),
    "reset": Promise("least, greatest and mean start anew"),
    "tcc": Promise("TCC target in °C", undo=_ESC),
    "theme": Promise("theme contrast", undo=("T",)),
    "palette": Promise("Search for commands", undo=_ESC),
    "close": Promise(first=("?",), now=_HELP, gone=_HELP),
}
"""`end_interval`, the neighbours and the keys that leave are of more than one picture, and tested each for itself."""

_WINDOWS = {
    "sort_menu": Promise("Enter choose · Esc close", undo=_ESC),
    "explain": Promise("Δmperf", undo=_ESC),
    "graph": Promise("e explain · Esc close", undo=_ESC),
}

_SAPPHIRE = ("sapphire-2s", "--cpu", "0-7,56-63")

MAP = Place("3", Where.MAP, ("sapphire-2s", "--cpu", "0-19,56-75"), (160, 24), r"(?m)^ cpu 0 · .*· Busy% \d", {
    **_WINDOWS,
    "sort_next": Promise(r"coloured by Bzy_MHz", undo=("<",)),
    "sort_previous": Promise(r"coloured by Avg_MHz", undo=(">",)),
    "column_left": Promise(r"coloured by Avg_MHz", undo=(">",)),
    "column_right": Promise(r"coloured by Bzy_MHz", undo=("<",)),
    "up": Promise(r"(?m)^ cpu 0 ·", first=("Down",), now=r"(?m)^ cpu [1-9]\d* ·"),
    "down": Promise(r"(?m)^ cpu ([2-9]|1\d) ·"),
    "left": Promise(r"(?m)^ cpu 0 ·", first=("Right",), now=r"(?m)^ cpu 1 ·"),
    "right": Promise(r"(?m)^ cpu 1 ·"),
    "page_up": Promise(r"(?m)^ cpu 59 ·", first=("End",), now=r"(?m)^ cpu 75 ·"),
    "page_down": Promise(r"(?m)^ cpu 16 ·"),
    "first": Promise(r"(?m)^ cpu 0 ·", first=("End",), now=r"(?m)^ cpu 75 ·"),
    "last": Promise(r"(?m)^ cpu 75 ·"),
})

POWER = Place("4", Where.POWER, _SAPPHIRE, (160, 45), r"(?m)^ PkgWatt  package 0  \d", {
    "explain": Promise("PkgWatt · package 0 · ", undo=_ESC),
    "graph": Promise("e explain · Esc close", undo=_ESC),
    "up": Promise(r"(?m)^ PkgWatt  package 0 ", first=("Down",), now=r"(?m)^ PkgWatt  package 1 "),
    "down": Promise(r"(?m)^ PkgWatt  package 1 "),
    "left": Promise(r"(?m)^ PkgWatt  package 0 ", first=("Right",), now=r"(?m)^ PL1  package 0 "),
    "right": Promise(r"(?m)^ PL1  package 0  350 W"),
    "page_up": Promise(r"(?m)^ \S+  package 0 ", first=("End",), now=r"(?m)^ \S+  whole machine "),
    "page_down": Promise(r"(?m)^ \S+  whole machine "),
    "first": Promise(r"(?m)^ \S+  package 0 ", first=("End",), now=r"(?m)^ \S+  whole machine "),
    "last": Promise(r"(?m)^ \S+  whole machine "),
}, calm=("Home", "Left", "Left", "Left", "Left"))

_SCF = r"(?m)^ nvidia_scf_pmu_0 · pkg 0 · cmem wr"
UNCORE = Place("5", Where.UNCORE, ("grace-2s", "--cpu", "0-3,72-75"), (160, 40), _SCF, {
    "columns": Promise("columns of SCF", undo=_ESC),
    "sort_menu": Promise("Enter choose · Esc close", undo=_ESC),
    "explain": Promise(r"cmem wr bandwidth · SCF pkg 0 · [\d.~]+ GB/s", undo=_ESC),
    "filters": Promise(r"filters of nvidia_", first=("PPage", "NPage"), now="pcie", undo=_ESC),
    "sort_next": Promise("sorted by cmem wr", undo=("<",)),
    "sort_previous": Promise("sorted by cmem wr", first=(">", ">"), now="sorted by gmem wr", undo=("<",)),
    "reverse": Promise(compared=swapped, first=(">",), now="sorted by cmem wr", undo=("<",)),
    "up": Promise(r"(?m)^ nvidia_scf_pmu_0 ·", first=("Down",), now=r"(?m)^ nvidia_scf_pmu_1 ·"),
    "down": Promise(r"(?m)^ nvidia_scf_pmu_1 ·"),
    "left": Promise(r"· cmem wr bandwidth", first=("Right",), now="· gmem wr bandwidth"),
    "right": Promise(r"· gmem wr bandwidth", undo=("Left",)),
    "column_left": Promise(r"· cmem wr bandwidth", first=("S-Right",), now="· gmem wr bandwidth"),
    "column_right": Promise(r"· gmem wr bandwidth", undo=("Left",)),
    "page_up": Promise(r"(?m)^ nvidia_nvlink_c2c1_pmu_0 ·", first=("End",), now=r"(?m)^ nvidia_cnvlink_pmu_1 ·"),
    "page_down": Promise(r"(?m)^ nvidia_pcie_pmu_0 ·"),
    "first": Promise(r"(?m)^ nvidia_scf_pmu_0 ·", first=("End",), now=r"(?m)^ nvidia_cnvlink_pmu_1 ·"),
    "last": Promise(r"(?m)^ nvidia_cnvlink_pmu_1 ·"),
})
"""A machine of more than one kind of uncore PMU, one of which can be filtered; its panels have no sums to fold."""

FOLDED = Place("5", Where.UNCORE, _SAPPHIRE, (160, 40), r"(?m)^ 8 x IMC · pkg 0 Σ · rd", {
    "fold_all": Promise(r"▸ IMC", first=(), undo=("*",)),
})

_LAST = r"(?m)MSR_MISC_FEATURE_CONTROL.*\n from MSR 0x1a4"
INFO = Place("8", Where.LIST, _SAPPHIRE, (160, 24), r"(?m)^ program$[\s\S]*^ from turbotui", {
    "up": Promise(r"(?m)^ from turbotui", first=("Down",), now=r"(?m)^ from /proc/cmdline"),
    "down": Promise(r"(?m)^ from /proc/cmdline"),
    "page_up": Promise(gone=_LAST, first=("End",), now=_LAST),
    "page_down": Promise(gone=r"(?m)^ program$"),
    "first": Promise(r"(?m)^ program$", first=("End",), now=_LAST),
    "last": Promise(_LAST),
})

DOCTOR = Place("9", Where.LIST, _SAPPHIRE, (160, 24), "(?m)^ source +state", {})

PLACES = (MAP, POWER, UNCORE, FOLDED, INFO, DOCTOR)
