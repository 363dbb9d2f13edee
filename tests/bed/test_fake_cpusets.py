"""The CPUs that the program may use change while it runs: by its affinity, and by its cgroup's cpuset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import pytest
from fake_machine import FakeMachine, Running, shape_of, why_not

from turbotui.machine.cpulist import format_cpulist
from turbotui.simulated import SimulatedHost
from turbotui.simulated.tree import File, place

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is everything")

Narrow = Callable[[Running, Iterable[int]], None]
_EVERY: Final = range(8)
_FEW: Final = (0, 1, 4)
_CHANGING: Final = (3, 4, 5, 8, 9, 10)  # the intervals around a change: counters of files begin anew with the rows
_TIME: Final = "Time_Of_Day_Seconds"
_CPUSET: Final = "/sys/fs/cgroup/cpuset.cpus.effective"


def machine() -> SimulatedHost:
    """2 packages of 2 cores of 2 threads: CPUs 0, 1 and their siblings 4, 5 in the first one."""
    return shape_of("sapphire-2s", cores=2)


def by_affinity(running: Running, cpus: Iterable[int]) -> None:
    running.supervisor.confine(running.process.pid, tuple(cpus))


@pytest.mark.parametrize("how", ["affinity", "cpuset"])
@pytest.mark.parametrize("words", [(), ("--no-perf",)])
def test_rows_go_and_come_and_totals_are_of_those_that_are_there(how: str, words: tuple[str, ...]) -> None:
    host = machine()
    cpuset = [f"{format_cpulist(_EVERY)}\n"]
    place(host._root.children, _CPUSET, File(lambda _now: cpuset[0]))

    def narrow(running: Running, cpus: Iterable[int]) -> None:
        if how == "cpuset":  # the kernel then changes the affinity of every task in it, too (cpusets(7))
            cpuset[0] = f"{format_cpulist(cpus)}\n"
        by_affinity(running, cpus)

    # the page cache would go on showing what a file said when it was read first: as the kernel's, ours has no memory
    fake = FakeMachine(host, plugging=True)
    sets: list[tuple[int, ...]] = []
    unsettled: list[str] = []
    before: dict[int, float] = {}
    with fake.stepped(*words, "--show", f"Busy%,IRQ,PkgWatt,{_TIME}") as stepped:
        for number in range(12):
            report = stepped.report()
            if number == 2:
                narrow(stepped.running, _FEW)
            if number == 7:
                narrow(stepped.running, _EVERY)
            sets.append(_check(report, before))
            before = {item["cpu"]: item["values"][_TIME] for item in report["rows"] if item.get("cpu") is not None}
            if number not in _CHANGING:
                unsettled += [item.get("why", {}).get(name, "no reason") for item in report["rows"]
                              for name, value in item["values"].items() if value is None]
        ended = stepped.ended()
        assert ended.status == 0, ended.errors
    every, few = tuple(_EVERY), _FEW
    assert sets[:3] == [every] * 3
    assert sets[4:8] == [few] * 4, "the interval in which it happened may still have them all"
    assert sets[9:] == [every] * 3
    # where nothing changes everything is known, but of a CPU that is late, or whose reader lost its CPU
    assert [why for why in unsettled if not why.startswith(("late", "interrupted"))] == []
    assert host.open_descriptors == 0


def _check(report: dict[str, Any], before: Mapping[int, float]) -> tuple[int, ...]:
    """Check the CPUs of a report, and that its summary agrees with its rows.

    Args:
        report: one line of JSON.
        before: when each CPU was read in the report before, in s.
    """
    rows = [item for item in report["rows"] if item.get("cpu") is not None]
    total = next(item["values"] for item in report["rows"] if item.get("cpu") is None)
    known = {name: [row["values"][name] for row in rows if row["values"][name] is not None] for name in total}
    if known["Busy%"] and {row["cpu"] for row in rows} <= before.keys():
        # each CPU counts by the time between its own two readings, which differ on a machine that is busy itself: most
        # of all in a first interval, which begins with each CPU when its counters are open
        spans = [(row["values"]["Busy%"], row["values"][_TIME] - before[row["cpu"]]) for row in rows
                 if row["values"]["Busy%"] is not None]
        expected = sum(busy * span for busy, span in spans) / sum(span for _busy, span in spans)
        # a reader that lost its CPU between a counter and the time told another span than it counted in
        lengths = [span for _busy, span in spans]
        unsure = (max(lengths) - min(lengths)) / min(lengths) * max(busy for busy, _span in spans)
        assert total["Busy%"] == pytest.approx(expected, abs=1.0 + unsure)
    elif known["Busy%"]:  # what a row refuses is in no sum
        assert min(known["Busy%"]) - 0.01 <= total["Busy%"] <= max(known["Busy%"]) + 0.01
    if known["IRQ"]:
        assert total["IRQ"] == sum(known["IRQ"])
    watts = {row["package"]: row["values"]["PkgWatt"] for row in rows}
    if None in watts.values():  # of energy no part may be missing
        assert total["PkgWatt"] is None
    else:
        assert total["PkgWatt"] == pytest.approx(sum(watts.values()), rel=0.001)
    return tuple(sorted(row["cpu"] for row in rows))
