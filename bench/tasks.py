"""`python -m bench.tasks`: measures what sampling tasks costs the sampled tasks and the reader.

A byte goes to and fro between two processes on one CPU; the reader sits on another CPU where there is one. Rounds
with and without sampling take turns, and the median of the differences counts: this is what a switch of a watched
task costs. What the reader costs is its thread's own CPU time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bench.ping_pong import Rally
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.watched_application import WatchedApplication
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.launching import HeldCommand
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine

_PAGES: Final = 4096  # of the rings: nothing is lost however fast the pair plays, so every switch pays in full
EIGHT: Final = ("minor-faults", "major-faults", "page-faults", "cpu-migrations", "alignment-faults",
                "emulation-faults")
"""With switches and run time, which every set has, these are eight events that every kernel counts."""


@dataclass(frozen=True, slots=True)
class SwitchCost:
    """Microseconds of CPU time of a switch: the CPU time of both processes over the number of their switches.

    Attributes:
        name: how it was watched.
        plain, sampled: medians of the rounds.
        added: median of the differences of neighbouring rounds.
        lost: samples that found no room, of all rounds.
        reader: microseconds of the reader for each sample.
    """

    name: str
    plain: float
    sampled: float
    added: float
    lost: int
    reader: float


def switch_cost(name: str, application: Application, rounds: int, trips: int) -> SwitchCost:
    """Measure switches with and without sampling, alternating.

    Args:
        name: for people.
        application: watched while the pair plays; its command is replaced by the pair.
        rounds: of each.
        trips: round trips of a byte in each round.
    """
    cpus = sorted(os.sched_getaffinity(0))
    plain, sampled, lost = [], [], 0
    used, booked = 0.0, 0
    for _ in range(rounds):
        rally = _play(trips, cpus[0])
        plain.append(_each(rally))
        two, gone, spent, samples = _watched(application, trips, cpus)
        sampled.append(_each(two))
        lost += gone
        used += spent
        booked += samples
    added = statistics.median(with_it - without for with_it, without in zip(sampled, plain, strict=True))
    return SwitchCost(name, statistics.median(plain), statistics.median(sampled), added, lost,
                      1e6 * used / booked if booked else 0.0)


@dataclass(frozen=True, slots=True)
class TokenAccount:
    """What rows have of processes that do little but switch.

    Attributes:
        hops: a second, of all processes: each is a switch.
        lost: share of the samples that found no room.
        reader: microseconds of the reader for each hop.
        shares: the least and the greatest ratio of a row's CPU time to what wait4(2) reports of its process.
    """

    hops: float
    lost: float
    reader: float
    shares: tuple[float, float]


def token_account(application: Application, processes: int, hops: int) -> TokenAccount:
    """Watch processes that pass tokens over pipes until they end, and compare their rows with wait4(2)."""
    words = [sys.executable, "-S", "-m", "bench.token_ring", "--processes", str(processes), "--hops", str(hops)]
    answer, put = os.pipe()
    os.set_inheritable(put, True)
    held = HeldCommand(["sh", "-c", f'exec "$@" >&{put}', "sh", *words])
    os.close(put)
    watching = WatchedApplications(read_machine(LinuxHost()), live=True)
    try:
        watched = watching.add(application, child=None if application.everything else held.pid)
        watching.waiting.add(held.descriptor)
        began, used = time.monotonic(), time.thread_time()
        held.go()
        while held.status is None:
            watching.round(watching.pause)
        passed = time.monotonic() - began
        watching.finish()
        used = time.thread_time() - used
        rows = {row.pid: row.run_seconds for row in watching.report(watched, Grouping.PROCESS, whole=True).rows}
        lost = watched.aggregate.lost / (_taken(watched) + watched.aggregate.lost)
    finally:
        watching.close()
    with os.fdopen(answer) as answers:
        truth = {int(pid): float(seconds) for pid, seconds in (line.split() for line in answers)}
    shares = [rows.get(pid, 0.0) / seconds for pid, seconds in truth.items()]
    return TokenAccount(hops * len(truth) / passed, lost, 1e6 * used / (hops * len(truth)), (min(shares), max(shares)))


def reader_cost(seconds: float, events: Sequence[str] = EIGHT) -> tuple[float, float]:
    """Watch all CPUs with eight events, sampled at each switch and every 50 ms, as the screen does.

    Returns:
        Share of one CPU that the reader used, and samples a second.
    """
    watching = WatchedApplications(read_machine(LinuxHost()), live=True)
    try:
        watched = watching.add(Application("all", everything=True, events=",".join(events)))
        watching.round(watching.pause)
        before = _taken(watched)
        began, used = time.monotonic(), time.thread_time()
        while time.monotonic() < began + seconds:
            watching.round(watching.pause)
        passed, used = time.monotonic() - began, time.thread_time() - used
        return used / passed, (_taken(watched) - before) / passed
    finally:
        watching.close()


def _taken(watched: WatchedApplication) -> int:
    """The samples that were taken so far, those that were merged with others too."""
    return watched.aggregate.samples + sum(reader.merged for reader in watched.readers)


def _words(trips: int, cpu: int) -> list[str]:
    return [sys.executable, "-S", "-m", "bench.ping_pong", "--trips", str(trips), "--cpu", str(cpu)]


def _play(trips: int, cpu: int) -> Rally:
    done = subprocess.run(_words(trips, cpu), capture_output=True, text=True, check=True)  # noqa: S603 - our own module
    return _rally(done.stdout)


def _rally(text: str) -> Rally:
    wall, used, switches = text.split()
    return Rally(float(wall), float(used), int(switches))


def _each(rally: Rally) -> float:
    return 1e6 * rally.used / rally.switches


def _watched(application: Application, trips: int, cpus: Sequence[int]) -> tuple[Rally, int, float, int]:
    """Measure a round under observation: the rally, lost samples, CPU seconds of the reader, processed samples."""
    answer, put = os.pipe()
    os.set_inheritable(put, True)
    held = HeldCommand(["sh", "-c", f'exec "$@" >&{put}', "sh", *_words(trips, cpus[0])])
    os.close(put)
    watching = WatchedApplications(read_machine(LinuxHost()), _PAGES, live=True)
    everyone = os.sched_getaffinity(0)
    try:
        watched = watching.add(application, child=None if application.everything else held.pid)
        watching.waiting.add(held.descriptor)
        os.sched_setaffinity(0, {cpus[-1]})
        began = time.thread_time()
        held.go()
        while held.status is None:
            watching.round(watching.pause)
        used = time.thread_time() - began
        samples = _taken(watched)
        watching.finish()
        lost = watched.aggregate.lost
    finally:
        os.sched_setaffinity(0, everyone)
        watching.close()
    with os.fdopen(answer) as answers:
        return _rally(answers.read()), lost, used, samples


def print_costs(rounds: int, trips: int, seconds: float) -> None:
    """Measure, and print one line for each figure."""
    pair = ("pair",)
    ways = (
        ("mode B, as --pid or a command", Application("pair", command=pair)),
        ("mode B, page faults beside it", Application("pair", command=pair, events="page-faults")),
        ("mode C, as --all", Application("all", everything=True)),
        ("mode C, eight events", Application("all", everything=True, events=",".join(EIGHT))),
    )
    print("a switch of a watched task (us of CPU time; to reach: 1 us more)")
    for name, application in ways:
        cost = switch_cost(name, application, rounds, trips)
        print(f"  {cost.name:<34} {cost.plain:5.2f} without, {cost.sampled:5.2f} with: {cost.added:+5.2f} us, "
              f"x {cost.sampled / cost.plain:4.2f}; {cost.lost} lost; reader {cost.reader:4.1f} us a sample")
    print("eight processes that pass tokens (to reach: 5 us, and 0.99 of what wait4 reports)")
    for name, application in ways[::2]:
        account = token_account(application, 8, 5 * trips)
        print(f"  {name:<34} {account.hops:9,.0f} hops/s, {account.lost:6.2%} lost, reader {account.reader:4.2f} us "
              f"a hop; rows {account.shares[0]:.3f} to {account.shares[1]:.3f}")
    share, rate = reader_cost(seconds)
    print(f"all CPUs, eight events, every 50 ms  {share:6.2%} of one CPU at {rate:,.0f} samples a second "
          "(to reach: 2 %)")


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.tasks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="with and without, each (default 7)")
    parser.add_argument("--trips", type=int, default=20_000, help="round trips of a byte in a round")
    parser.add_argument("--seconds", type=float, default=5.0, help="of watching everything")
    arguments = parser.parse_args()
    print_costs(arguments.rounds, arguments.trips, arguments.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
