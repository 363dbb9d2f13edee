"""Presses every key of the key table on every screen of many machines in a real terminal, and lists what is wrong.

    python tests/e2e/every_key.py --machines guest laptop --sizes 80x24 120x36

It takes minutes a machine, so it is no test of the suite: `key_places.py` is, which also says what each key promises.
Faults: a traceback, a screen that failed, a key after which nothing has changed and nothing is said, a number that is
cut, a screen whose rows jump from one interval to the next. A key is silent if it is so from the first row, from the
last one and from the middle, for a cursor at the top has nowhere to go.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]

from key_promises import LEAVING, MARKS, PROMISED_EVERYWHERE, Promise  # noqa: E402 - found by the line above
from pressed_keys import Terminal, has_another, interval_of, named  # noqa: E402

from turbotui.app.actions import ACTIONS  # noqa: E402
from turbotui.app.screen_table import SCREENS  # noqa: E402
from turbotui.feature import EVERYWHERE, Action, ScreenSpec  # noqa: E402
from turbotui.simulated import SHAPES  # noqa: E402

REAL = "real"
_FAILED = re.compile("Measuring goes on, and so do the other screens|Traceback|shell:$", re.MULTILINE)
_SAID = re.compile(r"No uncore PMU|No point can be placed|No top-down analysis|nothing to act on")
"""Why the keys of a screen have nothing to act on, which stands there since the key before."""
_CUT = re.compile(r"\d…|…\d|\d …")
_SOON = 1.2  # seconds in which a key has to show something
_LATE = 8.0  # the same before the verdict: 300x90 on a loaded machine takes more than a second
_STARTS = 60.0
_FRAMES = 4
_AWAY = {*LEAVING, "suspend"}
_FROM: Sequence[tuple[str, ...]] = ((), ("Home", "Down", "Down", "Right", "Right"), ("End", "Left"))
"""Keys that put the cursor somewhere else."""
_ESC = ("Escape",) * 3


class EveryKey:
    """Presses keys in one terminal and keeps what is wrong.

    Args:
        terminal: with the dashboard.
        title: of the machine and the size, for faults.
        aliases: press every key of a row, not only the first one.
    """

    def __init__(self, terminal: Terminal, title: str, *, aliases: bool) -> None:
        self.terminal = terminal
        self.title = title
        self._aliases = aliases
        self._cuts: set[str] = set()
        self.pressed = 0
        self.faults: list[str] = []

    def go(self) -> None:
        """Press all keys of all screens."""
        for spec in SCREENS:
            if not self._come(spec):
                self._fault(spec, "", "the screen does not come", self.terminal.picture)
                continue
            self._look_for_jumps(spec)
            for action in self._rows(spec):
                for key in action.keys if self._aliases else action.keys[:1]:
                    self._press(spec, action, named(key))

    @staticmethod
    def _rows(spec: ScreenSpec) -> Iterator[Action]:
        places = {spec.place, EVERYWHERE}
        return (action for action in ACTIONS if places & set(action.where) and action.id not in _AWAY)

    def _come(self, spec: ScreenSpec) -> bool:
        self.terminal.press(*_ESC, spec.number)
        return bool(self.terminal.until(partial(re.search, MARKS[spec.number]), _STARTS))

    def _look_for_jumps(self, spec: ScreenSpec) -> None:
        """End intervals, and look whether what names the screen stays in its line."""
        lines: set[int] = set()
        for _ in range(_FRAMES):
            seen = interval_of(self.terminal.picture)
            self.terminal.press("C-j", *_ESC, spec.number)
            picture = self.terminal.until(partial(has_another, seen), _STARTS)
            match = re.search(MARKS[spec.number], picture)
            if match:
                lines.add(picture.count("\n", 0, match.start()))
        if len(lines) > 1:
            self._fault(spec, "", f"rows jump: {sorted(lines)}", self.terminal.picture)

    def _press(self, spec: ScreenSpec, action: Action, key: str) -> None:
        promise = PROMISED_EVERYWHERE.get(action.id, Promise())
        shown = before = ""
        for start in _FROM:
            patience = _LATE if start == _FROM[-1] else _SOON
            self.terminal.press(*start, *promise.first)
            before = self._still()
            self.terminal.press(key)
            shown = self.terminal.until(partial(_differs, before), patience)
            if shown:
                break
            self.terminal.press(*promise.undo)
        self.pressed += 1
        after = self._still()
        self._look(spec, key, after)
        if not shown and not _SAID.search(after):
            self._fault(spec, key, f"silent ({action.id})", after)
        self.terminal.press(*promise.undo)
        self.terminal.press(*_ESC, spec.number)

    def _still(self) -> str:
        """The picture, once two looks at it are the same."""
        last = self.terminal.picture
        for _ in range(20):
            time.sleep(0.05)
            picture = self.terminal.picture
            if picture == last:
                break
            last = picture
        return last

    def _look(self, spec: ScreenSpec, key: str, picture: str) -> None:
        if _FAILED.search(picture):
            self._fault(spec, key, "failed", picture)
        for line in picture.splitlines():
            form = re.sub(r"\d", "0", line)
            if _CUT.search(line) and form not in self._cuts:
                self._cuts.add(form)
                self._fault(spec, key, f"cut: {line.strip()}", "")

    def _fault(self, spec: ScreenSpec, key: str, what: str, picture: str) -> None:
        self.faults.append(f"{self.title} screen {spec.number} key {key}: {what}")
        print(self.faults[-1], *picture.splitlines()[:90] if what.startswith(("failed", "the screen")) else (),
              sep="\n", flush=True)


def _differs(before: str, after: str) -> bool:
    return before != after


def main() -> int:
    """Press keys on the machines that are named, and exit with 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--machines", nargs="+", default=[REAL, *SHAPES],
                        help=f"simulated machines, {REAL}, or a recording by its path (default: all but recordings)")
    parser.add_argument("--sizes", nargs="+", default=["80x24", "120x36", "200x60"])
    parser.add_argument("--aliases", action="store_true", help="press every key of a row, not only the first")
    given = parser.parse_args()
    faults = 0
    for machine in given.machines:
        for size in given.sizes:
            faults += len(_press_all(machine, size, aliases=given.aliases))
    return bool(faults)


def _press_all(machine: str, size: str, *, aliases: bool) -> list[str]:
    columns, _, lines = size.partition("x")
    words = ("-i", "60") if machine == REAL else ("replay", machine) if "/" in machine else ()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal(Path(folder), (machine,), (int(columns), int(lines)), words)
        pressing = EveryKey(terminal, f"{machine} {size}", aliases=aliases)
        try:
            terminal.start()
            pressing.go()
        finally:
            terminal.end()
    print(f"{machine} {size}: {pressing.pressed} keys pressed in {time.monotonic() - begun:.0f} s, "
          f"{len(pressing.faults)} faults", flush=True)
    return pressing.faults


if __name__ == "__main__":
    sys.exit(main())
