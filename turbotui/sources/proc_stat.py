"""/proc/stat: each CPU's time by mode, in the kernel's clock ticks; context switches and forks of the machine.

Format: proc_stat(5), kernel Documentation/filesystems/proc.rst "Miscellaneous kernel statistics in /proc/stat".
`user` includes the time of guests and `nice` that of niced guests; whoever shows them side by side subtracts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import text_of
from turbotui.quantities.plain_numbers import whole_number, whole_numbers
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Raw, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.bases import NothingToClose, SharedSource
from turbotui.sources.source import Probe, SharedReader
from turbotui.sources.unreadable import may_pass, proc_unreadable

PATH = "/proc/stat"
_DOCUMENT = "proc_stat(5)"

_TICK_SECONDS = 0.01  # USER_HZ is 100 on every Linux ABI except alpha and ia64 (include/uapi/asm-generic/param.h)

# Columns of a cpuN row in their order, with the Linux release that brought the column (proc_stat(5)).
_TIMES: tuple[tuple[SignalId, str], ...] = (
    ("stat.user", "1.0"),
    ("stat.nice", "1.0"),
    ("stat.system", "1.0"),
    ("stat.idle", "1.0"),
    ("stat.iowait", "2.5.41"),
    ("stat.irq", "2.6.0"),
    ("stat.softirq", "2.6.0"),
    ("stat.steal", "2.6.11"),
    ("stat.guest", "2.6.24"),
    ("stat.guest_nice", "2.6.33"),
)

_GUEST = frozenset({"stat.guest", "stat.guest_nice"})  # parts of user and nice

# Rows of the whole machine: signal, the row's word, how it moves.
_ROWS: tuple[tuple[SignalId, str, Behavior], ...] = (
    ("stat.ctxt", "ctxt", Behavior.COUNTER),
    ("stat.forks", "processes", Behavior.COUNTER),
    ("stat.running", "procs_running", Behavior.GAUGE),
    ("stat.blocked", "procs_blocked", Behavior.GAUGE),
)

# These two may go down a little (proc_stat(5) says so of iowait; idle is counted beside it by the same code).
_UNSTEADY = frozenset({"stat.idle", "stat.iowait"})
_SMALL_STEP_BACK = 100  # ticks, one second: more than the kernel's rounding ever takes back, less than any reset


@dataclass(frozen=True, slots=True)
class StatText:
    """The fields of /proc/stat as texts."""

    cpus: Mapping[int, Sequence[str]]  # for each online CPU the fields of its row, as many as this kernel prints
    rows: Mapping[str, str]  # for each word the first field of its row, without the long interrupt rows


def parse_stat(text: str) -> StatText:
    """Split /proc/stat, except the `intr` row, whose thousands of numbers are not used here."""
    start = text.find("\nintr ")
    end = text.find("\n", start + 1) if start >= 0 else -1
    head = text if start < 0 else text[:start]
    tail = "" if end < 0 else text[end:]
    cpus: dict[int, Sequence[str]] = {}
    rows: dict[str, str] = {}
    for line in f"{head}{tail}".split("\n"):
        word, _, rest = line.partition(" ")
        if word.startswith("cpu"):
            if (cpu := whole_number(word[3:])) is not None:
                cpus[cpu] = rest.split()
        elif rest and word != "softirq":
            rows[word] = rest.split(None, 1)[0]
    return StatText(cpus, rows)


def times_together(signals: Mapping[SignalId, Signal | Unavailable]) -> dict[SignalId, Signal]:
    """The counters that the sampler makes of the times of a CPU (sampling/conservation.py), if there are times."""
    parts = tuple(
        name for name, _ in _TIMES if name not in _GUEST and isinstance(signal := signals.get(name), Signal)
        and signal.scope is Scope.CPU and signal.behavior is Behavior.COUNTER)
    if not parts:
        return {}
    return {
        name: Signal(name, Scope.CPU, Unit.SECOND, Behavior.COUNTER, Reduce.SUM,
                     origin=f"{PATH} cpu{{cpu}}: {words}", document=_DOCUMENT, made_of=parts)
        for name, words in (("stat.booked", "all states together"),
                            ("stat.whole", "all states together, or the interval where the kernel booked less"))
    }


class ProcStat(SharedSource):
    """The `Source` of /proc/stat."""

    id = "proc-stat"
    counts_from_open = False  # the kernel's own totals since boot

    def probe(self, machine: Machine) -> Probe:
        """Read the file once, and find the columns and rows that this kernel prints."""
        ids = (*(signal for signal, _ in _TIMES), *(signal for signal, _, _ in _ROWS))
        is_read = True
        try:
            stat = parse_stat(machine.host.read_text(PATH))
        except HostError as error:
            if not may_pass(error, machine.host):
                return Probe(dict.fromkeys(ids, proc_unreadable(error, machine.host)))
            stat = StatText({0: ("0",) * len(_TIMES)}, {word: "0" for _, word, _ in _ROWS})  # offered all the same
            is_read = False
        columns = max((len(fields) for fields in stat.cpus.values()), default=0)
        signals: dict[SignalId, Signal | Unavailable] = {}
        for position, (signal, since) in enumerate(_TIMES):
            if position < columns:
                signals[signal] = Signal(signal, Scope.CPU, Unit.SECOND, Behavior.COUNTER, Reduce.SUM,
                    origin=f"{PATH} cpu{{cpu}} field {position + 1}", document=_DOCUMENT, scale=_TICK_SECONDS)
            else:
                signals[signal] = Unavailable(Reason.NO_DRIVER,
                    f"{PATH}: the rows of CPUs have {columns} columns, this one is number {position + 1}",
                    f"use Linux {since} or later")
        signals |= times_together(signals)
        for signal, word, behavior in _ROWS:
            if word in stat.rows:
                signals[signal] = Signal(signal, Scope.SYSTEM, Unit.COUNT, behavior, Reduce.SUM,
                                         origin=f"{PATH} {word}", document=_DOCUMENT)
            else:
                signals[signal] = Unavailable(Reason.NO_DRIVER, f"{PATH}: there is no row {word!r}")
        return Probe(signals, doubtful=frozenset() if is_read else frozenset(signals))

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Read the wanted signals for the CPUs of the machine's topology."""
        return StatReader(machine.host, machine.topology.cpus, wanted)


