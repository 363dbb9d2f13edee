"""What a row of the key table can promise, and what the rows of Everywhere do on every screen.

Patterns are of lines as a terminal shows them; a pattern must not fit before the key is pressed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from turbotui.app.screen_table import SCREENS
from turbotui.feature import EVERYWHERE, Action


@dataclass(frozen=True, slots=True)
class Promise:
    """The expected effect of one key.

    Attributes:
        then: pattern that fits once the key was pressed, and not before; "" for what the others tell.
        first: keys without which this one has nothing to do.
        now: pattern that fits before the key is pressed; "" for the screen as it is come to.
        typed: keys that go on what the key began.
        gone: pattern that fits before the key, and not after it.
        back: the key brings the screen back to what it was before `first`.
        compared: says of the pictures before and after the key whether it did what it should; None: the patterns do.
        undo: keys that bring back what there was.
    """

    then: str = ""
    first: tuple[str, ...] = ()
    now: str = ""
    typed: tuple[str, ...] = ()
    gone: str = ""
    back: bool = False
    compared: Callable[[str, str], bool] | None = None
    undo: tuple[str, ...] = ()

    def kept(self, before: str, after: str, home: str) -> bool:
        """Whether the picture after a key shows what the key promises, on a screen that one comes to as `home` says."""
        if self.compared is not None and not self.compared(before, after):
            return False
        fit = [pattern for pattern in (self.then, home if self.back else "") if pattern]
        return all(re.search(pattern, after) for pattern in fit) and not (self.gone and re.search(self.gone, after))


@dataclass(frozen=True, slots=True)
class Place:
    """One screen of one machine, and the expected effects of its keys.

    Attributes:
        number: key of the screen.
        where: heading of its rows in the key table.
        machine: simulated machine, with options.
        size: columns and lines of the terminal: so few that there is a second page.
        home: pattern of the screen with nothing open and the cursor at its place.
        keys: id of an action, and what it promises.
        calm: keys that put the cursor where `home` says.
        everywhere: whether the rows of Everywhere are pressed here too.
        exact: whether the screen comes back as it was to the letter, as long as no interval ends.
        ready: pattern of what has to be there before the first key is pressed; "" for what `home` says.
    """

    number: str
    where: str
    machine: tuple[str, ...]
    size: tuple[int, int]
    home: str
    keys: dict[str, Promise]
    calm: tuple[str, ...] = ("End", "Home")
    everywhere: bool = True
    exact: bool = True
    ready: str = ""

    def promise(self, action: Action) -> Promise | None:
        """Return the expected effect of a row of the key table here."""
        if self.where in action.where:
            return self.keys.get(action.id)
        if self.everywhere and EVERYWHERE in action.where:
            return {**PROMISED_EVERYWHERE, **_neighbours(self.number), **self.keys}.get(action.id)
        return None


MARKS = {"0": "┌ Load ", "1": r"(?m)^ ((Package|Module|Core)[A-Za-z3 ]* )?CPU [A-Za-z ]*│|^ +CPU │",
         "2": r"(?m)^ machine +[│‹]", "3": r"(?m)^ \S+ +0(\.0+)? .* unknown",
         "4": r"┌ package 0|nothing holds", "5": r"\d x (uncore|nvidia|amd)|nearest to its peak|No uncore PMU",
         "6": r"arithmetic intensity|No point can be placed", "7": "watching everything",
         "8": r"(?m)^ program +│ turbotui version",
         "9": r"(?m)^ source +│ state", "d": r"(?m)^ Place +(Bar|R retir|Retire Spec)|No top-down analysis",
         "u": r"(?m)^ Group +│", "%": r"(?m)^ Battery +Type +│", "&": r"(?m)^ Name +Type +│",
         "N": r"(?m)^ Level +│", "Z": r"(?m)^ IRQ +CPU │"}
"""What stands on each screen and on no other."""

ESC = ("Escape",)
_HELP = "keys and columns"
_PAST = r"(?m:^ PAST .* ago)"


def _later(before: str, after: str) -> bool:
    """Whether a frame after that of the picture before is on the screen."""
    numbers = [re.search(r"over [\d.]+ s.*\n.*", picture) for picture in (before, after)]
    return all(numbers) and numbers[0][0] != numbers[1][0]  # type: ignore[index]  # none of them is None


def _neighbours(number: str) -> dict[str, Promise]:
    """The keys that go to the screens beside one."""
    numbers = [spec.number for spec in SCREENS]
    at = numbers.index(number)
    return {"next_screen": Promise(MARKS[numbers[(at + 1) % len(numbers)]], undo=("BTab",)),
            "previous_screen": Promise(MARKS[numbers[at - 1]], undo=("Tab",))}


PROMISED_EVERYWHERE = {
    "help": Promise(_HELP, undo=ESC),
    "why": Promise("why is it slow", undo=ESC),
    "alerts": Promise("HAPPENED, the newest first", undo=ESC),
    "pause": Promise("PAUSED", undo=("p",)),
    "open": Promise(compared=_later),
    "end_interval": Promise(compared=_later),
    "longer": Promise("Interval 60 s", first=("-", "+", "-"), now="Interval 30 s"),
    "shorter": Promise("Interval 30 s", first=("+",), now="Interval 60 s", undo=("+",)),
    "reset": Promise("Least, greatest and mean were reset"),
    "tcc": Promise(r"\(TCC target\), empty", undo=ESC),
    "copy": Promise(r"(?m)^ (Copied|Not copied)"),
    "save_screen": Promise(r"(?m)^ Saved turbotui-\w+-\d{8}-\d{6}(-\d+)?\.svg and \.txt in /"),
    "tour": Promise("Tour 1/5", undo=ESC),
    "tour_end": Promise("The tour is over", first=("B",), now="Tour 1/5"),
    "theme": Promise("Theme contrast", undo=("T", "T", "T")),
    "past_back": Promise(_PAST, undo=("BSpace",)),
    "past_on": Promise(compared=_later, first=("{",), now=_PAST, undo=("BSpace",)),
    "past_far_back": Promise(_PAST, undo=("BSpace",)),
    "past_far_on": Promise(compared=_later, first=("{",), now=_PAST, gone=_PAST),
    "past_jump": Promise(r"time \(14:03:20", undo=ESC),
    "past_event_before": Promise(f"Nothing earlier|{_PAST}", undo=("BSpace",)),
    "past_event_after": Promise(f"Nothing later|{_PAST}", undo=("BSpace",)),
    "past_mark": Promise(r"Mark \d+: \( and \) lead back"),
    "record": Promise("record to", undo=ESC),
    "output": Promise("No command runs beside"),
    "remember": Promise(r"Remembered columns for simulated-\S+ machines, not for real ones: "),
    "past_now": Promise(compared=_later, first=(",",), now=_PAST, gone=_PAST),
    "redraw": Promise("drawn anew"),
    "palette": Promise("Search for commands", undo=ESC),
    "close": Promise(first=("?",), now=_HELP, gone=_HELP),
    "suspend": Promise("Stopped", undo=("fg", "Enter")),
}
"""The rows that work on every screen, but for those that go to another one."""

LEAVING = frozenset({"quit", "interrupt"})
"""Rows after which there is no screen to come back to: `test_keys_that_leave.py` presses them on every screen."""


def moves(second: str, last: str) -> dict[str, Promise]:
    """Keys that move through rows.

    Args:
        second: pattern of the cursor on the second row.
        last: on the last one.
    """
    return {"up": Promise(back=True, first=("Down",), now=second), "down": Promise(second),
            "first": Promise(back=True, first=("End",), now=last), "last": Promise(last)}


def pages(last: str, down: str, up: str, *, keys: tuple[str, str] = ("page_up", "page_down")) -> dict[str, Promise]:
    """Keys that move by more than a row.

    Args:
        last: pattern of the cursor on the last row.
        down: a page below the first.
        up: a page above the last.
        keys: ids of the actions, up and down.
    """
    return {keys[0]: Promise(up, first=("End",), now=last), keys[1]: Promise(down)}


def there_and_back(left: str, right: str, second: str, key: str = "Right", undo: str = "Left") -> dict[str, Promise]:
    """Two keys, one of which takes back what the other does.

    Args:
        left, right: ids of the actions.
        second: pattern after the one to the right.
        key, undo: one of the keys of each.
    """
    return {left: Promise(back=True, first=(key,), now=second), right: Promise(second, undo=(undo,))}
