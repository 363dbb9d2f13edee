"""A test that walks a table: one test for pytest, and every row that fails is told, by its name.

An item of pytest costs 2 ms of CPU time and is collected by each worker; a row that is looked at costs microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Row = TypeVar("Row")


def of_every(rows: Iterable[Row], name: Callable[[Row], object] = str) -> Callable[[Callable[[Row], None]],
                                                                                   Callable[[], None]]:
    """Make a test of a check of one row.

    Args:
        rows: of the table; a table without rows fails.
        name: what a row is called where it fails.
    """

    def made(check: Callable[[Row], None]) -> Callable[[], None]:
        def walk() -> None:
            failed: list[Exception] = []
            walked = 0
            for walked, row in enumerate(rows, 1):  # noqa: B007 - counted
                try:
                    check(row)
                except Exception as error:  # noqa: BLE001 - told with all others at the end
                    error.add_note(f"row: {name(row)}")
                    failed.append(error)
            assert walked, "no row was looked at"
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {walked} rows", failed)

        walk.__name__ = walk.__qualname__ = check.__name__
        walk.__doc__, walk.__module__ = check.__doc__, check.__module__
        return walk

    return made
