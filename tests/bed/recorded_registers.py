"""A simulated machine whose registers and CPUID are those of a real one, as a dump of it has them."""

from __future__ import annotations

import errno
import gzip
import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from turbotui.simulated import SHAPES, ManualClock, SimulatedHost
from turbotui.simulated.layout import SimulatedCpu
from turbotui.simulated.model import Model
from turbotui.simulated.registers import Read

FOLDER = Path(__file__).parents[3] / "shared" / "machines" / "registers"
_TSC = 0x10
_TOPOLOGY_LEAVES = (0xB, 0x1F)
_CORE_C1 = 0x660
_CLOCKS = (0xE7, 0xE8)  # IA32_MPERF, IA32_APERF
_SINCE = 60.0
"""Machine time of the first sample, in seconds: the comparison starts later."""

Leaves = Mapping[tuple[int, int], tuple[int, int, int, int]]
"""EAX, EBX, ECX, EDX by leaf and subleaf."""


@cache
def _dump(name: str) -> Mapping[str, Mapping[str, Mapping[str, Sequence[int | None]]]]:
    with gzip.open(FOLDER / f"{name}.json.gz") as file:
        loaded: dict[str, dict[str, dict[str, list[int | None]]]] = json.load(file)
    return loaded


def _reader(address: int, samples: Sequence[int]) -> Read:
    """The recorded word; one that grew goes on growing by as much each second."""
    first, step = samples[0], samples[1] - samples[0] if len(samples) > 1 else 0
    each = int(address in _CLOCKS)  # every CPU at another pace

    def read(model: Model, place: SimulatedCpu, now: float) -> int:
        return first + max(0, step) * (1 + each * place.cpu) * round(max(0.0, now - _SINCE))

    return read


def _tsc_hz(recorded: Mapping[str, Sequence[int | None]]) -> int:
    """By CPUID leaf 0x15, else the base clock of leaf 0x16 (Intel SDM vol. 2); 0 where neither tells."""
    denominator, numerator, crystal, _ = recorded.get("15.0", (0, 0, 0, 0))
    if denominator and numerator and crystal:
        return crystal * numerator // denominator
    return (recorded.get("16.0", (0, 0, 0, 0))[0] or 0) * 1_000_000


def _has_hwp(recorded: Mapping[str, Sequence[int | None]]) -> bool:
    """CPUID leaf 6, EAX[7] (Intel SDM vol. 2)."""
    return bool((recorded["6.0"][0] or 0) >> 7 & 1)


def _without_hwp(flags: str) -> str:
    return " ".join(flag for flag in flags.split() if not flag.startswith("hwp"))


class RecordedRegisters(SimulatedHost):
    """Files and topology of a simulated machine; registers and CPUID of a real one.

    What the dump does not have is the model's; the TSC is, so that it agrees with the clock.

    Args:
        name: file of the dump, without its ending.
        base: the simulated machine whose files it has.
        seed: of the model's load.
    """

    def __init__(self, name: str, base: str, seed: int) -> None:
        dump = _dump(name)
        signature = dump["0"]["cpuid"]["1.0"][0] or 0
        family, model = signature >> 8 & 15, signature >> 4 & 15
        model |= (signature >> 16 & 15) << 4
        shape = SHAPES[base]
        flags = shape.flags if _has_hwp(dump["0"]["cpuid"]) else _without_hwp(shape.flags)
        family += signature >> 20 & 0xFF if family == 15 else 0
        shape = replace(
            shape, name=name, flags=flags, packages=1, family=family, model=model,
            stepping=signature & 15, tsc_hz=_tsc_hz(dump["0"]["cpuid"]) or shape.tsc_hz,
            blocks=(replace(shape.blocks[0], cores=2, l3=2),), core_types=shape.core_types[:1],
        )  # fmt: skip
        clock = ManualClock(5_000_000_000)
        super().__init__(shape, clock, seed)
        clock.advance(_SINCE + 1.0)
        # Dumps have the words of the first CPU at several instants; those of the others often stand still.
        known = {address: read for address, read in self._registers.items() if address != _CORE_C1}
        self._registers = {**known, **self._overlay(dump["0"]["msr"])}
        self.fail("/sys/class/powercap", errno.ENOENT)  # it would tell of the model's energy
        self.recorded = [self._leaves(dump[str(cpu)]["cpuid"]) for cpu in range(len(self.model.online))]

    @staticmethod
    def _overlay(recorded: Mapping[str, Sequence[int | None]]) -> Mapping[int, Read]:
        result = {}
        for key, samples in recorded.items():
            known = [sample for sample in samples if sample is not None]
            if known and int(key, 16) != _TSC:
                result[int(key, 16)] = _reader(int(key, 16), known)
        return result

    @staticmethod
    def _leaves(recorded: Mapping[str, Sequence[int | None]]) -> Leaves:
        result = {}
        for key, words in recorded.items():
            leaf, subleaf = (int(part, 16) for part in key.split("."))
            eax, ebx, ecx, edx = (word or 0 for word in words)
            result[leaf, subleaf] = (eax, ebx, ecx, edx)
        return result

    def cpuid(self, cpu: int, leaf: int, subleaf: int) -> tuple[int, int, int, int]:
        """Return the result of the instruction; subleaves matter if several are recorded (Intel SDM vol. 2, CPUID)."""
        leaves = self.recorded[cpu]
        first = leaves.get((leaf, 0), (0, 0, 0, 0))
        if leaf in _TOPOLOGY_LEAVES and (leaf, subleaf) not in leaves:
            return (0, 0, subleaf & 0xFF, first[3])  # EDX, the x2APIC id, is the same for every ECX
        return leaves.get((leaf, subleaf), (0, 0, 0, 0)) if (leaf, 1) in leaves else first

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        """Read a file or register at an offset; /dev/cpu/N/cpuid answers with the recorded CPUID leaves."""
        path = getattr(self._open.get(descriptor), "path", "")
        if path.startswith("/dev/cpu/") and path.endswith("/cpuid"):
            return struct.pack("<4I", *self.cpuid(int(path.split("/")[3]), offset & 0xFFFF_FFFF, offset >> 32))
        return super().read_at(descriptor, size, offset)