class StatReader(NothingToClose):
    """Reads /proc/stat; the values of an offline CPU, which has no row, and of missing fields are None."""

    def __init__(self, host: Host, cpus: Sequence[int], wanted: frozenset[SignalId]) -> None:
        self._host = host
        self._cpus = tuple(cpus)
        self._times = tuple((signal, place) for place, (signal, _) in enumerate(_TIMES) if signal in wanted)
        self._rows = tuple((signal, word) for signal, word, _ in _ROWS if signal in wanted)
        self._highest: dict[SignalId, Sequence[int | None]] = {}

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """The wanted times in the file's order, then the wanted rows."""
        return (*(signal for signal, _ in self._times), *(signal for signal, _ in self._rows))

    def read(self) -> Sequence[Sequence[Raw]]:
        """The ticks of each CPU, and the counts of the machine; all None if the file cannot be read."""
        stat = parse_stat(text_of(self._host, PATH))
        fields = [stat.cpus.get(cpu, ()) for cpu in self._cpus]
        result: list[Sequence[Raw]] = []
        for signal, place in self._times:
            values = whole_numbers([row[place] if place < len(row) else "" for row in fields])
            result.append(self._steady(signal, values) if signal in _UNSTEADY else values)
        for _, word in self._rows:
            field = stat.rows.get(word)
            result.append((None if field is None else whole_number(field),))
        return result

    def _steady(self, signal: SignalId, values: Sequence[int | None]) -> Sequence[int | None]:
        """Hold a counter that stepped back slightly at its highest value, so that it does not look like a reset."""
        if (before := self._highest.get(signal)) is not None:
            values = [old if new is not None and old is not None and 0 < old - new <= _SMALL_STEP_BACK else new
                      for old, new in zip(before, values, strict=True)]
        self._highest[signal] = values
        return values
