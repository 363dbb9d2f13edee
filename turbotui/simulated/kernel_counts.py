"""The kernel's counts for a CPU, as forms over its integrals.

Time by /proc/stat's fields, interrupts, softirqs, context switches.
Rates per second are those of an ordinary machine with a 250 Hz tick that stops when idle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from turbotui.quantities.facts import FactFile
from turbotui.simulated.basis import (
    CPU_ARRIVALS,
    CPU_BUSY,
    CPU_IDLE,
    CPU_IOWAIT,
    CPU_ONLINE,
    IDLE_STATES,
    KINDS,
    Form,
    form_of,
    scaled,
)
from turbotui.simulated.shapes import CoreType
from turbotui.simulated.workloads import WORKLOADS

_FILE: Final = FactFile("simulated/kernel_counts.toml")


def _booked(share: str, factor: float = 1.0) -> Form:
    shares = {"user": [work.user for work in WORKLOADS], "nice": [work.nice for work in WORKLOADS],
              "system": [work.system for work in WORKLOADS], "irq": [work.irq for work in WORKLOADS],
              "softirq": [work.softirq for work in WORKLOADS]}[share]
    return form_of({CPU_BUSY + kind: shares[kind] * factor for kind in range(KINDS)})


IDLE: Final = form_of({**{CPU_IDLE + state: 1.0 for state in range(IDLE_STATES)}, CPU_IOWAIT: -1.0})
IOWAIT: Final = form_of({CPU_IOWAIT: 1.0})
BUSY: Final = form_of({CPU_BUSY + kind: 1.0 for kind in range(KINDS)})

STAT_FIELDS: Final = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
"""Columns of a cpu row of /proc/stat (man 5 proc_stat)."""


def stat_forms(steal: float, storm: float = 0.0) -> tuple[Form, ...]:
    """Seconds by field of /proc/stat, in `STAT_FIELDS` order.

    Steal and storm are shares of the busy time: for the hypervisor, and for soft interrupts beside those of the work.
    """
    left = 1.0 - steal - storm
    return (_booked("user", left), _booked("nice", left), _booked("system", left), IDLE, IOWAIT, _booked("irq", left),
            (*_booked("softirq", left), *scaled(BUSY, storm)) if storm else _booked("softirq", left),
            scaled(BUSY, steal) if steal else (), (), ())


def timer_interrupts(more: float) -> Form:
    """Return a CPU's local timer interrupts: those of its work, and `more` per second."""
    return (*INTERRUPTS["LOC"], *form_of({CPU_ONLINE: more})) if more else INTERRUPTS["LOC"]


def _rows(table: str) -> list[list[Any]]:
    return cast("Mapping[str, list[list[Any]]]", _FILE.find(table))["rows"]


def _events(per_second: float, *busy: float) -> Form:
    """Return a form of `per_second` while online, and `busy` events per second of each kind of work."""
    return form_of({CPU_ONLINE: per_second, **{CPU_BUSY + kind: busy[kind] for kind in range(KINDS)}})


SWITCHES: Final = _events(11.0, 40.0, 60.0, 900.0, 2400.0)
MIGRATIONS: Final = form_of({CPU_ARRIVALS: 1.0, CPU_BUSY + 2: 6.0, CPU_BUSY + 3: 14.0})
FAULTS: Final = _events(0.5, 12.0, 30.0, 5200.0, 700.0)
MAJOR_FAULTS: Final = _events(0.0, 0.0, 0.0, 0.2, 0.4)
FORKS: Final = _events(0.01, 0.0, 0.0, 3.0, 1.5)

INTERRUPT_TEXTS: Final[Mapping[str, str]] = {label: words for label, words, *_rates in _rows("interrupts")}
"""The x86 rows of /proc/interrupts in their order, with the text behind the counts."""
INTERRUPTS: Final[Mapping[str, Form]] = {
    label: _events(*rates) for label, _words, *rates in _rows("interrupts") if rates}
"""The rows of /proc/interrupts that every busy x86 CPU moves."""

DEVICE: Final = _events(0.6, 4.0, 30.0, 240.0, 520.0)
"""Interrupts of devices on one CPU, all its queues together."""

SOFTIRQS: Final[Mapping[str, Form]] = {
    label: _events(*rates) if rates else () for label, *rates in _rows("softirqs")}

_PACKETS: Final = 50_000.0
"""Soft interrupts of network receive in a second of nothing else: 20 us each, with all the packets that it finds."""


def soft_interrupts(name: str, storm: float) -> Form:
    """Soft interrupts of a kind; `storm` is the share of the busy time that receiving from the network takes."""
    return (*SOFTIRQS[name], *scaled(BUSY, storm * _PACKETS)) if storm and name == "NET_RX" else SOFTIRQS[name]


def idle_usage(kind: CoreType, number: int) -> Form:
    """The number of times that a CPU entered one cpuidle state."""
    return form_of({CPU_IDLE + number: 1e6 / kind.idle[number].mean_us})
