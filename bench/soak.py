"""`python -m bench.soak`: presses random keys and changes sizes for minutes, and records the dashboard's memory.

The first keys are those of the key table, each once on every screen, because what is loaded on first use would come at
any time of the run; random ones follow. After each Escape the dashboard has time to follow what was pressed: keys that
wait in a queue would be first ones until long after the warm-up, which at load 18 were the first ten minutes of 224
CPUs. Every word behind the options goes to `turbotui`, as in `soak --minutes 10 -- --machine big-8s -i 0.2`. The
dashboard runs in a temporary folder: some keys write files.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.terminal import Terminal
from bench.typing_keys import sent
from turbotui.app.actions import ACTIONS
from turbotui.feature_list import FEATURES
from turbotui.machine.own_program import own_command

_SIZES = ((80, 24), (120, 36), (200, 60), (40, 10))
_LEFT_OUT = frozenset({"quit", "interrupt", "suspend", "palette"})
_SCREENS = tuple(screen.number for feature in FEATURES for screen in feature.screens)
_LOOK = 10.0  # seconds between two readings of memory
_WARM_UP = 300.0  # seconds in which memory may grow, at most a quarter of the run, or until the last of the first keys
_FIRST_KEYS = 0.8  # share of the warm-up in which each key is pressed on every screen, faster than the rate if need be
_PATIENCE = 1.0  # seconds for keys to be followed
_GLANCE = 0.02  # seconds between two looks whether they were
_RESIZE_EVERY = 60  # keys
_ESCAPE = sent("escape")


@dataclass(frozen=True, slots=True)
class Look:
    """The kernel's figures of the process at a moment of the run."""

    seconds: float
    keys: int
    rss_bytes: int
    warm: bool  # whether the warm-up is over


def usual_keys() -> Sequence[str]:
    """Return those of the key table, but for keys that end the dashboard and `s`, `S` and `X`, which write files."""
    named = [key for action in ACTIONS if action.id not in _LEFT_OUT for key in action.keys]
    return [key for key in named if key not in {"s", "S", "X"}]


def first_keys() -> Sequence[bytes]:
    """Return every usual key on every screen, each followed by Escape, which leaves windows."""
    others = [key for key in dict.fromkeys(usual_keys()) if key not in _SCREENS]
    there = [key for other in others for key in (other, "escape")]
    return [sent(key) for screen in _SCREENS for key in (screen, *there)]


def random_keys(seed: int) -> Iterator[bytes]:
    """Yield keys for ever: the usual ones, the screens' numbers, and Escape often enough to leave windows.

    Enter in the palette may end the dashboard.
    """
    chance, usual = random.Random(seed), usual_keys()
    while True:
        draw = chance.random()
        if draw < 0.15:
            yield sent(chance.choice(_SCREENS))
        elif draw < 0.40:
            yield sent("escape")
        else:
            yield sent(chance.choice(usual))


def soak(words: Sequence[str], seconds: float, seed: int, size: tuple[int, int], rate: float) -> Iterator[Look]:
    """Press keys at a rate, and read the memory every ten seconds.

    Raises:
        RuntimeError: the dashboard ended; the message ends with what it wrote last.
    """
    folder = tempfile.TemporaryDirectory(prefix="turbotui-soak-")
    homes = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
    environment = {**dict.fromkeys(homes, folder.name), "TURBOTUI_TRACEBACK": "1"}
    terminal = Terminal([*own_command(), *words], *size, environment, folder.name)
    first, sizes = first_keys(), random.Random(seed)
    keys = itertools.chain(first, random_keys(seed))
    pause, hurry = 1.0 / rate, _FIRST_KEYS * warm_up(seconds) / len(first)
    last = b""
    pressed = 0
    try:
        terminal.drain(3.0)
        start = time.monotonic()
        look_at = start
        while (now := time.monotonic()) - start < seconds:
            if terminal.ended():
                last += terminal.drain(0.5)
                raise RuntimeError(f"it ended after {pressed} keys: {last[-3000:].decode(errors='replace')}")
            if now >= look_at:
                look_at += _LOOK
                yield Look(now - start, pressed, terminal.usage().rss_bytes,
                           pressed >= len(first) and now - start >= warm_up(seconds))
            terminal.press(key := next(keys))
            pressed += 1
            if pressed % _RESIZE_EVERY == 0:
                terminal.resize(*sizes.choice(_SIZES))
            last = (last + terminal.drain(min(pause, hurry) if pressed <= len(first) else pause))[-8000:]
            given_up = time.monotonic() + _PATIENCE
            while (key == _ESCAPE and not terminal.ended() and not terminal.rests()
                   and time.monotonic() < given_up):
                last = (last + terminal.drain(_GLANCE))[-8000:]
        yield Look(time.monotonic() - start, pressed, terminal.usage().rss_bytes, warm=True)
    finally:
        terminal.end()
        folder.cleanup()


def warm_up(seconds: float) -> float:
    """Return the part of a run in seconds in which memory may grow in any case."""
    return min(_WARM_UP, seconds / 4)


def growth_mb(looks: Sequence[Look]) -> float:
    """Return the growth of the memory in megabytes from the first to the last quarter of the time after the warm-up."""
    settled = [look for look in looks if look.warm]
    part = max(1, len(settled) // 4)
    first, last = (statistics.median(look.rss_bytes for look in some) for some in (settled[:part], settled[-part:]))
    return (last - first) / 1e6


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default 30)")
    parser.add_argument("--seed", type=int, default=1, help="of the keys (default 1)")
    parser.add_argument("--rate", type=float, default=8.0, help="keys a second (default 8)")
    parser.add_argument("--size", choices=[f"{x}x{y}" for x, y in _SIZES], default="120x36")
    parser.add_argument("--most", type=float, default=5.0, help="megabytes that memory may grow by (default 5)")
    parser.add_argument("words", nargs="*", help="for turbotui, behind --")
    arguments = parser.parse_args()
    across, down = map(int, arguments.size.split("x"))
    looks: list[Look] = []
    try:
        for look in soak(arguments.words, arguments.minutes * 60, arguments.seed, (across, down), arguments.rate):
            looks.append(look)
            warming = "" if look.warm else ", warming up"
            print(f"{look.seconds:7.0f} s {look.keys:7d} keys {look.rss_bytes / 1e6:7.1f} MB{warming}", flush=True)
    except RuntimeError as error:
        print(error)
        return 1
    grown = growth_mb(looks)
    print(f"grown by {grown:.1f} MB after the warm-up (to reach: {arguments.most:g})")
    return 0 if grown <= arguments.most else 1


if __name__ == "__main__":
    sys.exit(main())
