"""The modifier letters of events: rings, host or guest, precision, scheduling (perf-list(1), MODIFIERS)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace

from turbotui.dataclass import dataclass
from turbotui.events.encoded import FLAGS, PRECISE_SHIFT
from turbotui.events.errors import ModifierError

LETTERS = "ukhpPGHSDIWebRX"
_MOST_PRECISE = 3  # precise_ip has two bits
_MOST_LETTERS = 17  # perf's grammar


@dataclass(frozen=True, slots=True)
class Modifiers:
    """The modifiers of an event, combined with those of its group."""

    # the letters of "ukh" that are counted; None if none was written, which counts all rings
    rings: frozenset[str] | None = None
    # the letters of "GH" that are counted, None where none was written: then guests and hosts both are, with u and p
    # too, as by perf since 6.13 ("perf tools: Don't set attr.exclude_guest by default")
    sides: frozenset[str] | None = None
    precise: int = 0  # 0 to 3
    most_precise: bool = False  # P: as precise as the PMU can
    sample_read: bool = False
    pinned: bool = False
    exclusive: bool = False
    idle_excluded: bool = False
    weak: bool = False
    bpf: bool = False
    retire_latency: bool = False

    def flags(self, max_precise: Callable[[], int], *, leader: bool, default_rings: frozenset[str] | None) -> int:
        """The bits of perf_event_attr's flag word.

        Args:
            leader: whether the event leads its group or is alone; only such a one is pinned or exclusive.
            default_rings: what is counted where no ring was written; None for all.
        """
        rings = self.rings if self.rings is not None else default_rings
        word = 0
        if rings is not None:
            for letter, name in (("u", "exclude_user"), ("k", "exclude_kernel"), ("h", "exclude_hv")):
                word |= (letter not in rings) << FLAGS[name]
        word |= (max_precise() if self.most_precise else self.precise) << PRECISE_SHIFT
        if self.sides is not None:
            word |= ("H" not in self.sides) << FLAGS["exclude_host"]
            word |= ("G" not in self.sides) << FLAGS["exclude_guest"]
        word |= self.idle_excluded << FLAGS["exclude_idle"]
        if leader:
            word |= self.pinned << FLAGS["pinned"] | self.exclusive << FLAGS["exclusive"]
        return word


@functools.cache
def parse_modifiers(letters: str, group: str = "") -> Modifiers:
    """Parse the letters of an event, then those of its group, which add to them.

    Raises:
        ModifierError: an unknown letter, one given twice, or more than three p.
    """
    modifiers = Modifiers()
    for part in (letters, group):
        modifiers = _add(modifiers, part)
    return modifiers


def _add(modifiers: Modifiers, letters: str) -> Modifiers:
    if len(letters) > _MOST_LETTERS:
        raise ModifierError(f"The modifiers {letters!r} are more than {_MOST_LETTERS} letters.")
    precise = modifiers.precise
    for index, letter in enumerate(letters):
        if letter not in LETTERS:
            raise ModifierError(f"{letter!r} of {letters!r} is no event modifier; there are {' '.join(LETTERS)}.")
        if letter != "p" and letter in letters[:index]:
            raise ModifierError(f"The event modifier {letter!r} is given twice in {letters!r}.")
        if letter in "ukh":
            modifiers = replace(modifiers, rings=(modifiers.rings or frozenset()) | {letter})
        elif letter in "GH":
            modifiers = replace(modifiers, sides=(modifiers.sides or frozenset()) | {letter})
        elif letter == "p":
            precise += 1
        else:
            modifiers = _SWITCHES[letter](modifiers)
    if precise > _MOST_PRECISE:
        raise ModifierError(f"The modifiers ask for precision {precise}; ppp ({_MOST_PRECISE}) is the most there is.")
    return replace(modifiers, precise=precise)


_SWITCHES: Mapping[str, Callable[[Modifiers], Modifiers]] = {
    "P": lambda modifiers: replace(modifiers, most_precise=True),
    "S": lambda modifiers: replace(modifiers, sample_read=True),
    "D": lambda modifiers: replace(modifiers, pinned=True),
    "e": lambda modifiers: replace(modifiers, exclusive=True),
    "I": lambda modifiers: replace(modifiers, idle_excluded=True),
    "W": lambda modifiers: replace(modifiers, weak=True),
    "b": lambda modifiers: replace(modifiers, bpf=True),
    "R": lambda modifiers: replace(modifiers, retire_latency=True),
    "X": lambda modifiers: modifiers,  # forbids perf to regroup by PMU, which turbotui never does
}
