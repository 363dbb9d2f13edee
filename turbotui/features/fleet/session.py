"""Watches a fleet for a screen: queries on a thread of its own, and publishes a frame for every answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, Protocol

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.events.set_files import EventSet
from turbotui.features.fleet.columns import FleetColumn
from turbotui.features.fleet.engine import FleetReader
from turbotui.features.fleet.model import FleetReading
from turbotui.features.fleet.outliers import duration
from turbotui.features.fleet.server import ServerError
from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.host import Host, HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import ColumnId
from turbotui.quantities.signals import SignalId
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.fixed_columns import FixedColumns
from turbotui.sampling.frame import Frame
from turbotui.sampling.kept_intervals import KeptIntervals
from turbotui.sampling.own_cost import Meter, OwnCost
from turbotui.sampling.snapshot import Snapshot
from turbotui.sources.source import Source
from turbotui.threads import NamedThread
from turbotui.widgets.table_view import TableView

_MOST_ROWS: Final = 60_000
"""The most nodes of all past readings that are kept."""
_PAST_SECONDS: Final = 3600.0


class FleetHost(DelegatingHost):
    """This machine with the name of a server; nothing of this machine is shown."""

    def __init__(self, host: Host, name: str) -> None:
        super().__init__(host)
        self._name = name
        self.simulated = False

    @property
    def name(self) -> str:
        """The server's name."""
        return self._name

    @property
    def kind(self) -> HostKind:
        """SIMULATED if a node is simulated."""
        return HostKind.SIMULATED if self.simulated else HostKind.REAL


@dataclass(frozen=True, slots=True)
class PastRequest:
    """A request to the server for the last hour of some nodes."""

    column: FleetColumn  # one of `MEASURED`
    nodes: tuple[str, ...]  # the nodes' names
    # called on the session's thread, with pairs of seconds since 1970 and value, by node
    take: Callable[[Mapping[str, Sequence[tuple[float, float]]]], None]
    points: int = 120  # the most values of each node


class WatchedFleet(Protocol):
    """The interface that the fleet screen needs of a session in addition to `WatchedSession`."""

    machine: Machine
    view: TableView[FleetColumn, Hashable] | None
    failure: BaseException | None

    @property
    def interval(self) -> float:
        """Seconds from one reading to the next."""

    @property
    def trouble(self) -> str:
        """Why no new readings arrive; "" while they do."""

    def reading(self, frame: Frame | None) -> FleetReading | None:
        """The nodes of a frame's interval; None where they are not kept any more."""

    def ask_past(self, request: PastRequest) -> None:
        """Ask for the past of some nodes; never waits."""


