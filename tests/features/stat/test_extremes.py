"""Least, mean and greatest at the end of a run of `turbotui stat`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statscripts import PAIR, Script, signal

from turbotui.features.stat.options import StatError, parse_options
from turbotui.features.stat.verb import main
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Reduce
from turbotui.tables.extremes import Extremes
from turbotui.tables.layout import Layout

pytestmark = pytest.mark.usefixtures("moved_time")

SIGNALS = (signal("irq.total", Scope.CPU, Reduce.SUM), signal("tsc", Scope.CPU, Reduce.MEAN))


def told(gains: list[list[int | None]], *, summary_only: bool = False) -> list[list[str]]:
    """Return the words of each line below the header, for interrupts of two CPUs."""
    script = Script(PAIR, SIGNALS)
    columns = catalog_for(script.signals).select(("CPU", "IRQ"))
    extremes = Extremes(Layout(columns, summary_only=summary_only))
    for gain in gains:
        extremes.take(script.frame({"irq.total": gain, "tsc": [1, 1]}))
    first, header, *lines = extremes.lines()
    assert first == f"# over {len(gains)} interval{'s' * (len(gains) > 1)}, {len(gains):.3f} s"
    assert header.split() == ["row", "column", "unit", "min", "mean", "max", "intervals"]
    return [line.split() for line in lines]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=8))
def test_extremes_are_those_of_the_intervals(gains: list[tuple[int, int]]) -> None:
    rows = {"-": [sum(pair) for pair in gains], "cpu0": [item for item, _ in gains], "cpu1": [two for _, two in gains]}
    lines = told([list(pair) for pair in gains])
    assert [line[:3] for line in lines] == [[name, "IRQ", "-"] for name in rows]
    for line, counts in zip(lines, rows.values(), strict=True):
        mean = f"{sum(counts) / len(counts):.0f}"
        assert line[3:] == [str(min(counts)), mean, str(max(counts)), str(len(counts))]


def test_an_interval_in_which_a_number_is_unknown_is_not_counted_for_it() -> None:
    lines = told([[10, 1], [None, 2], [30, 3], [40, 4]])
    by_row = {line[0]: line[3:] for line in lines}
    assert by_row["cpu0"] == ["10", "25", "40", "2"], "neither the interval that ends nor the one that begins unknown"
    assert by_row["cpu1"] == ["1", "2", "4", "4"]


def test_with_summary_there_is_the_whole_machine_only() -> None:
    assert [line[0] for line in told([[1, 2], [3, 4]], summary_only=True)] == ["-"]


@pytest.mark.parametrize("words", [["--extremes", "--format", "json"], ["--extremes", "sleep", "1"]])
def test_where_it_has_no_place_it_is_refused(words: list[str]) -> None:
    with pytest.raises(StatError, match="--extremes goes with intervals"):
        parse_options(words)


def test_a_run_ends_with_them_and_says_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["-q", "--machine", "guest", "-i", "0.01", "-n", "2", "-S", "--show", "IRQ", "--extremes"]
    assert main(words) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-3].startswith("# over 2 intervals, ")
    assert "SIMULATED machine guest: nothing here was measured" in out[-3]
    assert out[-1].split()[:2] == ["-", "IRQ"]
