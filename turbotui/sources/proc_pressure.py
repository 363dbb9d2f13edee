"""/proc/pressure: the time for which tasks waited for a CPU, for memory, for storage, or because of interrupts.

Format: kernel Documentation/accounting/psi.rst. Each file has up to two lines, `some` (at least one task waited) and
`full` (all that had work waited). Of a line only `total=` is read, microseconds since boot: the averages over 10, 60
and 300 s lag behind. `full` of the CPU is always 0 for the whole machine, and interrupts have `full` only.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping
from typing import Final

from turbotui.machine.host import Host, HostError, is_bare_copy
from turbotui.machine.kernel_build import boot_word, build_option
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import text_of
from turbotui.quantities.plain_numbers import numbers_by_name
from turbotui.quantities.signals import Behavior, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.system_files import SystemFact, SystemFiles
from turbotui.sources.unreadable import proc_unreadable

FOLDER: Final = "/proc/pressure"
_DOCUMENT: Final = "kernel Documentation/accounting/psi.rst"
_MICROSECOND: Final = 1e-6
_IRQ: Final = f"{FOLDER}/irq"
_ABSENT: Final = frozenset({errno.ENOENT, errno.EOPNOTSUPP})
_TOTAL: Final = re.compile(r"^(some|full) .*\btotal=(\d+)", re.MULTILINE)

# Signal, file, line
_LINES: Final[tuple[tuple[SignalId, str, str], ...]] = (
    ("psi.cpu.some", "cpu", "some"),
    ("psi.memory.some", "memory", "some"),
    ("psi.memory.full", "memory", "full"),
    ("psi.io.some", "io", "some"),
    ("psi.io.full", "io", "full"),
    ("psi.irq.full", "irq", "full"),
)


class ProcPressure(SystemFiles):
    """The `Source` of /proc/pressure."""

    id = "proc-pressure"
    facts = tuple(SystemFact(signal, f"{FOLDER}/{file}", line, Unit.SECOND, Behavior.COUNTER, _DOCUMENT, _MICROSECOND)
                  for signal, file, line in _LINES)

    @staticmethod
    def parse(text: str) -> Mapping[str, int]:
        """Return the totals of a file."""
        return numbers_by_name(_TOTAL.findall(text))

    def why_unreadable(self, error: HostError, path: str, machine: Machine) -> Unavailable:
        """Return why a kernel does not account this pressure, by its build options and boot parameters."""
        host = machine.host
        if error.errno not in _ABSENT or is_bare_copy(host):
            return proc_unreadable(error, host)
        if path == _IRQ and text_of(host, f"{FOLDER}/cpu"):
            return Unavailable(
                Reason.NO_DRIVER, f"{error}: this kernel does not time interrupts exactly",
                "use Linux 6.1 or later with CONFIG_IRQ_TIME_ACCOUNTING=y")
        return why_no_pressure(host, str(error))


def why_no_pressure(host: Host, what: str) -> Unavailable:
    """Return why a kernel does not account any pressure, by its build options and boot parameters.

    Args:
        what: was tried, and what came back.
    """
    if build_option(host, "PSI") == "n":
        return Unavailable(
            Reason.NO_DRIVER, f"{what}: the kernel was built without pressure stall information (no CONFIG_PSI)",
            "use a kernel with CONFIG_PSI=y")
    if word := boot_word(host, r"psi=(?:0|n|no|off|false)"):
        return Unavailable(Reason.NO_DRIVER, f"{what}: the kernel was booted with {word}", f"boot without {word}")
    if build_option(host, "PSI_DEFAULT_DISABLED") == "y":
        return Unavailable(
            Reason.NO_DRIVER, f"{what}: the kernel accounts pressure only when it is told to "
            "(CONFIG_PSI_DEFAULT_DISABLED=y)", "boot with psi=1")
    return Unavailable(Reason.NO_DRIVER, f"{what}: the kernel does not account pressure",
                       "use Linux 4.20 or later with CONFIG_PSI=y; where it has that, boot with psi=1")
