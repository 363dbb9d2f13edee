"""Differences between the uncores of simulated Intel servers: clocks, codes, fields, numbers of PMUs."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.simulated.shapes import Isa, MachineShape

_LINKS: Final = (0.4, 0.35, 0.25)
_SIX_LINKS: Final = (0.25, 0.2, 0.2, 0.15, 0.1, 0.1)
"""The distribution of traffic between packages over the links."""
_STACKS: Final = (0.5, 0.3, 0.15, 0.05)
"""The distribution of devices' traffic over the PCI Express stacks."""


@dataclass(frozen=True, slots=True)
class Generation:
    """The uncore of one generation of Intel servers."""

    mask: str  # format of a CHA's umask
    cha_clock: int  # code of the CHAs' and meshes' clock
    memory_hertz: float  # DCLK
    # activations, conflicts: codes of ACT, and of PRE for another row
    activations: int
    conflicts: int
    mesh: str  # name of what is between mesh and memory
    mesh_codes: tuple[int, int, int, int, int]  # of its lookups, lookups in state A, updates, reads and writes
    upi_hertz: float  # an eighth of the links' rate
    early: bool = False  # whether codes of memory and mesh are those before Sapphire Rapids
    filtered: bool = False  # whether it is Skylake's uncore: CHAs pick requests by a filter register
    drd: str = "DRD"  # the word for data reads of the cores in the vendor's names
    # channels, meshes: of the memory of a package
    channels: int = 8
    meshes: int = 4
    slice_cores: int = 1  # cores for each slice of the last-level cache
    halves: bool = False  # whether the kernel names the counts of a channel's two subchannels apart
    links: tuple[float, ...] = _LINKS  # how what goes to other packages spreads over the links
    stacks: tuple[float, ...] = _STACKS  # how traffic of devices spreads over the PCI Express stacks
    cxl: bool = True  # whether links to CXL memory are counted
    # further PMUs, of which neither kernel nor vendor names an event that is read here
    nameless: tuple[tuple[str, int], ...] = ()
    free_running: bool = False  # whether the counters of `intel_free_running` are there
    tiers: str = ""  # of the machine's shape


def code(event: int, mask: int = 0) -> int:
    """The config of an event: the umask's low byte at bit 8, the rest from bit 32."""
    return event | (mask & 0xFF) << 8 | mask >> 8 << 32


_ICX: Final = Generation("config:8-15,32-57", 0x00, 1.6e9, code(0x01, 0x0B), code(0x02, 0x0C), "m2m",
                         (code(0x2D, 0x01), code(0x2D, 0x08), code(0x2E, 0x01), code(0x37, 0x704),
                          code(0x38, 0x1C10)), 1.4e9, early=True, cxl=False, free_running=True)
_SKX: Final = replace(_ICX, mask="config:8-15", memory_hertz=2.933e9 / 2, conflicts=code(0x02, 0x01),
                      mesh_codes=(*_ICX.mesh_codes[:3], code(0x37, 0x04), code(0x38, 0x10)), upi_hertz=1.3e9,
                      filtered=True, channels=6, meshes=2, nameless=(("m2pcie", 4), ("m3upi", 3), ("irp", 6)))
_SNR: Final = replace(_ICX, memory_hertz=2.933e9 / 2, drd="DRD_OPT", channels=2, meshes=1, slice_cores=4,
                      stacks=(0.4, 0.3, 0.15, 0.1, 0.05), free_running=False,
                      nameless=(("irp", 5), ("m2pcie", 5), ("pcie3", 1)))
_SPR: Final = Generation("config:8-15,32-63", 0x01, 2.4e9, code(0x02, 0xFF),
                         code(0x03, 0x77), "m2m",
                         (code(0x20, 0x01), code(0x20, 0x08), code(0x21, 0x301), code(0x24, 0x304),
                          code(0x25, 0x1810)), 2.0e9)
_SRF: Final = Generation("config:8-15,32-63", 0x01, 1.6e9, code(0x02, 0xF7),
                         code(0x03, 0xF7), "b2cmi",
                         (code(0x20, 0x01), code(0x20, 0x08), code(0x21, 0x301), code(0x24, 0x104),
                          code(0x25, 0x110)), 3.0e9, drd="DRD_OPT", slice_cores=4, halves=True)
_GRR: Final = replace(_SRF, memory_hertz=1.4e9, channels=2, meshes=2, cxl=False, nameless=(("irp", 4),))
_GNR: Final = replace(_SRF, memory_hertz=2.2e9, drd="DRD", slice_cores=1, channels=12, links=_SIX_LINKS,  # MRDIMM-8800
                      nameless=(("b2cxl", 2), ("b2hot", 4), ("b2upi", 3), ("mdf_sbo", 8), ("pciex16", 4),
                                ("pciex8", 2)))
_GENERATIONS: Final = {0x55: _SKX, 0x86: _SNR, 0x6A: _ICX, 0x8F: _SPR, 0xCF: _SPR, 0xAF: _SRF, 0xB6: _GRR, 0xAD: _GNR}


def generation_of(shape: MachineShape) -> Generation | None:
    """Return the generation of a machine; None for other uncores."""
    if shape.isa is not Isa.INTEL or shape.client or shape.hypervisor or shape.model not in _GENERATIONS:
        return None
    return replace(_GENERATIONS[shape.model], tiers=shape.tiers)
