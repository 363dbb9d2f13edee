"""A machine that a collector reads: the session that a dashboard needs, made from received readings."""

from __future__ import annotations

import contextlib
import errno
import functools
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from turbotui.errors import TurbotuiError, UsageError
from turbotui.events.set_files import EventSet, shipped_sets
from turbotui.machine.host import Host, HostError, PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import platform_of
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.row_kinds import KindId
from turbotui.quantities.signals import SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import Missing, RecordingError
from turbotui.recording.machine_facts import Header
from turbotui.recording.recorded_host import KeptAnswers, RecordedHost
from turbotui.recording.recorded_source import recorded_catalog
from turbotui.recording.stream_writer import Gap
from turbotui.remote.incoming import Arrival, Incoming, Received
from turbotui.remote.links import FIRST_SECONDS, Connector, Link, LinkError
from turbotui.remote.requests import MOMENTS, SCREEN, request_line, rows_word
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.fixed_columns import FixedColumns
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import Meter, OwnCost
from turbotui.sampling.row_workers import RowSource
from turbotui.sampling.selection import signals_of
from turbotui.sources.source import Source
from turbotui.threads import NamedThread


class RemoteHost(RecordedHost):
    """A collector's machine, with the files that were sent.

    Unlike a recording's it has the kind of the collector's own host, because its numbers are current.
    """

    def __init__(self, header: Header, kept: KeptAnswers | None = None) -> None:
        super().__init__(header.name, header.was, header.privileges, now_ns=header.now_ns, wall_ns=header.wall_ns,
                         kept=kept, current=True)
        self.read_by = f"{header.name} is read by a collector"

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:  # noqa: ARG002 - none is opened
        """Refused, because only the collector counts."""
        raise HostError(errno.ENODEV, f"perf_event_open from here: {self.read_by}")

    def _refusal(self, what: str, usual: int = errno.ENOENT) -> HostError:
        return HostError(super()._refusal(what, usual).errno or usual, f"{what} (of {self.name}, by a collector)")


_LISTEN: Final = 0.25
"""Seconds between two checks of the listening thread for a stop."""
_SHORTEST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0
_SILENCE: Final = 3.0
"""Intervals without a reading after which the screen reports it."""
_UNANSWERED: Final = 5
"""Readings without rows that were asked for, and seconds, after which these are not waited for any longer."""
_OTHER_CLOCK: Final = 30.0
"""Difference in s between two machines' wall clocks from which the user is told."""


