"""/proc/schedstat: the time for which tasks waited on each CPU's run queue, and the number of time slices.

Format: kernel Documentation/scheduler/sched-stats.rst. The rows of CPUs are the same in versions 15, 16 and 17: nine
numbers, of which the last three are nanoseconds run, nanoseconds waited and time slices. (16 changed the order of idle
kinds in the rows of domains, 17 the columns there.) The kernel adds a wait when it ends, to the CPU on which the task
then runs: what still waits does not show yet.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.machine.host import Host, HostError, is_bare_copy
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import text_of
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import NothingToClose, SharedSource
from turbotui.sources.source import Probe, SharedReader
from turbotui.sources.unreadable import proc_unreadable

PATH: Final = "/proc/schedstat"
_DOCUMENT: Final = "kernel Documentation/scheduler/sched-stats.rst"
_FIELDS: Final = 9
_KNOWN: Final = range(15, 18)
# Signal, place among the numbers of a row, unit, scale
_SIGNALS: Final[tuple[tuple[SignalId, int, Unit, float], ...]] = (
    ("sched.delay", 7, Unit.SECOND, 1e-9),
    ("sched.slices", 8, Unit.COUNT, 1.0),
)


def parse_schedstat(text: str) -> tuple[int, Mapping[int, Sequence[str]]]:
    """Return the version (0 if none is given) and the numbers of each online CPU, without the rows of domains."""
    version = 0
    rows: dict[int, Sequence[str]] = {}
    for line in text.split("\n"):
        if line.startswith("cpu"):
            words = line.split()
            if (cpu := whole_number(words[0][3:])) is not None:
                rows[cpu] = words[1:]
        elif line.startswith("version "):
            version = whole_number(line[8:].strip()) or 0
    return version, rows


class ProcSchedstat(SharedSource):
    """The `Source` of /proc/schedstat."""

    id = "proc-schedstat"
    counts_from_open = False  # the kernel's own totals since boot

    def probe(self, machine: Machine) -> Probe:
        """Read the file once, and check whether its version is known."""
        ids = [signal for signal, *_ in _SIGNALS]
        try:
            version, _ = parse_schedstat(machine.host.read_text(PATH))
        except HostError as error:
            return Probe(dict.fromkeys(ids, _why_unreadable(error, machine.host)))
        if version not in _KNOWN:
            return Probe(dict.fromkeys(ids, Unavailable(
                Reason.NO_DRIVER, f"{PATH}: its version is {version}, and turbotui knows {_KNOWN[0]} to {_KNOWN[-1]}")))
        return Probe({
            signal: Signal(
                signal, Scope.CPU, unit, Behavior.COUNTER, Reduce.SUM, origin=f"{PATH} cpu{{cpu}} field {place + 1}",
                document=_DOCUMENT, scale=scale,
            )
            for signal, place, unit, scale in _SIGNALS
        })

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Read the wanted signals for the CPUs of the machine's topology."""
        return SchedstatReader(machine.host, machine.topology.cpus, wanted)


class SchedstatReader(NothingToClose):
    """Reads /proc/schedstat; a CPU without a row (offline) gives None."""

    def __init__(self, host: Host, cpus: Sequence[int], wanted: frozenset[SignalId]) -> None:
        self._host = host
        self._cpus = tuple(cpus)
        self._places = tuple((signal, place) for signal, place, *_ in _SIGNALS if signal in wanted)

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """The wanted signals, the delay first."""
        return tuple(signal for signal, _ in self._places)

    def read(self) -> Sequence[Sequence[Raw]]:
        """The counts of each CPU; all None if the file cannot be read."""
        _, rows = parse_schedstat(text_of(self._host, PATH))
        cpu_rows = [rows.get(cpu, ()) for cpu in self._cpus]
        return [[whole_number(row[place]) if len(row) == _FIELDS else None for row in cpu_rows]
                for _, place in self._places]


def _why_unreadable(error: HostError, host: Host) -> Unavailable:
    if error.errno != errno.ENOENT or is_bare_copy(host):
        return proc_unreadable(error, host)
    # kernel/sched/stats.c: a kernel with the option always makes the file
    return Unavailable(Reason.NO_DRIVER, f"{error}: the kernel was built without it (CONFIG_SCHEDSTATS is not set)",
                       "use a kernel with CONFIG_SCHEDSTATS=y")
