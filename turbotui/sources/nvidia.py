"""NVIDIA's graphics cards through NVML: energy since the driver was loaded, and power (NVML API Reference).

NVML is used through the Python package nvidia-ml-py, the extra `nvidia`, which is imported only if NVIDIA's driver
lists a card. Cards are found without NVML, in /proc/driver/nvidia/gpus (NVIDIA driver README, "The /proc Interface"). A
sleeping card is not asked, and nothing of a card that may sleep (power/control is `auto`) stays open, because that
would keep it awake.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import Final, Protocol, cast

from turbotui.machine.host import Host, HostKind
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import line_of, names_in, text_of
from turbotui.quantities.meters import meter_signal
from turbotui.quantities.signals import Raw, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.meter_devices import AGE, STATE, MeterDevice, MeterFile, is_suspended, runtime_status
from turbotui.sources.meter_source import DeviceAnswer, FoundDevices, MeterSource, OneDevice
from turbotui.untrusted import one_line

CARDS: Final = "/proc/driver/nvidia/gpus"
_PCI: Final = "/sys/bus/pci/devices"
_MODULE: Final = "pynvml"
_MODEL: Final = r"(?m)^Model:\s*(\S.*)$"
_THOUSAND: Final = 1000  # NVML counts in thousandths of J and W, the signals of meters in millionths
_CALLS: Final = {"energy": "nvmlDeviceGetTotalEnergyConsumption", "power": "nvmlDeviceGetPowerUsage"}


class Nvml(Protocol):
    """The part of the module pynvml that is used."""

    NVMLError: type[Exception]

    def nvmlInit(self) -> None:  # noqa: N802 - NVML's names
        """Initialise the library; calls are counted."""

    def nvmlShutdown(self) -> None:  # noqa: N802
        """Undo one call of `nvmlInit`."""

    def nvmlDeviceGetHandleByPciBusId(self, address: bytes) -> object:  # noqa: N802
        """The card at an address."""

    def nvmlDeviceGetTotalEnergyConsumption(self, card: object) -> int:  # noqa: N802
        """A card's energy since the driver was loaded, in mJ; from Volta on."""

    def nvmlDeviceGetPowerUsage(self, card: object) -> int:  # noqa: N802
        """A card's power in mW."""


class Nvidia(MeterSource):
    """The `Source` of NVIDIA's cards."""

    id = "nvml"

    def find(self, machine: Machine) -> FoundDevices:
        host = machine.host
        addresses = names_in(host, CARDS)
        if (why := _why_not(machine, addresses)) is not None:
            return FoundDevices((), {meter_signal("nvidia", 0, "power"): why})
        devices = tuple(MeterDevice("nvidia", f"{_model(host, address)} {address}",
            tuple(MeterFile(what, f"NVML {call} of {address}") for what, call in _CALLS.items()),
            runtime_status(host, f"{_PCI}/{address}"), slow=True) for address in addresses)
        return FoundDevices(devices, {})

    def open_device(self, host: Host, device: MeterDevice, position: int, wanted: frozenset[SignalId]) -> OneDevice:
        """Nothing of a card is open before it is read."""
        return NvidiaCard(host, device, position, wanted)


class NvidiaCard:
    """One card."""

    def __init__(self, host: Host, device: MeterDevice, position: int, wanted: frozenset[SignalId]) -> None:
        self._host, self._device = host, device
        self._address = device.label.rpartition(" ")[2]
        self._asked = [(name, what) for what in _CALLS
                       if (name := meter_signal(device.kind, position, what)) in wanted]
        self._state = meter_signal(device.kind, position, STATE)
        self.age = meter_signal(device.kind, position, AGE)
        self._open: tuple[Nvml, object] | None = None
        self._may_sleep = bool(device.status) and line_of(host, f"{_PCI}/{self._address}/power/control") == "auto"

    @property
    def signals(self) -> tuple[SignalId, ...]:
        return (*(name for name, _what in self._asked), *([self._state] if self._device.status else []))

    def read(self) -> DeviceAnswer:
        values: dict[SignalId, Raw] = {name: None for name, _what in self._asked}
        if self._device.status:
            values[self._state] = line_of(self._host, self._device.status)
        if not is_suspended(self._host, self._device.status):
            values |= self._values()
        return DeviceAnswer(values, self._host.now_ns())

    def close(self) -> None:
        """Release NVML."""
        if self._open is not None:
            self._open[0].nvmlShutdown()
            self._open = None

    def _values(self) -> dict[SignalId, Raw]:
        """Read NVML; unreachable cards are left out."""
        values: dict[SignalId, Raw] = {}
        nvml = cast(Nvml, importlib.import_module(_MODULE))
        try:
            if self._open is None:
                nvml.nvmlInit()
                self._open = nvml, None
                self._open = nvml, nvml.nvmlDeviceGetHandleByPciBusId(self._address.encode())
            for name, what in self._asked:
                values[name] = _asked(nvml, what, self._open[1])
        except nvml.NVMLError:
            self.close()  # the driver went away, or the card fell off its bus: the next reading starts again
        if self._may_sleep:
            self.close()
        return values


def _asked(nvml: Nvml, what: str, card: object) -> int | None:
    """Return one number of a card in millionths; None if the card does not have it."""
    call = nvml.nvmlDeviceGetTotalEnergyConsumption if what == "energy" else nvml.nvmlDeviceGetPowerUsage
    try:
        return call(card) * _THOUSAND
    except nvml.NVMLError:
        return None


def _model(host: Host, address: str) -> str:
    match = re.search(_MODEL, text_of(host, f"{CARDS}/{address}/information"))
    return one_line(match[1]) if match else "NVIDIA"


def _why_not(machine: Machine, addresses: tuple[str, ...]) -> Unavailable | None:
    """Return why no card can be read; None if one can."""
    if not addresses:
        reason = Reason.VIRTUALISED if machine.model.hypervisor else Reason.NO_HARDWARE
        return Unavailable(reason, f"{CARDS}: there is no card with NVIDIA's driver")
    if machine.host.kind is not HostKind.REAL:
        return Unavailable(Reason.RECORDED, "NVML asks the driver of the machine that it runs on, not of another one")
    if importlib.util.find_spec(_MODULE) is None:
        from turbotui.machine.own_program import install_command  # noqa: PLC0415 - for a card without its package only

        return Unavailable(Reason.NO_DRIVER, f"NVIDIA's driver lists {len(addresses)} cards, and the Python package "
                           "nvidia-ml-py, which asks it, is not installed", install_command("nvidia-ml-py"))
    return None
