"""The last hour in memory: every frame, or one in ten seconds if there is no room, and never more memory."""

from __future__ import annotations

import gc
import itertools
import tracemalloc
from array import array
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import pytest
from made_frames import CAPABILITIES, NOON, SECOND, decoded, frames, frames_of, said, snapshot, topology_of_cpus

from turbotui.recording.codec import TickEncoder
from turbotui.recording.cpu_layout import CpuTableLayout, layout_of
from turbotui.recording.ring import PastRing
from turbotui.recording.row_streams import RowStreams
from turbotui.recording.stream_writer import Event, Gap
from turbotui.recording.tick_decoder import DecodedTick, LazyColumns, TickDecoder
from turbotui.recording.tiers import SnapshotEncoder
from turbotui.sampling.frame import Frame
from turbotui.sampling.late_values import FrameMaker
from turbotui.sampling.snapshot import Snapshot

T = TypeVar("T")


def test_every_frame_comes_back_as_it_was() -> None:
    ring, live = PastRing(), list(frames(150))
    for frame in live:
        ring.take(frame)
    assert list(ring.times) == [frame.newer.wall_ns for frame in live]
    assert [said(frame) for frame in ring.frames()] == [said(frame) for frame in live]
    assert {ring.resolution(time) for time in ring.times} == {0.0}


