"""The `Host` of a simulated machine: files, registers and counters of one model."""

from __future__ import annotations

import errno
import re
import stat
from collections.abc import Sequence
from dataclasses import field, replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.code.chains import A64, ROUNDS, X86, ChainSet
from turbotui.machine.host import CAP_SYS_ADMIN, CAP_SYS_RAWIO, HostError, HostKind, PerfAttr, Privileges
from turbotui.machine.tasks.sets import TaskSampling
from turbotui.simulated.cgroup_counts import cgroup_of
from turbotui.simulated.clock import SimulatedClock
from turbotui.simulated.descriptors import Descriptors, OpenFile, OpenFolder, OpenMsr
from turbotui.simulated.filesystem import machine_tree
from turbotui.simulated.loads import SimulatedLoads
from turbotui.simulated.model import Model
from turbotui.simulated.perf import OpenEvent, PerfEvents
from turbotui.simulated.pmus import machine_pmus
from turbotui.simulated.registers import encoded, register_map
from turbotui.simulated.shapes import Isa, MachineShape
from turbotui.simulated.strain import Strain
from turbotui.simulated.tasks import SimulatedTasks
from turbotui.simulated.threads import Threads
from turbotui.simulated.tree import Device, File, Folder, find
from turbotui.untrusted import decoded, visible

_FULL: Final = (1 << 41) - 1
"""All capabilities (linux/capability.h: 0 to 40)."""
_PID_CGROUP: Final = 4
_MSR_DEVICE: Final = re.compile(r"/dev/cpu/([0-9]{1,9})/msr")
_CAP_DAC_OVERRIDE: Final = 1
_CAP_DAC_READ_SEARCH: Final = 2


@dataclass(slots=True)
class _Rights:
    privileges: Privileges
    paranoid: dict[str, int] = field(default_factory=lambda: {"level": 2})


