"""The parts of the overview: charts, meters, the map, highlighted rows, tasks."""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from knownmachines import known_machine
from watched_machines import frames_of_machine

from turbotui.features.overview.charts import Chart, ChartLimit, chosen
from turbotui.features.overview.core_map import _look, first_cpu, map_lines, mark_scope, plan_map
from turbotui.features.overview.cpu_numbers import CpuSource, IdleState, cpu_numbers, idle_spans, idle_states
from turbotui.features.overview.kept_lines import KeptLines
from turbotui.features.overview.lines import note_line
from turbotui.features.overview.meters import meter_lines, plan_meters
from turbotui.features.overview.painter import framed, parts, picture
from turbotui.features.overview.standouts import Standouts, _slow, settled
from turbotui.features.overview.task_lines import task_lines
from turbotui.features.overview.top_tasks import MachineStatus, TopTask, look, make_poll
from turbotui.machine.host import Host, HostError
from turbotui.machine.tasks.process_stats import ProcessStats, ReadProcesses
from turbotui.machine.topology import Topology
from turbotui.quantities.catalog import STATIC_COLUMNS
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import History
from turbotui.simulated import ManualClock, simulated_host
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.geometry import nearest_place
from turbotui.widgets.levels import FrameLevels, role_of
from turbotui.widgets.spark import area, begun, stretched

BUSY = next(column for column in STATIC_COLUMNS if column.id == "Busy%")
SIZES = ((80, 20), (120, 32), (200, 56), (300, 86))


def topology(machine: str) -> Topology:
    return known_machine(simulated_host(machine, ManualClock())).topology


class TestCharts:
    def test_an_area_has_eighths_and_gaps(self) -> None:
        assert area([math.nan, 0.0, 0.1, 50.0, 75.0, 100.0], 100.0, 7, 2) == ["    ▄█"[:4].rjust(5) + "▄█", "   ▁███"]

    @given(st.lists(st.floats(0, 1e6) | st.just(math.nan), max_size=80), st.integers(1, 60), st.integers(1, 20))
    def test_an_area_is_always_as_wide_and_high_as_its_room(self, past: list[float], width: int, height: int) -> None:
        lines = area(past, 100.0, width, height)
        assert [len(line) for line in lines] == [width] * height

    def test_an_area_above_the_places_of_a_byte_is_drawn_alike(self) -> None:
        past = [0.0, 1e-9, 49.9, 50.2, 99.9, 100.0, 1e9, math.inf, -5.0, math.nan]
        low, high = area(past, 100.0, 10, 20), area(past, 100.0, 10, 40)
        assert ["".join(column) for column in zip(*low, strict=True)][5:8] == ["█" * 20] * 3
        assert ["".join(column) for column in zip(*high, strict=True)][5:8] == ["█" * 40] * 3
        assert [line[0] + line[8:] for line in high] == ["   "] * 40
        assert (low[-1][1], high[-1][1]) == ("▁", "▁")
        assert (high[20][2], high[19][3]) == ("█", "▁")

    def test_limits_at_one_value_share_a_line(self) -> None:
        chart = Chart("Power", (BUSY, SYSTEM_ROW), 300.0, [300.0] * 40, 800.0,
                      (ChartLimit("PL1", 700.0), ChartLimit("TDP", 700.0)), 700.0)
        text = "\n".join("".join(text for text, _ in line) for line in picture(chart, 40, 8))
        assert "PL1 TDP 700 ┈┈" in text
        assert text.count("700") == 1

    def test_where_two_fit_load_and_the_nearest_limit_are_shown(self) -> None:
        def chart(word: str, value: float, ceiling: float | None) -> Chart:
            return Chart(word, (BUSY, SYSTEM_ROW), value, [value], 100.0, (), ceiling)

        charts = [chart("Load", 50, None), chart("Clock", 95, None), chart("Power", 80, 100), chart("Heat", 90, 100)]
        usual = [True] * 4
        assert chosen(charts, usual, 2, ()) == [0, 3]
        assert chosen(charts, usual, 2, ("Load", "Power")) == [0, 2]  # it stays while the other is not clearly nearer
        assert chosen(charts, usual, 4, ()) == [0, 1, 2, 3]

    def test_what_is_not_usual_comes_in_its_order_unless_it_is_far_up(self) -> None:
        def chart(word: str, value: float) -> Chart:
            return Chart(word, (BUSY, SYSTEM_ROW), value, [value], 100.0)

        charts = [chart("Load", 50), chart("Pressure", 0), chart("Steal", 80)]
        assert chosen(charts, [True, False, False], 2, ()) == [0, 2]
        charts[1:] = [chart("Pressure", 3), chart("Steal", 5)]
        assert chosen(charts, [True, False, False], 2, ()) == [0, 1]

    def test_what_is_flat_takes_no_room_once_there_are_two(self) -> None:
        def chart(word: str, value: float) -> Chart:
            return Chart(word, (BUSY, SYSTEM_ROW), value, [math.nan, value], 100.0)

        charts = [chart("Load", 0), chart("Pressure", 0), chart("Run queue", 5), chart("Steal", 0)]
        usual = [True, False, False, False]
        assert chosen(charts, usual, 4, ()) == [0, 2]
        assert chosen(charts, usual, 4, ("Steal",)) == [0, 2, 3]  # what was there stays
        assert chosen(charts[:2], usual[:2], 4, ()) == [0, 1]

    @pytest.mark.parametrize(("past", "flat"), [
        ([], True), ([math.nan] * 3, True), ([math.nan, 1.0], True), ([math.nan, 1.0, math.nan, 3.0], False),
        ([1.0, math.nan, 3.0, math.nan, 0.0], False), ([3.0, math.nan], False), ([0.0, math.nan, 2.0], True),
    ])
    def test_gaps_do_not_make_a_past_flat(self, past: list[float], flat: bool) -> None:
        assert Chart("Pressure", (BUSY, SYSTEM_ROW), None, past, 100.0).is_flat is flat


