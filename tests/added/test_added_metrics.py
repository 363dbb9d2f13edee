"""--add metric:NAME on simulated machines: values compared with the counts of the interval, rows, groups, reasons."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pytest
from added_columns import SYSTEM_ROW, Adding, adding, cell, cpu_row, package
from countinghost import CountingHost
from made_tables import SAPPHIRE

from turbotui.events.event_tables.model import VendorTables
from turbotui.machine.host import Host
from turbotui.quantities.added import AddError
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.definition import CountedEvents
from turbotui.quantities.event_columns import joined_metrics
from turbotui.quantities.scope import RowId, Scope
from turbotui.recording.definition_facts import definition_facts, definition_from
from turbotui.recording.json_values import JsonValue
from turbotui.sampling.evidence import cell_arithmetic
from turbotui.sampling.history import History
from turbotui.simulated import SimulatedHost, simulated_host
from turbotui.tables.frame_evidence import frame_evidence
from turbotui.widgets.cells import MARK_AMBER, Slot, StyleRole
from turbotui.widgets.frame_painter import FramePainter
from turbotui.widgets.frame_rows import FrameContent
from turbotui.widgets.levels import FrameLevels
from turbotui.widgets.slots import slots_of
from turbotui.widgets.table_view import TableView

NEAR = 1e-9
TOPDOWN = ("topdown-fe-bound", "topdown-bad-spec", "topdown-retiring", "topdown-be-bound")


@contextmanager
def sapphire(cpus: frozenset[int] | None = None) -> Iterator[Adding]:
    with adding("sapphire-2s", cpus) as here:
        here.session.find_tables = lambda: SAPPHIRE
        yield here


def named(columns: tuple[CounterColumn, ...]) -> dict[str, CounterColumn]:
    return {column.id: column for column in columns}


def test_a_group_of_metrics_is_one_group_of_counters_and_shares_of_sums() -> None:
    with sapphire() as here:
        columns = named(here.add("metric:topdownl1"))
        assert list(columns) == ["tma_retiring", "tma_backend"]
        (events,) = (event.request for event in here.session.events)  # one request for both metrics
        assert set(events.events) == {*TOPDOWN, "topdown-heavy-ops"}
        assert not events.together
        assert events.items[0].startswith("{")  # but no event of them loses its leader
        counts = {name: here.add(f"{name},name=n_{name}")[0] for name in (*TOPDOWN, "topdown-heavy-ops")}
        here.start()
        frame, _before, _after = here.interval(2.0)
        for row in (SYSTEM_ROW, package(frame, 1), cpu_row(5)):
            of = {name: cell(frame, column, row) for name, column in counts.items()}
            slots = sum(of[name] for name in TOPDOWN)
            assert cell(frame, columns["tma_retiring"], row) == pytest.approx(
                100 * of["topdown-retiring"] / slots, rel=1e-6)
            assert cell(frame, columns["tma_backend"], row) == pytest.approx(
                100 * of["topdown-be-bound"] / slots, rel=1e-6)
        rule = columns["tma_backend"].rule
        assert rule is not None
        assert "tma_backend > 0.05" in columns["tma_backend"].help
        assert frame.cells(rule, [SYSTEM_ROW, cpu_row(5)]) == [1.0, 1.0]


def test_a_metric_does_without_the_event_that_the_kernel_refuses_another() -> None:
    with sapphire() as here:
        host = here.session.machine.host
        assert isinstance(host, SimulatedHost)
        host.fail(("perf", 4, 0x8400), errno.ENOENT)  # topdown-heavy-ops
        columns = named(here.add("metric:tma_retiring,tma_heavy"))
        here.start()
        frame, _before, _after = here.interval(1.0)
        assert cell(frame, columns["tma_retiring"], SYSTEM_ROW) > 0
        assert frame.cell(columns["tma_heavy"], SYSTEM_ROW) is None
        why = frame.why(columns["tma_heavy"], SYSTEM_ROW)
        assert why is not None
        assert "topdown-heavy-ops" in why.detail


def test_a_value_past_the_threshold_of_its_vendor_is_marked() -> None:
    with sapphire() as here:
        columns = named(here.add("metric:tma_backend,tma_memory"))
        here.start()
        frame, _before, _after = here.interval(1.0)
        every = tuple(columns.values())
        view: TableView[CounterColumn, RowId] = TableView(columns=every)
        painter = FramePainter(view, *slots_of(view, 60.0, 100), 100, history=History(),
                               levels=FrameLevels(lambda _name: None))
        for column, mark in ((columns["tma_backend"], MARK_AMBER), (columns["tma_memory"], " ")):
            slot = Slot(column, 12, column.title)
            for row in (SYSTEM_ROW, cpu_row(0)):
                ((text, role),) = painter.column(FrameContent(frame), [row], slot)
                assert text.strip().startswith(mark.strip())
                assert (MARK_AMBER in text) is (mark == MARK_AMBER) is (role is StyleRole.AMBER), column.id


def test_one_asked_for_alone_is_one_group_and_one_with_a_parent_in_its_rule_knows_it() -> None:
    with sapphire() as here:
        (column,) = here.add(" METRIC: TMA_Memory")
        assert here.session.typed() == ("metric: TMA_Memory",)
        (request,) = (events.request for events in here.session.events)
        assert request.together
        assert (column.unit, column.decimals, column.scope) == ("%", 1, Scope.CPU)
        here.start()
        frame, _before, _after = here.interval(1.0)
        assert cell(frame, column, SYSTEM_ROW) > 1
        assert column.rule is not None
        assert frame.cell(column.rule, SYSTEM_ROW) == 0.0  # the backend is never 200 %
        arithmetic = cell_arithmetic(frame, column, cpu_row(3))
        assert {signal.split(" ")[0] for signal in arithmetic.signals} == {
            f"added.{name}" for name in (*TOPDOWN, "topdown-mem-bound")}


def test_a_table_says_what_is_no_group_and_a_rule_that_cannot_be_known_is_reported() -> None:
    with sapphire() as here:
        columns = named(here.add("metric:Rules"))
        together = {column.name: one.request.together for one in here.session.events for column in one.request.columns}
        assert together == {"unruled": True, "watched": True, "threaded": False}  # no watchdog, two threads a core
        assert columns["unruled"].rule is None
        assert "cannot be told here: unruled > missing" in columns["unruled"].help
        here.add("metric:cycles_per")
        assert not here.session.events[-1].request.together


def test_counts_of_whole_packages_stand_beside_those_of_cores() -> None:
    with sapphire() as here:
        columns = named(here.add("metric:Mem"))
        assert columns["read_rate"].unit == "MB/s"
        assert columns["of_packages"].whole_only
        assert not columns["reads_per"].whole_only
        (reads,) = here.add("uncore_imc/cas_count_read/,name=reads")  # in MiB
        (ran,) = here.add("instructions,name=ran")
        here.start()
        frame, _before, _after = here.interval(2.0)
        for row in (SYSTEM_ROW, package(frame, 0)):
            lines = cell(frame, reads, row) * 2**20 / 64
            assert cell(frame, columns["read_rate"], row) == pytest.approx(64 * lines / 1e6 / 2.0, rel=1e-3)
            share = 1e6 * lines / cell(frame, ran, row)
            assert cell(frame, columns["reads_per"], row) == pytest.approx(share, rel=1e-3)
        lines = cell(frame, reads, SYSTEM_ROW) * 2**20 / 64
        assert cell(frame, columns["of_packages"], SYSTEM_ROW) == pytest.approx(lines / 8 / 2, rel=1e-3)


def test_of_some_cpus_no_count_of_a_package_is_a_part() -> None:
    with sapphire(frozenset({0, 1})) as here:
        (column,) = here.add("metric:reads_per")
        why = here.why(column)
        assert why is not None
        assert "CPUs are not watched" in why.detail


def test_what_a_metric_cannot_be_is_a_reason() -> None:
    with sapphire() as here:
        columns = named(here.add("metric:Work"))
        assert set(columns) == {"cycles_per", "faults", "missing"}
        why = here.why(columns["missing"])
        assert why is not None
        assert "needs NOT_AN_EVENT" in why.detail
        here.start()
        frame, _before, _after = here.interval(1.0)
        assert frame.cell(columns["faults"], SYSTEM_ROW) is None
        why = frame.why(columns["faults"], SYSTEM_ROW)
        assert why is not None
        assert "is 0 in this interval" in why.detail
        assert cell(frame, columns["cycles_per"], SYSTEM_ROW) > 0


@pytest.mark.parametrize(("name", "says"), [
    ("tma_retirin", "did you mean tma_retiring"), ("zzz", "turbotui events metrics lists them"),
    ("", "names no metric"), ("missing", "needs NOT_AN_EVENT"), ("ringed", "refers to itself"),
    ("elsewhere", "of another machine: of imx93"), ("atoms", "of another machine: of cpu_atom"),
    ("nothing", "nothing is counted for it, for the machine has no NOT_AN_EVENT"),
    ("undivided", "is 0 / 0 on this machine, .* for it divides by a 0 that this machine's constants make"),
    ("pmem", "for its table counts instructions on other machines only"),
])  # fmt: skip
def test_what_is_no_metric_is_reported(name: str, says: str) -> None:
    with sapphire() as here, pytest.raises(AddError, match=says):
        here.add(f"metric:{name}")


def test_a_metric_of_facts_alone_is_worked_out_with_its_rule_and_counts_nothing() -> None:
    with adding("", make=lambda clock: simulated_host("sapphire-2s", clock)) as here:
        here.session.find_tables = lambda: SAPPHIRE
        (column,) = here.add("metric:all_cpus")
        assert (column.needs, column.unit) == ((), "CPUs")
        here.start()
        frame, _before, _after = here.interval(1.0)
        assert cell(frame, column, SYSTEM_ROW) == 2 * 224
        assert frame.cell(column, cpu_row(5)) is None  # of the whole machine, and so of no CPU
        assert column.rule is not None
        assert frame.cell(column.rule, SYSTEM_ROW) == 1.0


def test_the_interval_alone_is_a_metric_of_the_machine_that_counts_nothing() -> None:
    with sapphire() as here:
        columns = named(here.add("metric:seconds,power_time"))
        seconds = columns["seconds"]
        assert (seconds.needs, seconds.whole_only, columns["power_time"].whole_only) == ((), True, False)
        here.start()
        frame, _before, _after = here.interval(2.0)
        assert frame.seconds is not None
        assert cell(frame, seconds, SYSTEM_ROW) == pytest.approx(2 * frame.seconds)
        assert frame.cell(seconds, cpu_row(5)) is None
        assert seconds.rule is not None
        assert frame.cell(seconds.rule, SYSTEM_ROW) == 1.0  # below 10
        assert frame_evidence(frame, seconds, SYSTEM_ROW).arithmetic[0].startswith("= interval ")


def test_watts_of_a_table_are_those_of_rapl() -> None:
    with sapphire() as here:
        columns = named(here.add("metric:power,power_both,power_time,power_right"))
        (joules,) = here.add("power/energy-pkg/,name=joules")
        (ram,) = here.add("power/energy-ram/,name=ram")
        here.start()
        frame, _before, _after = here.interval(2.0)
        assert frame.seconds is not None
        for row in (SYSTEM_ROW, package(frame, 1)):
            package_watts = cell(frame, joules, row) / frame.seconds
            every = package_watts + cell(frame, ram, row) / frame.seconds
            assert package_watts > 1
            for name, expected in (("power", package_watts), ("power_time", package_watts), ("power_both", every),
                                   ("power_right", package_watts)):
                assert cell(frame, columns[name], row) == pytest.approx(expected, rel=1e-3), name
        assert "the kernel counts 2^-32 J" in columns["power"].help
        assert "2^-32 J" not in columns["power_right"].help


def test_what_a_table_lacks_is_reported_where_a_name_of_it_is_not_found() -> None:
    with adding("sapphire-2s", None) as here:
        tables = VendorTables("a folder", SAPPHIRE.events(), SAPPHIRE.metrics(), lacks_metrics="perf has more.")
        here.session.find_tables = lambda: tables
        with pytest.raises(AddError, match=r"called lpm_cs; turbotui events metrics lists them\. perf has more$"):
            here.add("metric:lpm_cs,tma_retiring")


def test_names_that_are_taken_and_metrics_that_are_there() -> None:
    with sapphire() as here:
        (first,) = here.add("metric:tma_backend")
        both = here.add("metric:TopdownL1")
        assert [column.id for column in both] == ["tma_backend", "tma_retiring"]
        assert both[0] is first
        assert [column.id for column in here.add("metric:ipc,ipc:u")] == ["metric:IPC", "IPC:u"]
        assert here.session.events[-1].request.events == ("instructions:u", "cycles:u")
        here.session.remove("tma_retiring")
        assert [column.id for column in here.add("metric:TopdownL1")] == ["tma_backend", "tma_retiring"]
        assert "metric:TopdownL1" in here.session.typed()


def test_a_recording_has_the_same_metric() -> None:
    with sapphire() as here:
        (column,) = here.add("metric:tma_memory")
        here.add("metric:of_packages")
        for events in here.session.events:
            written = json.loads(json.dumps(definition_facts(events.source.definition)))
            result = definition_from(JsonValue(written, "a test"))
            assert isinstance(result, CountedEvents)
            assert result == events.source.definition
        assert column.rule is not None


def test_several_texts_of_metrics_count_what_they_share_once() -> None:
    texts = ("metric:tma_memory", "metric:tma_retiring", "metric:tma_backend")
    with sapphire() as here:
        for text in joined_metrics(texts):
            here.add(text)
        together = sum(len(events.request.events) for events in here.session.events)
    with sapphire() as here:
        for text in texts:
            here.add(text)
        later = [events.request.events for events in here.session.events]
    assert together == sum(map(len, later)) == 5 + 5  # of the third all four are those of the others


def test_a_metric_added_later_takes_the_counters_that_are_open() -> None:
    watched: list[CountingHost] = []

    def around(host: SimulatedHost) -> Host:
        watched.append(CountingHost(host))
        return cast("Host", watched[0])

    with adding("sapphire-2s", frozenset({0, 5}), around) as here:
        here.session.find_tables = lambda: SAPPHIRE
        (first,) = here.add("metric:tma_memory")
        here.start()
        before, _before, _after = here.interval(1.0)
        opened = len(watched[0].attrs)
        assert opened > 0
        (second,) = here.add("metric:tma_backend")
        assert [events.columns for events in here.session.events] == [(first, second)]
        assert here.session.catalog.by_id["tma_backend"] is second
        here.session.want(["tma_memory", "tma_backend"])
        frame, _before, _after = here.interval(1.0)
        assert frame.capabilities is not before.capabilities  # by which a recording sees that it has to say them anew
        assert len(watched[0].attrs) == opened  # nothing was opened anew, so that nothing has a gap
        assert cell(frame, second, cpu_row(5)) > 1
        assert second.rule is not None
        assert frame.cell(second.rule, cpu_row(5)) == 1.0
        (written,) = (json.loads(json.dumps(definition_facts(item.source.definition))) for item in here.session.events)
        result = definition_from(JsonValue(written, "a test"))
        assert isinstance(result, CountedEvents)
        assert [column.name for column in result.request.columns] == ["tma_memory", "tma_backend"]
        here.session.remove("tma_memory")
        (kept,) = here.session.events
        assert kept.columns == (second,)
        assert here.session.typed() == ("metric:tma_backend",)


def test_a_group_is_not_shared_with_events_that_are_counted_one_by_one() -> None:
    with sapphire() as here:
        here.add("metric:cycles_per")  # its table says that its events are no group
        here.add("metric:IPC")
        assert [events.request.together for events in here.session.events] == [False, True]
        here.add("metric:Rules")
        alone = [tuple(column.name for column in events.request.columns) for events in here.session.events
                 if not events.request.together]
        assert alone == [("cycles_per",), ("threaded",)]
