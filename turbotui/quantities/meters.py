"""Power meters outside the processor: kinds of device, what each measures, and which contains which.

A meter's signal is named `meter.KIND.NUMBER.QUANTITY`: `meter.gpu.0.energy`. Its constants `label` and, if the device
averages, `interval` are known from the probe, so a recording has them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.quantities.signals import Signal, SignalId

PREFIX: Final = "meter."
"""Prefix of the ids of meters' signals."""
_HWMON: Final = "kernel Documentation/hwmon/sysfs-interface.rst"
_GRACE: Final = (
    "NVIDIA Grace Performance Tuning Guide, Power and Thermals; kernel Documentation/hwmon/acpi_power_meter.rst")


class WattPlace(Enum):
    """The role of a meter's watts in the sum of a machine."""

    PART = "part"  # added to the others
    PLATFORM = "platform"  # the whole machine, with which the sum of the parts is compared
    NOTHING = "nothing"  # no watts: fans, NPUs


@dataclass(frozen=True, slots=True)
class MeterKind:
    """A kind of device that reports power."""

    id: str  # the word in the ids of its signals
    column: str  # prefix of the ids of its columns; the device's number follows
    words: str
    place: WattPlace  # where its watts belong
    document: str  # where its figure is described
    note: str  # what the figure covers, one sentence
    inside: tuple[str, ...] = ()  # kinds, best first, whose watts contain this kind's, if the machine has them


PACKAGE: Final = "package"
"""The word in `MeterKind.inside` for the packages' energy, which has columns of its own."""

KINDS: Final[Mapping[str, MeterKind]] = {kind.id: kind for kind in (
    MeterKind("gpu", "GPU", "graphics card", WattPlace.PART,
              "kernel Documentation/ABI/testing/sysfs-driver-intel-i915-hwmon, sysfs-driver-intel-xe-hwmon; "
              "Documentation/gpu/amdgpu/thermal.rst",
              "A card has its own supply: its watts are beside those of the packages."),
    MeterKind("nvidia", "NVIDIA", "NVIDIA graphics card", WattPlace.PART,
              "NVIDIA NVML API Reference, nvmlDeviceGetTotalEnergyConsumption, nvmlDeviceGetPowerUsage",
              "The whole board with its memory."),
    MeterKind("apu", "APU", "AMD graphics of the processor", WattPlace.PART,
              "kernel Documentation/gpu/amdgpu/thermal.rst",
              "The whole processor: on an APU the driver's figure contains the CPU.", inside=(PACKAGE,)),
    MeterKind("socket", "Socket", "socket", WattPlace.PART, _GRACE, "Cores, fabric and the memory beside them."),
    MeterKind("rail", "CPUrail", "CPU rail", WattPlace.PART, _GRACE, "The rail of the cores.", inside=("socket",)),
    MeterKind("sysio", "SysIO", "system I/O rail", WattPlace.PART, _GRACE, "The rail of the fabric and of I/O.",
              inside=("socket",)),
    MeterKind("module", "Module", "superchip module", WattPlace.PLATFORM, _GRACE,
              "Regulators, memory, CPU and GPU of the module; neither fans nor storage."),
    MeterKind("psu", "PSU", "power supply", WattPlace.PLATFORM, "kernel Documentation/hwmon/pmbus.rst (label pin)",
              "What the supply takes from the mains, its own losses among it."),
    MeterKind("meter", "Meter", "ACPI power meter", WattPlace.PLATFORM,
              "kernel Documentation/hwmon/acpi_power_meter.rst; ACPI 6.5 section 10.4",
              "What the firmware says that the machine takes, on average over the meter's own interval."),
    MeterKind("bmc", "BMC", "service processor", WattPlace.PLATFORM,
              "kernel Documentation/hwmon/ibmaem.rst, Documentation/hwmon/occ.rst",
              "What the service processor says that the machine takes."),
    MeterKind("battery", "Bat", "battery", WattPlace.PLATFORM, "kernel Documentation/ABI/testing/sysfs-class-power",
              "While the battery discharges it feeds the whole machine, the display too."),
    MeterKind("npu", "NPU", "neural processor", WattPlace.NOTHING, "kernel drivers/accel/ivpu/ivpu_sysfs.c",
              "It tells its time and clock, no watts; its power is the package's."),
    MeterKind("fan", "Fan", "fan", WattPlace.NOTHING, _HWMON, "Revolutions, no watts."),
)}
"""Every kind, by its id, in the order of their columns."""

PLATFORM_RANK: Final = ("psu", "meter", "bmc", "psys", "battery", "module")
"""What a machine's sum is compared with, best first: closest to the plug, and fresh. `psys` is RAPL's own domain."""

SUSPENDED: Final = frozenset({"suspended", "suspending"})
"""Values of power/runtime_status of a device that a reading would wake (kernel Documentation/power/runtime_pm.rst)."""


@dataclass(frozen=True, slots=True)
class PowerMeter:
    """One metering device."""

    kind: MeterKind
    number: int  # among those of its kind
    label: str  # its name, made visible
    interval: float | None  # seconds over which it averages; None if it does not, or does not say
    quantities: frozenset[str]  # what it measures, by the last word of the signal

    def signal(self, quantity: str) -> SignalId:
        """The id of one of its signals."""
        return meter_signal(self.kind.id, self.number, quantity)

    @property
    def column(self) -> str:
        """Prefix of the ids of its columns."""
        return f"{self.kind.column}{self.number}"


def meter_signal(kind: str, number: int, quantity: str) -> SignalId:
    """The id of a signal of a meter."""
    return f"{PREFIX}{kind}.{number}.{quantity}"


def meters_of(signals: Mapping[SignalId, Signal]) -> tuple[PowerMeter, ...]:
    """The meters to which a machine's signals belong, kind by kind."""
    meters: dict[tuple[str, int], dict[str, Signal]] = {}
    for name, signal in signals.items():
        parts = name.split(".")
        if len(parts) == 4 and parts[0] == PREFIX[:-1] and parts[1] in KINDS and parts[2].isdecimal():
            meters.setdefault((parts[1], int(parts[2])), {})[parts[3]] = signal
    return tuple(_meter(KINDS[kind], number, meters[kind, number]) for kind, number in _ordered(meters))


def _ordered(keys: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    order = list(KINDS)
    return sorted(keys, key=lambda key: (order.index(key[0]), key[1]))


def _meter(kind: MeterKind, number: int, signals: Mapping[str, Signal]) -> PowerMeter:
    label, interval = (signals[word].constant if word in signals else None for word in ("label", "interval"))
    seconds = signals["interval"].value(interval) if interval is not None else None
    return PowerMeter(kind, number, label if isinstance(label, str) else kind.words, seconds, frozenset(signals))