class SimulatedHost:
    """A machine that exists only as a model; all its output carries the word SIMULATED."""

    def __init__(self, shape: MachineShape, clock: SimulatedClock, seed: int) -> None:
        self._clock = clock
        self.model = Model(shape, clock, seed)
        self._rights = _Rights(Privileges(0, _FULL, 2, (1_048_576, 1_048_576)))
        self._threads = Threads(self.model)
        self._perf = PerfEvents(self.model, machine_pmus(self.model), self._threads)
        self._registers = register_map(shape)
        self._root, self._cpu_root = machine_tree(self.model, self._perf.pmus, self._rights.paranoid)
        self._open = Descriptors(lambda: self._rights.privileges.most_descriptors)
        self._failures: dict[str | tuple[str, int, int], int] = {}
        self._start_ns = clock.now_ns()

    @property
    def kind(self) -> HostKind:
        """Always SIMULATED."""
        return HostKind.SIMULATED

    @property
    def name(self) -> str:
        """The shape's name."""
        return self.model.shape.name

    @property
    def shape(self) -> MachineShape:
        """The shape of the machine."""
        return self.model.shape

    @property
    def pins(self) -> bool:
        """False: there are no CPUs to visit."""
        return False

    def _refuse(self, what: str | tuple[str, int, int], message: str) -> None:
        """Raise the error that was requested with `fail`, if any."""
        if number := self._failures.get(what):
            raise HostError(number, message)

    def _file(self, path: str) -> File:
        self._refuse(path, path)
        node = find(self._root, path)
        if isinstance(node, Folder):
            raise HostError(errno.EISDIR, path)
        rights = self._rights.privileges
        if (not node.mode & stat.S_IROTH and rights.uid != 0 and not rights.has(_CAP_DAC_OVERRIDE)
                and not rights.has(_CAP_DAC_READ_SEARCH)):
            raise HostError(errno.EACCES, path)
        return node

    def _content(self, file: File, path: str) -> str | bytes:
        now = self.model.now()
        if file.cpu >= 0 and not self.model.online[file.cpu]:
            raise HostError(errno.ENODEV, path)
        content = file.content(now)
        if file.public >= 0 and not self._rights.privileges.has(CAP_SYS_ADMIN):
            return content[: file.public]
        return content

    def read_text(self, path: str) -> str:
        with self.model.lock:
            content = self._content(self._file(path), path)
        return visible(content) if isinstance(content, str) else decoded(content)

    def list_dir(self, path: str) -> tuple[str, ...]:
        with self.model.lock:
            self._refuse(path, path)
            node = find(self._root, path)
            if isinstance(node, File):
                raise HostError(errno.ENOTDIR, path)
            return tuple(sorted(node.children))

    def exists(self, path: str) -> bool:
        """Whether the path is there, readable or not."""
        with self.model.lock:
            try:
                find(self._root, path)
            except HostError:
                return False
            return True

    def open_file(self, path: str) -> int:
        with self.model.lock:
            self._refuse(path, path)
            if (device := _MSR_DEVICE.fullmatch(path)) is not None:
                return self._open_registers(int(device[1]), path)
            if isinstance(find(self._root, path), Folder):
                return self._open.take(OpenFolder(path))
            return self._open.take(OpenFile(path, self._file(path)))

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        """Pread on a file or register device.

        Raises:
            HostError: EBADF; ENODEV for a file of a CPU that went away; EIO for an unknown register, ENXIO for one of
                a CPU that is offline.
        """
        with self.model.lock:
            opened = self._open.get(descriptor)
            if isinstance(opened, OpenMsr):
                return self._read_register(opened.cpu, size, offset)
            if isinstance(opened, OpenFolder):
                raise HostError(errno.EISDIR, opened.path)
            if not isinstance(opened, OpenFile):
                raise HostError(errno.EBADF, f"descriptor {descriptor}")
            if self._failures:
                self._refuse(opened.path, opened.path)
            content = self._content(opened.file, opened.path)
            if isinstance(opened.file, Device):
                return opened.file.answer(offset)[:size]
        return (content.encode() if isinstance(content, str) else content)[offset : offset + size]

    def _open_registers(self, cpu: int, path: str) -> int:
        if not self._registers or cpu >= len(self.model.online):
            raise HostError(errno.ENOENT, path)
        rights = self._rights.privileges
        if rights.uid != 0 and not rights.has(_CAP_DAC_OVERRIDE):
            raise HostError(errno.EACCES, path)
        if not rights.has(CAP_SYS_RAWIO):
            raise HostError(errno.EPERM, path)
        if not self.model.online[cpu]:
            raise HostError(errno.ENXIO, path)
        return self._open.take(OpenMsr(cpu))

    def _read_register(self, cpu: int, size: int, address: int) -> bytes:
        what = f"MSR {address:#x} of CPU {cpu}"
        if self._failures:
            self._refuse(("msr", cpu, address), what)
        if size != 8:
            raise HostError(errno.EINVAL, what)
        now = self.model.now()
        if not self.model.online[cpu]:
            raise HostError(errno.ENXIO, what)
        if (read := self._registers.get(address)) is None:
            raise HostError(errno.EIO, what)
        return encoded(read(self.model, self.model.layout.places[cpu], now))

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        with self.model.lock:
            what = f"perf_event_open(type={attr.type}, config={attr.config:#x})"
            self._refuse(("perf", attr.type, attr.config), what)
            leader = None if group == -1 else self._open.of_kind(OpenEvent, group, "group descriptor {}")
            self._open.check_room("perf_event_open")
            rights = self._rights.privileges
            cgroup = self._target_group(attr, pid, cpu, what)
            event = self._perf.open(attr, pid, cpu, leader=leader, rights=rights, now=self.model.now(), cgroup=cgroup)
            return self._open.take(event)

    def _target_group(self, attr: PerfAttr, pid: int, cpu: int, what: str) -> str:
        """The control group that a counter is for; "" where it is for none."""
        if not attr.target_flags & _PID_CGROUP:
            return ""
        if pid == -1 or cpu == -1:
            raise HostError(errno.EINVAL, what)
        opened = self._open.of_kind(OpenFolder, pid, "descriptor {} is no directory of a control group")
        return cgroup_of(opened.path)

    def read_counter(self, descriptor: int, size: int) -> bytes:
        with self.model.lock:
            return self._perf.read(self._open.of_kind(OpenEvent, descriptor), size, self.model.now())

    def follow_tasks(self, choice: TaskSampling) -> SimulatedTasks:
        """Return the samples of the model's tasks."""
        return SimulatedTasks(self.model, self._perf, choice, self._threads)

    def open_records(self, descriptor: int) -> SimulatedLoads:
        """Fails with EBADF, and with EINVAL for an event that does not sample."""
        event = self._open.of_kind(OpenEvent, descriptor)
        if not event.attr.sample_period:
            raise HostError(errno.EINVAL, f"descriptor {descriptor} does not sample")
        return SimulatedLoads(self.model, self._threads, event.attr, event.group.cpu)

    def close(self, descriptor: int) -> None:
        with self.model.lock:
            if (opened := self._open.pop(descriptor, None)) is None:
                raise HostError(errno.EBADF, f"descriptor {descriptor}")
            if isinstance(opened, OpenEvent):
                self._perf.close(opened, self.model.now())

    @property
    def open_descriptors(self) -> int:
        """The number of open descriptors."""
        return len(self._open)

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        """Do nothing, but refuse CPUs that are not there.

        Raises:
            HostError: EINVAL when none of them is online.
        """
        online = self.model.online
        if not any(0 <= cpu < len(online) and online[cpu] for cpu in cpus):
            raise HostError(errno.EINVAL, f"sched_setaffinity({list(cpus)})")

    def time_chains(self, cpu: int) -> tuple[int, Sequence[int], int]:
        """The times of a core whose clock is the model's at this moment."""
        with self.model.lock:
            self.model.now()
            hertz = 1e6 * self.model.mhz[self.model.layout.places[cpu].core]
        chains = A64 if self.shape.isa is Isa.ARM else X86
        return cpu, made_stamps(chains, hertz, (2, 1) if chains is A64 else (3, 3), start=self._clock.now_ns()), cpu

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:  # noqa: ARG002 - needs no list
        """Give None: nothing restricts the simulation."""
        return None

    def privileges(self) -> Privileges:
        """The privileges that were set; at first those of root."""
        return self._rights.privileges

    def now_ns(self) -> int:
        """The clock the machine runs on."""
        return self._clock.now_ns()

    def wall_ns(self) -> int:
        """Wall-clock time of the simulated machine: its boot time plus its uptime."""
        return self.model.boot_ns + round(self.model.uptime * 1e9) + (self._clock.now_ns() - self._start_ns)

    def set_online(self, cpu: int, online: bool) -> None:
        """Unplug a CPU or plug it in again.

        Raises:
            HostError: EINVAL for CPU 0 and for CPUs that do not exist.
        """
        if not 0 < cpu < len(self.model.online):
            raise HostError(errno.EINVAL, f"/sys/devices/system/cpu/cpu{cpu}/online")
        with self.model.lock:
            if not online:
                self._perf.cpu_left(self._open.events(), cpu, self.model.now())
            self.model.set_online(cpu, online)
            node = self._cpu_root.children[f"cpu{cpu}"]
            if isinstance(node, Folder):
                node.forget()

    def strain_by(self, strain: Strain) -> None:
        """Replace the strain on the machine's tasks from now on."""
        self.model.strain_by(strain)

    def set_privileges(self, uid: int | None = None, capabilities: int | None = None, paranoid: int | None = None,
                       descriptors: tuple[int, int] | None = None) -> None:
        """Change what the process may do. An ordinary user is `uid=1000, capabilities=0`."""
        with self.model.lock:
            old = self._rights.privileges
            if paranoid is not None:
                self._rights.paranoid["level"] = paranoid
            self._rights.privileges = replace(
                old,
                uid=old.uid if uid is None else uid,
                capabilities=old.capabilities if capabilities is None else capabilities,
                perf_paranoid=self._rights.paranoid["level"],
                descriptors=old.descriptors if descriptors is None else descriptors,
            )

    def fail(self, what: str | tuple[str, int, int], number: int | None) -> None:
        """Make an access fail from now on, or work again.

        Args:
            what: a path, or ("msr", cpu, address), or ("perf", type, config).
        """
        with self.model.lock:
            if number is None:
                self._failures.pop(what, None)
            else:
                self._failures[what] = number


def made_stamps(chains: ChainSet, hertz: float, latencies: tuple[float, float] = (3, 3), timing: float = 20.0,
                start: int = 0) -> list[int]:
    """The times that a core gives whose clock does not change, in ns.

    Args:
        hertz: its clock.
        latencies: cycles of a multiplication and of CRC32C.
        timing: ns that taking a time costs.
        start: the first time.
    """
    stamps, now = [], 0.0
    for _round in range(ROUNDS):
        stamps.append(start + round(now))
        for links, cycles in zip(chains.shape.links, (1, *latencies, 1), strict=True):
            now += timing + 1e9 * links * cycles / hertz
            stamps.append(start + round(now))
        now += timing
    return stamps
