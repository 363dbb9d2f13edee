"""Counters of CPUs, threads, heirs and control groups that take turns with others, and the refusals of the kernel."""

from __future__ import annotations

import ast
import errno
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fakehost import FakeHost
from hypothesis import given
from hypothesis import strategies as st

import turbotui
from turbotui.counting.commands import CommandCounters
from turbotui.counting.counters import (
    DISABLED,
    ENABLE_ON_EXEC,
    INHERIT,
    INHERIT_THREAD,
    USER_ONLY,
    Counters,
    CountTarget,
    LostCounterError,
    as_permitted,
    open_counters,
    open_parts,
    opened_all,
)
from turbotui.counting.totals import CountTotal, difference, scaled, scaled_columns
from turbotui.events.encoded import FLAGS
from turbotui.features.tasks.marking_processes import MarkingProcesses
from turbotui.machine.host import HostError, PerfAttr
from turbotui.sources.perf_group import Times
from turbotui.sources.source import CpuGone
from turbotui.sources.uncore import ConcurrentEvents, UncoreReader

RATE = 1_000_000
EVENTS = (PerfAttr(9, 0), PerfAttr(9, 1), PerfAttr(9, 2))
KINDS = {
    "CPU": CountTarget(cpu=3),
    "thread": CountTarget(77),
    "heirs": CountTarget(77, flags=INHERIT | INHERIT_THREAD),
    "control group": CountTarget(5, 3, is_group=True),
}


@dataclass
class _Asked(FakeHost):
    """Keeps what was asked for, and refuses attributes with some flags."""

    asked: list[tuple[PerfAttr, int, int, int]] = field(default_factory=list)
    forbidden: int = 0

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        if self.forbidden and not attr.flags & self.forbidden:
            raise HostError(errno.EACCES, "perf")
        self.asked.append((attr, pid, cpu, group))
        return super().perf_event_open(attr, pid, cpu, group)


