"""Model-specific registers that become signals: address, field, and on which platforms, from `data/registers.toml`.

Registers are only ever read. A register whose conditions hold is still tested before it is used: a hypervisor may
answer reads of registers that it does not have with 0, as KVM does with its parameter ignore_msrs
(kernel Documentation/admin-guide/kernel-parameters.txt, kvm.ignore_msrs). Such a hypervisor is recognised by a register
that no processor has, and that must not be readable.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import Host, HostError, msr_device
from turbotui.machine.platform_features import (
    CoreState,
    FeatureSet,
    LimitReasons,
    PackageLimit,
    PackageState,
    RaplRegister,
)
from turbotui.machine.platforms import Platform
from turbotui.machine.reading import closing
from turbotui.quantities.facts import FactFile
from turbotui.quantities.rows import WrongKindError, named, text, texts, valued, wholes
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit

COUNTERS: Final = FactFile("machine/data/registers.toml")
SETTINGS: Final = FactFile("machine/data/setting_registers.toml")


class Scaling(Enum):
    """How a field becomes its SI value."""

    PLAIN = "as read"
    CYCLES = "cycles, in units of 1024 on Xeon Phi"
    ENERGY = "the RAPL energy unit"
    DRAM_ENERGY = "the RAPL energy unit, or the fixed one of the platform's memory"
    PSYS_ENERGY = "the RAPL energy unit, or the fixed one of the platform"
    BELOW_TJ_MAX = "degrees below tj_max"
    RAPL_TIME = "the RAPL time unit"
    RAPL_POWER = "the RAPL power unit"


@dataclass(frozen=True, slots=True)
class Register:
    """A register field that is a signal."""

    address: int
    name: str  # the vendor's name
    signal: SignalId
    scope: Scope  # the scope; PACKAGE rows are per die if a package has several (kernel rapl.c, cstate.c, coretemp.c)
    unit: Unit
    behavior: Behavior
    reduce: Reduce
    document: str
    when: tuple[str, ...]  # conditions that a platform with the register meets; for unknown platforms only flags count
    bits: tuple[int, int] = (63, 0)  # highest and lowest bit of the field
    scaling: Scaling = Scaling.PLAIN
    limit: PackageLimit | None = None  # the package C-state limit that the firmware must allow at least
    valid_bit: int = -1  # the bit that must be set for a valid reading; -1 for none
    zero_is_unset: bool = False  # whether 0 means "not set" and not a quantity of 0

    @property
    def title(self) -> str:
        """The register's title with its address, as for rdmsr: "MSR 0x611"."""
        return f"MSR {self.address:#x}"

    @property
    def low_bit(self) -> int:
        """The field's lowest bit."""
        return self.bits[1]

    @property
    def width_bits(self) -> int:
        """The number of bits of the field."""
        return self.bits[0] - self.bits[1] + 1

    @property
    def is_energy(self) -> bool:
        """Whether the register counts joules."""
        return self.scaling in (Scaling.ENERGY, Scaling.DRAM_ENERGY, Scaling.PSYS_ENERGY)

    @property
    def needs_units(self) -> bool:
        """Whether the RAPL units are needed to decode the register."""
        return self.is_energy or self.scaling in (Scaling.RAPL_TIME, Scaling.RAPL_POWER)

    def present(self, features: FeatureSet, model: CpuModel) -> bool:
        """Tell whether a platform should have the register."""
        return all(_CONDITIONS[word](rest.split(), features, model)
                   for word, _, rest in (condition.partition(" ") for condition in self.when))

    def field(self, raw: int) -> int:
        """Extract the register's field, unscaled."""
        return raw >> self.low_bit & ((1 << self.width_bits) - 1)


_Condition: TypeAlias = Callable[[Sequence[str], FeatureSet, CpuModel], bool]


def _of_features(names: Sequence[str], features: FeatureSet, _model: CpuModel) -> bool:
    return features.name not in names[1:] if names[0] == "not" else features.name in names


