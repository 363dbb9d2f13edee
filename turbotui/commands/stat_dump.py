"""`turbotui stat --Dump`: every raw counter once, as read, with where it was read."""

from __future__ import annotations

from collections.abc import Iterator

from turbotui.quantities.scope import RowId
from turbotui.quantities.signals import Raw
from turbotui.sampling.frame import Frame


def dump_lines(frame: Frame) -> Iterator[str]:
    """One line for each value: row, signal, raw value in hexadecimal, origin; separated by TABs."""
    for name in sorted(frame.newer.values):
        signal = frame.census.signals[name]
        instances = frame.topology.instances(signal.scope)
        for instance, raw in zip(instances, frame.newer.values[name], strict=True):
            origin = signal.origin.format(cpu=instance.cpus[0])
            yield f"{_row(instance.row)}\t{name}\t{_digits(raw)}\t{origin}"


def _row(row: RowId) -> str:
    """As in "cpu 3", "core 0.0.5" (package, die, core), "system"."""
    return f"{row.scope.value} {'.'.join(map(str, row.key))}".strip()


def _digits(raw: Raw) -> str:
    if raw is None:
        return "-"
    return raw if isinstance(raw, str) else f"0x{raw:016x}"
