"""The uncore counters of a recording, whose sources tell the counted events of each moment."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turbotui.events.uncore.discovery import UncoreUnit
from turbotui.features.uncore.counters import UncoreCounters, is_counted
from turbotui.features.uncore.kinds import UncoreUnits, typed_metric
from turbotui.features.uncore.ports import PortMap
from turbotui.machine.machine import Machine
from turbotui.machine.pmus import EventError
from turbotui.quantities.definition import CountedUnits, Definition
from turbotui.quantities.signals import SignalId
from turbotui.quantities.uncore import Metric
from turbotui.recording.recorded_source import definitions_of
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sources.uncore import UncoreRequest, UncoreSource


class RecordedCounters(UncoreCounters):
    """The uncore counters of a recording.

    Args:
        definitions: everything that was counted beside the catalog at any time of the recording; tables have the
            columns that can be computed from it, whether or not an interval has values.
    """

    unread = "was not recorded at this time"

    def __init__(self, machine: Machine, definitions: Iterable[Definition]) -> None:
        super().__init__(machine)
        counted = [definition for definition in definitions if isinstance(definition, CountedUnits)]
        self._units = {unit.key: unit for units in self.kinds for unit in units.units}
        self._orders: dict[str, UncoreRequest] = {}
        self._followed: Capabilities | None = None
        known = {unit.pmu.name: units for units in self.kinds for unit in units.units}
        bundles: dict[str, list[frozenset[str]]] = {}
        for counted_units in counted:
            if counted_units.pmu in known:
                bundles.setdefault(known[counted_units.pmu].kind.id, []).extend(map(frozenset, counted_units.bundles))
        self.keep([units for units in self.kinds if units.kind.id in bundles])
        self._bundles = bundles
        for units in self.kinds:
            self._shown[units.kind.id] = _made_of(units, bundles[units.kind.id])

    def show_all(self) -> None:
        """Show every derived value that the counted events give, even those that are not shown by default."""
        for units in self.kinds:
            derived = [metric for metric in units.metrics if is_counted(metric, self._bundles[units.kind.id])]
            self.show(units, (*derived, *(metric for metric in self.shown(units) if metric not in derived)))

    def sources(self) -> tuple[UncoreSource, ...]:
        """Give none: a recording is not read by sources."""
        return ()

    def signals(self) -> frozenset[SignalId]:
        """Give none: a recording is not read by sources."""
        return frozenset()

    def follow(self, frame: Frame | None) -> None:
        """Adopt the events and filters of a frame."""
        if frame is None or frame.capabilities is self._followed:
            return
        self._followed = frame.capabilities
        self._names.clear()
        self._orders.clear()
        self._settings.clear()
        for definition in definitions_of(frame.capabilities):
            if isinstance(definition, CountedUnits):
                self._take(definition)

    def _take(self, counted: CountedUnits) -> None:
        units = tuple(self._units[key] for key in counted.units if key in self._units)
        if units and units[0].pmu.name == counted.pmu:
            self._orders[counted.pmu] = UncoreRequest(units, counted.bundles, counted.settings, counted.number)
            self._settings[counted.pmu] = dict(counted.settings)

    def order_of(self, unit: UncoreUnit) -> UncoreRequest | None:
        return self._orders.get(unit.pmu.name)

    def has_any(self, frame: Frame) -> bool:
        """Tell whether any unit of these kinds was read at both ends of an interval."""
        self.follow(frame)
        read = frame.newer.values.keys()
        return any(name in read for order in self._orders.values() for name in order.signals())


def _made_of(units: UncoreUnits, bundles: Sequence[frozenset[str]]) -> tuple[Metric, ...]:
    """Return the metrics of bundles: derived values, then each event that is in none of them.

    A value that is not shown by default is shown if one of its events was counted for nothing else.
    """
    derived = [metric for metric in units.metrics if is_counted(metric, bundles)]
    plain = {name for metric in derived if not metric.chosen for name in metric.needs}
    derived = [metric for metric in derived if not metric.chosen or not plain.issuperset(metric.needs)]
    needed = {name for metric in derived for name in metric.needs}
    metrics = list(derived)
    for event in dict.fromkeys(name for bundle in bundles for name in sorted(bundle)):
        if event not in needed:
            try:
                metrics.append(typed_metric(units, event))
            except EventError:  # the kept files name no such field, so no column can show its counts
                continue
    return tuple(metrics)


def look_up_events(machine: Machine) -> None:
    """Read the events of each PMU and the ports of devices, which the tables of a recording need: at most 26 ms."""
    counters = UncoreCounters(machine)
    if counters.kinds:
        PortMap(machine.host)
        counters.look_up()
