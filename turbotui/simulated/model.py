"""The physical model: load -> frequency -> idle states -> power -> temperature -> frequency again.

State changes only at steps; between steps every rate is constant. Registers, files and perf counters are computed from
the same integrals (`basis`), so that all readings of one instant agree.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from math import exp, prod

from turbotui.simulated import basis as b
from turbotui.simulated.basis import Basis, Relaxation
from turbotui.simulated.clock import RealClock, SimulatedClock
from turbotui.simulated.layout import lay_out
from turbotui.simulated.load import LEVELS, SimulatedLoad
from turbotui.simulated.shapes import NPU_BUSY, MachineShape
from turbotui.simulated.strain import Strain
from turbotui.simulated.tables import SMT_SHARE, WRITE_SHARE, core_table
from turbotui.simulated.workloads import WORKLOADS

_BIN_MHZ = 100.0
"""Frequencies are multiples of the bus clock (turbostat's bclk of 100 MHz)."""
_ACTIVE = 0.1
"""The utilisation above which a core counts as active for the turbo bins."""
_SLUGGISH = 0.04
"""The utilisation below which a core keeps its frequency until its load changes."""
_MOST_STEPS = 240
"""The most steps to catch up after a pause; longer pauses have longer steps."""
_UPTIME = 93_784.0
"""Seconds since boot when the simulation starts: long enough that 32-bit energy counters have wrapped."""
_MANUAL_START_NS = 1_780_000_000 * 10**9
"""Wall-clock time in ns since 1970 at which a simulation without a real clock starts."""
_COOL_ENOUGH = 4.0
"""Degrees below tj_max at which a throttled frequency may rise again."""
_CORE_TAU = 0.4
"""The time constant in seconds with which a core's temperature follows its power."""
_WAKE_OVERLAP = 0.15
"""How much the cores' active times coincide: 1 not at all, towards 0 fully."""


class PackageModel:
    """The state of one package's control loop."""

    __slots__ = ("active", "average_watts", "cap_mhz", "hot", "limit", "logged", "sink", "top_mhz")

    def __init__(self, sink: Relaxation) -> None:
        self.sink = sink
        self.cap_mhz = 1e9
        self.top_mhz = 0.0
        self.average_watts = 0.0
        self.active = 0
        self.hot = False
        self.limit = ""  # the power limit that holds the cores below what they want: pl1, pl2
        self.logged: frozenset[str] = frozenset()  # every limit since the simulation began, heat included


class Model:
    """The state of one simulated machine. `lock` must be held around anything that reads more than one number."""

    def __init__(self, shape: MachineShape, clock: SimulatedClock, seed: int) -> None:
        self.shape = shape
        self.layout = lay_out(shape)
        self.lock = threading.RLock()
        self.steps = 0
        self.plugs = 0  # incremented when a CPU comes or goes
        self.strain = Strain()
        self._clock = clock
        self._zero_ns = clock.now_ns()
        # A manual clock always has the same date; with a real clock the machine booted some time ago.
        started = clock.wall_ns() if isinstance(clock, RealClock) else _MANUAL_START_NS
        self.boot_ns = started - round(_UPTIME * 1e9)
        self._load = SimulatedLoad(shape, self.layout, seed)
        self._tables = [core_table(kind, shape.cores_per_package) for kind in shape.core_types]
        cores, packages = len(self.layout.core_cpus), len(self.layout.package_cores)
        self.cpu = [Basis(b.CPU_INTEGRALS) for _ in self.layout.places]
        self.core = [Basis(b.CORE_INTEGRALS) for _ in range(cores)]
        self.module = [Basis(1) for _ in self.layout.module_cores]
        self.package = [Basis(b.PKG_INTEGRALS) for _ in range(packages)]
        self.system = Basis(b.SYS_INTEGRALS)
        self._card = False
        self.online = [True] * len(self.layout.places)
        self.mhz = [0.0] * cores
        self._wanted = [0.0] * cores  # MHz that each core would run at without its package's limits
        self.core_heat = [Relaxation(_CORE_TAU, 0.0, 0.0) for _ in range(cores)]
        self.core_hot = [False] * cores
        power = shape.power
        self.state = [PackageModel(Relaxation(power.sink_tau, 0.0, power.ambient)) for _ in range(packages)]
        self._bytes = [0.0] * cores
        self._core_type = [self.layout.places[cpus[0]].type for cpus in self.layout.core_cpus]
        self._core_package = [self.layout.places[cpus[0]].package for cpus in self.layout.core_cpus]
        self._core_module = [self.layout.places[cpus[0]].module for cpus in self.layout.core_cpus]
        self._cpu_core = [place.core for place in self.layout.places]
        self._next = shape.step
        self._left_by_host = 1.0  # share of the cores' clocks
        self._start()

    def _start(self) -> None:
        self._load.advance(0.0, 1.0)
        for package in range(len(self.package)):
            self._control(package, 0.0, 0.0)
        for core in range(len(self.core)):
            self._rate_core(core, 0.0)
        for package in range(len(self.package)):
            self._rate_package(package, 0.0)
        self._rate_system(0.0)
        for every in (self.cpu, self.core, self.module, self.package, [self.system]):
            for basis in every:
                basis.age(_UPTIME)
        for state, basis in zip(self.state, self.package, strict=True):
            state.average_watts = basis.rate[b.PKG_JOULES]
            state.sink.start = min(state.sink.target, 0.5 * (self.shape.power.ambient + self.shape.power.tj_max))
        for heat in self.core_heat:
            heat.start = heat.target

    def now(self) -> float:
        """Advance the state to the clock, and return the seconds since the simulation began."""
        now = (self._clock.now_ns() - self._zero_ns) * 1e-9
        if self._next <= now:
            step = max(self.shape.step, (now - self._next) / _MOST_STEPS)
            while self._next <= now:
                self._step(self._next, step)
                self._next += step
            self._next = min(self._next, now + self.shape.step)
        return now

    @property
    def uptime(self) -> float:
        """Seconds since boot at time 0 of the simulation."""
        return _UPTIME

    @property
    def migrating(self) -> tuple[int, int] | None:
        """CPU and kind of work of the busy thread that changes CPUs; None where there is none."""
        return self._load.migrating

    def tsc(self, now: float) -> int:
        """The time stamp counter, equal on all CPUs."""
        return int((_UPTIME + now) * self.shape.tsc_hz)

    def _step(self, now: float, length: float) -> None:
        self.steps += 1
        changed = {self._cpu_core[cpu] for cpu in self._load.advance(now, _MOST_STEPS * self.shape.step)}
        for cpu in self._load.arrivals:
            self.cpu[cpu].start[b.CPU_ARRIVALS] += 1.0
        period, whole, share = self.shape.host_lowers
        left = share if period and now % period >= whole else 1.0
        if left != self._left_by_host:
            self._left_by_host = left
            changed.update(range(len(self.core)))
        packages = {self._core_package[core] for core in changed}
        for package in range(len(self.package)):
            if self._control(package, now, length):
                packages.add(package)
                members = self.layout.package_cores[package]
                changed.update(core for core in members if self.core[core].rate[b.CORE_ANY_C0] > _SLUGGISH)
        for core in changed:
            self._rate_core(core, now)
        for package in packages:
            self._rate_package(package, now)
        if packages or self.shape.around.card_works(now) != self._card:
            self._rate_system(now)

    def _control(self, package: int, now: float, length: float) -> bool:
        """Apply the package's limits (turbo bins, power, heat), and tell whether frequencies have to change."""
        shape, state, basis = self.shape, self.state[package], self.package[package]
        watts = basis.rate[b.PKG_JOULES]
        state.average_watts += (watts - state.average_watts) * (1.0 - exp(-length / shape.power.tau))
        cores = self.layout.package_cores[package]
        state.active = sum([self.core[core].rate[b.CORE_ANY_C0] > _ACTIVE for core in cores])
        top = max([table.turbo[state.active] for table in self._tables])
        power = shape.power
        sustained = power.tdp + 3.0 * max(0.0, power.tdp - state.average_watts)
        budget = min(power.pl2, sustained)
        hottest = self._heat(package, now)
        before = (min(state.cap_mhz, state.top_mhz), state.hot, state.limit)
        bins = 0
        if hottest >= power.tj_max:
            bins = -2
        elif watts > budget:
            bins = -min(6, 1 + int((watts / budget - 1.0) * 25.0))
        elif watts < 0.94 * budget and hottest < power.tj_max - _COOL_ENOUGH:
            bins = min(6, 1 + int((0.94 - watts / budget) * 12.0))  # the further below, the faster up
        cap = min(min(state.cap_mhz, top + _BIN_MHZ) + bins * _BIN_MHZ, top + 2 * _BIN_MHZ)
        state.cap_mhz = max(cap, float(min(kind.min_mhz for kind in shape.core_types)) + 4 * _BIN_MHZ)
        state.top_mhz = top
        hot = hottest >= power.tj_max or (state.hot and hottest >= power.tj_max - _COOL_ENOUGH)
        if hot and not state.hot:
            basis.start[b.PKG_THROTTLES] += 1.0
        state.hot = hot
        # On the way up again it is not the power limit that holds the cores.
        near = watts > 0.7 * budget
        held = near and not hot and max([self._wanted[core] for core in cores]) > state.cap_mhz < top
        state.limit = "" if not held else "pl2" if sustained > power.pl2 else "pl1"
        state.logged |= {state.limit, "heat" if hot else ""}
        return before != (min(state.cap_mhz, top), state.hot, state.limit)

    def _heat(self, package: int, now: float) -> float:
        """Return the hottest core of a package in °C, and mark the cores that throttle."""
        sink, limit = self.state[package].sink.at(now), self.shape.power.tj_max
        hottest = 0.0
        for core in self.layout.package_cores[package]:
            above = self.core_heat[core].at(now)
            hottest = max(hottest, above)
            hot = sink + above >= limit
            if hot != self.core_hot[core]:
                self.core_hot[core] = hot
                basis = self.core[core]
                basis.turn(now, basis.rate.copy())
                basis.rate[b.CORE_THROTTLED] = 1.0 if hot else 0.0
                if hot:
                    basis.start[b.CORE_THROTTLES] += 1.0
        return sink + hottest

    def _rate_core(self, core: int, now: float) -> None:
        """Compute all rates of one core and its CPUs from their load and the package's limits."""
        shape, load = self.shape, self._load
        number = self._core_type[core]
        kind, table = shape.core_types[number], self._tables[number]
        state = self.state[self._core_package[core]]
        cpus = self.layout.core_cpus[core]
        online, level = self.online, load.level
        busiest = max([level[cpu] if online[cpu] else 0 for cpu in cpus])
        top = min(state.cap_mhz, table.turbo[state.active], shape.cap * kind.max_mhz)
        low = float(kind.min_mhz)
        demand = min(1.0, 1.35 * busiest / LEVELS + 0.05)
        wanted = self._wanted[core] = low + round((kind.max_mhz - low) * demand / _BIN_MHZ) * _BIN_MHZ
        mhz = max(low, min(top, wanted)) * self._left_by_host
        self.mhz[core], hertz = mhz, mhz * 1e6
        all_idle = asleep = deep = deeper = 1.0
        activity = traffic = 0.0
        rates = [[0.0] * b.CPU_INTEGRALS for _ in cpus]
        for cpu, rate in zip(cpus, rates, strict=True):
            if online[cpu]:
                at, work = level[cpu], load.kind[cpu]
                idle = table.idle[at]
                busy = at / LEVELS
                share = 1.0
                for other in cpus:
                    if other != cpu and online[other]:
                        share -= SMT_SHARE * level[other] / LEVELS
                cycles = busy * hertz
                rate[b.CPU_ONLINE] = 1.0
                rate[b.CPU_BUSY + work] = busy
                rate[b.CPU_CYCLES + work] = cycles
                rate[b.CPU_WORK + work] = cycles * share
                rate[b.CPU_POLL_CYCLES] = idle.poll * hertz
                rate[b.CPU_IDLE : b.CPU_IDLE + len(idle.states)] = idle.states
                rate[b.CPU_IOWAIT] = (1.0 - busy) * WORKLOADS[work].io_wait
                rate[b.CPU_C1] = 1.0 - busy - idle.poll
                all_idle *= 1.0 - busy - idle.poll
                asleep *= idle.at_least_c3
                deep *= idle.at_least_c6
                deeper *= idle.at_least_c7
                activity += table.activity[work] * busy * (0.55 + 0.45 * share)
                traffic += cycles * share * table.bytes_per_work[work]
        for cpu, rate in zip(cpus, rates, strict=True):
            rate[b.CPU_C1] = max(0.0, rate[b.CPU_C1] - asleep)  # a difference of integrals could decrease
            self.cpu[cpu].turn(now, rate)
        volts = kind.volts_min + kind.volts_per_ghz * (mhz - low) * 1e-3
        watts = kind.leakage * (1.0 - deep * 11.0 / 12.0) + kind.capacitance * volts * volts * mhz * 1e-3 * activity
        hot = 1.0 if self.core_hot[core] else 0.0
        self.core[core].turn(now, [asleep - deep, deep - deeper, deeper, 1.0 - all_idle, watts, hot, 0.0,
                                   (1.0 - all_idle) * hertz])
        self.core_heat[core].aim(now, kind.ohms * watts)
        self._bytes[core] = traffic
        self._rate_module(self._core_module[core], now)

    def _rate_module(self, module: int, now: float) -> None:
        """Rate the sleep of a module: while all of its cores sleep."""
        cores = self.layout.module_cores[module]
        if len(cores) > 1:
            rates = [self.core[core].rate for core in cores]
            self.module[module].turn(now, [prod([rate[b.CORE_C6] + rate[b.CORE_C7] for rate in rates])])

    def _rate_package(self, package: int, now: float) -> None:
        """Compute package states, energy, memory traffic and graphics from the cores."""
        shape, power, state = self.shape, self.shape.power, self.state[package]
        members = self.layout.package_cores[package]
        rates = [self.core[core].rate for core in members]
        cores_watts = sum([rate[b.CORE_JOULES] for rate in rates])
        weighted = sum([rate[b.CORE_ANY_C0] for rate in rates])
        any_c0 = 1.0 - prod([1.0 - rate[b.CORE_ANY_C0] for rate in rates])
        deep = [rate[b.CORE_C6] + rate[b.CORE_C7] for rate in rates]
        # Cores do not wake independently (timers are aligned), but a package never sleeps longer than any core.
        asleep = min(*deep, prod(deep) ** _WAKE_OVERLAP)
        read = sum([self._bytes[core] for core in members])
        gpu = min(1.0, 0.04 + 0.7 * weighted / len(members)) if power.gpu else 0.0
        traffic = read * (1.0 + WRITE_SHARE) + gpu * 4e9
        rate = [0.0] * b.PKG_INTEGRALS
        rate[b.PKG_SECONDS] = 1.0
        asleep *= 1.0 - 0.6 * gpu
        asleep_states = 0.0
        for number, share in shape.package_states:
            rate[_PACKAGE_STATE[number]] = asleep * share
            asleep_states += asleep * share
        rate[b.PKG_CORES_JOULES] = cores_watts
        rate[b.PKG_GPU_JOULES] = power.gpu * gpu
        uncore = power.uncore * (1.0 - 0.55 * asleep_states) + power.uncore_per_gbs * traffic * 1e-9
        watts = cores_watts + rate[b.PKG_GPU_JOULES] + uncore
        rate[b.PKG_JOULES] = watts
        rate[b.PKG_RAM_JOULES] = power.ram * (1.0 - 0.4 * asleep_states) + power.ram_per_gbs * traffic * 1e-9
        rate[b.PKG_THROTTLED] = 1.0 if state.hot else 0.0
        rate[b.PKG_LIMITED] = 1.0 if state.limit else 0.0
        rate[b.PKG_READ_BYTES] = read + gpu * 3e9
        rate[b.PKG_WRITTEN_BYTES] = read * WRITE_SHARE + gpu * 1e9
        rate[b.PKG_GPU_BUSY] = gpu
        rate[b.PKG_GPU_RC6] = 0.98 * (1.0 - gpu) if power.gpu else 0.0
        rate[b.PKG_ANY_C0] = any_c0
        rate[b.PKG_WEIGHTED_C0] = weighted
        rate[b.PKG_CORE_AND_GPU_C0] = any_c0 * gpu
        # The mesh runs faster with more traffic, 800 to 2200 MHz.
        rate[b.PKG_UNCORE_CYCLES] = (800.0 + round(min(1.0, traffic / 1.2e11) * 14) * _BIN_MHZ) * 1e6
        rate[b.PKG_IO_READ_BYTES] = 2e7 + read * 0.02
        rate[b.PKG_IO_WRITTEN_BYTES] = 1.2e7 + read * 0.011
        self.package[package].turn(now, rate)
        state.sink.aim(now, power.ambient + power.ohms * watts)

    def _rate_system(self, now: float) -> None:
        packages = sum(basis.rate[b.PKG_JOULES] + basis.rate[b.PKG_RAM_JOULES] for basis in self.package)
        # 0.92: the efficiency of voltage regulators and power supply.
        around = self.shape.around
        self._card = around.card_works(now)
        card = around.card_watts if self._card else 0.0
        whole = packages / 0.92 + self.shape.power.platform + card
        self.system.turn(now, [whole, *self.strain.rates(), whole * around.psys_share, card,
                               NPU_BUSY if around.npu else 0.0])

    def strain_by(self, strain: Strain) -> None:
        """Set the strain on tasks from now on."""
        with self.lock:
            now = self.now()
            self.strain = strain
            self._rate_system(now)

    def core_celsius(self, core: int, now: float) -> float:
        """The temperature of one core."""
        return self.state[self._core_package[core]].sink.at(now) + self.core_heat[core].at(now)

    def package_celsius(self, package: int, now: float) -> float:
        """The temperature of the hottest core of a package."""
        return self.state[package].sink.at(now) + max([self.core_heat[core].at(now)
                                                       for core in self.layout.package_cores[package]])

    def first_online(self, groups: Iterable[Iterable[int]]) -> list[int]:
        """Return the first online CPU of each group that has one: the mask of a PMU with an instance for each group."""
        numbers = (next((cpu for cpu in group if self.online[cpu]), None) for group in groups)
        return [cpu for cpu in numbers if cpu is not None]

    def set_online(self, cpu: int, online: bool) -> None:
        """Take a CPU offline or online; an offline CPU's counters stand still."""
        with self.lock:
            now = self.now()
            if self.online[cpu] == online:
                return
            self.online[cpu] = online
            self.plugs += 1
            core = self._cpu_core[cpu]
            self._rate_core(core, now)
            self._rate_package(self._core_package[core], now)
            self._rate_system(now)


_PACKAGE_STATE = {2: b.PKG_C2, 3: b.PKG_C3, 6: b.PKG_C6, 7: b.PKG_C7, 8: b.PKG_C8, 9: b.PKG_C9, 10: b.PKG_C10}