def made(turns: float = 1.0, **more: object) -> _Asked:
    return _Asked(counters={(9, at): RATE * (at + 1.0) for at in range(3)}, running=turns, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
@given(share=st.floats(0.01, 1.0), steps=st.lists(st.floats(0.1, 5.0), min_size=1, max_size=4))
def test_each_count_is_of_its_event_and_scaled_to_the_whole_time(kind: str, share: float, steps: list[float]) -> None:
    host = made(share)
    group = open_counters(host, EVENTS, KINDS[kind])
    for step in steps:
        host.advance(step)
        enabled, running, *counts = group.gains()
        assert enabled == pytest.approx(step * 1e9, abs=1)
        assert running == pytest.approx(step * share * 1e9, abs=2)
        assert [scaled(count, enabled, running) for count in counts] == [
            pytest.approx(RATE * (at + 1) * step, rel=1e-3) for at in range(3)]
    enabled, running, *counts = group.totals()
    assert [scaled(count, enabled, running) for count in counts] == [
        pytest.approx(RATE * (at + 1) * sum(steps), rel=1e-3) for at in range(3)]
    group.close()
    group.close()
    assert host.open == {}


def test_what_is_asked_of_the_kernel_is_that_of_the_target() -> None:
    host = made()
    for target in KINDS.values():
        open_counters(host, EVENTS[:2], target)
    leaders = [(attr.flags, attr.read_format, attr.target_flags, pid, cpu) for attr, pid, cpu, _ in host.asked[::2]]
    assert leaders == [
        (0, 0b1011, 0, -1, 3), (0, 0b1011, 0, 77, -1), (INHERIT | INHERIT_THREAD, 0b0011, 0, 77, -1),
        (0, 0b1011, 4, 5, 3)]
    assert [(attr.flags, group == -1) for attr, _pid, _cpu, group in host.asked] == [
        (attr.flags, leads) for attr, *_rest in host.asked[::2] for leads in (True, False)]


def test_flags_are_the_bits_that_the_kernel_names() -> None:
    names = ("disabled", "inherit", "inherit_thread", "enable_on_exec")
    assert [1 << FLAGS[name] for name in names] == [DISABLED, INHERIT, INHERIT_THREAD, ENABLE_ON_EXEC]
    assert 1 << FLAGS["exclude_kernel"] | 1 << FLAGS["exclude_hv"] == USER_ONLY


def test_only_a_leader_waits_and_the_others_count_while_it_does() -> None:
    host = made()
    open_counters(host, EVENTS, CountTarget(77, flags=INHERIT, first=DISABLED | ENABLE_ON_EXEC))
    assert [attr.flags for attr, *_rest in host.asked] == [INHERIT | DISABLED | ENABLE_ON_EXEC, INHERIT, INHERIT]


def test_a_sibling_without_room_begins_a_group_of_its_own_unless_it_is_bound() -> None:
    host = made(lonely={(9, 1)})
    parts = open_parts(host, [(event, False) for event in EVENTS], CountTarget(77, first=DISABLED))
    assert [len(part.descriptors) for part in parts] == [1, 2]
    assert [attr.flags for attr, *_rest in host.asked] == [DISABLED, 0, DISABLED, 0]
    for part in parts:
        part.close()
    with pytest.raises(HostError):
        open_counters(host, EVENTS, CountTarget(77))
    assert host.open == {}


@pytest.mark.parametrize("kind", KINDS)
def test_a_counter_that_lost_its_place_is_an_error_and_no_count(kind: str) -> None:
    host = made()
    group = open_counters(host, EVENTS, KINDS[kind])
    host.truncate = 0
    with pytest.raises(LostCounterError):
        group.gains()


def test_counters_of_units_that_need_each_other_are_opened_together_or_not_at_all() -> None:
    host = made(lonely={(9, 2)})
    first = ConcurrentEvents({"a": EVENTS[0]}, Times.of("first"))
    pair = ConcurrentEvents({"b": EVENTS[1], "c": EVENTS[2]}, Times.of("pair"))
    reader = UncoreReader(host, 0, [[first, pair]])
    assert len(host.open) == 1, "of the pair nothing stays"
    host.advance(2.0)
    assert dict(zip(reader.signals, reader.read(), strict=True)) == {
        "first.enabled": 2 * 10**9, "first.running": 2 * 10**9, "a": 2 * RATE, "b": None, "c": None,
        "pair.enabled": None, "pair.running": None}
    host.truncate = 8
    with pytest.raises(CpuGone):
        reader.read()
    reader.close()
    assert host.open == {}


def test_groups_are_opened_all_or_none() -> None:
    host = made()

    def opened(events: tuple[PerfAttr, ...]) -> Counters:
        return open_counters(host, events, CountTarget(77))

    assert len(opened_all(opened((event,)) for event in EVENTS)) == 3
    host.open.clear()
    with pytest.raises(HostError):
        opened_all(opened(events) for events in (EVENTS, EVENTS[:1], (PerfAttr(8, 8),)))
    assert host.open == {}


def test_the_kernels_part_is_left_out_only_where_it_is_refused() -> None:
    def opens(host: FakeHost) -> Callable[[int], Counters]:
        return lambda flags: open_counters(host, EVENTS, CountTarget(77, flags=flags))

    assert as_permitted(opens(made()))[1] is False
    strict = made(forbidden=USER_ONLY)
    assert as_permitted(opens(strict))[1] is True
    assert {attr.flags for attr, *_rest in strict.asked} == {USER_ONLY}
    assert as_permitted(opens(made()), user_only=True)[1] is True
    with pytest.raises(HostError) as raised:
        as_permitted(opens(FakeHost(counters={(9, 0): -errno.EACCES})))
    assert raised.value.errno == errno.EACCES
    with pytest.raises(HostError) as raised:
        as_permitted(opens(FakeHost()))
    assert raised.value.errno == errno.ENOENT


@given(st.floats(0.01, 1.0), st.integers(0, 3))
def test_sets_of_a_command_and_of_several_threads(share: float, threads: int) -> None:
    host = made(share)
    sets = [EVENTS[:1], EVENTS[1:]]
    command = CommandCounters(host, sets, 77, frozenset({1}))
    assert [attr.flags & (DISABLED | ENABLE_ON_EXEC) for attr, *_rest in host.asked] == [
        DISABLED | ENABLE_ON_EXEC, DISABLED, 0]
    several = MarkingProcesses(host, sets)
    several.add(range(threads))
    host.advance(2.0)
    item, other = command.read()
    assert (len(item), len(other)) == (3, 4)
    assert several.read_set(1) == [threads * word for word in other]
    several.close()
    command.close()
    assert host.open == {}


def test_a_counter_that_never_ran_is_unknown_unless_it_had_nothing_to_count() -> None:
    assert scaled(0, 100, 0) is None
    assert scaled(0, 0, 0) == 0
    assert scaled(30, 90, 30) == 90
    assert scaled(2**60 + 1, 7, 7) == 2**60 + 1, "to the last count where nothing was multiplexed"
    assert difference((9, 5, 7), (2, 1, 7)) == [7, 4, 0]


NUMBER = st.one_of(st.none(), st.integers(0, 1 << 40))


@given(st.lists(st.tuples(NUMBER, NUMBER, st.one_of(st.none(), st.floats(0.0, 1.0))), min_size=1, max_size=5))
def test_a_column_is_scaled_as_each_of_its_counts(rows: list[tuple[int | None, int | None, float | None]]) -> None:
    asked = [(count, due, None if share is None or due is None else round(share * due)) for count, due, share in rows]
    for result, (count, due, ran) in zip(scaled_columns(*map(list, zip(*asked, strict=True))), asked, strict=True):
        expected = None if count is None or due is None or ran is None else scaled(count, due, ran)
        assert result == (None if expected is None else pytest.approx(expected))


@given(st.lists(st.tuples(st.integers(1, 10**9), st.floats(0.0, 1.0)), min_size=1, max_size=8))
def test_a_total_takes_counters_without_a_turn_for_the_mean_of_the_others(parts: list[tuple[int, float]]) -> None:
    total = CountTotal()
    gains = [(enabled, round(enabled * share), 3 * round(enabled * share), enabled, 0) for enabled, share in parts]
    total.add(gains)
    assert (total.enabled, total.running) == (sum(gain[0] for gain in gains), sum(gain[1] for gain in gains))
    expected = 3 * total.enabled if any(gain[1] for gain in gains) else 0
    assert total.count == pytest.approx(expected)


_COUNTING = {"counting/counters.py"}
"""The only modules that open and read counters without a ring."""
_RINGS = {"machine/ip_sampling.py", "machine/perf_groups.py", "machine/tasks/tracer.py", "machine/tasks/last_counts.py",
          "machine/tasks/switch_times.py", "machine/tasks/wait_times.py"}
"""Those that open events with rings, and read counters beside them."""
_HOSTS = {f"{name}.py" for name in (
    "machine/host", "machine/linux", "machine/perf_abi", "machine/delegating_host",
    "machine/container_host", "machine/gathered/host", "machine/gathered/noting_host", "recording/recorded_host",
    "remote/session", "simulated/host")}
_OPENS_GROUPS = {"machine/tasks/load_sampler.py", "machine/tasks/sets.py", "events/listing.py"}
"""Those that open groups of events with rings, and the list of events, which lies below: it opens, reads nothing."""


@functools.cache
def _modules() -> dict[str, str]:
    root = Path(turbotui.__file__).parent
    return {str(path.relative_to(root)): path.read_text() for path in root.rglob("*.py")}


def _nodes(*words: str) -> Iterator[tuple[str, ast.AST]]:
    """Every node of the modules in which one of these words stands."""
    for path, text in _modules().items():
        if any(word in text for word in words):
            yield from ((path, node) for node in ast.walk(ast.parse(text)))


def _using(name: str) -> set[str]:
    return {path for path, node in _nodes(name) if (isinstance(node, ast.Attribute) and node.attr == name) or (
        isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names])}


