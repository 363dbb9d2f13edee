"""`turbotui stat` on fake machines that answer its system calls, compared with their models.

A tick reads a CPU's counters one after the other, so its truth is taken at the first and at the last of these reads.
What is shown must lie between the rates of these instants; the tolerance is the time between them, which is short on a
machine with nothing else to do, and one unit of what the source keeps. Ticks come when the test tells the program to
read, so that no load of the machine makes two of them one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import pytest
from fake_machine import Ended, FakeMachine, Mark, held_up, shape_of, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is everything")

_COUNT: Final = 2
"""Intervals that are compared; never the first: it begins when the program is ready, which nobody tells."""
_INTEL: Final = "Busy%,Bzy_MHz,Avg_MHz,TSC_MHz,PkgWatt,RAMWatt,CPU%c1,CPU%c6,Pkg%pc6,CoreTmp,PkgTmp,IRQ,CSW/s,C6%,IPC"


@dataclass(frozen=True)
class Case:
    shape: str
    cores: int
    packages: int
    watched: tuple[int, ...]
    has: str
    words: tuple[str, ...] = ()
    interval: float = 0.5  # seconds, at least


_AMD: Final = "Busy%,Bzy_MHz,Avg_MHz,TSC_MHz,PkgWatt,IRQ,CSW/s,IPC"
_LARGE: Final = "Busy%,Bzy_MHz,PkgWatt,CPU%c6,CoreTmp,IRQ"

CASES: Final = {
    "2 CPUs, perf": Case("sapphire-2s", 1, 1, (0, 1), _INTEL),
    "2 CPUs, MSR": Case("sapphire-2s", 1, 1, (0, 1), _INTEL.replace(",IPC", "").replace(",CSW/s", ""), ("--no-perf",)),
    "2 CPUs, files": Case("sapphire-2s", 1, 1, (0, 1), "PkgWatt,RAMWatt,IRQ,C6%,CoreTmp,PkgTmp",
                          ("--no-perf", "--no-msr")),
    "64 CPUs": Case("sapphire-2s", 16, 2, (0, 16, 33), _INTEL),
    "1,024 CPUs": Case("big-8s", 0, 0, (0, 64, 1000), _LARGE, interval=1.2),
    "AMD, 64 CPUs": Case("turin-2s", 16, 2, (0, 16, 40), _AMD),
    "AMD, 8 CPUs, MSR": Case("turin-2s", 2, 2, (0, 2), "Busy%,Bzy_MHz,TSC_MHz,PkgWatt,IRQ", ("--no-perf",)),
    "guest": Case("guest", 0, 0, (0, 1), "IRQ,CSW/s"),
}


@dataclass(frozen=True)
class Interval:
    """One row of one interval, and the true values at both ends, for every choice of instants."""

    cpu: int
    of_core: bool  # it is the CPU that reads what its core has; another one's reads are at other instants
    of_package: bool
    row: dict[str, float | None]
    ends: list[tuple[Mark, Mark]]
    around: list[tuple[Mark, Mark]]  # the same, of what one thread reads for all CPUs

    def agrees(self, name: str, want: Callable[[Mark, Mark], float], absolute: float, relative: float = 0.005,
               over: Callable[[Mark, Mark], float] = lambda _before, _after: 1.0, *, shared: bool = False) -> bool:
        """Whether a cell is what the truth gives for it; for a ratio, of what over what."""
        every = self.around if shared else self.ends
        wants = [want(*ends) / over(*others) for ends in every for others in every]
        starts, stops = ({item.cpu.seconds for item in end} for end in zip(*every, strict=True))
        # two numbers that make a rate are not read at one instant either
        unsure = (max(starts) - min(starts) + max(stops) - min(stops)) / (min(stops) - max(starts))
        slack = absolute + (relative + unsure) * max(abs(item) for item in wants)
        got = self.row[name]
        return got is not None and min(wants) - slack <= got <= max(wants) + slack


def rate(before: Mark, after: Mark, field: str) -> float:
    """Return the increase of a CPU's number per second."""
    grown: float = getattr(after.cpu, field) - getattr(before.cpu, field)
    return grown / (after.cpu.seconds - before.cpu.seconds)


def power(before: Mark, after: Mark, field: str) -> float:
    """Watts of the package."""
    joules: float = getattr(after.package, field) - getattr(before.package, field)
    return joules / (after.package.seconds - before.package.seconds)


@dataclass(frozen=True)
class Seen:
    case: Case
    ended: Ended
    reports: Sequence[dict[str, object]]
    compared: Sequence[int]

    def values(self, interval: int, where: Callable[[dict[str, object]], bool]) -> dict[str, float | None]:
        """The cells of a row of one interval."""
        rows = self.reports[interval]["rows"]
        assert isinstance(rows, list)
        result = next(row["values"] for row in rows if where(row))
        assert isinstance(result, dict)
        return result

    def intervals(self) -> list[Interval]:
        """Every CPU and interval that is compared."""
        result = []
        marks = self.ended.marks
        layout = marks.host.model.layout
        for cpu in self.case.watched:
            of_core, of_package = (any(cpu == min(cpus) for cpus in every)
                                   for every in (layout.core_cpus, layout.package_cpus))
            for number in self.compared:
                row = self.values(number, lambda row, cpu=cpu: row.get("cpu") == cpu)  # type: ignore[misc]
                result.append(Interval(cpu, of_core, of_package, row, marks.interval(cpu, number),
                                       marks.around(cpu, number)))
        return result

    def has(self, name: str) -> bool:
        return name in self.case.has.split(",")


