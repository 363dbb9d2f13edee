"""Integrated graphics and media engine: sleep and clocks. Each exists once; all packages show it."""

from __future__ import annotations

from turbotui.quantities.catalog.formulas import mega_of, percent_of_time
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import SignalId

_DOCUMENT = "kernel drivers/gpu/drm/i915 and drivers/gpu/drm/xe, sysfs files"


def _clock(title: str, signal: SignalId, formula: str, help_text: str) -> CounterColumn:
    return CounterColumn(id=title, category=Category.FREQUENCY, groups=("frequency",), scope=Scope.PACKAGE, unit="MHz",
        decimals=0, needs=(signal,), compute=mega_of(signal), formula=formula, help=help_text, document=_DOCUMENT,
        width=5, priority=7)


def _engine(name: str, state: str, engine: str, what: str) -> tuple[CounterColumn, ...]:
    return (
        CounterColumn(
            id=f"{name}%{state}", category=Category.IDLE, groups=("idle", "hwidle"), scope=Scope.PACKAGE, unit="%",
            decimals=2, needs=(f"{engine}.idle",), compute=percent_of_time(f"{engine}.idle"),
            help=f"Share of the interval that the {what} slept in {state.upper()}.", document=_DOCUMENT, width=6,
            priority=7, scale_max=100.0,
        ),
        _clock(f"{name}MHz", f"{engine}.cur", "requested frequency at the end of the interval",
               f"Clock that the {what} was asked to run at, at one instant."),
        _clock(f"{name}AMHz", f"{engine}.act", "actual frequency at the end of the interval",
               f"Clock that the {what} ran at, at one instant; 0 while it sleeps."),
    )


COLUMNS = (*_engine("GFX", "rc6", "gfx", "graphics engine"), *_engine("SAM", "mc6", "media", "media engine"))
