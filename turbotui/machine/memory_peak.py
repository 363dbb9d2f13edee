"""The peak bandwidth of memory, by the modules that firmware describes (SMBIOS type 17, DSP0134 3.7, 7.18)."""

from __future__ import annotations

import math
from functools import cached_property

from turbotui.machine.machine import Machine
from turbotui.machine.memory import Module, channels_named, read_memory
from turbotui.quantities.scope import Scope


class MemoryPeak:
    """The peak GB/s of a machine's memory and parts of it; firmware is read once, when needed.

    Attributes:
        why: a sentence why the peak is unknown.
    """

    why = ("how much memory can move is told by SMBIOS type 17 alone, which only root may read and which has to name "
           "the channels of all modules, equal ones where a part of them is asked for")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @cached_property
    def _channels(self) -> tuple[float, ...]:
        """GB/s of each channel; empty if firmware does not tell channels apart, or a hypervisor invented them."""
        if self._machine.model.hypervisor:
            return ()
        packages = max(1, len(self._machine.topology.instances(Scope.PACKAGE)))
        rates = [_rate(group) for group in channels_named(read_memory(self._machine.host).modules, packages)]
        return tuple(rate for rate in rates if rate) if all(rates) else ()

    def of(self, units: int, every: int) -> float | None:
        """Return the peak GB/s of some of `every` units that count the machine's memory; None if unknown."""
        rates = self._channels
        if units != every and (len(set(rates)) > 1 or (len(rates) % every and every % max(1, len(rates)))):
            return None
        return math.fsum(rates) * units / every or None


def _rate(modules: tuple[Module, ...]) -> float | None:
    """Return a channel's GB/s: as wide as its widest module, as fast as its slowest; None if unknown."""
    widths, speeds = [module.bits for module in modules], [module.mts for module in modules]
    if not all(widths) or not all(speeds):
        return None
    return max(width or 0 for width in widths) / 8 * min(speed or 0 for speed in speeds) / 1000
