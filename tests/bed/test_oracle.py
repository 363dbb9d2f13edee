"""Two releases of the C turbostat and `turbotui stat` on one machine under one virtual clock, by cell and by line.

Every difference must be in a table of DIFFERENCES.md, and every row of that table must have been met.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from comparisons import Comparisons
from oracle_differences import Difference, read_differences
from oracle_machines import CASES
from oracle_runs import TURBOSTATS, Printed, turbostat, turbotui
from recorded_registers import FOLDER

_MISSING = {release: theirs.missing(release) for release, theirs in TURBOSTATS.items()}
_RELEASES = [release for release, missing in _MISSING.items() if not missing]
_METHODS = {"2022.10.04": "turbostat-old", "2026.09.28": "turbostat-new"}
"""What `turbotui.quantities.verification` calls them."""
_REGISTERS = frozenset({"msr"})
"""Sources whose numbers are a real machine's where its registers are, but for the TSC, which the clock tells."""
_HEXADECIMAL = frozenset({"Core", "X2APIC"})
"""Columns that turbostat prints in hexadecimal since 2025, and printed in decimal before."""


@pytest.fixture(scope="module")
def differences() -> Sequence[Difference]:
    result = read_differences()
    assert result
    return result


@functools.cache
def _theirs(release: str, name: str) -> Printed:
    """Return what turbostat prints on a machine in one run: its configuration and all columns."""
    return turbostat(release, CASES[name], "--enable", "X2APIC")


@functools.cache
def _ours(name: str) -> Printed:
    """Return what `turbotui stat` prints: its configuration, and the columns of each turbostat."""
    titles = dict.fromkeys(title for release in reversed(_RELEASES) for title in _theirs(release, name).titles)
    return turbotui(CASES[name], "--show", ",".join(titles))


def _both(release: str, name: str) -> tuple[Printed, Printed]:
    if _MISSING[release]:
        pytest.skip(_MISSING[release])
    if CASES[name].registers and not FOLDER.exists():
        pytest.skip(f"{FOLDER} is not beside this checkout")
    return _theirs(release, name), _ours(name)


def _relative(item: str, other: str) -> float:
    """The difference of two cells, 0 where only the rounding of the last digit differs."""
    try:
        first, second = float(item), float(other)
    except ValueError:
        return math.inf
    last = 10.0 ** -len(item.partition(".")[2]) if "." in item else 0.0
    if math.isnan(first - second):
        return math.inf
    if abs(first - second) <= last * 1.001:
        return 0.0
    return abs(first - second) / max(abs(first), abs(second))


def _places(table: Sequence[dict[str, str]], title: str) -> list[str]:
    """Return the keys of a table's rows: the CPU, or the line if a program shows no column of CPUs."""
    return [row.get(title, f"line {number}") for number, row in enumerate(table)]


def _cells(theirs: Printed, ours: Printed) -> Iterator[tuple[str, str, float, str]]:
    """Return the differing cells: where, what, by how much, and both values as text."""
    for name in theirs.titles:
        if name not in ours.titles:
            yield "absent", name, math.inf, name
    key = "CPU" if "CPU" in theirs.titles and "CPU" in ours.titles else ""
    for number, (item, other) in enumerate(zip(theirs.tables, ours.tables, strict=True)):
        places, same = _places(item, key), _places(other, key)
        if places != same:
            yield "order", "CPU", math.inf, f"{places} and {same}"
        by_cpu = dict(zip(same, other, strict=True))
        for cpu, row in zip(places, item, strict=True):
            assert cpu in by_cpu, f"turbotui has no row of CPU {cpu}"
            for name in theirs.titles:
                if name in ours.titles:
                    left, right = row.get(name, ""), by_cpu[cpu].get(name, "")
                    if name in _HEXADECIMAL:
                        left, right = (str(int(cell, 0)) if cell[:2] == "0x" else cell for cell in (left, right))
                    relative = 0.0 if left == right else _relative(left, right)
                    if relative:
                        yield "column", name, relative, f"{name} of CPU {cpu}, interval {number}: {left} and {right}"


def _compare(
    release: str, name: str, result: Iterator[tuple[str, str, float, str]], differences: Sequence[Difference]
) -> None:
    silent = [
        text for where, what, relative, text in result
        # every row is asked, so that each one that covers it is known to have been met
        if not sum(difference.covers(release, where, what, name, relative) for difference in differences)
    ]
    assert silent == [], f"{name}: differences that DIFFERENCES.md does not name"


@pytest.mark.parametrize("release", TURBOSTATS)
@pytest.mark.parametrize("name", CASES)
def test_every_cell_is_turbostats(
    name: str, release: str, differences: Sequence[Difference], comparisons: Comparisons
) -> None:
    theirs, ours = _both(release, name)
    assert len(theirs.tables) == len(ours.tables)
    compared = Counter(title for table in theirs.tables for row in table for title, cell in row.items()
                       if cell and title in ours.titles)
    assert compared.total() > 0
    differing = list(_cells(theirs, ours))
    _compare(release, name, iter(differing), differences)
    listed = Counter(what for where, what, _relative, _text in differing if where == "column")
    comparisons.listed(_METHODS[release], listed.total())
    for title, count in (compared - listed).items():
        sources = ours.sources.get(title, frozenset())
        recorded = CASES[name].registers and title != "TSC_MHz" and sources and sources <= _REGISTERS
        for subject in (f"column {title}", *(f"source {source}" for source in sources)):
            comparisons.agreed("hardware" if recorded else _METHODS[release], subject, count)


@pytest.mark.parametrize("release", TURBOSTATS)
@pytest.mark.parametrize("name", CASES)
def test_every_line_of_the_header_is_turbostats(name: str, release: str, differences: Sequence[Difference]) -> None:
    theirs, ours = (printed.header for printed in _both(release, name))
    alone = Counter(theirs) - Counter(ours)
    added = Counter(ours) - Counter(theirs)
    assert set(theirs) & set(ours)
    lines = (("line", line, math.inf, f"{whose}: {line}")
             for whose, those in (("turbostat", alone), ("turbotui", added)) for line in those)
    _compare(release, name, lines, differences)


def test_every_row_of_the_table_was_met(request: pytest.FixtureRequest, differences: Sequence[Difference]) -> None:
    """Only where every comparison ran: a row that nothing meets is out of date."""
    run = {item.name for item in request.session.items if item.path == request.path}
    if len(run) < 2 * len(CASES) * len(TURBOSTATS) or not FOLDER.exists():
        pytest.skip("not every comparison was run")
    assert [f"{row.release} {row.where} {row.what}" for row in differences if row.unmet(_RELEASES)] == []
