"""Counters of simulated Intel servers that always run: traffic of memory and of PCI Express ports, whoever asks.

Events, codes and scales are the kernel's (arch/x86/events/intel/uncore_snbep.c: icx_uncore_imc_freerunning_events,
skx_uncore_iio_freerunning_events, snr_uncore_iio_freerunning_events).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.simulated import intel_traffic as flow
from turbotui.simulated.intel_generations import Generation, code
from turbotui.simulated.intel_traffic import LINE, Events, Flows, times
from turbotui.simulated.pmu import EventFile

FORMATS: Final = {"event": "config:0-7", "umask": "config:8-15"}
CONTROLLERS: Final = 4
"""Memory controllers of Ice Lake, each of two channels."""
_ALWAYS: Final = 0xFF
_IO_HERTZ: Final = 1.0e9
_OLD_UNIT, _UNIT = 4, 32
"""Bytes of a count: of Skylake's ports, and of later ones."""


def memory_files() -> Mapping[str, EventFile]:
    """Return the events of a controller; those named ddrt are of persistent memory."""
    masks = {"read": 0x20, "write": 0x21, "ddrt_read": 0x30, "ddrt_write": 0x31}
    return {"dclk": EventFile("event=0xff,umask=0x10"),
            **{name: EventFile(f"event=0xff,umask={mask:#x}", "6.103515625e-5", "MiB")
               for name, mask in masks.items()}}


def memory_counts(made: Generation, flows: Flows, share: float) -> Events:
    """Return the lines that a controller's share of the memory reads and writes."""
    tiers = flow.PERSISTENT if made.tiers == "pmem" else 0.0
    read, written = times(flows.read, share / LINE), times(flows.written, share / LINE)
    return {code(_ALWAYS, 0x10): times(flows.seconds, made.memory_hertz), code(_ALWAYS, 0x20): read,
            code(_ALWAYS, 0x21): written, code(_ALWAYS, 0x30): times(read, tiers),
            code(_ALWAYS, 0x31): times(written, tiers)}


def port_files(made: Generation) -> Mapping[str, EventFile]:
    """Return the events of a stack: its clock, and the bytes from the devices of each port."""
    ports, unit = (4, "3.814697266e-6") if made.filtered else (8, "3.0517578125e-5")
    return {"ioclk": EventFile("event=0xff,umask=0x10"),
            **{f"bw_in_port{port}": EventFile(f"event=0xff,umask={0x20 + port:#x}", unit, "MiB")
               for port in range(ports)}}


def port_counts(made: Generation, flows: Flows, share: float, ports: Sequence[float]) -> Events:
    """Return what comes from the devices of a stack, by port."""
    unit = _OLD_UNIT if made.filtered else _UNIT
    return {code(_ALWAYS, 0x10): times(flows.seconds, _IO_HERTZ),
            **{code(_ALWAYS, 0x20 + port): times(flows.io_written, share * part / unit)
               for port, part in enumerate(ports)}}
