"""Measures rows that come and go: putting, copying and subtracting 1,024 rows of 50 counters."""

from __future__ import annotations

import time
from collections.abc import Callable

from turbotui.quantities.row_kinds import Quantity, RowKind
from turbotui.quantities.signals import Behavior, Reduce
from turbotui.quantities.units import Unit
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.rows import Columns, Row, RowTick

ROWS, COUNTERS, REPLACED = 1024, 50, 200
_SECOND = 10**9
_ROUNDS = 15
KIND = RowKind("rows", "rows")
QUANTITIES = tuple(Quantity(f"q{number}", KIND.id, Unit.COUNT, Behavior.COUNTER, Reduce.SUM, "")
                   for number in range(COUNTERS))


def two_ticks(replaced: int) -> tuple[RowTick, RowTick]:
    """Two ticks a second apart, between which so many rows were replaced."""
    columns = Columns(KIND, QUANTITIES)
    columns.begin(0, _SECOND)
    slots = [slot for number in range(ROWS) if (slot := columns.birth(Row(str(number)))) is not None]
    _put(columns, slots, 1)
    older = columns.tick()
    for slot in slots[:replaced]:
        columns.death(slot)
    columns.begin(0, 2 * _SECOND)
    for number in range(replaced):
        columns.birth(Row(f"new {number}"), began=True)
    _put(columns, slots, 2)
    return older, columns.tick()


def _put(columns: Columns, slots: list[int], second: int) -> None:
    for number, quantity in enumerate(QUANTITIES):
        columns.put_all(quantity.id, slots, [slot * number + 1000 * second for slot in slots])
    columns.read_at(slots, second * _SECOND)


def differences(older: RowTick, newer: RowTick) -> None:
    """Subtract every counter of every row."""
    differences = RowDifferences(older, newer)
    for quantity in QUANTITIES:
        differences.deltas(quantity.id)


def milliseconds(call: Callable[[], object]) -> float:
    """The shortest CPU time of some calls."""
    times = []
    for _ in range(_ROUNDS):
        began = time.process_time_ns()
        call()
        times.append(time.process_time_ns() - began)
    return min(times) / 1e6


def main() -> int:
    """Print the costs."""
    columns = Columns(KIND, QUANTITIES)
    columns.begin(0, _SECOND)
    slots = [slot for number in range(ROWS) if (slot := columns.birth(Row(str(number)))) is not None]
    print(f"{ROWS:,} rows of {COUNTERS} counters, ms of CPU time")
    print(f"  putting them                      {milliseconds(lambda: _put(columns, slots, 1)):6.2f}")
    print(f"  a tick of them                    {milliseconds(columns.tick):6.2f}")
    for words, replaced in (("the same rows", 0), (f"{REPLACED} of them replaced", REPLACED)):
        older, newer = two_ticks(replaced)

        def subtract(older: RowTick = older, newer: RowTick = newer) -> None:
            differences(older, newer)

        print(f"  subtracting, {words:<20} {milliseconds(subtract):6.2f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
