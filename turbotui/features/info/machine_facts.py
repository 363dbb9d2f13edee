"""Reads the facts for the configuration header: registers, CPUID leaves, files, each at most once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.machine.platform_features import SILVERMONT_MHZ
from turbotui.machine.reading import Leaf, cpuid_of
from turbotui.machine.registers import invents_zeros, read_once
from turbotui.machine.small_files import names_in
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.plain_numbers import whole_number
from turbotui.quantities.scope import Scope
from turbotui.untrusted import one_line

_EXTENDED = 0x8000_0000  # leaves from here on have a maximum of their own (Intel SDM vol. 2, CPUID)
_HYPERVISOR = 0x4000_0000  # hypervisor leaves have their own maximum, too
_FSB_FREQ = 0xCD
_ANY_CPU = r"/cpu[0-9]+/"
_NO_BIT = (0, "", 0)
_CPUID_BITS: Mapping[str, tuple[int, str, int]] = {
    "pni": (1, "ecx", 0), "monitor": (1, "ecx", 3), "smx": (1, "ecx", 6), "est": (1, "ecx", 7), "tm2": (1, "ecx", 8),
    "hypervisor": (1, "ecx", 31), "tsc": (1, "edx", 4), "msr": (1, "edx", 5), "acpi": (1, "edx", 22),
    "ht": (1, "edx", 28), "tm": (1, "edx", 29),
    "dtherm": (6, "eax", 0), "ida": (6, "eax", 1), "pts": (6, "eax", 6), "hwp": (6, "eax", 7),
    "hwp_notify": (6, "eax", 8), "hwp_act_window": (6, "eax", 9), "hwp_epp": (6, "eax", 10),
    "hwp_pkg_req": (6, "eax", 11), "aperfmperf": (6, "ecx", 0), "epb": (6, "ecx", 3), "sgx": (7, "ebx", 2),
}
"""Leaf, register and bit by the kernel's flag (Intel SDM vol. 2, CPUID; kernel asm/cpufeatures.h)."""
_SHOWN = 40  # characters of a file that holds something else than it should


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """One line of the header, and its source."""

    text: str
    origin: str
    always: bool = False  # whether the line is a warning that is shown even without the header


