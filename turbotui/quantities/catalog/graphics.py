"""Integrated graphics and media engine: sleep and clocks. They exist once, so every package shows the same."""

from __future__ import annotations

from collections.abc import Callable

from turbotui.quantities.catalog.formulas import mega, percent
from turbotui.quantities.columns import Category, CounterColumn, Inputs, Value
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

_DOCUMENT = "kernel drivers/gpu/drm/i915 and drivers/gpu/drm/xe, sysfs files"


def _slept(signal: SignalId) -> Callable[[Inputs], Value]:
    return lambda row: percent(row.rate(signal), 1.0)


def _megahertz(signal: SignalId) -> Callable[[Inputs], Value]:
    return lambda row: mega(row.value(signal))


def _engine(name: str, state: str, engine: str, what: str) -> tuple[CounterColumn, ...]:
    return (
        CounterColumn(
            id=f"{name}%{state}", category=Category.IDLE, groups=("idle", "hwidle"), scope=Scope.PACKAGE, unit="%",
            decimals=2, needs=(f"{engine}.idle",), compute=_slept(f"{engine}.idle"),
            help=f"Share of the interval that the {what} slept in {state.upper()}.", document=_DOCUMENT, width=6,
            priority=7, scale_max=100.0,
        ),
        CounterColumn(
            id=f"{name}MHz", category=Category.FREQUENCY, groups=("frequency",), scope=Scope.PACKAGE, unit="MHz",
            decimals=0, needs=(f"{engine}.cur",), compute=_megahertz(f"{engine}.cur"),
            formula="requested frequency at the end of the interval",
            help=f"Clock that the {what} was asked to run at, at one instant.", document=_DOCUMENT, width=5,
            priority=7,
        ),
        CounterColumn(
            id=f"{name}AMHz", category=Category.FREQUENCY, groups=("frequency",), scope=Scope.PACKAGE, unit="MHz",
            decimals=0, needs=(f"{engine}.act",), compute=_megahertz(f"{engine}.act"),
            formula="actual frequency at the end of the interval",
            help=f"Clock that the {what} ran at, at one instant; 0 while it sleeps.", document=_DOCUMENT, width=5,
            priority=7,
        ),
    )


COLUMNS = (
    *_engine("GFX", "rc6", "gfx", "graphics engine"),
    *_engine("SAM", "mc6", "media", "media engine"),
)
