"""Columns of what the firmware of AMD MI300A measures; other processors do not have them."""

from __future__ import annotations

from functools import partial
from typing import Final

from turbotui.quantities.catalog.formulas import Formula, mega_of, value_of, whole_of
from turbotui.quantities.columns import PERCENT, Category, CounterColumn, Inputs, Thresholds, Value
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

_DOCUMENT: Final = "kernel Documentation/arch/x86/amd_hsmp.rst; AMD E-SMI library, tools/e_smi_tool.c"
_READ: Final = "HSMP's metrics table at the end of the interval"


def _share(signal: SignalId) -> Formula:
    def compute(row: Inputs) -> Value:
        value = row.value(signal)
        return None if value is None else 100.0 * value

    return compute


_firmware_column = partial(CounterColumn, scope=Scope.PACKAGE, document=_DOCUMENT, priority=8, default=False,
                           extra=True)


def _temperature(title: str, signal: SignalId, what: str) -> CounterColumn:
    return _firmware_column(id=title, category=Category.THERMAL, unit="°C", decimals=0, needs=(signal,),
                            compute=whole_of(signal),
                            formula=_READ, width=5,
                            help=f"Temperature of {what}, as the firmware of MI300A reports it.",
                            thresholds=Thresholds(85.0, 95.0))


def _percent(title: str, category: Category, signal: SignalId, what: str) -> CounterColumn:
    return _firmware_column(id=title, category=category, unit="%", decimals=1, needs=(signal,), compute=_share(signal),
                            help=f"{what}, as the firmware of MI300A reports it.", width=5, scale=PERCENT)


def _clock(title: str, signal: SignalId, what: str) -> CounterColumn:
    return _firmware_column(id=title, category=Category.FREQUENCY, unit="MHz", decimals=0, needs=(signal,),
                            compute=mega_of(signal), formula=_READ, width=7,
                            help=f"Effective clock of {what}, as the firmware of MI300A reports it.")


COLUMNS: Final = (
    _firmware_column(id="HsmpWatt", category=Category.POWER, unit="W", decimals=1, needs=("hsmp.power",),
                     compute=value_of("hsmp.power"), formula=_READ, width=8,
                     help="Power of the socket with accelerators and HBM, as the firmware of MI300A reports it."),
    _temperature("VRTmp", "hsmp.temp.vr", "the hottest voltage regulator"),
    _temperature("HBMTmp", "hsmp.temp.hbm", "the hottest HBM stack"),
    _percent("HsmpC0%", Category.OTHER, "hsmp.c0", "Share of the time that cores are in C0"),
    _percent("XCD%", Category.OTHER, "hsmp.gfx", "Share of the time that accelerators (XCDs) are busy"),
    _percent("HBM%", Category.OTHER, "hsmp.hbm", "Share of the bandwidth of all HBM stacks that is used"),
    _clock("FCLKMHz", "hsmp.fclk", "the data fabric"),
    _clock("UCLKMHz", "hsmp.uclk", "the memory controllers"),
)
