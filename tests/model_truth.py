"""The truth of a simulated machine, read from its model: exact cumulative numbers to difference and compare."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from turbotui.dataclass import dataclass
from turbotui.simulated import basis as b
from turbotui.simulated.events_common import APERF, c0_seconds, counts
from turbotui.simulated.host import SimulatedHost
from turbotui.simulated.kernel_counts import BUSY, DEVICE, INTERRUPTS, MIGRATIONS, SWITCHES
from turbotui.simulated.pipeline import pipeline_counts
from turbotui.simulated.pmus_core import core_events
from turbotui.simulated.shapes import Isa
from turbotui.simulated.strain import DELAY, PRESSURES
from turbotui.simulated.strain_files import StrainFiles
from turbotui.simulated.threads import of_kind


@dataclass(frozen=True, slots=True)
class CpuTruth:
    """The true values of one CPU, cumulative unless stated otherwise.

    Attributes:
        seconds: machine time since the simulation began.
        online_seconds: of which this CPU was online (since boot).
        tsc: time stamp counter.
        busy_seconds: running work.
        c0_seconds: running work or polling.
        aperf, mperf: cycles; `cycles` equals aperf.
        idle_seconds: by cpuidle state.
        c1_seconds, c3_seconds, c6_seconds, c7_seconds: of the CPU (C1) and its core.
        core_joules: energy of the core.
        throttles, throttled_seconds: of the core, for its temperature.
        interrupts: of devices and the local timer and all other rows together.
        switches, migrations: of tasks.
        flops, bytes_loaded, bytes_stored: of the numerical work.
        celsius, hertz: of the core at this instant.
    """

    seconds: float
    online_seconds: float
    tsc: int
    busy_seconds: float
    c0_seconds: float
    aperf: float
    mperf: float
    cycles: float
    instructions: float
    idle_seconds: tuple[float, ...]
    c1_seconds: float
    c3_seconds: float
    c6_seconds: float
    c7_seconds: float
    core_joules: float
    throttles: float
    throttled_seconds: float
    interrupts: float
    switches: float
    migrations: float
    l1_misses: float
    l2_references: float
    l2_misses: float
    cache_references: float
    cache_misses: float
    branches: float
    branch_misses: float
    flops: float
    bytes_loaded: float
    bytes_stored: float
    celsius: float
    hertz: float


@dataclass(frozen=True, slots=True)
class PackageTruth:
    """One package, cumulative; temperature and limit at this instant. `states` has seconds by package C-state number.

    `limit` is what holds the cores below what they want: "heat", "pl1", "pl2", or "".
    """

    seconds: float
    joules: float
    cores_joules: float
    gpu_joules: float
    ram_joules: float
    states: Mapping[int, float]
    read_bytes: float
    written_bytes: float
    io_read_bytes: float
    io_written_bytes: float
    throttles: float
    throttled_seconds: float
    limited_seconds: float
    gpu_rc6_seconds: float
    celsius: float
    limit: str


@dataclass(frozen=True, slots=True)
class SystemTruth:
    """The whole machine, cumulative.

    Attributes:
        platform_joules: of all that it takes; psys_joules: what RAPL's psys counts of that.
        card_joules: of its graphics card.
        npu_seconds: for which its neural processor worked.
        stalled: seconds of pressure by file and line of /proc/pressure.
        waited_seconds: of tasks on run queues, of all CPUs.
    """

    seconds: float
    platform_joules: float
    psys_joules: float
    card_joules: float
    npu_seconds: float
    busy_seconds: float
    instructions: float
    switches: float
    interrupts: float
    stalled: Mapping[tuple[str, str], float]
    waited_seconds: float


class Truth:
    """The exact state behind a simulated machine, at the time of its clock."""

    def __init__(self, host: SimulatedHost) -> None:
        model = self._model = host.model
        self._waits = StrainFiles(model)
        self._counts = [counts(kind) for kind in model.shape.core_types]

    @property
    def steps(self) -> int:
        """The number of decisions that the model has taken, which is the cost of advancing the clock."""
        return self._model.steps

    def _interrupts(self, basis: b.Basis, now: float) -> float:
        """All interrupts of a CPU; those of Arm are not interrupted to forget translations (Arm ARM, TLBI ... IS)."""
        arm = self._model.shape.isa is Isa.ARM
        forms = [form for name, form in INTERRUPTS.items() if not (arm and name == "TLB")]
        return basis.value(DEVICE, now) + sum(basis.value(form, now) for form in forms)

    def truth(self, cpu: int) -> CpuTruth:
        """True values of one CPU."""
        model = self._model
        with model.lock:
            now = model.now()
            place = model.layout.places[cpu]
            kind = model.shape.core_types[place.type]
            basis, core, known = model.cpu[cpu], model.core[place.core], self._counts[place.type]
            running = basis.value(c0_seconds(kind), now)
            return CpuTruth(
                seconds=now,
                online_seconds=basis.at(b.CPU_ONLINE, now),
                tsc=model.tsc(now),
                busy_seconds=basis.value(BUSY, now),
                c0_seconds=running,
                aperf=basis.value(APERF, now),
                mperf=running * model.shape.reference_hz,
                cycles=basis.value(APERF, now),
                instructions=basis.value(known["instructions"], now),
                idle_seconds=tuple(basis.at(b.CPU_IDLE + n, now) for n in range(len(kind.idle))),
                c1_seconds=basis.at(b.CPU_C1, now),
                c3_seconds=core.at(b.CORE_C3, now),
                c6_seconds=core.at(b.CORE_C6, now),
                c7_seconds=core.at(b.CORE_C7, now),
                core_joules=core.at(b.CORE_JOULES, now),
                throttles=core.at(b.CORE_THROTTLES, now),
                throttled_seconds=core.at(b.CORE_THROTTLED, now),
                interrupts=self._interrupts(basis, now),
                switches=basis.value(SWITCHES, now),
                migrations=basis.value(MIGRATIONS, now),
                l1_misses=basis.value(known["l1-misses"], now),
                l2_references=basis.value(known["l2-references"], now),
                l2_misses=basis.value(known["l2-misses"], now),
                cache_references=basis.value(known["llc-references"], now),
                cache_misses=basis.value(known["llc-misses"], now),
                branches=basis.value(known["branches"], now),
                branch_misses=basis.value(known["branch-misses"], now),
                flops=basis.value(known["flops"], now),
                bytes_loaded=basis.value(known["load-bytes"], now),
                bytes_stored=basis.value(known["store-bytes"], now),
                celsius=model.core_celsius(place.core, now),
                hertz=model.mhz[place.core] * 1e6,
            )

    def pipeline_truth(self, cpu: int, kind_of_work: int | None = None) -> Mapping[str, float]:
        """Cumulative slots and stalled cycles of one CPU, or of one kind of its work, by `pipeline.pipeline_counts`."""
        model = self._model
        with model.lock:
            now = model.now()
            kind = model.shape.core_types[model.layout.places[cpu].type]
            events = core_events(kind.events)
            contended = model.shape.isa is Isa.AMD or bool(events.core_wide)
            forms = pipeline_counts(kind, events.slots, contended=contended)
            result = {
                name: model.cpu[cpu].value(form if kind_of_work is None else of_kind(form, kind_of_work), now)
                for name, form in forms.items()
            }
            cycles = model.core[model.layout.places[cpu].core].at(b.CORE_CYCLES, now)
            return {**result, "core-cycles-of-all": cycles, "width": float(events.slots)}

    def package_truth(self, package: int) -> PackageTruth:
        """True values of one package."""
        model = self._model
        with model.lock:
            now = model.now()
            basis = model.package[package]
            states = {2: b.PKG_C2, 3: b.PKG_C3, 6: b.PKG_C6, 7: b.PKG_C7, 8: b.PKG_C8, 9: b.PKG_C9, 10: b.PKG_C10}
            return PackageTruth(
                seconds=now,
                joules=basis.at(b.PKG_JOULES, now),
                cores_joules=basis.at(b.PKG_CORES_JOULES, now),
                gpu_joules=basis.at(b.PKG_GPU_JOULES, now),
                ram_joules=basis.at(b.PKG_RAM_JOULES, now),
                states={number: basis.at(index, now) for number, index in states.items()},
                read_bytes=basis.at(b.PKG_READ_BYTES, now),
                written_bytes=basis.at(b.PKG_WRITTEN_BYTES, now),
                io_read_bytes=basis.at(b.PKG_IO_READ_BYTES, now),
                io_written_bytes=basis.at(b.PKG_IO_WRITTEN_BYTES, now),
                throttles=basis.at(b.PKG_THROTTLES, now),
                throttled_seconds=basis.at(b.PKG_THROTTLED, now),
                limited_seconds=basis.at(b.PKG_LIMITED, now),
                gpu_rc6_seconds=basis.at(b.PKG_GPU_RC6, now),
                celsius=model.package_celsius(package, now),
                limit="heat" if model.state[package].hot else model.state[package].limit,
            )

    def system_watts(self) -> float:
        """Power of the whole machine at this instant, in watts."""
        model = self._model
        with model.lock:
            model.now()
            return model.system.rate[b.SYS_JOULES]

    def system_truth(self) -> SystemTruth:
        """True values of the whole machine."""
        model = self._model
        with model.lock:
            now = model.now()
            return SystemTruth(
                seconds=now,
                platform_joules=model.system.at(b.SYS_JOULES, now),
                psys_joules=model.system.at(b.SYS_PSYS_JOULES, now),
                card_joules=model.system.at(b.SYS_CARD_JOULES, now),
                npu_seconds=model.system.at(b.SYS_NPU_BUSY, now),
                busy_seconds=sum(basis.value(BUSY, now) for basis in model.cpu),
                instructions=sum(
                    basis.value(self._counts[place.type]["instructions"], now)
                    for basis, place in zip(model.cpu, model.layout.places, strict=True)
                ),
                switches=sum(basis.value(SWITCHES, now) for basis in model.cpu),
                interrupts=sum(self._interrupts(basis, now) for basis in model.cpu),
                stalled={name: self._waits.stalled(*name, now) for name in PRESSURES},
                waited_seconds=sum(basis.value(DELAY, now) + model.system.at(b.SYS_WAITED, now) for basis in model.cpu),
            )


@lru_cache(maxsize=4)
def truth_of(host: SimulatedHost) -> Truth:
    """The truth of a simulated machine; of the last few it is kept, for its forms take a while to make."""
    return Truth(host)
