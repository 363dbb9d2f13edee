"""The core PMUs and the software PMU of simulated machines; `core_events.toml` has the codes of core events."""

from __future__ import annotations

import errno
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final, TypeVar, cast

from turbotui.dataclass import dataclass
from turbotui.machine.host import PerfAttr
from turbotui.quantities.facts import FactFile
from turbotui.quantities.rows import WrongKindError, each, text, whole, wholes
from turbotui.simulated import kernel_counts
from turbotui.simulated.basis import CORE_CYCLES, CPU_ONLINE, Form, scaled, sum_of
from turbotui.simulated.events_common import MPERF_SECONDS, counts, in_mode
from turbotui.simulated.model import Model
from turbotui.simulated.pipeline import pipeline_counts
from turbotui.simulated.pmu import Context, EventFile, SimulatedCounter, SimulatedPmu
from turbotui.simulated.pmu_codes import pmu_codes
from turbotui.simulated.shapes import CoreType, Isa

_KeyT = TypeVar("_KeyT")
_ValueT = TypeVar("_ValueT")


@dataclass(frozen=True, slots=True)
class CoreEvents:
    """Events of one microarchitecture; values name entries of `events_common.counts` and `pipeline.pipeline_counts`."""

    exact: Mapping[int, str]  # raw config -> count
    # event code -> {umask bit: count}; umasks of set bits add up
    additive: Mapping[int, Mapping[int, str]] = field(default_factory=dict)
    fixed: frozenset[int] = frozenset()  # raw configs with a counter of their own
    # general counters an event code takes, where more than one (AMD's paired counters)
    weights: Mapping[int, int] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)  # files of the PMU's events folder
    slots: int = 4  # slots of the pipeline in a cycle
    core_wide: Mapping[int, str] = field(default_factory=dict)  # raw configs that count for all threads of a core


CORE_EVENTS: Final = FactFile("simulated/core_events.toml")


@functools.cache
def core_events(microarchitecture: str) -> CoreEvents:
    """Return a microarchitecture's events from the file."""
    values = CORE_EVENTS.inherited(microarchitecture)
    return CORE_EVENTS.row(
        CoreEvents, microarchitecture, values, exact=_pairs(whole, text), additive=_additive,
        fixed=lambda written: frozenset(wholes(written)), weights=_pairs(whole, whole),
        core_wide=_pairs(whole, text), names=_pairs(text, text))


def _pairs(
    key: Callable[[object], _KeyT], value: Callable[[object], _ValueT]
) -> Callable[[object], Mapping[_KeyT, _ValueT]]:
    """Convert a list of pairs with distinct keys to a mapping."""

    def read(written: object) -> Mapping[_KeyT, _ValueT]:
        pairs = each(_list(2))(written)
        made = {key(key_text): value(other) for key_text, other in pairs}
        if len(made) != len(pairs):
            raise WrongKindError("pairs, each with a key of its own")
        return made

    return read


def _additive(written: object) -> Mapping[int, Mapping[int, str]]:
    made: dict[int, dict[int, str]] = {}
    for code, bit, name in each(_list(3))(written):
        made.setdefault(whole(code), {})[whole(bit)] = text(name)
    return made


def _list(length: int) -> Callable[[object], Sequence[object]]:
    def read(written: object) -> Sequence[object]:
        if not isinstance(written, list) or len(written) != length:
            raise WrongKindError(f"a list of {length}")
        return written

    return read


_GENERIC_EVENTS: Final = FactFile("simulated/generic_events.toml")


def _generic(table: str) -> Mapping[str, list[Any]]:
    return cast("Mapping[str, list[Any]]", _GENERIC_EVENTS.find(table))


EXCLUDE_USER = 1 << 4
EXCLUDE_KERNEL = 1 << 5
"""Bits of the flag word of perf_event_attr (uapi linux/perf_event.h)."""

HARDWARE, SOFTWARE, TRACEPOINT, HW_CACHE, RAW, BREAKPOINT = range(6)
"""perf_type_id (uapi linux/perf_event.h)."""



