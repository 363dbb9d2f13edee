"""Columns of the cache-aware roofline: operations, bytes loaded and stored, and their ratio."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from turbotui.quantities.catalog.formulas import total_rate_of
from turbotui.quantities.columns import Category, CounterColumn, Inputs, Value
from turbotui.quantities.metric_definitions import LINE, MetricDefinition
from turbotui.quantities.metric_table import definitions_of
from turbotui.quantities.roofline import NO_BYTES, NO_FLOPS, VECTOR_BITS, Sizing, signal_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal, SignalId
from turbotui.quantities.speeds import Speed, row_speed

_DOCUMENT = "Antao et al., cache-aware roofline model; events: turbotui/quantities/metric_definitions.toml"
_SIZING = Sizing()
_ENERGY = "energy.pkg"
_WIDE = ("avx512", "amx")
"""Prefixes of the events of 512-bit vectors and matrix tiles."""


def _column(title: str, unit: str, decimals: int, needs: tuple[SignalId, ...], *, formula: str, says: str,
            scope: Scope = Scope.CPU) -> CounterColumn:
    return CounterColumn(id=title, category=Category.OTHER, groups=("roofline",), scope=scope, unit=unit,
        decimals=decimals, needs=needs, compute=_unknown, formula=formula, help=says, document=_DOCUMENT, width=8,
        priority=6, default=False, extra=True)


def _unknown(_row: Inputs) -> Value:
    """Formula of a column whose events this machine cannot count; the value is always unknown."""
    return None


COLUMNS = (
    _column("GFLOP/s", "GFLOP/s", 3, (NO_FLOPS,), formula="Δ(floating-point operations) / interval / 1e9",
            says="Floating-point operations per second; a fused multiply-add is two. Without x87; half precision, "
            "bfloat16 and AMX count where the core counts them: Sapphire Rapids and later, Zen 4 and later."),
    _column("CoreGB/s", "GB/s", 3, (NO_BYTES,), formula="Δ(loads + stores) x bytes of an access / interval / 1e9",
            says="Bytes per second that the cores load and store, whichever cache or memory answers. No x86 counter "
            "knows the width of an access: it is taken for the mean width of the floating-point instructions."),
    _column("AI", "flop/byte", 4, (NO_BYTES,), formula="Δ(floating-point operations) / Δ(bytes loaded and stored)",
            says="Arithmetic intensity as the core sees it: GFLOP/s over CoreGB/s. The horizontal axis of the "
            "roofline."),
    _column("V512/s", "/s", 0, (NO_FLOPS,), formula="Δ(512-bit floating-point and AMX instructions) / interval",
            says="Floating-point instructions of 512 bits, and operations of AMX where the core counts them, a second: "
            "many of them lower the core's turbo clock. Those on integers are not counted."),
    _column("GFLOPS/W", "GFLOP/s/W", 3, (NO_FLOPS, _ENERGY), scope=Scope.PACKAGE,
            formula="Δ(floating-point operations) / Δenergy.pkg / 1e9",
            says="Energy efficiency: GFLOP/s for each watt of the package, which is GFLOP for each joule."),
)
LEVEL_COLUMNS = tuple(
    replace(_column(f"{level}GB/s", "GB/s", 3, (NO_FLOPS,), formula=f"Δ(lines between {inner}) x 64 / interval / 1e9",
                    says=f"Bytes per second that pass between {inner}, by events that count cache lines there. The "
                    "notes of `turbotui roofline --levels` say for each family of cores what they leave out, such as "
                    "lines that are written back."),
            groups=("levels",))
    for level, inner in (("L2", "L1 and L2"), ("L3", "L2 and what lies beyond it"))
)
"""The columns of memory levels on a machine that cannot count them."""
"""The columns of a machine that cannot count operations; `roofline_columns` has those of one that can."""


def roofline_columns(signals: Mapping[SignalId, Signal]) -> tuple[CounterColumn, ...]:
    """The columns for the definitions whose events this machine counts; `COLUMNS` if it counts none."""
    if not (definitions := measured_definitions(signals)):
        return (*COLUMNS, *LEVEL_COLUMNS)
    sized = tuple(definition for definition in definitions if _all(_byte_signals(definition, signals), signals))
    flops, bytes_, intensity, wide, efficiency = COLUMNS
    columns = [_counted(flops, definitions, lambda speed, _row: speed.flops / 1e9, signals, with_bytes=False)]
    for column, compute in ((bytes_, _giga_bytes), (intensity, lambda speed, _row: speed.intensity)):
        columns.append(_counted(column, sized, compute, signals, with_bytes=True) if sized else column)
    columns.append(_wide(wide, definitions, signals))
    made = _counted(efficiency, definitions, _efficiency, signals, with_bytes=False)
    levels = tuple(_level(column, definitions, signals) for column in LEVEL_COLUMNS)
    return (*columns, replace(made, needs=(*made.needs, _ENERGY)), *levels)


def _level(column: CounterColumn, definitions: Sequence[MetricDefinition],
           signals: Mapping[SignalId, Signal]) -> CounterColumn:
    """Bytes of a memory level, from the definitions that count all lines of the level here."""
    level = column.id.removesuffix("GB/s")
    names = tuple(signal_of(definition, key) for definition in definitions
                  for name, keys in definition.terms_of_levels if name == level for key in keys)
    if not names or any(name not in signals for name in names):
        return column
    counting = [definition for definition in definitions if level in dict(definition.terms_of_levels)]

    def cell(row: Inputs) -> Value:
        total: float | None = None
        for inputs in row.each(Scope.CPU):
            for definition in counting:
                terms = [signal_of(definition, key) for key in dict(definition.terms_of_levels)[level]]
                if (rate := total_rate_of(inputs, *terms)) is not None:
                    total = (total or 0.0) + LINE * rate
                elif any(map(inputs.offers, terms)):
                    return None
        return None if total is None else total / 1e9

    return replace(column, needs=names[:1], wants=names[1:], compute=cell)


def _wide(column: CounterColumn, definitions: Sequence[MetricDefinition],
          signals: Mapping[SignalId, Signal]) -> CounterColumn:
    """Instructions of 512 bits, from the definitions that have events for them."""
    names = tuple(name for definition in definitions for key, name in definition.signals
                  if key.startswith(_WIDE) and name in signals)
    if not names:
        return column

    return replace(column, needs=names[:1], wants=names[1:], compute=lambda row: total_rate_of(row, *names))


def measured_definitions(signals: Mapping[SignalId, Signal]) -> tuple[MetricDefinition, ...]:
    """The definitions whose floating-point events this machine counts."""
    return tuple(definition.without([key for key in definition.optional if signal_of(definition, key) not in signals])
                 for definition in definitions_of(signals)
                 if definition.flops and _all(_flop_signals(definition), signals))


def _counted(column: CounterColumn, definitions: Sequence[MetricDefinition], compute: Callable[[Speed, Inputs], Value],
             signals: Mapping[SignalId, Signal], *, with_bytes: bool) -> CounterColumn:
    """A column computed from the definitions' events; the first definition's events are needed, the others wanted."""
    needs: dict[SignalId, None] = {}
    wants: dict[SignalId, None] = {}
    for number, definition in enumerate(definitions):
        required = (*_flop_signals(definition), *(_byte_signals(definition, signals) if with_bytes else ()))
        keys = (event.key for event in definition.events) if with_bytes else (term.event for term in definition.flops)
        used = dict.fromkeys((*required, *(signal_of(definition, key) for key in keys)))
        (needs if not number else wants).update(dict.fromkeys(required))
        # if the user has to give the width of an access, accesses are counted beside the operations
        given = () if with_bytes or definition.widths else tuple(
            signal_of(definition, term.event) for term in definition.accesses)
        wants.update((name, None) for name in (*used, *given, VECTOR_BITS) if name not in needs and name in signals)

    def cell(row: Inputs) -> Value:
        speed = row_speed(row, definitions, _SIZING)
        return None if speed is None else compute(speed, row)

    return replace(column, needs=tuple(needs), wants=tuple(wants), compute=cell)


def _giga_bytes(speed: Speed, _row: Inputs) -> Value:
    return None if speed.bytes is None else speed.bytes / 1e9


def _efficiency(speed: Speed, row: Inputs) -> Value:
    power = row.total_rate(_ENERGY)
    return speed.flops / power / 1e9 if power else None


def _flop_signals(definition: MetricDefinition) -> tuple[SignalId, ...]:
    return tuple(dict.fromkeys(signal_of(definition, term.event) for term in definition.flops
                               if term.event not in definition.optional))


def _byte_signals(definition: MetricDefinition, signals: Mapping[SignalId, Signal]) -> tuple[SignalId, ...]:
    """The signals without which bytes cannot be counted: the core's own byte counters, or else accesses and widths."""
    exact = tuple(signal_of(definition, term.event) for term in definition.exact_bytes)
    if exact and _all(exact, signals):
        return exact
    if not definition.widths:
        return (NO_BYTES,)
    keys = (*(term.event for term in definition.accesses), *(width.event for width in definition.widths))
    return tuple(dict.fromkeys(signal_of(definition, key) for key in keys if key not in definition.optional))


def _all(names: Sequence[SignalId], signals: Mapping[SignalId, Signal]) -> bool:
    return all(name in signals for name in names)