def test_nobody_else_opens_or_reads_counters() -> None:
    for name in ("perf_event_open", "read_counter"):
        assert _COUNTING <= _using(name) <= _COUNTING | _RINGS | _HOSTS
    assert _using("open_group") <= _OPENS_GROUPS


def _writes_flags(node: ast.AST) -> bool:
    """Whether a node makes a `PerfAttr` with flags, or adds some to those of one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return any(isinstance(side, ast.Attribute) and side.attr == "flags" for side in (node.left, node.right))
    return isinstance(node, ast.Call) and ast.unparse(node.func) in ("PerfAttr", "replace") and any(
        word.arg in ("flags", "target_flags") for word in node.keywords)


def test_nobody_else_writes_flags_but_those_of_rings_and_events_that_people_wrote() -> None:
    result = {path for path, node in _nodes("flags") if _writes_flags(node)}
    rings = _RINGS | {"machine/tasks/sets.py", "features/tasks/load_watch.py"}
    takes_away = {"sources/event_bundles.py"}  # those of sampling, which a count refuses
    assert result >= _COUNTING
    assert {path for path in result if not path.startswith(("events/", "simulated/"))} <= _COUNTING | rings | takes_away


def test_nobody_else_knows_the_layout_of_a_read_or_scales_counts() -> None:
    result = set()
    for path, node in _nodes("enabled", 'Q"'):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.left, ast.BinOp) and (
                isinstance(node.left.op, ast.Mult) and "enabled" in ast.unparse(node.left)) and (
                "running" in ast.unparse(node.right)):
            result.add(path)
        if isinstance(node, ast.JoinedStr) and ast.unparse(node).endswith("Q'"):
            result.add(path)
    assert "counting/counters.py" in result
    assert {name for name in result if name.startswith(("sources/", "features/", "sampling/", "counting/"))} == {
        "counting/counters.py", "counting/totals.py"}