def test_a_moment_between_two_ticks_shows_the_earlier_one() -> None:
    ring = PastRing()
    for frame in frames(70):
        ring.take(frame)
    result = ring.frame(NOON + 61 * SECOND + SECOND // 2)
    assert result is not None
    assert result.seq == 61
    assert ring.frame(NOON - 1) is None


def test_frames_are_there_while_more_come() -> None:
    ring = PastRing()
    for frame in frames(100):
        ring.take(frame)
        result = ring.frame(frame.newer.wall_ns)
        assert result is not None
        assert said(result) == said(frame)


@pytest.mark.parametrize("most", [80_000, 16 << 20])
def test_moments_are_the_same_whether_they_are_asked_for_at_each_tick_or_at_the_end(most: int) -> None:
    live = frames_of([snapshot(number, topology_of_cpus(range(4)), wall_ns=NOON + (
        number if number < 420 else number - 25) * SECOND) for number in range(700)])
    asked, rested = PastRing(most, seconds=300.0), PastRing(most, seconds=300.0)
    for number, frame in enumerate(live):
        asked.take(frame)
        rested.take(frame)
        assert frame.newer.wall_ns in asked.times or most == 80_000, "it is there, whether it is encoded or waits"
        if number % 97 == 0 or 420 < number < 424:  # the clock was set back at 420
            other = PastRing(most, seconds=300.0)
            for earlier in live[:number + 1]:
                other.take(earlier)
            assert (asked.events, asked.times) == (other.events, other.times)
            assert {asked.resolution(time) for time in asked.times} == {
                other.resolution(time) for time in other.times}
    assert (asked.size, asked.events, asked.times) == (rested.size, rested.events, rested.times)
    assert 20 < len(asked.times) < 400, "the oldest are gone"


def test_what_has_no_room_is_left_at_one_in_ten_seconds() -> None:
    most = 80_000
    ring, live = PastRing(most, seconds=3600.0), list(frames(2000))
    largest = 0
    for frame in live:
        ring.take(frame)
        largest = max(largest, ring.size)
    assert largest <= most
    times = ring.times
    fine = [time for time in times if ring.resolution(time) == 0.0]
    coarse = [time for time in times if ring.resolution(time) == 10.0]
    assert len(coarse) + len(fine) == len(times)
    assert min(len(coarse), len(fine)) > 50
    assert {b - a for a, b in itertools.pairwise(fine)} == {SECOND}
    assert {b - a for a, b in itertools.pairwise(coarse)} == {10 * SECOND}
    assert fine[0] - coarse[-1] <= 10 * SECOND
    for time in (coarse[1], coarse[-1], fine[0], fine[-1]):  # the clock is 0 at the beginning of the first
        result = ring.frame(time)
        assert result is not None
        assert result.seconds == (10.0 if time in coarse else 1.0)
        rate = result.whole_rate("work")
        assert rate is not None
        assert abs(rate - 4006.0) < 4006 * 0.0005
        assert result.newer.values["heat"] == live[result.seq].newer.values["heat"]
        assert result.newer.values["energy"] == live[result.seq].newer.values["energy"]


def test_every_tick_takes_no_more_room_at_first_than_after_an_hour() -> None:
    """The ticks of one resolution do not take the room that those of the other do not need yet."""
    most, kept = 150_000, list[tuple[int, int]]()
    ring = PastRing(most, seconds=3600.0)
    for frame in frames(1200):
        ring.take(frame)
        if frame.seq in {299, 599, 1199}:
            kept.append((ring.size, sum(not ring.resolution(time) for time in ring.times)))
    (early, _), (later, fine), (_, fine_at_last) = kept
    assert 100 < fine < 599
    assert abs(fine - fine_at_last) <= 15, "a group of ticks is dropped at once"
    assert later - early < most / 10, "ticks of ten seconds alone"


def test_nothing_is_older_than_the_time_that_is_kept() -> None:
    ring = PastRing(seconds=120.0)
    for frame in frames(500):
        ring.take(frame)
    assert len(ring.times) <= 120 + 60
    assert ring.times[-1] == NOON + 499 * SECOND


def test_a_counter_that_began_again_between_two_ticks_of_ten_seconds_has_no_difference_over_it() -> None:
    topology = topology_of_cpus(range(4))
    live = frames_of([
        snapshot(number, topology, fresh={"work": frozenset({2})} if number == 1005 else {}) for number in range(2000)
    ])
    ring = PastRing(60_000)
    for frame in live:
        ring.take(frame)
    result = ring.frame(NOON + 1010 * SECOND)
    assert result is not None
    assert result.seconds == 10.0
    assert [item is None for item in result.deltas("work")] == [False, False, True, False]


def test_cpus_that_come_and_go_and_clocks_that_are_set_are_reported_and_lose_nothing() -> None:
    four, three = topology_of_cpus(range(4)), topology_of_cpus(range(3))
    snapshots = [snapshot(number, four if number < 20 else three,
                          wall_ns=NOON + (number if number < 30 else number - 25) * SECOND) for number in range(60)]
    ring, live = PastRing(), frames_of(snapshots)
    for frame in live:
        ring.take(frame)
    text = [(event.kind, event.text) if isinstance(event, Event) else (event.reason, round(event.seconds, 3))
            for event in ring.events]
    assert text == [("topology", "CPUs 3 went"), ("clock", -25.0)]
    assert isinstance(ring.events[1], Gap)
    assert len(ring.times) == 60
    result = ring.frame(NOON + 4 * SECOND)
    assert result is not None
    assert result.deltas("work") == [1000, 1001, 1002, 1003]
    assert result.capabilities is CAPABILITIES


def test_a_jump_decodes_few_ticks_and_steps_decode_each_once() -> None:
    """Of 256 CPUs that is 0.35 ms a tick; a step into another group must paint in under 30 ms."""
    ring = PastRing()
    for frame in frames(200):
        ring.take(frame)
    times = list(ring.times)
    for time in (times[100], times[30], times[-1]):
        assert decoded(lambda time=time: ring.frame(time)) <= 30  # type: ignore[misc] # bound now
    assert decoded(lambda: [ring.frame(time) for time in reversed(times)]) <= len(times)


def test_no_step_back_or_on_decodes_a_whole_group() -> None:
    ring = PastRing()
    for frame in frames(200):
        ring.take(frame)
    times = list(ring.times)

    def ticks(time_ns: int) -> int:
        return decoded(lambda: ring.frame(time_ns))

    ticks(times[-1])  # a jump
    steps = [ticks(time) for time in reversed(times[:-1])]
    assert max(steps[20:]) <= 2  # the newest group may be short
    assert sum(steps) > 150
    assert max(ticks(time) for time in times[1:]) <= 3


@pytest.mark.parametrize("cpus", [2, 256])
def test_a_layout_counts_what_it_takes(cpus: int) -> None:
    """The masks that its arithmetic needs, each as long as a tick, live only while its ticks are encoded or decoded."""
    known = snapshot(0, topology_of_cpus(range(cpus)))
    layout_of(known, CAPABILITIES)  # what every layout shares
    tracemalloc.start()
    try:
        layouts = [layout_of(known, CAPABILITIES) for _ in range(20)]
        for layout in layouts:
            TickEncoder(0, layout.lane_layout).encode(layout.tick(known), key=True)
        taken, _most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.5 * taken < sum(layout.size for layout in layouts) < 2 * taken


def test_a_layout_of_thousands_of_columns_takes_some_words_for_each() -> None:
    """Screens with events of all units read so many, and each change of what is read is a layout that is kept."""
    whole, many = snapshot(0, topology_of_cpus(range(2))), [f"energy {number}" for number in range(3000)]
    signals = {name: replace(CAPABILITIES.signals["energy"], id=name) for name in many}
    capabilities = replace(CAPABILITIES, signals=signals)
    stamps = [[number] for number in range(300)]
    read = replace(whole, values=dict.fromkeys(many, whole.values["energy"]), wraps={},
                   stamps={name: stamps[number % 300] for number, name in enumerate(many)})
    layout_of(read, capabilities)  # what every layout shares
    tracemalloc.start()
    try:
        layouts = [layout_of(read, capabilities) for _ in range(5)]
        for layout in layouts:
            payload = TickEncoder(0, layout.lane_layout).encode(layout.tick(read), key=True)
            decoded_tick = TickDecoder(layout.lane_layout).decode(payload, key=True)
            assert layout.snapshot(decoded_tick, RowStreams()).values[many[7]] == whole.values["energy"]
        del decoded_tick, payload
        taken, _most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken < 40 * 5 * len(layout.lane_layout.columns)


def test_columns_of_the_past_are_packed_as_sampled_ones_are() -> None:
    """As objects a decoded word takes 40 bytes instead of 8, and is subtracted one by one."""
    ring = PastRing()
    for frame in frames(3, topology_of_cpus(range(64))):
        ring.take(frame)
    past = ring.frame(ring.times[-1])
    assert past is not None
    assert past.older is not None
    for end in (past.older, past.newer):
        assert isinstance(end.values["work"], array)
        assert isinstance(end.stamps["work"], array)
    assert said(past) == said(frame)


def test_going_to_and_fro_between_columns_keeps_two_layouts() -> None:
    topology = topology_of_cpus(range(256))
    ring, sizes = PastRing(), []
    tracemalloc.start()
    try:
        for number in range(400):
            whole = snapshot(number, topology)
            names = ("work", "heat") if number // 4 % 2 else ("work",)
            seen = replace(whole, values={name: whole.values[name] for name in names},
                           stamps={name: whole.stamps[name] for name in names}, wraps={})
            ring.take(FrameMaker().frame(seen, CAPABILITIES))
            sizes.append((ring.size, tracemalloc.get_traced_memory()[0]))
    finally:
        tracemalloc.stop()
    (counted, held), (counted_half, held_half) = sizes[-1], sizes[200]
    assert counted - counted_half < 200_000
    assert held - held_half < 400_000, "each of the 50 changes between would keep 20 to 40 kB"


def test_capabilities_that_tell_the_same_share_a_layout() -> None:
    """Each visit to a screen that reads more sources makes new objects of the same facts."""
    topology, encoder, layouts = topology_of_cpus(range(4)), SnapshotEncoder(), []
    other = replace(CAPABILITIES, remarks={"work": "counts something else here"})
    for number, capabilities in enumerate((CAPABILITIES, replace(CAPABILITIES), other, replace(CAPABILITIES), other)):
        encoded = encoder.encode(snapshot(number, topology), capabilities)
        assert encoded is not None
        layouts.append((encoded.layout, encoded.layout.capabilities, encoded.key))
    first, second = (CAPABILITIES, other)
    assert [capabilities for _layout, capabilities, _key in layouts] == [first, first, second, first, second]
    assert layouts[0][0] is layouts[1][0] is layouts[3][0]
    assert layouts[2][0] is layouts[4][0]
    assert [key for _layout, _capabilities, key in layouts] == [True, False, True, True, True]


def test_layouts_that_are_large_are_known_to_whoever_keeps_them_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight of 2 MB in each of five tiers were 80 MB beside what the ring counts."""
    monkeypatch.setattr("turbotui.recording.tiers._MOST_LAYOUT_BYTES", 0)
    topology, other = topology_of_cpus(range(4)), replace(CAPABILITIES, remarks={"work": "counts something else here"})
    kept: list[CpuTableLayout] = []
    for keeps in (False, True):
        encoder, layouts = SnapshotEncoder(kept=kept), []
        for number, capabilities in enumerate((CAPABILITIES, other, CAPABILITIES)):
            encoded = encoder.encode(snapshot(number, topology), capabilities)
            assert encoded is not None
            layouts.append(encoded.layout)
            if keeps:
                kept.append(encoded.layout)
        assert (layouts[0] is layouts[2]) is keeps


@pytest.mark.usefixtures("objects_of_the_test_alone")
def test_decoded_ticks_are_forgotten_when_nobody_looks_at_the_past() -> None:
    topology, ring = topology_of_cpus(range(4)), PastRing()
    elsewhere = _decoded()
    made = list(frames(75, topology))
    for frame in made[:40]:
        ring.take(frame)
    assert ring.frame(made[20].newer.wall_ns) is not None
    assert _decoded() > elsewhere
    for frame in made[40:]:
        ring.take(frame)
    assert _decoded() <= elsewhere


@pytest.mark.usefixtures("objects_of_the_test_alone")
def test_large_groups_are_decoded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turbotui.recording.ring._MOST_DECODED_BYTES", 0)
    ring, live, elsewhere = PastRing(), list(frames(70)), _decoded()
    for frame in live:
        ring.take(frame)
    for frame in reversed(live):
        result = ring.frame(frame.newer.wall_ns)
        assert result is not None
        assert said(result) == said(frame)
        del result
        assert _decoded() <= elsewhere + 32, "a group of 15, and the one before while its last tick is decoded"


@pytest.mark.usefixtures("objects_of_the_test_alone")
def test_what_late_cpus_answered_last_counts_as_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """With thousands of uncore counters it takes a megabyte a tick, three times the tick."""
    made, elsewhere, ticks = [frame.newer for frame in frames(60, topology_of_cpus(range(64)))], _decoded(), []
    monkeypatch.setattr("turbotui.recording.ring._MOST_DECODED_BYTES", 160_000)  # 124,000 and 155,000 are without it
    for live in (frames_of(made), _with_late_cpus(made)):
        ring = PastRing()
        for frame in live:
            ring.take(frame)
        assert ring.frame(live[-1].newer.wall_ns) is not None
        ticks.append(_decoded() - elsewhere)
        del ring, frame
    assert 1 < ticks[1] < ticks[0]


def _decoded() -> int:
    """Those that are reachable; other tests of this process may still hold some."""
    gc.collect()
    return sum(type(item) is DecodedTick for item in gc.get_objects())


def _with_late_cpus(snapshots: Sequence[Snapshot]) -> list[Frame]:
    """Frames of these snapshots, in each of which another CPU answers late."""
    def without(number: int, column: Sequence[T], nothing: T) -> list[T]:
        return [nothing if at == number % 8 else item for at, item in enumerate(column)]

    return frames_of([
        replace(known, late=frozenset((number % 8,)),
                values=dict(known.values) | {"work": without(number, known.values["work"], None)},
                stamps=dict(known.stamps) | {"work": without(number, known.stamps["work"], 0)})
        for number, known in enumerate(snapshots)])


@pytest.mark.usefixtures("objects_of_the_test_alone")
@pytest.mark.parametrize("late", [False, True])
def test_frames_that_were_left_keep_no_columns(*, late: bool) -> None:
    """Columns of 224 CPUs take as much as the tick does, and are decoded again in less time than a step takes."""
    topology = topology_of_cpus(range(64))
    made = [frame.newer for frame in frames(60, topology)]
    ring, live, elsewhere = PastRing(), _with_late_cpus(made) if late else frames_of(made), _columns()
    for frame in live:
        ring.take(frame)
    shown = [ring.frame(frame.newer.wall_ns) for frame in live[-12:]]
    assert all(item is not None and item.newer.values["work"] for item in shown)  # which decodes it
    sizes = []
    for frame in reversed(live):
        result = ring.frame(frame.newer.wall_ns)
        assert result is not None
        behind_key = result.seq % 15 < 2  # where what a late CPU answered last is in the group before
        assert said(result) == said(frame) or (late and behind_key)
        sizes.append(_columns())
    assert max(sizes) < elsewhere + 60, "464 if each frame kept those that were asked for"
    assert [said(item) for item in shown if item is not None] == [said(frame) for frame in live[-12:]]
    held = [frame.held.newer for frame in shown if frame is not None and frame.held is not None]
    assert len(held) == (len(shown) if late else 0)
    assert all(isinstance(end.values["work"], array) and isinstance(end.stamps["work"], array) for end in held)


@pytest.mark.usefixtures("objects_of_the_test_alone")
def test_ticks_before_late_ones_keep_no_columns() -> None:
    """Columns of three ticks are decoded where a CPU is late: thousands with uncore counters."""
    made = [frame.newer for frame in frames(60, topology_of_cpus(range(64)))]
    late = [frame.newer for frame in _with_late_cpus(made)]
    ring, elsewhere = PastRing(), _columns()
    live = frames_of([late[number] if number % 3 == 0 else known for number, known in enumerate(made)])
    for frame in live:
        ring.take(frame)
    assert ring.frame(live[-1].newer.wall_ns) is not None
    assert _columns() == elsewhere


def _columns() -> int:
    """Decoded columns that are reachable."""
    return sum(len(columns._made) for columns in gc.get_objects() if isinstance(columns, LazyColumns))