class FleetSession(FixedColumns):
    """`app.sessions.WatchedSession` and `CollectorSession` of a fleet: its frames have no counters, only times.

    Attributes:
        failure: the error that ended the thread, if any.
        view: the view of the table when it was left for a node; None for the default.
    """

    why_fixed = "counters are added on a node, not to a fleet"

    def __init__(self, reader: FleetReader, interval: float) -> None:
        self._host = FleetHost(LinuxHost(), reader.server.name)
        self.machine = read_machine(self._host)
        self.capabilities = Capabilities((), {}, {}, {}, {})
        self.catalog = Catalog((), {})
        self.latest: Frame | None = None
        self.find_sets: Callable[[], Mapping[str, EventSet]] = dict
        self.failure: BaseException | None = None
        self.view: TableView[FleetColumn, Hashable] | None = None
        self._reader, self.interval = reader, interval
        self._meter = Meter(LinuxHost())
        self._kept = KeptIntervals[FleetReading](_MOST_ROWS)
        self._seq = 0
        self._changed = threading.Condition()
        self._asking = threading.Lock()  # a stopped thread may still be waiting for its answer
        self._due = False
        self._turn: object | None = None  # the number of the current thread; others have been stopped
        self._requests: list[PastRequest] = []
        self._trouble, self._answered = "", time.monotonic()
        self._thread: threading.Thread | None = None
        self._on_frame: Callable[[Frame], None] | None = None

    # What a screen asks

    def reading(self, frame: Frame | None) -> FleetReading | None:
        """The nodes of a frame's interval; None where they are not kept any more."""
        if frame is None:
            return None
        older = frame.older
        return self._kept.at(frame.newer.wall_ns - 1 if older is None else older.wall_ns, frame.newer.wall_ns)

    def ask_past(self, request: PastRequest) -> None:
        """Ask for the past of some nodes; never waits."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify()

    @property
    def collector(self) -> FleetSession:
        """This session."""
        return self

    @property
    def way(self) -> str:
        return "Prometheus' API"

    @property
    def trouble(self) -> str:
        """What is wrong now, with the age of the shown values."""
        if not self._trouble:
            return ""
        age = duration(time.monotonic() - self._answered)
        return f"{f'NUMBERS ARE {age} OLD' if self.latest else 'NO ANSWER YET'} · {self._trouble}"

    @property
    def remarks(self) -> tuple[str, ...]:
        reading = self.reading(self.latest)
        return ("PARTIAL ANSWER",) if reading is not None and reading.notes else ()

    # The thread

    def start(self, on_frame: Callable[[Frame], None], *, intervals: int | None = None,
              on_end: Callable[[], None] | None = None) -> None:
        del intervals, on_end
        with self._changed:
            self._on_frame, latest = on_frame, self.latest
        self.begin()
        if latest is not None:
            on_frame(latest)

    def begin(self) -> None:
        """Begin to query while the screen that takes the answers is still being loaded."""
        if self._thread is None:
            self._turn = turn = object()
            self._thread = NamedThread(target=self._run, args=(turn,), name="fleet", daemon=True)
            self._thread.start()

    def stop(self, wait_seconds: float = 1.0) -> None:
        """Stop querying; an outstanding answer is abandoned."""
        with self._changed:
            self._turn = self._on_frame = None
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(wait_seconds)
            self._thread = None

    def _run(self, turn: object) -> None:
        try:
            while self._turn is turn:
                began = time.monotonic()
                self._ask()
                self._wait(began + self.interval, turn)
        except Exception as error:  # noqa: BLE001 - a thread's own traceback would go to the screen it draws on
            self.failure = error
            self._trouble = f"internal error, asking has ended: {type(error).__name__}: {error}"

    def _ask(self) -> None:
        with self._asking:
            try:
                reading = self._reader.read()
            except ServerError as error:
                self._trouble = str(error)
                return
            self._take(reading)

    def _take(self, reading: FleetReading) -> None:
        self._trouble, self._answered = "", time.monotonic()
        self._host.simulated = any(node.simulated for node in reading.nodes)
        frame = self._frame(reading)
        with self._changed:
            self.latest, on_frame = frame, self._on_frame
        if on_frame is not None:
            on_frame(frame)

    def _frame(self, reading: FleetReading) -> Frame:
        older = None if self.latest is None else self.latest.newer
        wall_ns = reading.wall_ns if older is None else max(reading.wall_ns, older.wall_ns + 1)
        newer = Snapshot(self._seq, wall_ns, time.monotonic_ns(), self.machine.topology, {}, {},
                         span_ns=round(reading.cost.seconds * 1e9))
        self._kept.keep(wall_ns, len(reading.nodes), reading)
        self._seq += 1
        frame = Frame(older, newer, self.capabilities)
        self._meter.note(frame, 0, 0)
        return frame

    def _wait(self, until: float, turn: object) -> None:
        """Wait for the next query; meanwhile fetch requested pasts."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._due or self._turn is not turn or bool(self._requests),
                                       max(0.0, until - time.monotonic()))
                if self._due or self._turn is not turn or not self._requests:
                    self._due = False
                    return  # the request for the past stays, and is fetched after the next answer
                requests, self._requests = self._requests, []
            for request in requests:
                self._fetch(request)

    def _fetch(self, request: PastRequest) -> None:
        now = time.time()
        try:
            series = self._reader.past(request.column, request.nodes, now - _PAST_SECONDS, now, request.points)
        except ServerError as error:
            self._trouble = str(error)
            return
        request.take(series)

    # What a fleet cannot

    def want(self, _columns: Iterable[ColumnId]) -> None:
        """Nothing: the columns of a fleet are fixed."""

    def read_also(self, _sources: Sequence[Source], _signals: frozenset[SignalId]) -> None:
        """Nothing: the columns of a fleet are fixed."""

    def end_interval(self) -> None:
        """End the interval by a query now."""
        with self._changed:
            self._due = True
            self._changed.notify()

    def set_interval(self, seconds: float) -> None:
        self.interval = seconds
        self.end_interval()

    def set_tcc(self, degrees: int | None) -> None:
        """Always fail with a UsageError."""
        raise UsageError(f"the temperature target {degrees} is told on a node, not to a fleet")

    def own_cost(self) -> OwnCost:
        return self._meter.cost