class MachineFacts:
    """The facts of one machine; unreadable ones are None, and their lines are left out.

    Args:
        detailed: whether to include lines for debugging.
    """

    def __init__(self, machine: Machine, *, detailed: bool = False) -> None:
        self.machine = machine
        self.detailed = detailed
        self.cpu = min(machine.topology.cpus)
        self._registers: dict[tuple[int, int], int | None] = {}
        self._invents_zeros: bool | None = None
        self._leaves: dict[int, Leaf | None] = {}
        self._texts: dict[str, str | None] = {}
        self._unreadable: dict[str, str] = {}

    @property
    def intel(self) -> bool:
        """Whether the processor is Intel's."""
        return self.machine.model.vendor == "GenuineIntel"

    def has(self, flag: str) -> bool:
        """Whether the processor has a feature, by CPUID, else by the flags of /proc/cpuinfo.

        The kernel hides flags of features that it is told not to use, and knows some that CPUID does not tell.
        """
        number, register, bit = _CPUID_BITS.get(flag, _NO_BIT)
        leaf = self.leaf(number) if register else None
        return flag in self.machine.model.flags if leaf is None else bool(getattr(leaf, register) >> bit & 1)

    def register(self, address: int, cpu: int | None = None) -> int | None:
        """Return a register of a CPU, by default of the first one."""
        where = self.cpu if cpu is None else cpu
        key = (where, address)
        if key not in self._registers:
            self._registers[key] = self._read_register(where, address)
        return self._registers[key]

    def line(self, address: int, name: str, words: Callable[[int], str],
             cpu: int | None = None) -> Iterator[HeaderLine]:
        """Return the line of a register with words about its bits; none if it cannot be read."""
        if (word := self.register(address, cpu)) is not None:
            where = self.cpu if cpu is None else cpu
            yield HeaderLine(f"cpu{where}: {name}: 0x{word:08x} ({words(word)})", f"MSR {address:#x}")

    def _read_register(self, cpu: int, address: int) -> int | None:
        try:
            word = read_once(self.machine.host, cpu, address)
        except HostError:
            return None
        return None if word == 0 and self._zeros_are_invented() else word

    def _zeros_are_invented(self) -> bool:
        """Tell whether a register that reads 0 may not exist."""
        if self._invents_zeros is None:
            self._invents_zeros = invents_zeros(self.machine.host, self.cpu)
        return self._invents_zeros

    def leaf(self, leaf: int) -> Leaf | None:
        """Return a CPUID leaf of the first CPU by the cpuid device; None without it or above the highest leaf."""
        if leaf not in self._leaves:
            self._leaves[leaf] = self._read_leaf(leaf)
        return self._leaves[leaf]

    def _read_leaf(self, leaf: int) -> Leaf | None:
        base = _EXTENDED if leaf >= _EXTENDED else _HYPERVISOR if leaf >= _HYPERVISOR else 0
        if leaf != base:
            # Above the highest leaf a processor returns another leaf's data, so the maximum is read first.
            first = self.leaf(base)
            if first is None or leaf > first.eax:
                return None
        try:
            with cpuid_of(self.machine.host, self.cpu) as ask:
                answer = ask(leaf)
        except HostError:
            return None
        return answer if leaf != base or answer.eax >= base else None

    def text(self, path: str) -> str | None:
        """Return a file's text, stripped; None if it cannot be read."""
        if path not in self._texts:
            try:
                self._texts[path] = self.machine.host.read_text(path).strip()
            except HostError:
                self._texts[path] = None
        return self._texts[path]

    def number(self, path: str) -> int | None:
        """The whole number in a file: a size, a clock, a limit; None if there is none, and then `unreadable` has it."""
        text = self.text(path)
        whole = None if text is None else whole_number(text)
        if text and whole is None:
            self._unreadable[path] = text
        return whole

    def unreadable(self) -> Iterator[HeaderLine]:
        """Lines about files that should hold a whole number and hold something else; CPUs that agree share a line."""
        alike = lists_by_key(((re.sub(_ANY_CPU, "/cpu*/", path), one_line(text)[:_SHOWN]), path)
                             for path, text in self._unreadable.items())
        for (path, text), paths in alike.items():
            where = path if len(paths) > 1 else paths[0]
            yield HeaderLine(f'unknown: {where} holds "{text}", which is no whole number', where)

    def names(self, path: str) -> tuple[str, ...]:
        """Names in a directory, sorted; empty if it cannot be listed."""
        return names_in(self.machine.host, path)

    def packages(self) -> Iterator[int]:
        """The first measured CPU of each package."""
        yield from (instance.cpus[0] for instance in self.machine.topology.instances(Scope.PACKAGE))

    def cores(self) -> Iterator[int]:
        """The first measured CPU of each core."""
        yield from (instance.cpus[0] for instance in self.machine.topology.instances(Scope.CORE))

    def bus_mhz(self) -> float | None:
        """The clock that ratios multiply; None if unknown."""
        if (clock := self.machine.platform.features.bclk) is None or clock.value is not None:
            return None if clock is None else clock.value
        if (index := self.register(_FSB_FREQ)) is None:
            return None
        chosen = index & 0xF
        # A code beyond the table means its fourth entry (turbostat-platforms, BCLK_SLV).
        return SILVERMONT_MHZ[chosen] if chosen < len(SILVERMONT_MHZ) else SILVERMONT_MHZ[3]


def negated_unless(condition: int | bool, word: str, prefix: str = "No-") -> str:
    """Return a word, with the prefix if the condition does not hold."""
    return word if condition else prefix + word


def enabled_word(condition: int | bool) -> str:
    """Return ENabled or DISabled, as turbostat writes them."""
    return "ENabled" if condition else "DISabled"
