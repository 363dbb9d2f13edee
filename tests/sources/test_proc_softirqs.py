from __future__ import annotations

import errno

import pytest
from prochost import machine_of, plain_topology

from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.proc_softirqs import PATH, ProcSoftirqs

TEXT = """\
                    CPU0       CPU1       CPU2
          HI:          1          2          3
       TIMER:       6253       5302          0
      NET_TX:          3          0          0
      NET_RX:        742        938          0
       BLOCK:          0       8631          0
    IRQ_POLL:          9          0          0
     TASKLET:          3          0          0
       SCHED:      12480       8440          0
     HRTIMER:          8          7          0
         RCU:       7909       8779          0
"""
IDS = frozenset(
    f"softirq.{word}"
    for word in ("total", "hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu")
)


def read(text: str, topology: Topology | None = None) -> dict[str, list[Raw]]:
    _, machine = machine_of({PATH: text}, topology)
    reader = ProcSoftirqs().open_shared(machine, IDS)
    return {signal: list(values) for signal, values in zip(reader.signals, reader.read(), strict=True)}


def test_every_row_goes_to_its_own_signal_for_the_measured_cpus() -> None:
    assert read(TEXT, plain_topology((1, 0))) == {
        "softirq.total": [1 + 6253 + 3 + 742 + 9 + 3 + 12480 + 8 + 7909, 2 + 5302 + 938 + 8631 + 8440 + 7 + 8779],
        "softirq.hi": [1, 2],
        "softirq.timer": [6253, 5302],
        "softirq.net_tx": [3, 0],
        "softirq.net_rx": [742, 938],
        "softirq.block": [0, 8631],
        "softirq.irq_poll": [9, 0],
        "softirq.tasklet": [3, 0],
        "softirq.sched": [12480, 8440],
        "softirq.hrtimer": [8, 7],
        "softirq.rcu": [7909, 8779],
    }


def test_a_kind_of_a_later_kernel_counts_in_the_total() -> None:
    assert read(" CPU0 CPU1\nHI: 1 1\nNEWER: 10 20\n")["softirq.total"] == [11, 21]


def test_the_old_name_of_irq_poll() -> None:
    assert read(" CPU0 CPU1\nBLOCK_IOPOLL: 4 5\n")["softirq.irq_poll"] == [4, 5]


def test_probe_names_what_is_missing() -> None:
    host, machine = machine_of({PATH: TEXT.replace("IRQ_POLL", "SOMETHING")})
    signals = ProcSoftirqs().probe(machine).signals
    assert set(signals) == IDS
    missing = signals["softirq.irq_poll"]
    assert isinstance(missing, Unavailable)
    assert "IRQ_POLL" in missing.detail
    assert isinstance(signals["softirq.total"], Signal)
    host.files[PATH] = errno.ENOENT
    absent = ProcSoftirqs().probe(machine).signals
    assert {value.reason for value in absent.values() if isinstance(value, Unavailable)} == {Reason.NO_DRIVER}
    assert set(absent) == IDS


def test_counts_continue_over_a_wrap() -> None:
    host, machine = machine_of({PATH: " CPU0 CPU1\nRCU: 4294967295 3\n"})
    reader = ProcSoftirqs().open_shared(machine, frozenset({"softirq.rcu"}))
    reader.read()
    host.files[PATH] = " CPU0 CPU1\nRCU: 0 4\n"
    assert list(reader.read()[0]) == [4294967296, 4]


@pytest.mark.real
def test_this_machines_own_file() -> None:
    with open(PATH, encoding="ascii") as file:
        text = file.read()
    cpus = [int(word[3:]) for word in text.partition("\n")[0].split()]
    values = read(text, plain_topology(cpus))
    kinds = [row for signal, row in values.items() if signal != "softirq.total" and None not in row]
    assert [sum(column) for column in zip(*kinds, strict=True)] == values["softirq.total"]