class TestRoom:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("machine", ["guest", "laptop", "sapphire-2s", "turin-2s", "big-8s"])
    @pytest.mark.parametrize(("has_tasks", "most"), [(True, None), (True, 4), (False, None)])
    def test_parts_fill_the_room_and_no_more(self, machine: str, size: tuple[int, int], has_tasks: bool,
                                             most: int | None) -> None:
        result = parts(topology(machine), *size, has_tasks=has_tasks, note=True, most=most)
        assert most is None or result.beside or result.tasks <= most  # no lines for tasks that there are not
        used = result.charts + result.note + (0 if result.meters is None else result.meters.lines + result.gap)
        if result.core_map is not None:
            used += len(result.core_map.lines) + result.gap
        used += result.rows + 1 + result.gap if result.rows else 0
        used += result.tasks + 1 + result.gap if result.tasks and not result.beside else 0
        assert result.charts >= 4
        assert used == size[1] or (result.core_map is not None and machine == "big-8s" and size == SIZES[0])

    @pytest.mark.parametrize("machine", ["laptop", "grace-2s", "sapphire-2s", "turin-2s"])
    @pytest.mark.parametrize("height", [18, 19, 20])  # of 24, beside the lines around, a banner and the tour
    def test_small_screens_have_cpus_and_tasks(self, machine: str, height: int) -> None:
        result = parts(topology(machine), 80, height, has_tasks=True, note=True, most=4)
        assert result.tasks >= 2
        assert result.meters is not None or result.rows >= 3

    @pytest.mark.parametrize("height", [17, 18])
    def test_tasks_have_the_lines_that_the_map_of_a_small_screen_leaves(self, height: int) -> None:
        result = parts(topology("big-8s"), 80, height, has_tasks=True, note=True, most=4)
        assert (result.rows, result.tasks >= 2) == (0, True)

    def test_few_cpus_have_a_chart_each_where_there_is_room(self) -> None:
        wide = plan_meters(2, 300, 40, 30)
        assert wide is not None
        assert (wide.across, wide.down, wide.height) == (2, 1, 30)
        narrow = plan_meters(22, 80, 12, 12)
        assert narrow is not None
        assert (narrow.across, narrow.down, narrow.height) == (2, 11, 1)
        assert plan_meters(384, 80, 12, 12) is None

    @pytest.mark.parametrize("width", [80, 120, 300])
    @pytest.mark.parametrize("machine", ["laptop", "sapphire-2s", "turin-2s", "forest-1s", "big-8s"])
    def test_each_core_has_one_mark_inside_of_the_map(self, machine: str, width: int) -> None:
        known = topology(machine)
        plan = plan_map(known, width, 30)
        rows = [mark.row for line in plan.lines for mark in line.marks]
        assert sorted(rows) == sorted(known.rows(mark_scope(known)))
        assert all(plan.label <= mark.x <= width - plan.size for line in plan.lines for mark in line.marks)
        for y, line in enumerate(plan.lines):
            for mark in line.marks:
                assert plan.at(mark.x, y) == mark.row

    @pytest.mark.parametrize(("machine", "width", "room"), [("big-8s", 200, 30), ("turin-2s", 200, 12),
                                                            ("laptop", 80, 4)])
    def test_marks_grow_into_the_width_that_their_lines_have(self, machine: str, width: int, room: int) -> None:
        plan = plan_map(topology(machine), width, room)
        cores = [len(line.marks) for line in plan.lines if line.marks and line.label.strip() != "P"]
        assert max(cores) - min(cores) <= (machine == "laptop") * 2  # lines as long as each other
        assert plan.width + 36 * (machine != "laptop") > 0.75 * width  # figures of packages beside
        assert plan.size > 3 or machine != "laptop"

    def test_chiplets_are_named_above_their_cores_and_each_line_of_names_stands_once(self) -> None:
        known = topology("turin-2s")
        plan = plan_map(known, 300, 30)
        above: dict[int, str] = {}
        text = set()
        for line in plan.lines:
            above = dict(line.names) or above  # lines that have the same names stand below them
            for mark in line.marks:
                if mark.x in above:
                    cpu = first_cpu(known, mark.row)
                    assert cpu is not None
                    assert known.chiplets[known.row(Scope.L3, cpu).key] == above[mark.x]
                    text.add(known.row(Scope.L3, cpu))
        assert text == set(known.rows(Scope.L3))
        assert all(plan.at(x, y) is None for y, line in enumerate(plan.lines) for x, _ in line.names)
        assert not any(line.names for line in plan_map(known, 120, 4).lines)  # cores before names

    def test_kinds_of_core_have_lines_of_their_own(self) -> None:
        plan = plan_map(topology("laptop-arrow"), 80, 3)
        assert [line.label.strip() for line in plan.lines] == ["P", "E", "LP-E"]

    def test_each_mark_shows_the_busiest_cpu_of_its_core(self) -> None:
        _machine, frames = frames_of_machine("turin-2s", 2, columns=["Busy%"])
        frame = frames[-1]
        plan = plan_map(frame.topology, 120, 10)
        chosen_row = plan.lines[-1].marks[-1].row
        drawn = [[(letter, role) for text, role in line for letter in text]
                 for line in map_lines(plan, frame, BUSY, chosen_row)]
        seen = set()
        for line, letters in zip(plan.lines, drawn, strict=True):
            for mark in line.marks:
                core = frame.topology.instance(mark.row)
                assert core is not None
                values = [value for cpu in core.cpus if isinstance(value := frame.cell(BUSY, cpu_row(cpu)), float)]
                share = max(values) / 100
                sign, role = letters[mark.x]
                if mark.row == chosen_row:
                    assert (sign, role) == ("●", StyleRole.CELL)
                    continue
                assert role is role_of(share)
                assert sign == "·▁▂▃▄▅▆▇█"[min(8, int(share * 8 + (share > 0.02)))]
                seen.add(sign)
        assert len(seen) > 1


    def test_every_share_up_to_the_last_bit_below_one_has_a_mark(self) -> None:
        below = math.nextafter(1.0, 0.0)
        assert [_look(share)[0] for share in (0.0, 0.01, 0.03, 0.5, below, 1.0, 1.5)] == [*"··▁▅███"]


