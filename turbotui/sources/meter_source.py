"""Base of sources of power-reporting devices, which are read cheaply and without waking any.

Files stay open. A sleeping device is not read. A device that may be behind a slow bus (an embedded controller, PMBus:
tens of milliseconds a number) is read on a thread of its own, so that it delays no frame: if it does not answer at
once, its last numbers are used and their age is shown.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.meters import SUSPENDED, meter_signal
from turbotui.quantities.signals import Raw, Signal, SignalId
from turbotui.quantities.unavailable import Unavailable
from turbotui.sources.bases import CachedSearch, SharedSource
from turbotui.sources.meter_devices import AGE, COUNTERS, STATE, MeterDevice, word
from turbotui.sources.source import Probe, SharedReader
from turbotui.sources.sysfs_files import Decode
from turbotui.threads import NamedThread

_SIZE: Final = 256
_PATIENCE: Final = 0.02  # seconds that a reading waits for all slow devices together


@dataclass(frozen=True, slots=True)
class FoundDevices:
    """Devices that a source found."""

    devices: tuple[MeterDevice, ...]  # in the order of their numbers
    absent: Mapping[SignalId, Unavailable]  # why a signal that users would look for does not exist, by signal
    note: str = ""  # a line for the doctor


class MeterSource(SharedSource, ABC):
    """A source of power-reporting devices, whose signals belong to the machine."""

    counts_from_open = False  # counters of drivers and devices continue by themselves

    def __init__(self) -> None:
        self._search = CachedSearch(self.find)

    @abstractmethod
    def find(self, machine: Machine) -> FoundDevices:
        """Find devices without reading any."""

    def probe(self, machine: Machine) -> Probe:
        """Find the devices."""
        devices = self._search.look(machine)
        signals: dict[SignalId, Signal | Unavailable] = {}
        for device, position in numbered(devices.devices):
            signals |= device.signals(position)
        return Probe({**{name: why for name, why in devices.absent.items() if name not in signals}, **signals},
                     devices.note)

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:  # noqa: ARG002 - the contract's
        """One for each wanted file, and for the state of each device that can sleep."""
        devices = () if self._search.last is None else self._search.last.devices
        counts = ((len(_chosen(device, position, wanted)), device) for device, position in numbered(devices))
        return sum(count + (bool(device.status) and bool(count)) for count, device in counts)

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Open the wanted files of every device."""
        host, devices = machine.host, self._search.on(machine).devices
        return MeterReader(host, [(self.open_device(host, device, position, wanted), device.slow)
                                  for device, position in numbered(devices)], wanted)

    def open_device(self, host: Host, device: MeterDevice, position: int, wanted: frozenset[SignalId]) -> OneDevice:
        """Open the wanted files of one device."""
        return OpenDevice(host, device, position, wanted)


def numbered(devices: Sequence[MeterDevice]) -> list[tuple[MeterDevice, int]]:
    """Each device with its number among those of its kind."""
    counts: dict[str, int] = {}
    numbered = []
    for device in devices:
        numbered.append((device, counts.setdefault(device.kind, 0)))
        counts[device.kind] += 1
    return numbered


def _chosen(device: MeterDevice, position: int, wanted: frozenset[SignalId]) -> list[tuple[SignalId, str, Decode]]:
    return [(name, file.path, file.decode) for file in device.files
            if (name := meter_signal(device.kind, position, file.quantity)) in wanted]


@dataclass(frozen=True, slots=True)
class DeviceAnswer:
    """A device's reading, and the time from which it is valid, in ns on the host's clock."""

    values: Mapping[SignalId, Raw]
    since_ns: int


class OneDevice(Protocol):
    """A device that is open for reading."""

    @property
    def age(self) -> SignalId:
        """The signal of the age of its numbers."""

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """Signals of a reading."""

    def read(self) -> DeviceAnswer:
        """Read the device unless it sleeps; None for values that cannot be read."""

    def close(self) -> None:
        """Close the device's files."""


