"""Core PMUs and the software PMU of the simulated machines."""

from __future__ import annotations

import errno
from collections.abc import Mapping

from turbotui.machine.host import PerfAttr
from turbotui.simulated import kernel_counts
from turbotui.simulated.basis import CORE_CYCLES, CPU_ONLINE, Form, scaled, sum_of
from turbotui.simulated.core_events import CACHE, GENERIC, UNCOUNTED_CACHES, CoreEvents, core_events
from turbotui.simulated.events_common import MPERF_SECONDS, counts, in_mode
from turbotui.simulated.model import Model
from turbotui.simulated.pipeline import pipeline_counts
from turbotui.simulated.pmu import Context, EventFile, SimulatedCounter, SimulatedPmu
from turbotui.simulated.shapes import CoreType, Isa

EXCLUDE_USER = 1 << 4
EXCLUDE_KERNEL = 1 << 5
"""Bits of the flag word of perf_event_attr (uapi linux/perf_event.h)."""

HARDWARE, SOFTWARE, TRACEPOINT, HW_CACHE, RAW, BREAKPOINT = range(6)
"""perf_type_id (uapi linux/perf_event.h)."""

_INTEL_FORMATS = {
    "event": "config:0-7",
    "umask": "config:8-15",
    "edge": "config:18",
    "pc": "config:19",
    "any": "config:21",
    "inv": "config:23",
    "cmask": "config:24-31",
    "in_tx": "config:32",
    "in_tx_cp": "config:33",
    "ldlat": "config1:0-15",
    "frontend": "config1:0-23",
    "offcore_rsp": "config1:0-63",
}
_AMD_FORMATS = {
    "event": "config:0-7,32-35",
    "umask": "config:8-15",
    "edge": "config:18",
    "inv": "config:23",
    "cmask": "config:24-31",
}
_ARM_FORMATS = {
    "event": "config:0-15",
    "long": "config1:0",
    "rdpmc": "config1:1",
    "threshold_count": "config1:2",
    "threshold_compare": "config1:3-4",
    "threshold": "config1:5-16",
}
_FORMATS: Mapping[Isa, Mapping[str, str]] = {Isa.INTEL: _INTEL_FORMATS, Isa.AMD: _AMD_FORMATS, Isa.ARM: _ARM_FORMATS}