class CorePmu:
    """Resolves events of one kind of core."""

    def __init__(self, model: Model, kind: CoreType) -> None:
        self._model = model
        self._events: CoreEvents = core_events(kind.events)
        shape = model.shape
        # on Skylake slots belong to the core: a thread has the slots that its sibling does not take
        contended = shape.isa is Isa.AMD or bool(self._events.core_wide)
        forms = {**counts(kind), **pipeline_counts(kind, self._events.slots, contended=contended)}
        if shape.isa is Isa.INTEL:
            forms["reference"] = scaled(MPERF_SECONDS, shape.tsc_hz)
            forms["crystal"] = scaled(MPERF_SECONDS, shape.crystal[2])
        self._forms: Mapping[str, Form] = forms
        generic = _generic(shape.isa.value)
        self._generic = dict(generic["hardware"])
        self._uncounted = generic.get("uncounted", ())
        self._cache_counts = {tuple(key): name for *key, name in _generic("caches")["counts"]}

    def __call__(self, attr: PerfAttr, cpu: int) -> SimulatedCounter | int:
        """The counter of a raw, generic or cache event."""
        if attr.type == HARDWARE:
            raw = self._generic.get(attr.config & 0xFFFF_FFFF)
            return errno.ENOENT if raw is None else self._raw(raw, attr.flags, cpu)
        if attr.type == HW_CACHE:
            key = (attr.config & 0xFF, attr.config >> 8 & 0xFF, attr.config >> 16 & 0xFF)
            name = self._cache_counts.get(key)
            if name is None or key[0] in self._uncounted:
                return errno.ENOENT if key[0] <= 6 and key[1] <= 2 and key[2] <= 1 else errno.EINVAL
            return self._counter(self._forms[name], attr.flags, cpu, 1, "")
        return self._raw(attr.config, attr.flags, cpu)

    def _raw(self, config: int, flags: int, cpu: int) -> SimulatedCounter | int:
        if (wide := self._events.core_wide.get(config)) is not None:
            return self._core_wide(wide, cpu)
        if (form := self._form(config)) is None:
            return errno.EINVAL
        fixed = f"{config:#x}" if config in self._events.fixed else ""
        return self._counter(form, flags, cpu, self._events.weights.get(config & 0xFF, 1), fixed)

    def _form(self, config: int) -> Form | None:
        if (name := self._events.exact.get(config)) is not None:
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
        basis = self._model.cpu[cpu]
        counted = in_mode(form, not flags & EXCLUDE_USER, not flags & EXCLUDE_KERNEL)
        return SimulatedCounter(lambda now: basis.value(counted, now), slots, fixed, form=counted)

    def _core_wide(self, name: str, cpu: int) -> SimulatedCounter:
        """Return the count of all threads of the core (the AnyThread bit, Intel SDM vol. 3, 20.2.3.1)."""
        core = self._model.layout.places[cpu].core
        if name == "cycles":
            return SimulatedCounter(lambda now: self._model.core[core].at(CORE_CYCLES, now), 1)
        form = self._forms[name]
        cpus = [self._model.cpu[other] for other in self._model.layout.core_cpus[core]]
        return SimulatedCounter(lambda now: sum(basis.value(form, now) for basis in cpus), 1)

    @property
    def names(self) -> Mapping[str, EventFile]:
        """Files of the events folder."""
        return {name: EventFile(terms) for name, terms in self._events.names.items()}


def core_pmus(model: Model) -> list[SimulatedPmu]:
    """One PMU for each of the machine's core PMU names (hybrid machines have several)."""
    shape = model.shape
    result: list[SimulatedPmu] = []
    for kind in shape.core_types:
        if not kind.pmu or any(pmu.name == kind.pmu for pmu in result):
            continue
        cpus = frozenset(place.cpu for place in model.layout.places if shape.core_types[place.type].pmu == kind.pmu)
        mixed = sum(other.pmu == kind.pmu for other in shape.core_types) > 1
        own = {Isa.INTEL: {"caps/max_precise": "3", "freeze_on_smi": "0"}, Isa.ARM: {"caps/slots": "8"}}
        result.append(SimulatedPmu(
            kind.pmu, Context.CORE, _MixedPmu(model, kind.pmu) if mixed else CorePmu(model, kind),
            pmu_codes(f"core-{shape.isa.value}").formats, CorePmu(model, kind).names,
            cpus=cpus if shape.hybrid else None, cpus_file=shape.hybrid or shape.isa is Isa.ARM, counters=kind.counters,
            files={"rdpmc": "1", "caps/pmu_name": kind.events.replace("-", "_"), **own.get(shape.isa, {})}, modes=True,
            type=RAW if kind.pmu in ("cpu", "cpu_core") else 0))
    return result


class _MixedPmu:
    """A PMU that covers two kinds of core (E and LP-E cores of one design)."""

    def __init__(self, model: Model, name: str) -> None:
        self._model = model
        self._parts = {number: CorePmu(model, kind) for number, kind in enumerate(model.shape.core_types)
                       if kind.pmu == name}

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
        if (form := _SOFTWARE.get(attr.config)) is None:
            return errno.ENOENT
        # Clocks are not split by mode; switches and migrations happen in the kernel, faults mostly in user mode.
        if attr.config not in (0, 1) and attr.flags & EXCLUDE_KERNEL:
            form = () if attr.config in (3, 4, 11) else in_mode(form, user=True, kernel=False)
        basis = model.cpu[cpu]
        return SimulatedCounter(lambda now: basis.value(form, now), form=form)

    return SimulatedPmu("software", Context.SOFTWARE, resolve, modes=True, type=SOFTWARE)