class RemoteSession(FixedColumns):
    """The session of a screen or verb that reads a collector. What a collector cannot do is refused in a sentence.

    Args:
        screen: whether this reader is a screen, for which the collector does not wait for late CPUs.
        own_host: the machine that this process runs on.

    Attributes:
        failure: what ended the listening thread, if anything.
        lost: frames that the collector dropped because this reader was too slow.
        missing: sentences about records that could not be read.

    Raises:
        LinkError: there is no connection, or no reading arrived.
        RecordingError: the collector is of a later version.
    """

    def __init__(self, way: Connector, own_host: Host, *, screen: bool = False, moments: bool = False,
                 clock: Callable[[], float] = time.monotonic,
                 pause: Callable[[threading.Event, float], bool] = threading.Event.wait) -> None:
        self.find_sets: Callable[[], Mapping[str, EventSet]] = functools.cache(shipped_sets)
        self.failure: BaseException | None = None
        self.latest: Frame | None = None
        self.lost = 0
        self.missing: tuple[str, ...] = ()
        self._way = way
        self._beside = frozenset({*((SCREEN,) if screen else ()), *((MOMENTS,) if moments else ())})
        self._clock = clock
        self._pause = pause
        self._incoming = Incoming()
        self._kept = KeptAnswers()
        self._meter = Meter(own_host)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._on_frame: Callable[[Frame], None] | None = None
        self._wanted: frozenset[SignalId] = frozenset()
        self._rows: dict[object, frozenset[KindId]] = {}
        self._without: dict[KindId, tuple[int, float]] = {}  # readings without a kind that is asked for, and since when
        self._asked: frozenset[SignalId] | None = None
        self._columns: tuple[ColumnId, ...] = ()
        self._last_reading_at = clock()
        self._broken = ""
        self._retry_at: float | None = None
        # seconds between the last two readings of the collector
        self.interval = 1.0
        self._behind = 0.0
        self._link: Link | None = way.open()
        first, *more = self._first(self._link)
        self.machine: Machine = _machine_of(first, self._kept)
        self.capabilities: Capabilities = first.frame.capabilities
        self._present: Callable[[CounterColumn], CounterColumn] | None = None
        self.catalog: Catalog = recorded_catalog(self.capabilities)
        self._before_start: list[Frame] = []
        for snapshot in (first, *more):
            self._take_frame(snapshot)
            self._before_start.append(snapshot.frame)

    # What the dashboard asks of every session

    def start(self, on_frame: Callable[[Frame], None], *, intervals: int | None = None,  # noqa: ARG002 - see on_end
              on_end: Callable[[], None] | None = None) -> None:  # noqa: ARG002 - a stream that ended stays in sight
        """Listen on a thread of its own."""
        self._on_frame = on_frame
        early, self._before_start = self._before_start, []
        for frame in early:
            on_frame(frame)
        if self._thread is None:
            self._thread = NamedThread(target=self._run, name="listener", daemon=True)
            self._thread.start()

    def present(self, how: Callable[[CounterColumn], CounterColumn]) -> None:
        """Apply a user's units and marks to the catalog's columns; the computation does not change."""
        self._present = how
        self.catalog = self.catalog.mapped(how)

    def want(self, columns: Iterable[ColumnId]) -> None:
        """Ask the collector to read what these columns need."""
        self._columns = tuple(columns)
        wanted_columns = (self.catalog.get(name) for name in self._columns)
        self._wanted = signals_of((column for column in wanted_columns if column is not None), self.capabilities)

    def read_also(self, sources: Sequence[Source], signals: frozenset[SignalId]) -> None:
        """Do nothing, because sources of this process cannot read another machine."""

    def read_rows(self, owner: object, sources: Iterable[RowSource]) -> None:
        """Ask the collector for rows of the kinds of these sources, replacing what the owner asked for before."""
        self._rows = {**self._rows, owner: frozenset(source.kind.id for source in sources)}

    def why_no_rows(self, kind: KindId) -> Unavailable | None:
        """Why rows of a kind that were asked for do not come: the collector goes on without them."""
        count, since = self._without.get(kind, (0, 0.0))
        if count < _UNANSWERED or self._clock() - since < _UNANSWERED:
            return None
        return Unavailable(Reason.NOT_READ, f"the collector sends no {kind}: its turbotui is older than 0.5, or has no "
                           "feature that reads them", "run a newer turbotui there, or one with the feature")

    @property
    def collector(self) -> RemoteSession:
        """This session."""
        return self

    @property
    def why_fixed(self) -> str:
        return f"{self.machine.host.name} is read by a collector, and only what it offers can be shown"

    def end_interval(self) -> None:
        """Do nothing, because the collector has other readers."""

    def set_interval(self, seconds: float) -> None:
        """Do nothing, because the collector has other readers."""

    def set_tcc(self, degrees: int | None) -> None:
        """Always fail with a UsageError."""
        del degrees
        raise UsageError("the collector computes temperatures: tell it (turbotui collect --TCC)")

    def stop(self, wait_seconds: float = 5.0) -> None:
        """Close the connection."""
        self._stopped.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(wait_seconds)
        if thread is None and self._link is not None:
            self._link.close()
            self._link = None

    def own_cost(self) -> OwnCost:
        """CPU time and memory of this process over the last interval."""
        return self._meter.cost

    # What only this one says

    @property
    def way(self) -> str:
        """How the collector is reached, for people."""
        return self._way.name

    @property
    def trouble(self) -> str:
        """Why no new reading arrives, and since when; "" while readings arrive."""
        now, retry_at = self._clock(), self._retry_at
        silent = now - self._last_reading_at
        if self._broken:
            again = "" if retry_at is None else f"; again in {max(0.0, retry_at - now):.0f} s"
            return f"NO READING FOR {_ago(silent)}: {self._broken}{again}"
        return f"NO READING FOR {_ago(silent)}" if silent > max(_SILENCE * self.interval, _SILENCE) else ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes on readings: losses, and a clock that differs."""
        remarks = [f"{self.lost:,} FRAMES LOST: THIS SCREEN IS TOO SLOW"] if self.lost else []
        if self.missing:
            remarks.append(f"{len(self.missing)} DAMAGED")
        if abs(self._behind) > _OTHER_CLOCK:
            word = "BEHIND" if self._behind > 0 else "AHEAD"
            remarks.append(f"ITS CLOCK IS {_ago(abs(self._behind))} {word}")
        return tuple(remarks)

    # Listening

    def _first(self, link: Link) -> Sequence[Received]:
        """Wait for the first reading and what comes with it.

        Raises:
            LinkError: no reading arrived.
            RecordingError: of a later version.
        """
        until = self._clock() + FIRST_SECONDS
        why, received = "", False
        with contextlib.ExitStack() as opened:
            opened.callback(link.close)
            while not why and self._clock() < until:
                data = link.read(_LISTEN)
                received = received or bool(data)
                if data == b"":
                    why = self._why(link, received=received)
                first = []
                for item in self._incoming.take(data or b""):
                    if isinstance(item, Received):
                        first.append(item)
                    else:
                        self._note(item)
                if first:
                    opened.pop_all()
                    return first
        answer = "a collector answered and sent no reading" if self._incoming.begun else "no collector's stream came"
        raise LinkError(why or f"{self._way.name}: {answer} in {FIRST_SECONDS:.0f} s")

    def _why(self, link: Link, *, received: bool) -> str:
        why = link.why_ended()
        if self._incoming.begun:
            return why
        if received:
            return f"{why}; what came was no stream of turbotui collect"
        return why if self._way.again else f"{why}, and held no readings of turbotui collect"

    def _run(self) -> None:
        pause = _SHORTEST_PAUSE
        try:
            while not self._stopped.is_set():
                if self._link is not None and self._listen(self._link):
                    pause = _SHORTEST_PAUSE
                self._drop()
                if not self._way.again or self._stopped.is_set():
                    return
                self._retry_at = self._clock() + pause
                if self._pause(self._stopped, pause):
                    return
                self._retry_at = None
                pause = min(_LONGEST_PAUSE, 2.0 * pause)
                self._incoming.begin()
                self._asked = None
                try:
                    self._link = self._way.open()
                except TurbotuiError as error:
                    self._broken = str(error)
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread: a thread's own traceback would be lost
            self.failure = error
            self._broken = f"this program failed: {error!r}"
        finally:
            self._drop()

    def _drop(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    def _listen(self, link: Link) -> bool:
        """Receive until the end; true if any reading arrived."""
        heard = False
        began = self._clock()
        while not self._stopped.is_set():
            wanted = self._wanted.union(*(map(rows_word, kinds) for kinds in self._rows.values()))
            if wanted != self._asked:
                self._asked = wanted
                link.ask(request_line(self._asked | self._beside))
            data = link.read(_LISTEN)
            if data is None:
                if not heard and self._broken and self._clock() - began > FIRST_SECONDS:
                    self._broken = f"{self._way.name} does not answer"
                    return False
                continue
            if not data:
                self._broken = link.why_ended()
                return heard
            try:
                for item in self._incoming.take(data):
                    heard = heard or isinstance(item, Received)
                    self._note(item)
            except RecordingError as error:
                self._broken = str(error)
                return False
        return heard

    def _note(self, item: Arrival) -> None:
        if isinstance(item, Received):
            self._take_frame(item)
        elif isinstance(item, Gap) and item.reason == "lost":
            self.lost += item.frames
        elif isinstance(item, Missing):
            self.missing = (*self.missing[-99:], item.text)
        elif isinstance(item, KeptAnswers):
            self._kept = item

    def _take_frame(self, received: Received) -> None:
        frame = received.frame
        if (capabilities := frame.capabilities) is not self.capabilities:
            self.machine = _machine_of(received, self._kept)
            catalog = recorded_catalog(capabilities)
            self.capabilities = capabilities
            self.catalog = catalog if self._present is None else catalog.mapped(self._present)
            self.want(self._columns)
        self._broken = ""
        self._last_reading_at = self._clock()
        self._behind = (time.time_ns() - frame.newer.wall_ns) / 1e9
        if frame.seconds is not None and frame.seconds > 0:
            self.interval = frame.seconds
        sent, now = frame.newer.rows.keys() | frame.newer.no_rows.keys(), self._last_reading_at
        self._without = {kind: (count + 1, since) for kind in frozenset().union(*self._rows.values()) - sent
                         for count, since in (self._without.get(kind, (0, now)),)}
        self.latest = frame
        self._meter.note(frame, 0, 0)
        if self._on_frame is not None:
            self._on_frame(frame)


def _machine_of(received: Received, kept: KeptAnswers) -> Machine:
    header = received.header
    host, model = RemoteHost(header, kept), header.model
    return Machine(host, received.frame.topology, model, platform_of(model), header.privileges, header.tcc)


def _ago(seconds: float) -> str:
    if seconds < 100:
        return f"{math.floor(seconds)} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:,.0f} h"
