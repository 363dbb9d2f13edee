"""Corrections of units and scales of uncore events that kernels state wrongly in sysfs.

Intel's free-running IIO counters count 32 bytes on processors after Skylake servers, but kernels before 6.15 (and the
stable ones of April 2025) say 4; those of outgoing traffic count requests of any size, so no unit is right (commits
96a720db59ab, 32c7f1150225 and 506f981ab40f). All of these processors are of family 6; Diamond Rapids is not, has
counters of its own, and its kernels are newer (dmr_uncore_iio_freerunning_events).
"""

from __future__ import annotations

from dataclasses import replace

from turbotui.events.encoded import EncodedEvent
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.pmus import Pmu

_PORTS = "uncore_iio_free_running"
_OUTGOING, _DATA = "bw_out_", "inb_data_port0"
"""Outgoing traffic by port, and an event that only Diamond Rapids has."""
_FAMILY = 6
_SKYLAKE = 0x55  # Skylake, Cascade Lake and Cooper Lake servers, which count 4 bytes as the kernel says
_FOUR, _THIRTY_TWO = 4 / 2**20, 32 / 2**20  # MiB
_CLOSE = 1e-6


def is_meaningless(pmu: Pmu, event: str) -> bool:
    """Tell whether an event's unit and scale in sysfs are meaningless."""
    return pmu.name.startswith(_PORTS) and event.startswith(_OUTGOING) and _DATA not in pmu.events


def corrected_scale(pmu: str, unit: str, scale: float, model: CpuModel) -> float:
    """Return the right scale of a PMU's event if the kernel's is known to be wrong, else the kernel's."""
    stale = pmu.startswith(_PORTS) and unit == "MiB" and abs(scale / _FOUR - 1) < _CLOSE
    return _THIRTY_TWO if stale and model.family == _FAMILY and model.model != _SKYLAKE else scale


def corrected(event: EncodedEvent, model: CpuModel) -> EncodedEvent:
    """Return an event with its right scale."""
    right = corrected_scale(event.pmu, event.unit, event.scale, model)
    return event if right == event.scale else replace(event, scale=right)