@pytest.fixture(scope="module", params=CASES)
def seen(request: pytest.FixtureRequest) -> Seen:
    case = CASES[request.param]
    machine = FakeMachine(shape_of(case.shape, case.cores, case.packages), watched=frozenset(case.watched))
    compared: list[int] = []
    undisturbed = False
    with machine.stepped("--show", case.has, *case.words, span=case.interval) as stepped:
        while len(compared) < _COUNT:
            rows = [row for row in stepped.report()["rows"] if row.get("cpu") in case.watched]
            before, undisturbed = undisturbed, not any(held_up(row, *row["values"]) for row in rows)
            if before and undisturbed:
                compared.append(len(stepped.reports) - 1)
        ended = stepped.ended()
    assert ended.status == 0, ended.errors
    return Seen(case, ended, stepped.reports, compared)


def test_the_program_sees_a_real_machine_with_all_its_cpus(seen: Seen) -> None:
    report = seen.reports[-1]
    assert report["kind"] == "REAL"
    rows = report["rows"]
    assert isinstance(rows, list)
    online = seen.ended.marks.host.model.online
    assert {row["cpu"] for row in rows if row["row"] == "cpu"} == set(range(len(online)))


def test_what_should_be_had_is_had_on_every_row(seen: Seen) -> None:
    rows = seen.reports[-1]["rows"]
    assert isinstance(rows, list)
    missing = [(row.get("cpu"), name, row.get("why")) for row in rows for name in seen.case.has.split(",")
               if row["values"][name] is None and not held_up(row, name)]
    # a CPU that was idle throughout has no clock of its own and no instructions for each cycle
    assert not [item for item in missing if item[1] not in ("Bzy_MHz", "IPC")]


def test_shares_and_clocks_are_those_of_the_model(seen: Seen) -> None:
    for interval in seen.intervals():
        if seen.has("Busy%"):
            assert interval.agrees("Busy%", lambda a, b: 100.0 * rate(a, b, "c0_seconds"), 0.1), interval
        if seen.has("TSC_MHz"):
            assert interval.agrees("TSC_MHz", lambda a, b: rate(a, b, "tsc") / 1e6, 0.0), interval
        if seen.has("Avg_MHz"):
            assert interval.agrees("Avg_MHz", lambda a, b: rate(a, b, "aperf") / 1e6, 2.0), interval
        if seen.has("Bzy_MHz") and rate(*interval.ends[0], "c0_seconds") > 0.01:
            assert interval.agrees("Bzy_MHz", lambda a, b: rate(a, b, "aperf") / 1e6, 1.0,
                                   over=lambda a, b: rate(a, b, "c0_seconds")), interval


def test_idle_states_are_those_of_the_model(seen: Seen) -> None:
    for interval in seen.intervals():
        if seen.has("CPU%c1") and interval.of_core:
            assert interval.agrees("CPU%c1", lambda a, b: 100.0 * rate(a, b, "c1_seconds"), 0.5), interval
        if seen.has("CPU%c6") and interval.of_core:
            assert interval.agrees("CPU%c6", lambda a, b: 100.0 * rate(a, b, "c6_seconds"), 0.5), interval
        if seen.has("C6%"):
            assert interval.agrees("C6%", lambda a, b: 100.0 * (b.cpu.idle_seconds[-1] - a.cpu.idle_seconds[-1])
                                   / (b.cpu.seconds - a.cpu.seconds), 0.5), interval
        if seen.has("Pkg%pc6") and interval.of_package:
            assert interval.agrees("Pkg%pc6", lambda a, b: 100.0 * (b.package.states[6] - a.package.states[6])
                                   / (b.package.seconds - a.package.seconds), 0.5), interval


def test_watts_are_those_of_the_model(seen: Seen) -> None:
    for interval in seen.intervals():
        if seen.has("PkgWatt") and interval.of_package:
            assert interval.agrees("PkgWatt", lambda a, b: power(a, b, "joules"), 0.1), interval
        if seen.has("RAMWatt") and interval.of_package:
            assert interval.agrees("RAMWatt", lambda a, b: power(a, b, "ram_joules"), 0.1), interval


def test_temperatures_are_those_of_the_model(seen: Seen) -> None:
    for interval in seen.intervals():
        if seen.has("CoreTmp") and interval.of_core:
            assert interval.agrees("CoreTmp", lambda _a, b: b.cpu.celsius, 1.5), interval
        if seen.has("PkgTmp") and interval.of_package:
            assert interval.agrees("PkgTmp", lambda _a, b: b.package.celsius, 1.5), interval


def test_interrupts_switches_and_instructions_are_those_of_the_model(seen: Seen) -> None:
    for item in seen.intervals():
        # counted in whole numbers on about forty rows, and read by another thread than this CPU's
        if seen.has("IRQ"):
            assert item.agrees("IRQ", lambda a, b: b.cpu.interrupts - a.cpu.interrupts, 45.0, 0.1, shared=True), item
        if seen.has("CSW/s"):
            assert item.agrees("CSW/s", lambda a, b: rate(a, b, "switches"), 3.0), item
        if seen.has("IPC") and rate(*item.ends[0], "aperf") > 1e8:
            assert item.agrees("IPC", lambda a, b: rate(a, b, "instructions"), 0.01,
                               over=lambda a, b: rate(a, b, "aperf")), item


def test_every_file_register_and_counter_is_closed_at_the_end(seen: Seen) -> None:
    assert seen.ended.left_open == 0
    assert seen.ended.marks.host.open_descriptors == 0


def test_counters_are_opened_only_where_perf_is_wanted(seen: Seen) -> None:
    wanted = "--no-perf" not in seen.case.words
    assert (seen.ended.opened > 0) == wanted
