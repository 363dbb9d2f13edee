"""The machines on which turbostat and turbotui are compared: shapes that turbostat knows, small enough to be quick."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from recorded_registers import RecordedRegisters

from turbotui.simulated import SHAPES, ManualClock, SimulatedHost

WARM_UP: Final = 20.0
"""Seconds that a machine has run before it is looked at."""


@dataclass(frozen=True)
class Case:
    """A machine, its settings, and the command line.

    Attributes:
        base: the simulated machine that it is made of.
        model: CPUID model, and family for AMD; 0 for the base's own.
        cores: most cores of each block; 0 for the base's own.
        packages: 0 for the base's own.
        threads: SMT threads of each core; 0 for the base's own.
        offline: CPUs that are offline.
        words: options of both programs.
        warm_up: seconds that the machine has run.
        seed: of its load.
        family: CPUID family; 0 for the base's own.
        ram_unit: joules of one count of the DRAM energy register; None for the base's own.
        crystal_hz: what CPUID 0x15 says of the crystal; 0 for the base's own.
        registers: the dump of a real machine's registers and CPUID, in place of the model's.
    """

    base: str
    model: int = 0
    cores: int = 2
    packages: int = 0
    threads: int = 0
    offline: tuple[int, ...] = ()
    words: tuple[str, ...] = ()
    warm_up: float = WARM_UP
    seed: int = 3
    family: int = 0
    ram_unit: float | None = None
    crystal_hz: int = 0
    registers: str = ""

    def host(self) -> SimulatedHost:
        """The machine, at the start of the comparison; the same every time."""
        if self.registers:
            return RecordedRegisters(self.registers, self.base, self.seed)
        shape = SHAPES[self.base]
        shape = replace(
            shape, family=self.family or shape.family,
            ram_unit=shape.ram_unit if self.ram_unit is None else self.ram_unit,
            crystal=(*shape.crystal[:2], self.crystal_hz or shape.crystal[2]),
        )  # fmt: skip
        if self.model:
            shape = replace(shape, model=self.model)
        if self.packages:
            shape = replace(shape, packages=self.packages)
        if self.cores:
            blocks = tuple(replace(block, cores=min(block.cores, self.cores), l3=min(block.l3, self.cores))
                           for block in shape.blocks)
            shape = replace(shape, blocks=blocks)
        if self.threads:
            shape = replace(shape, core_types=tuple(replace(kind, threads=self.threads) for kind in shape.core_types))
        clock = ManualClock(5_000_000_000)
        host = SimulatedHost(shape, clock, self.seed)
        for cpu in self.offline:
            host.set_online(cpu, online=False)
        clock.advance(self.warm_up)
        return host


CASES: Final[Mapping[str, Case]] = {
    # servers by what turbostat knows of their models
    "sapphire-rapids": Case("sapphire-2s", cores=4),
    "sapphire-rapids, idle": Case("sapphire-2s", cores=3, warm_up=45.0, seed=11),
    "sapphire-rapids, no SMT": Case("sapphire-2s", threads=1, cores=3),
    "sapphire-rapids, CPU 1 offline": Case("sapphire-2s", offline=(1,)),
    "sapphire-rapids, one package": Case("sapphire-2s", packages=1, cores=5, seed=5),
    "sapphire-rapids, one CPU": Case("sapphire-2s", packages=1, threads=1, cores=1),
    "sapphire-rapids, 3 packages": Case("sapphire-2s", packages=3, seed=6),
    "sapphire-rapids, 4 packages": Case("sapphire-2s", packages=4, cores=4, seed=6),
    "sapphire-rapids, CPUs 0-2": Case("sapphire-2s", words=("-c", "0-2"), cores=4),
    "sapphire-rapids, cores": Case("sapphire-2s", words=("-c", "core"), cores=3),
    "sapphire-rapids, packages": Case("sapphire-2s", words=("-c", "package"), cores=3),
    "sapphire-rapids, summary": Case("sapphire-2s", words=("-S",)),
    "sapphire-rapids, joules": Case("sapphire-2s", words=("-J",)),
    "sapphire-rapids, TCC 90": Case("sapphire-2s", words=("-T", "90")),
    "ice-lake": Case("icelake-2s", cores=3),
    "ice-lake-d": Case("icelake-2s", model=0x6C),
    "skylake-x": Case("icelake-2s", model=0x55, cores=3),
    "broadwell-x": Case("icelake-2s", model=0x4F),
    "haswell-x": Case("icelake-2s", model=0x3F),
    "broadwell-d": Case("icelake-2s", model=0x56, packages=1),
    "ivybridge-x": Case("icelake-2s", model=0x3E, ram_unit=0.0),
    # clients
    "meteor-lake": Case("laptop", cores=0),
    "meteor-lake, no crystal": Case("laptop-old", model=0xAA, cores=4),
    "alder-lake": Case("laptop", model=0x97, cores=2, seed=9),
    "tiger-lake": Case("laptop-old", model=0x8C, cores=3, crystal_hz=24_000_000),
    "kaby-lake": Case("laptop-old", cores=4),
    "kaby-lake, 10 s": Case("laptop-old", cores=4, words=("-i", "10")),
    "skylake": Case("laptop-old", model=0x5E, cores=4, seed=8),
    "broadwell": Case("laptop-old", model=0x3D),
    "haswell": Case("laptop-old", model=0x3C),
    "haswell-l": Case("laptop-old", model=0x45),
    "broadwell-g": Case("laptop-old", model=0x47),
    "goldmont": Case("laptop-old", model=0x5C, crystal_hz=24_000_000),
    "goldmont plus": Case("laptop-old", model=0x7A, crystal_hz=24_000_000),
    "cannon-lake": Case("laptop-old", model=0x66, seed=4, crystal_hz=24_000_000),
    # AMD
    "turin": Case("turin-2s", cores=4),
    "zen 5": Case("turin-2s", model=0x44, family=26),
    "zen 4": Case("turin-2s", model=0x11, family=25),
    "zen 3": Case("turin-2s", model=0x01, cores=3, family=25),
    "zen 2, one package": Case("turin-2s", model=0x31, packages=1, cores=6, family=23),
    "zen 1": Case("turin-2s", model=0x01, family=23),
    "zen 2, CPU 1 offline": Case("turin-2s", model=0x31, offline=(1,), family=23),
    # registers and CPUID of real machines, over the files of a simulated one
    "recorded ice-lake": Case("icelake-2s", registers="GenuineIntel00606A6_ICX_CPUID3"),
    "recorded sapphire-rapids": Case("sapphire-2s", registers="GenuineIntel00806F8_SapphireRapids_05"),
    "recorded alder-lake": Case("laptop-old", registers="GenuineIntel0090675_AlderLake_02"),
    "recorded meteor-lake": Case("laptop-old", registers="GenuineIntel00A06A4_MeteorLake_09"),
    "recorded granite-rapids": Case("sapphire-2s", registers="GenuineIntel00A06D1_GraniteRapids_03"),
    "recorded rome": Case("turin-2s", registers="AuthenticAMD0830F10_K17_Rome"),
    "recorded genoa": Case("turin-2s", registers="AuthenticAMD0A10F11_K19_Genoa_01"),
    # what turbostat does not know
    "granite-rapids": Case("sapphire-2s", model=0xAD),
    "sierra-forest": Case("forest-1s", cores=8),
}
"""By the name that DIFFERENCES.md calls a machine."""