class OpenDevice:
    """The open files of one device; a file that cannot be opened or read gives None for its signal."""

    def __init__(self, host: Host, device: MeterDevice, position: int, wanted: frozenset[SignalId]) -> None:
        self._host, self._device = host, device
        self._files = [(name, self._open(path), decode) for name, path, decode in _chosen(device, position, wanted)]
        self._status = self._open(device.status) if device.status else None
        self._state = meter_signal(device.kind, position, STATE)
        self.age = meter_signal(device.kind, position, AGE)
        self._before: DeviceAnswer | None = None

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """Values of the files, the state of a device that can sleep among them."""
        return (*(name for name, _file, _decode in self._files), *([self._state] if self._device.status else []))

    def read(self) -> DeviceAnswer:
        """Read the files, unless the device sleeps."""
        values: dict[SignalId, Raw] = {}
        if self._device.status:
            values[self._state] = self._value(self._status, word)
        asleep = values.get(self._state) in SUSPENDED
        for name, file, decode in self._files:
            values[name] = None if asleep else self._value(file, decode)
        now, before = self._host.now_ns(), self._before
        same = self._device.settles and before is not None and before.values == values
        answer = self._before = DeviceAnswer(values, before.since_ns if same and before is not None else now)
        return answer

    def close(self) -> None:
        """Close every file."""
        for file in (*(file for _name, file, _decode in self._files), self._status):
            if file is not None:
                self._host.close(file)
        self._files, self._status = [], None

    def _open(self, path: str) -> int | None:
        try:
            return self._host.open_file(path)
        except HostError:
            return None

    def _value(self, file: int | None, decode: Decode) -> Raw:
        if file is None:
            return None
        try:
            return decode(self._host.read_at(file, _SIZE, 0))
        except HostError:
            return None


class ThreadedDevice:
    """An open device that a thread of its own reads, once per request."""

    def __init__(self, device: OneDevice) -> None:
        self._device = device
        self._asked, self._done = threading.Semaphore(0), threading.Event()
        self._done.set()
        self._latest: DeviceAnswer | None = None
        self._ends = False
        NamedThread(target=self._run, name="turbotui-meter", daemon=True).start()

    def ask(self) -> None:
        """Ask the device's thread to read, unless a reading is in progress."""
        if self._done.is_set():
            self._done.clear()
            self._asked.release()

    def latest(self, patience: float | None) -> DeviceAnswer | None:
        """The last reading, after waiting a number of seconds (None: without limit) for one in progress."""
        is_new = self._done.wait(patience)
        answer = self._latest
        if is_new or answer is None:
            return answer
        # of an older answer only what stands for itself: an old count would look like no increase
        return DeviceAnswer({name: value for name, value in answer.values.items()
                             if name.rpartition(".")[2] not in COUNTERS}, answer.since_ns)

    def close(self) -> None:
        """End the thread, which closes the files, because it may be reading one."""
        self._ends = True
        self._asked.release()

    def _run(self) -> None:
        while True:
            self._asked.acquire()
            if self._ends:
                self._device.close()
                return
            self._latest = self._device.read()
            self._done.set()


class MeterReader:
    """Reads devices, each in its own way.

    Args:
        host: the machine; on a model nothing is slow, and everything is read at once.
    """

    def __init__(self, host: Host, devices: Sequence[tuple[OneDevice, bool]], wanted: frozenset[SignalId]) -> None:
        self._host = host
        self._quick: list[OneDevice] = []
        self._aside: list[tuple[OneDevice, ThreadedDevice]] = []
        names: list[SignalId] = []
        for device, slow in devices:
            if not any(name in wanted for name in device.signals):
                device.close()
                continue
            names += [name for name in (*device.signals, *([device.age] if slow else [])) if name in wanted]
            if slow and host.pins:
                self._aside.append((device, ThreadedDevice(device)))
            else:
                self._quick.append(device)
        self.signals = tuple(names)

    def read(self) -> Sequence[Sequence[Raw]]:
        """One value of each signal, for the machine."""
        for _device, aside in self._aside:
            aside.ask()
        answers = [(device, device.read()) for device in self._quick]
        until = time.monotonic() + _PATIENCE
        for device, aside in self._aside:
            answer = aside.latest(max(0.0, until - time.monotonic()))
            if answer is not None:
                answers.append((device, answer))
        values: dict[SignalId, Raw] = {}
        now = self._host.now_ns()
        for device, answer in answers:
            values |= answer.values
            values[device.age] = max(0, now - answer.since_ns) // 1_000_000
        return [(values.get(name),) for name in self.signals]

    def close(self) -> None:
        """Close what can be closed now; threads close their own files."""
        for device in self._quick:
            device.close()
        for _device, aside in self._aside:
            aside.close()
        self._quick, self._aside = [], []