class TestIdleStates:
    def test_a_state_is_named_only_if_no_unknown_one_can_have_lasted_longer(self) -> None:
        _machine, frames = frames_of_machine("laptop", 3, seconds=10.0)
        frame = frames[-1]
        by_id = {column.id: column for column in STATIC_COLUMNS if frame.cell(column, SYSTEM_ROW) is not None}
        numbers = cpu_numbers(by_id.values(), by_id["Busy%"], None, None)
        [deep] = [column for word, column in numbers.idle if word == "C7"]
        row = max(frame.rows(Scope.CPU), key=lambda row: frame.cell(deep, row) or 0.0)

        def state_without(word: str) -> IdleState:
            signal = f"cstate.core.{word.lower()}"
            values = {**frame.newer.values, signal: [None] * len(frame.newer.values[signal])}
            lacking = Frame(frame.older, replace(frame.newer, values=values), frame.capabilities)
            return idle_states(lacking, numbers, (row,))[0]

        share = frame.cell(deep, row)
        assert isinstance(share, float)
        assert share > 50.0
        assert state_without("C1") == state_without("C6") == ("C7", share, deep), "more than all others together"
        assert state_without("C7") == ("C7", None, deep), "it was C1 or C6, of which little is known to be the most"
        [span] = idle_spans(state_without("C7"), row, None)
        assert span.text == "C7        —  "
        assert span.target == (deep, row), "where the reason is found"

    def test_a_cpu_that_was_busy_all_the_time_was_in_no_state(self) -> None:
        _machine, frames = frames_of_machine("laptop-old+calculix", 2)
        frame = frames[-1]
        by_id = {column.id: column for column in STATIC_COLUMNS}
        numbers = cpu_numbers(by_id.values(), by_id["Any%C0"], None, None)
        never = replace(numbers, idle=tuple(state for state in numbers.idle if state[0] in ("C6", "C7")))
        assert frame.cell(by_id["Any%C0"], SYSTEM_ROW) == pytest.approx(100.0)
        [state] = idle_states(frame, never, (SYSTEM_ROW,))
        assert idle_spans(state, SYSTEM_ROW, None)[0].text.strip() == "not idle"
        [state] = idle_states(frame, replace(never, busy=by_id["Busy%"]), (SYSTEM_ROW,))
        assert idle_spans(state, SYSTEM_ROW, None)[0].text.split() == ["C7", "0", "%"], "it was somewhere else"


