"""Tables of rows as a widget draws them: order, filter, marks, comparison, and the past of cells."""

from __future__ import annotations

import csv
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.host import HostKind
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.filters import parse_filter
from turbotui.quantities.tables import Cell, CellEvidence, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.tables.csv_lines import csv_text
from turbotui.tables.envelope import Envelope
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.content import Line
from turbotui.widgets.explanation import explanation
from turbotui.widgets.row_content import Naming, RowContent, RowPainter, RowView
from turbotui.widgets.slots import row_slots
from turbotui.widgets.table_view import RowList, TableView, ordered


@dataclass(frozen=True)
class Job:
    """A row."""

    name: str
    load: float | None
    partial: bool = False


NAME: Column[Job] = Column("Name", "", -1, (), lambda job: job.name, width=5, identity=True, priority=0)
LOAD: Column[Job] = Column("Load", "%", 1, (), lambda job: job.load, width=6, help="how busy")
NAMING = Naming[Job](lambda job: job.name, lambda job: job.name, lambda job: f"job {job.name}")
_UNKNOWN = Unavailable(Reason.NOT_READ, "nobody looked")


def judged(_column: Column[Job], job: Job, value: Value) -> Cell:
    return Cell(value, _UNKNOWN if value is None else None, partial=job.partial)


def content_of(jobs: Sequence[Job], seq: int = 0) -> RowContent[Job]:
    return RowContent(RowTable("jobs", "job", (NAME, LOAD), tuple(jobs), judged), NAMING, seq)


def keys(content: RowContent[Job], view: RowView[Job]) -> list[Hashable]:
    rows: RowList[RowContent[Job], Column[Job], Hashable] = RowList()
    rows.update(content, view)
    return [line.row for line in rows.lines]


def test_rows_whose_values_look_alike_stay_in_the_order_of_the_table() -> None:
    content = content_of([Job("a", 99.96), Job("b", 100.0), Job("c", 99.94), Job("d", 99.97)])
    for reverse, order in ((True, ["a", "b", "d", "c"]), (False, ["c", "a", "b", "d"])):
        assert keys(content, TableView((NAME, LOAD), sort=LOAD, reverse=reverse)) == order


def test_a_number_that_is_a_rows_name_is_found_without_the_words_of_all_rows() -> None:
    made: list[str] = []

    def words(job: Job) -> str:
        made.append(job.name)
        return f"{job.name} job {int(job.name) + 1000}"

    jobs = tuple(Job(str(at), 0.0) for at in range(1000))
    content = RowContent(RowTable("jobs", "job", (NAME, LOAD), jobs, judged),
                         Naming[Job](lambda job: job.name, words, lambda job: f"job {job.name}"), 0)
    rows: RowList[RowContent[Job], Column[Job], Hashable] = RowList()
    rows.update(content, TableView((NAME, LOAD)))
    assert (rows.find(content, "707", 0), made) == ("707", [])
    assert (rows.find(content, "1707", 0), len(made)) == ("707", len(jobs))


def painter_of(view: RowView[Job]) -> RowPainter[Job]:
    return RowPainter(view, *row_slots(view, 40), 40)


def drawn(content: RowContent[Job], view: RowView[Job], row: str) -> str:
    painter = painter_of(view)
    [pieces] = painter.lines(content, [Line(row)], painter.geometry())
    return "".join(text for text, _tone in pieces)


_JOBS = st.lists(st.tuples(st.text("abc", min_size=1, max_size=3), st.none() | st.floats(0, 1e6)),
                 unique_by=lambda job: job[0]).map(lambda jobs: [Job(*job) for job in jobs])


@given(_JOBS, st.booleans())
def test_rows_are_sorted_with_unknown_ones_last(jobs: list[Job], reverse: bool) -> None:
    content = content_of(jobs)
    result = keys(content, TableView((NAME, LOAD), sort=LOAD, reverse=reverse))
    assert sorted(map(str, result)) == sorted(job.name for job in jobs)
    loads = [content.value(LOAD, row) for row in result]
    known = [round(float(load), LOAD.decimals) for load in loads if isinstance(load, int | float)]
    assert known == sorted(known, reverse=reverse)
    assert all(load is None for load in loads[len(known):])


def test_idle_rows_and_saturated_ones_sorted_by_load_stay_where_they_are() -> None:
    loads: tuple[float | None, ...] = (99.6, None, 0.2, 50.0, 100.2, 0.9, 98.9)
    content = content_of([Job(f"job {at}", load) for at, load in enumerate(loads)])
    result = ordered(content, content.rows, LOAD, reverse=True, load=True)
    assert [int(str(row).split()[1]) for row in result] == [0, 4, 6, 3, 2, 5, 1]
    assert [*result] != [*ordered(content, content.rows, LOAD, reverse=True)]