class CorePmu:
    """Resolves events of one kind of core."""

    def __init__(self, model: Model, kind: CoreType, number: int) -> None:
        self._model = model
        self._number = number
        self._events: CoreEvents = core_events(kind.events)
        shape = model.shape
        # Skylake's slots are the core's: a thread has those that its sibling does not take
        contended = shape.isa is Isa.AMD or bool(self._events.core_wide)
        forms = {**counts(kind), **pipeline_counts(kind, self._events.slots, contended=contended)}
        if shape.isa is Isa.INTEL:
            forms["reference"] = scaled(MPERF_SECONDS, shape.tsc_hz)
            forms["crystal"] = scaled(MPERF_SECONDS, shape.crystal[2])
        self._forms: Mapping[str, Form] = forms
        self._generic = GENERIC[shape.isa.value]
        self._uncounted = UNCOUNTED_CACHES.get(shape.isa.value, frozenset())

    def __call__(self, attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        """The counter of a raw, generic or cache event."""
        if attr.type == HARDWARE:
            raw = self._generic.get(attr.config & 0xFFFF_FFFF)
            return errno.ENOENT if raw is None else self._raw(raw, attr.flags, cpu)
        if attr.type == HW_CACHE:
            key = (attr.config & 0xFF, attr.config >> 8 & 0xFF, attr.config >> 16 & 0xFF)
            name = CACHE.get(key)
            if name is None or key[0] in self._uncounted:
                return errno.ENOENT if key[0] <= 6 and key[1] <= 2 and key[2] <= 1 else errno.EINVAL
            return self._counter(self._forms[name], attr.flags, cpu, 1, "")
        return self._raw(attr.config, attr.flags, cpu)

    def _raw(self, config: int, flags: int, cpu: int) -> SimulatedCounter | int:
        wide = self._events.core_wide.get(config)
        if wide is not None:
            return self._core_wide(wide, cpu)
        form = self._form(config)
        if form is None:
            return errno.EINVAL
        fixed = f"{config:#x}" if config in self._events.fixed else ""
        return self._counter(form, flags, cpu, self._events.weights.get(config & 0xFF, 1), fixed)

    def _form(self, config: int) -> Form | None:
        name = self._events.exact.get(config)
        if name is not None:
            return self._forms[name]
        parts = self._events.additive.get(config & 0xFF)
        umask = config >> 8
        if parts is None or not 0 < umask <= 0xFF:
            return None
        bits = [1 << bit for bit in range(8) if umask >> bit & 1]
        if any(bit not in parts for bit in bits):
            return None
        return sum_of(*(self._forms[parts[bit]] for bit in bits))

    def _counter(self, form: Form, flags: int, cpu: int, slots: int, fixed: str) -> SimulatedCounter:
        one = self._model.cpu[cpu]
        counted = in_mode(form, not flags & EXCLUDE_USER, not flags & EXCLUDE_KERNEL)
        return SimulatedCounter(lambda now: one.value(counted, now), slots, fixed, form=counted)

    def _core_wide(self, name: str, cpu: int) -> SimulatedCounter:
        """What all threads of the core do (the AnyThread bit, Intel SDM vol. 3, 20.2.3.1)."""
        core = self._model.layout.places[cpu].core
        if name == "cycles":
            return SimulatedCounter(lambda now: self._model.core[core].at(CORE_CYCLES, now), 1)
        form = self._forms[name]
        cpus = [self._model.cpu[other] for other in self._model.layout.core_cpus[core]]
        return SimulatedCounter(lambda now: sum(one.value(form, now) for one in cpus), 1)

    @property
    def names(self) -> Mapping[str, EventFile]:
        """Files of the events folder."""
        return {name: EventFile(terms) for name, terms in self._events.names.items()}


def core_pmus(model: Model, types: dict[str, int]) -> list[SimulatedPmu]:
    """One PMU for each of the machine's core PMU names (hybrid machines have several)."""
    shape = model.shape
    result: list[SimulatedPmu] = []
    for number, kind in enumerate(shape.core_types):
        if not kind.pmu or any(pmu.name == kind.pmu for pmu in result):
            continue
        mine = frozenset(place.cpu for place in model.layout.places if shape.core_types[place.type].pmu == kind.pmu)
        resolver = _MixedPmu(model, kind.pmu) if _mixed(shape.core_types, kind.pmu) else CorePmu(model, kind, number)
        result.append(
            SimulatedPmu(
                name=kind.pmu,
                type=types[kind.pmu],
                context=Context.CORE,
                resolve=resolver,
                formats=_FORMATS[shape.isa],
                events=CorePmu(model, kind, number).names,
                cpus=mine if shape.hybrid else None,
                cpus_file=shape.hybrid or shape.isa is Isa.ARM,
                counters=kind.counters,
                files={
                    "rdpmc": "1",
                    "caps/pmu_name": kind.events.replace("-", "_"),
                    **({"caps/max_precise": "3", "freeze_on_smi": "0"} if shape.isa is Isa.INTEL else {}),
                    **({"caps/slots": "8"} if shape.isa is Isa.ARM else {}),
                },
                modes=True,
            )
        )
    return result


def _mixed(kinds: tuple[CoreType, ...], pmu: str) -> bool:
    return sum(kind.pmu == pmu for kind in kinds) > 1


class _MixedPmu:
    """A PMU that covers two kinds of core (E and LP-E cores of one design)."""

    def __init__(self, model: Model, name: str) -> None:
        self._model = model
        self._parts = {
            number: CorePmu(model, kind, number)
            for number, kind in enumerate(model.shape.core_types)
            if kind.pmu == name
        }

    def __call__(self, attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        return self._parts[self._model.layout.places[cpu].type](attr, cpu)


_CLOCK = ((CPU_ONLINE, 1e9),)

_SOFTWARE: Mapping[int, Form] = {
    # perf_sw_ids (uapi linux/perf_event.h); a CPU-wide clock counts the CPU's time in ns.
    0: _CLOCK,
    1: _CLOCK,
    2: kernel_counts.FAULTS,
    3: kernel_counts.SWITCHES,
    4: kernel_counts.MIGRATIONS,
    5: sum_of(kernel_counts.FAULTS, scaled(kernel_counts.MAJOR_FAULTS, -1.0)),
    6: kernel_counts.MAJOR_FAULTS,
    7: (),
    8: (),
    9: (),
    11: scaled(kernel_counts.SWITCHES, 0.6),
}


def software_pmu(model: Model) -> SimulatedPmu:
    """The kernel's own counters."""

    def resolve(attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        form = _SOFTWARE.get(attr.config)
        if form is None:
            return errno.ENOENT
        # Clocks are not split by mode; switches and migrations happen in the kernel, faults mostly in user mode.
        if attr.config not in (0, 1) and attr.flags & EXCLUDE_KERNEL:
            form = () if attr.config in (3, 4, 11) else in_mode(form, user=True, kernel=False)
        one = model.cpu[cpu]
        return SimulatedCounter(lambda now: one.value(form, now), form=form)

    return SimulatedPmu("software", SOFTWARE, Context.SOFTWARE, resolve, modes=True)