class TestFirstMinute:
    def test_a_chart_that_begins_fills_its_width_and_says_its_time(self) -> None:
        past = [math.nan, math.nan, 1.0, math.nan, 3.0]
        assert begun(past)[0] == 1.0
        assert len(begun(past)) == 3
        filled = stretched(past, 6)
        assert [value for value in filled if not math.isnan(value)] == [1.0, 1.0, 3.0, 3.0]
        assert math.isnan(filled[2])
        assert list(stretched([1.0, 2.0, 3.0], 2)) == [2.0, 3.0]
        assert not begun([math.nan])
        chart = Chart("Load", (BUSY, SYSTEM_ROW), 50.0, [math.nan] * 90 + [50.0] * 10, 100.0)
        lines = ["".join(span.text for span in line) for line in framed(chart, 42, 5, 1.0, None)]
        assert lines[-1].startswith("└─ 10 s ─")
        assert lines[-2] == f"│{'█' * 40}│"

    @pytest.mark.parametrize("machine", ["laptop", "guest", "laptop-old"])
    def test_each_number_of_a_meter_has_its_name_or_unit_above_it(self, machine: str) -> None:
        _machine, frames = frames_of_machine(machine, 3)
        frame = frames[-1]
        there = [column for column in STATIC_COLUMNS if frame.cell(column, SYSTEM_ROW) is not None]
        by_id = {column.id: column for column in there}
        busy = by_id.get("Busy%") or by_id["Load%"]
        numbers = cpu_numbers(there, busy, by_id.get("Bzy_MHz"), by_id.get("CoreTmp"))
        source = CpuSource(frame, numbers, History(), {}, None, FrameLevels(by_id.get))
        plan = plan_meters(len(frame.topology.cpus), 120, 30, 4)
        assert plan is not None
        assert plan.height == 1
        head, first, *_ = ["".join(span.text for span in line) for line in meter_lines(source, plan, KeptLines())]
        assert len(_) + 2 == plan.lines
        item = head[:plan.width]
        assert item.split()[:2] == ["CPU", "Busy%"]
        end = item.index("Busy%") + len("Busy%")
        assert re.fullmatch(r" *[\d.]+", first[end - 5:end])
        if numbers.clock is not None:
            end = item.index("MHz") + 3
            assert first[end - 1].isdigit()
            assert first[end] == " "

    def test_memory_is_a_bar_where_there_is_room(self) -> None:
        facts = MachineStatus(load=(1.0, 1.0, 1.0), memory=(round(8.6 * 2**30), round(34.4 * 2**30)))

        def note(mute: int, width: int) -> str:
            return "".join(span.text for span in note_line(facts, mute, 46, width))

        assert "memory ■■········ 8.6 of 34.4 GiB" in note(12, 120)
        assert "mem ■···· 8.6 of 34.4 GiB" in note(0, 50)
        assert "memory 8.6 of 34.4 GiB" in note(0, 46)


    @pytest.mark.parametrize("seconds", [0.2, 3.0, 12.0])
    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_the_time_of_the_shares_of_tasks_is_told(self, seconds: float, width: int) -> None:
        task = TopTask(1, "make", "R", 1, 0, 62.0, 1 << 20, 1.0)
        head, line = ("".join(span.text for span in line) for line in task_lines([task], width, 1, seconds=seconds))
        assert head.startswith(f" task, over {seconds:g} s " if seconds % 1 or seconds > 10 else " task, over 3.0 s ")
        assert len(head) == len(line) == width
        end = head.index("CPU%") + len("CPU%")
        assert line[:end].endswith(" 62.0")


