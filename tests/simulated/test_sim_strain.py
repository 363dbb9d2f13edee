"""Waits of tasks of a simulated machine: its files, read by the program, compared with the model."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from model_truth import truth_of

from turbotui.quantities.scope import SYSTEM_ROW, cpu_row
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.frame import Frame
from turbotui.simulated import Strain

sys.path.insert(0, str(Path(__file__).parents[1] / "truth"))
from sampled_machine import Watched

SECONDS = 2.0
STRAIN = Strain(
    waiting=0.5, blocked=3, memory_some=0.25, memory_full=0.125, io_some=0.5, io_full=0.2, irq_full=0.1,
    swapped_in=100.0, swapped_out=200.0, major_faults=50.0, direct_reclaims=20.0, oom_kills=0.5, available=0.05,
    swap_free=0.25, quota=1.5, throttled=0.4,
)  # fmt: skip


def strained(strain: Strain, shape: str = "laptop") -> tuple[Watched, Frame]:
    watched = Watched(shape, strain=strain)
    return watched, watched.frames(SECONDS, 1)[0]


def cell(watched: Watched, frame: Frame, name: str) -> float | None:
    value = frame.cell(watched.catalog.by_id[name], SYSTEM_ROW)
    assert not isinstance(value, str)
    return value


@pytest.mark.parametrize(("name", "expected", "off"), [
    ("PSIcpu%", 50.0, 3.1), ("PSImem%", 25.0, 0.01), ("PSImemFull%", 12.5, 0.01), ("PSIio%", 50.0, 5.0),
    ("PSIioFull%", 20.0, 2.0), ("PSIirqFull%", 10.0, 4.5), ("Blocked", 3.0, 0.0), ("SwapIn/s", 100.0, 0.6),
    ("SwapOut/s", 200.0, 0.6), ("MajFlt/s", 50.0, 8.0), ("Reclaim/s", 20.0, 0.6), ("OOMKills", 1.0, 0.0),
    ("MemAvail%", 5.0, 0.01), ("SwapFree%", 25.0, 0.01), ("Throttled%", 40.0, 0.01), ("Quota", 1.5, 0.0),
])
def test_each_cause_of_waiting_shows_in_its_own_column(name: str, expected: float, off: float) -> None:
    watched, frame = strained(STRAIN)
    assert cell(watched, frame, name) == pytest.approx(expected, abs=off)


def test_the_run_queue_of_a_strained_machine_is_long() -> None:
    watched, frame = strained(Strain(waiting=2.0))
    cpus = len(watched.machine.topology.cpus)
    waited = cell(watched, frame, "RunDelay%")
    assert waited == pytest.approx(200.0 * cpus, abs=3.1 * cpus)
    queue, load = cell(watched, frame, "RunQ"), cell(watched, frame, "Load1")
    assert queue is not None
    assert load is not None
    assert queue > 2 * cpus
    assert load > 2 * cpus


def test_who_reads_the_run_queue_is_not_in_it() -> None:
    watched = Watched("guest+idle")
    frame = watched.frames(SECONDS, 1)[0]
    (said,) = [line.split()[1] for line in watched.host.read_text("/proc/stat").splitlines() if "procs_running" in line]
    assert cell(watched, frame, "RunQ") == int(said) - 1


def test_pressure_and_waits_are_those_of_the_model() -> None:
    watched = Watched("guest", strain=STRAIN)
    marks = [truth_of(watched.host).system_truth()]
    frame = watched.frames(SECONDS, 1, lambda _n: marks.append(truth_of(watched.host).system_truth()))[0]
    older, newer = marks[0], marks[-1]
    for name, line in {"PSIcpu%": ("cpu", "some"), "PSIio%": ("io", "some"), "PSIioFull%": ("io", "full"),
                       "PSIirqFull%": ("irq", "full")}.items():
        share = 100.0 * (newer.stalled[line] - older.stalled[line]) / SECONDS
        assert cell(watched, frame, name) == pytest.approx(share, abs=1e-3), name
    waited = 100.0 * (newer.waited_seconds - older.waited_seconds) / SECONDS
    assert cell(watched, frame, "RunDelay%") == pytest.approx(waited, abs=1e-3)
    column = watched.catalog.by_id["RunDelay%"]
    each = [frame.cell(column, cpu_row(cpu)) for cpu in watched.machine.topology.cpus]
    assert sum(value for value in each if isinstance(value, float)) == pytest.approx(waited, abs=1e-3)


def test_a_machine_at_ease_hardly_waits_and_has_no_quota() -> None:
    watched, frame = strained(Strain())
    for name, most in {"PSIcpu%": 4.0, "PSImem%": 0.0, "SwapIn/s": 0.0, "OOMKills": 0.0}.items():
        value = cell(watched, frame, name)
        assert value is not None
        assert value <= most, name
    assert watched.capabilities.missing["cgroup.quota"].reason is Reason.NOT_SET
