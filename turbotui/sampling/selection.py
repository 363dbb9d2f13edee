"""Which columns are shown, which are available, and which signals they need."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.topology import Topology
from turbotui.machine.topology_kinds import KindsAnswer
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.limits import COMPARED_SECONDS

_LEVELS = {"Package": (Scope.PACKAGE, "package"), "Die": (Scope.DIE, "die"), "L3": (Scope.L3, "L3 cache"),
           "Node": (Scope.NODE, "NUMA node"), "Module": (Scope.MODULE, "module of cores")}


def why_absent(column: CounterColumn, capabilities: Capabilities, topology: Topology) -> Unavailable | None:
    """Why a column cannot be shown on this machine; None if it can.

    A level of the topology with a single instance counts as absent (docs/specs/turbostat.md 2.3, rows 3-7).
    """
    for name in column.needs:
        if name not in capabilities.signals:
            return capabilities.why_missing(name)
    if _divides_energy(column, capabilities) and (part := part_of_packages(topology)) is not None:
        return part
    if (level := _LEVELS.get(column.id)) is not None and not topology.has_several(level[0]):
        return Unavailable(Reason.NO_HARDWARE, f"there is only one {level[1]}, or the machine does not tell them apart")
    if column.id == "Type" and len(topology.core_types) < 2:
        return _one_type(topology)
    return None


def _divides_energy(column: CounterColumn, capabilities: Capabilities) -> bool:
    """Whether a column divides the energy of packages by what CPUs counted, or the other way round."""
    needs = [signal for name in column.needs if (signal := capabilities.signals[name]).behavior is Behavior.COUNTER]
    return (any(signal.unit is Unit.JOULE and signal.scope.rank >= Scope.PACKAGE.rank for signal in needs)
            and any(signal.scope is Scope.CPU for signal in needs))


def part_of_packages(topology: Topology) -> Unavailable | None:
    """Return why the measured CPUs are not all that use the packages' energy; None if they are."""
    if (measured := topology.restricted) is None:
        return None
    return Unavailable(Reason.NOT_READ, "the packages' energy is that of all their CPUs, of which only "
                       f"{format_cpulist(sorted(measured))} are measured", "leave out --cpu")


def _one_type(topology: Topology) -> Unavailable:
    if topology.core_types:
        return Unavailable(Reason.NO_HARDWARE, f"all measured cores are {topology.core_types[0]}")
    reason = Reason.NO_HARDWARE if topology.kinds.answer is KindsAnswer.ONE else Reason.UNKNOWN_MODEL
    return Unavailable(reason, topology.kinds.sentence())


def available_columns(catalog: Catalog, capabilities: Capabilities, topology: Topology) -> tuple[CounterColumn, ...]:
    """Every column that is available here, in print order."""
    return tuple(column for column in catalog.columns if why_absent(column, capabilities, topology) is None)


def default_columns(catalog: Catalog, capabilities: Capabilities, topology: Topology, *,
                    extras: bool) -> tuple[CounterColumn, ...]:
    """The default columns of this machine; `extras` includes columns beyond turbostat's."""
    return tuple(column for column in available_columns(catalog, capabilities, topology) if column.default
                 and (extras or not column.extra))


_FREE_FILES = frozenset({"proc-stat", "proc-interrupts"})
_FREE_SIGNALS = frozenset({"tsc", "aperf", "mperf", "temp.core", "temp.pkg", "temp.ccd"})


def free_columns(catalog: Catalog, capabilities: Capabilities) -> tuple[CounterColumn, ...]:
    """Columns that cost next to nothing to read.

    These come from files that cover all CPUs and are read for the summary anyway, from the counters of busy time and
    clock, which share a system call, and from energies and temperatures, of which each package has few.
    """

    def free(name: SignalId) -> bool:
        if name not in capabilities.signals or capabilities.signals[name].behavior is Behavior.CONSTANT:
            return True
        return name in _FREE_SIGNALS or name.startswith("energy.") or capabilities.provider[name].id in _FREE_FILES

    return tuple(column for column in catalog.columns if column.needs
                 and all(name in capabilities.signals for name in column.needs)
                 and all(free(name) for name in (*column.needs, *column.wants)))


def choose_columns(
    catalog: Catalog,
    start: Sequence[CounterColumn],
    choices: Iterable[tuple[str, str]],
    kept: Collection[ColumnId] = (),
) -> tuple[CounterColumn, ...]:
    """Apply --show, --hide and --enable in the order given (docs/specs/turbostat.md 1.4).

    Args:
        choices: ("show" | "hide" | "enable", comma-separated words). The first show clears what was there.
        kept: columns that the first show does not clear.

    Raises:
        UsageError: a word names neither a column nor a category.
    """
    shown: set[ColumnId] = {column.id for column in start}
    cleared = False
    for verb, words in choices:
        meant = {column.id for column in catalog.select(word.strip() for word in words.split(","))}
        if verb == "hide":
            shown -= meant
        else:
            if verb == "show" and not cleared:
                shown, cleared = shown.intersection(kept), True
            shown |= meant
    return tuple(column for column in catalog.columns if column.id in shown)


def signals_of(columns: Iterable[CounterColumn], capabilities: Capabilities,
               signals: Iterable[SignalId] = ()) -> frozenset[SignalId]:
    """The signals to read for these columns and signals: those for their scaling and what they are made of too."""
    wanted = {name for name in signals if name in capabilities.signals}
    for column in columns:
        if all(name in capabilities.signals for name in column.needs):
            wanted.update(name for name in (*column.needs, *column.wants) if name in capabilities.signals)
    for name in tuple(wanted):
        signal = capabilities.signals[name]
        wanted.update(time for time in (signal.enabled, signal.running) if time)
        wanted.update(signal.made_of)
    for level_signal in capabilities.signals.values():  # what was read of them is held against the others
        if not wanted.isdisjoint(level_signal.made_of):
            wanted.update(level_signal.made_of)
    return frozenset(name for name in wanted if (signal := capabilities.signals[name]).behavior is not
                     Behavior.CONSTANT and not signal.made_of)


def compared_with(wanted: Collection[SignalId], capabilities: Capabilities, interval: float) -> frozenset[SignalId]:
    """The signals that are read from second sources, to be compared with these.

    Args:
        interval: seconds between two readings.
    """
    if interval < COMPARED_SECONDS:
        return frozenset()
    return frozenset(other for name, others in capabilities.beside.items() if name in wanted for other in others)


def starting_columns(defaults: Sequence[CounterColumn], topology: Topology) -> list[CounterColumn]:
    """Return the default columns without redundant ids, such as the die's where each package has one die."""
    repeated = {
        name
        for name, scope, other in (
            ("Core", Scope.CORE, Scope.CPU),
            ("Module", Scope.MODULE, Scope.CORE),
            ("L3", Scope.L3, Scope.PACKAGE),
            ("L3", Scope.L3, Scope.CORE),
            ("Die", Scope.DIE, Scope.PACKAGE),
            ("Node", Scope.NODE, Scope.PACKAGE),
        )
        if len(topology.instances(scope)) == len(topology.instances(other))
    }
    return [column for column in defaults if column.id not in repeated]
