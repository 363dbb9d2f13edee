from __future__ import annotations

import errno

import pytest
from prochost import machine_of, plain_topology

from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.proc_schedstat import PATH, ProcSchedstat

ROWS = """\
cpu0 0 0 0 0 0 0 123456789 5000000000 42
domain0 {} 1 2 3 4 5 6 7 8 9 10 11 12
cpu1 7 0 1 2 3 4 999 6000000000 43
domain0 {} 1 2 3 4 5 6 7 8 9 10 11 12
"""
TEXTS = {
    15: f"version 15\ntimestamp 4295\n{ROWS.format('3', '3')}",
    16: f"version 16\ntimestamp 4295\n{ROWS.format('3', '3')}",
    17: f"version 17\ntimestamp 4295\n{ROWS.format('SMT 3', 'SMT 3')}",
}
IDS = frozenset({"sched.delay", "sched.slices"})


@pytest.mark.parametrize("version", TEXTS)
def test_each_version_gives_the_same_of_each_cpu(version: int) -> None:
    _, machine = machine_of({PATH: TEXTS[version]}, plain_topology((1, 0, 2)))
    source = ProcSchedstat()
    reader = source.open_shared(machine, IDS)
    assert reader.signals == ("sched.delay", "sched.slices")
    assert [list(values) for values in reader.read()] == [[5_000_000_000, 6_000_000_000, None], [42, 43, None]]
    delay = source.probe(machine).signals["sched.delay"]
    assert isinstance(delay, Signal)
    assert delay.delta(5_000_000_000, 6_500_000_000) == pytest.approx(1.5)


@pytest.mark.parametrize("text", ["version 14\ncpu0 0 0 0 0 0 0 0 0 0 1 2 3\n", "version 99\n", "nothing\n"])
def test_a_version_that_nobody_has_described_here_is_not_guessed_at(text: str) -> None:
    absent = ProcSchedstat().probe(machine_of({PATH: text})[1]).signals["sched.delay"]
    assert isinstance(absent, Unavailable)
    assert "version" in absent.detail


def test_a_row_that_was_cut_is_unknown() -> None:
    _, machine = machine_of({PATH: "version 15\ncpu0 0 0 0 0 0 0 123456789 50\ncpu1 0 0 0 0 0 0 1 2 3\n"})
    reader = ProcSchedstat().open_shared(machine, frozenset({"sched.delay"}))
    assert [list(values) for values in reader.read()] == [[None, 2]]


def test_a_kernel_without_the_file() -> None:
    _, machine = machine_of({PATH: errno.ENOENT})
    signals = ProcSchedstat().probe(machine).signals
    assert set(signals) == IDS
    absent = signals["sched.delay"]
    assert isinstance(absent, Unavailable)
    assert (absent.reason, absent.remedy) == (Reason.NO_DRIVER, "use a kernel with CONFIG_SCHEDSTATS=y")
    assert [list(values) for values in ProcSchedstat().open_shared(machine, IDS).read()] == [[None, None]] * 2