_CONDITIONS: Final[Mapping[str, _Condition]] = {
    "flag": lambda names, _features, model: names[0] in model.flags,
    "vendor": lambda names, _features, model: model.vendor == names[0],
    "features": _of_features,
    "has": lambda names, features, _model: bool(getattr(features, f"has_{names[0]}")),
    "no": lambda names, features, _model: not getattr(features, f"has_{names[0]}"),
    "core": lambda names, features, _model: CoreState(names[0]) in features.core_cstates,
    "package": lambda names, features, _model: PackageState(names[0]) in features.pkg_cstates,
    "rapl": lambda names, features, _model: RaplRegister[names[0]] in features.rapl,
    "limit_reasons": lambda names, features, _model: LimitReasons[names[0]] in features.limit_reasons,
}
"""The first words of conditions, which the tables explain."""


def _when(value: object) -> tuple[str, ...]:
    words = texts(value)
    if any(condition.partition(" ")[0] not in _CONDITIONS or " " not in condition for condition in words):
        raise WrongKindError(f"conditions that begin with {', '.join(_CONDITIONS)}")
    return words


def _bits(value: object) -> tuple[int, int]:
    numbers = wholes(value)
    if len(numbers) != 2 or not 63 >= numbers[0] >= numbers[1] >= 0:
        raise WrongKindError("the highest and the lowest bit of 64")
    return numbers[0], numbers[1]


@functools.cache
def registers_of(file: FactFile) -> tuple[Register, ...]:
    """Return the rows of a table of registers, in its order, which is the order of reading."""
    readers = {"scope": valued(Scope), "unit": valued(Unit), "behavior": valued(Behavior), "reduce": valued(Reduce),
               "signal": text, "when": _when, "bits": _bits, "scaling": named(Scaling), "limit": valued(PackageLimit)}
    return tuple(file.row(Register, str(values.get("name", name)), values, **readers) for name, values in file.tables())


def present_registers(platform: Platform, model: CpuModel, registers: tuple[Register, ...]) -> tuple[Register, ...]:
    """Return the registers of a table that a platform should have, in table order."""
    return tuple(register for register in registers if register.present(platform.features, model))


def decode(data: bytes) -> int:
    """Decode a register's 64 bits from the msr driver: little endian (kernel arch/x86/kernel/msr.c)."""
    return int.from_bytes(data, "little")


def read_once(host: Host, cpu: int, address: int) -> int:
    """Open the MSR device of a CPU, read one register, and close the device.

    Raises:
        HostError: as `Host.open_file`, and EIO for a register that does not exist.
    """
    with closing(host, host.open_file(msr_device(cpu))) as descriptor:
        return decode(host.read_at(descriptor, 8, address))


RESERVED = (0x4000_00E0, 0x4000_00D8)
"""Registers that no processor will ever have: the range 0x40000000 to 0x400000FF is left to software (Intel SDM vol. 4,
section 2.1; AMD APM vol. 2), and these of it are neither Hyper-V's (TLFS, appendix F) nor KVM's."""

NOTE = (
    f"MSR {RESERVED[0]:#x}, which no processor has, reads 0: the hypervisor answers 0 for registers that it lacks"
    " (KVM: ignore_msrs=1), so none that reads 0 is believed"
)


def invents_zeros(host: Host, cpu: int) -> bool:
    """Tell whether the reserved registers read 0 on a CPU; False if the MSR device does not open."""
    try:
        return all(read_once(host, cpu, address) == 0 for address in RESERVED)
    except HostError:
        return False


def invented(title: str) -> Unavailable:
    """Return why a register that reads 0 is unknown on such a machine."""
    return Unavailable(
        Reason.VIRTUALISED,
        f"{title}: reads 0, and so does MSR {RESERVED[0]:#x}, which no processor has: the hypervisor answers 0 for"
        " registers that it does not have (KVM: ignore_msrs=1)")