@given(_JOBS, st.floats(0, 1e6))
def test_a_filter_leaves_what_passes_it(jobs: list[Job], limit: float) -> None:
    content = content_of(jobs)
    limit = float(f"{limit:.0f}")
    passing = parse_filter(f"Load>{limit:.0f}", lambda name: LOAD if name.lower() == "load" else None)
    result = keys(content, TableView((NAME, LOAD), filter=passing))
    assert result == [job.name for job in jobs if job.load is not None and job.load > limit]


def test_cells_are_drawn_with_their_marks() -> None:
    content = content_of([Job("a", 12.5, partial=True), Job("b", None), Job("c", 0.0)])
    view: RowView[Job] = TableView((NAME, LOAD), tags=("b", "gone"))
    assert drawn(content, view, "a").rstrip() == " a     │  *12.5"
    assert drawn(content, view, "b").rstrip() == "•b     │      —"
    assert drawn(content, view, "gone").startswith("•not a")
    assert content.why(LOAD, "b") == _UNKNOWN
    assert content.why(LOAD, "gone") is not None
    assert content.name(LOAD, "a") == "job a"


def test_zeros_are_dim_and_thresholds_are_not_needed() -> None:
    painter = painter_of(TableView((NAME, LOAD)))
    [pieces] = painter.lines(content_of([Job("c", 0.0)]), [Line("c")], painter.geometry())
    assert (pieces[-1][0].strip(), pieces[-1][1]) == ("0.0", StyleRole.DIM)


@given(st.floats(0, 1e3), st.floats(0, 1e3))
def test_a_mark_makes_cells_differences(then: float, now: float) -> None:
    view: RowView[Job] = TableView((NAME, LOAD), mark=content_of([Job("a", then)]))
    text = drawn(content_of([Job("a", now)]), view, "a").split("│")[1].strip()
    assert text == "±0" or abs(float(text) - (now - then)) <= 0.5 * 10 ** -(len(text.partition(".")[2])) + 1e-9


def test_a_row_that_was_not_there_has_no_difference() -> None:
    view: RowView[Job] = TableView((NAME, LOAD), mark=content_of([Job("b", 1.0)]))
    assert drawn(content_of([Job("a", 2.0)]), view, "a").split("│")[1].strip() == "—"


def test_rows_are_formatted_as_they_are_chosen() -> None:
    content = content_of([Job("a", 1.0), Job("b", 2.0), Job("c", 3.0)])
    lines = csv_text(Envelope("here", HostKind.REAL, 0), content.table((NAME, LOAD), ("c", "gone", "a"))).splitlines()
    assert [row["Load"] for row in csv.DictReader(lines)] == ["3.0", "1.0"]


# Explanations


@dataclass(frozen=True)
class Run:
    """Counts of an interval, as a row of another table has them inside."""

    counts: dict[str, int]
    cpus: int = 4


@dataclass(frozen=True)
class Ran:
    """A row that is made of another dataclass."""

    run: Run
    seconds: float = 2.0
    threads: tuple[str, ...] = field(default=("a", "b"))


PER_CPU: Column[Ran] = Column("Switch/s", "/s", 1, (), lambda ran: ran.run.counts["switches"] / ran.seconds /
                              ran.run.cpus, help="Switches a second and CPU.")
FLAT: Column[Ran] = Column("Threads", "", 0, (), lambda ran: len(ran.threads), help="How many.", document="proc(5)")


def test_a_new_column_is_explained_by_its_own_arithmetic_and_no_further_line() -> None:
    table = RowTable("runs", "run", (PER_CPU, FLAT), (Ran(Run({"switches": 3000})),),
                     basis=lambda _, ran: CellEvidence(readings=(("switches 3000", "by the kernel"),),
                                                       remarks=(f"over {ran.seconds} s",)))
    content = RowContent(table, Naming[Ran](lambda _: 1, lambda _: "", lambda _: "the run"))
    assert explanation(content, PER_CPU, 1) == [
        "Switches a second and CPU.", "  Switch/s = switches / seconds / cpus", "           = 3,000 / 2 / 4",
        "           = 375.0 /s", "", "switches 3000", "    by the kernel", "", "over 2.0 s"]
    assert explanation(content, FLAT, 1)[:2] == ["How many.", "  Threads = 2"]
    assert explanation(content, FLAT, 1)[-1] == "follows proc(5)"


def test_marks_and_reasons_of_a_cell_are_explained() -> None:
    content = content_of([Job("a", 1.0, partial=True), Job("b", None)])
    assert "  * partial: " in explanation(content, LOAD, "a")[2]
    assert explanation(content, LOAD, "b")[-1] == f"unknown: {_UNKNOWN.sentence()}"
    assert explanation(content, LOAD, "gone")[-1] == "unknown: not read: the row is not there in this interval"
    assert explanation(None, LOAD, "a")[-1] == "no reading yet"