class TestPlaces:
    @pytest.mark.parametrize("count", [6, 12, 60])
    def test_the_busiest_are_in_order_and_whole_whatever_else_they_are(self, count: int) -> None:
        _machine, frames = frames_of_machine("sapphire-2s", 4)
        by_id = {column.id: column for column in STATIC_COLUMNS}
        numbers = cpu_numbers(by_id.values(), BUSY, by_id["Bzy_MHz"], by_id["CoreTmp"])
        chosen_rows = Standouts()
        for frame in frames[1:]:
            rows = chosen_rows.choose(frame, numbers, count)
            loads = {row: value for row in frame.rows(Scope.CPU) if isinstance(value := frame.cell(BUSY, row), float)}
            shown = [loads.get(standout.row, 0.0) for standout in rows]
            assert len(rows) == len({standout.row for standout in rows}) == count
            busy = [load for load in shown if load > 5]
            assert busy == sorted(busy, reverse=True)
            assert shown[:len(busy)] == busy
            plain = sum(not standout.word for standout in rows)
            assert set(shown) >= {load for load in sorted(loads.values(), reverse=True)[:plain] if load > 5}
            heats = {row: value for row in frame.rows(Scope.CPU)
                     if isinstance(value := frame.cell(by_id["CoreTmp"], row), int | float)}
            hot = [heats[standout.row] for standout in rows if standout.word == "hottest"]
            words = {standout.word for standout in rows}
            assert words - {""} or len(words) == 1
            assert not hot or all(standout.word for standout in rows if heats.get(standout.row, 0.0) >= min(hot))

    def test_rows_that_are_there_for_their_heat_alone_say_so(self) -> None:
        _machine, frames = frames_of_machine("laptop-old", 3)
        by_id = {column.id: column for column in STATIC_COLUMNS}
        numbers = cpu_numbers((), None, None, by_id["CoreTmp"])
        rows = Standouts().choose(frames[-1], numbers, 8)
        assert {standout.word for standout in rows} == {"hottest"}, "no load is known, as before the first interval"

    def test_no_cpu_at_the_full_clock_of_its_kind_is_slow(self) -> None:
        _machine, frames = frames_of_machine("laptop", 2, columns=["Busy%"])
        clocks = {cpu_row(0): 4800.0, cpu_row(1): 4790.0, cpu_row(2): 3000.0, cpu_row(14): 3800.0, cpu_row(15): 3799.0}
        assert _slow(frames[-1], clocks) == {cpu_row(2): -3000.0}

    def test_the_busiest_are_in_order_and_idle_ones_stay(self) -> None:
        rows = [cpu_row(cpu) for cpu in range(4)]
        now = dict(zip(rows, [93.9, 95.0, 0.2, 0.4], strict=True))
        assert settled(rows, now, 4, idle=5.0) == [rows[1], rows[0], rows[2], rows[3]]
        assert settled(rows[:3], now, 3, idle=5.0) == [rows[1], rows[0], rows[2]]
        now[rows[3]] = 6.0
        assert settled(rows[:3], now, 3, idle=5.0) == [rows[1], rows[0], rows[3]]
        assert settled(rows, now, 4, idle=5.0) == [rows[1], rows[0], rows[3], rows[2]]

    def test_rows_stay_until_one_is_clearly_beyond(self) -> None:
        rows = [cpu_row(cpu) for cpu in range(4)]
        now = dict(zip(rows, [50.0, 50.5, 49.9, 10.0], strict=True))
        assert settled(rows[:3], now, 3) == rows[:3]
        now[rows[1]] = 60.0
        assert settled(rows[:3], now, 3) == [rows[1], rows[0], rows[2]]
        now[rows[3]] = 50.1  # greater than the least, but by less than it takes
        assert settled(rows[:3], now, 3) == [rows[1], rows[0], rows[2]]
        now[rows[3]] = 90.0
        assert settled(rows[:3], now, 3)[0] == rows[3]

    @given(st.lists(st.floats(0, 100), min_size=1, max_size=30), st.integers(1, 12), st.data())
    def test_as_many_rows_as_asked_each_once(self, values: list[float], count: int, data: st.DataObject) -> None:
        known: dict[RowId, float] = {cpu_row(cpu): value for cpu, value in enumerate(values)}
        before = data.draw(st.permutations(list(known)))
        result = settled(before, known, count)
        assert len(result) == len(set(result)) == min(count, len(known))
        assert max(known.values()) <= max(known[row] for row in result) * 1.02 + 1e-9

    def test_the_cursor_goes_to_the_nearest_cell_in_a_direction(self) -> None:
        places = {"here": (0, 0), "right": (20, 0), "far right": (30, 0), "below": (3, 1), "lower": (0, 2)}
        assert nearest_place(places["here"], places, 1, 0) == "right"
        assert nearest_place(places["here"], places, 0, 1) == "below"
        assert nearest_place(places["below"], places, 0, -1) == "here"
        assert nearest_place(places["here"], places, -1, 0) is None


class TestTasks:
    def test_two_looks_tell_who_ran(self) -> None:
        clock = ManualClock()
        host = simulated_host("laptop", clock, seed=7)
        clock.advance(30.0)
        stats = ProcessStats(host)
        first = look(host, stats.read(), None)
        clock.advance(4.0)
        second = look(host, stats.read(), first)
        assert first.tasks == ()
        assert first.next == first.at + 200_000_000
        assert second.next == second.at + 800_000_000, "shares of a fifth of a second are soon replaced"
        assert look(host, stats.read(), second).next >= second.at + 3_000_000_000
        assert [task.percent for task in second.tasks] == sorted((task.percent for task in second.tasks), reverse=True)
        assert {task.name for task in second.tasks} <= {"dense algebra", "streaming", "compiling", "background"}
        assert 0 < sum(task.percent for task in second.tasks) <= 2200
        assert second.runs == {}  # each has a thread on every CPU: where the first one is says nothing

    def test_what_is_looked_at_beside_counts_for_the_next_look_once_tasks_are_known(self) -> None:
        clock = ManualClock()
        host = simulated_host("laptop", clock, seed=7)
        clock.advance(30.0)
        stats = ProcessStats(host)

        def beside(_processes: ReadProcesses) -> int:
            spent = time.thread_time_ns() + 30_000_000
            while time.thread_time_ns() < spent:
                pass
            return 5

        first, other = make_poll(host, stats, None, beside)()
        assert other == 5
        assert first.next == first.at + 200_000_000  # a second look soon: the first one names nobody
        second = first
        for _ in range(2):
            clock.advance(4.0)
            second, _ = make_poll(host, stats, second, beside)()
        assert second.next >= second.at + 15_000_000_000

    def test_a_machine_without_processes_gives_an_empty_look(self) -> None:
        class Bare:
            def now_ns(self) -> int:
                return 5

            def list_dir(self, path: str) -> tuple[str, ...]:
                return ("stat", "cpuinfo")

            def read_text(self, path: str) -> str:
                raise HostError(2, path)

        host: Host = Bare()  # type: ignore[assignment]  # no more of a host is asked for
        process_look, other = make_poll(host, ProcessStats(host), None, len)()
        assert (process_look.tasks, process_look.count, other) == ((), 0, 0)
