"""A session: one machine being watched, with its census, catalog and sampler. What commands and the dashboard hold."""

from __future__ import annotations

import asyncio
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from turbotui.machine.host import Host, HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.added import AddedCounter, join_homes, parse_added
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.catalog.added import with_added
from turbotui.quantities.columns import Column, ColumnId
from turbotui.quantities.signals import SignalId
from turbotui.sampling.census import Census, take_census
from turbotui.sampling.frame import Frame
from turbotui.sampling.limits import SHORTEST_INTERVAL
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.selection import signals_of
from turbotui.sources.added import added_source
from turbotui.sources.source import Source

_SWITCH_SECONDS = 0.0005  # workers wait this long at most for a busy screen's thread between two bytecodes


@dataclass(frozen=True, slots=True)
class OwnCost:
    """What watching costs.

    Attributes:
        cpu_percent: of one CPU, over the last interval, children not included; None before the second frame.
        rss_bytes: resident memory; None where /proc/self/statm cannot be read.
        sample_ms: from the first read's start to the last one's end in the last tick.
        late: worker answers that came too late, since the start.
        overruns: beats skipped because a tick was still under way, since the start.
    """

    cpu_percent: float | None
    rss_bytes: int | None
    sample_ms: float
    late: int
    overruns: int


class Session:
    """One machine being watched.

    Attributes:
        machine: as it was at the start; `latest.topology` is what it is now.
        census: which signals it offers.
        catalog: its columns, with those that were added.
        added: counters that were added by hand, in that order.
        latest: the newest frame, None before the first.
        failure: what ended the sampler, if anything did.
    """

    def __init__(self, machine: Machine, sources: Sequence[Source], interval: float,
                 own_host: Host, cpus: frozenset[int] | None = None) -> None:
        self.machine = machine
        self.census: Census = take_census(machine, sources)
        self._known: Catalog = catalog_for(self.census.signals)
        self.catalog: Catalog = self._known
        self.added: tuple[AddedCounter, ...] = ()
        self.latest: Frame | None = None
        self.failure: BaseException | None = None
        self._own_host = own_host
        self._columns: tuple[Column, ...] = ()
        self._also: frozenset[SignalId] = frozenset()
        self._sampler = Sampler(machine, self.census, frozenset(), interval, cpus)
        self._thread: threading.Thread | None = None
        self._on_frame: Callable[[Frame], None] = _ignore
        self._on_end: Callable[[], None] = _nothing
        self._cost_mark: tuple[float, float] | None = None
        self._cost: OwnCost = OwnCost(None, None, 0.0, 0, 0)

    @property
    def interval(self) -> float:
        """Nominal seconds between ticks; every rate uses the time that really passed."""
        return self._sampler.interval

    def want(self, columns: Iterable[ColumnId]) -> None:
        """Read what these columns need, and nothing else, from the next tick on."""
        found = [self.catalog.get(name) for name in columns]
        self._columns = tuple(column for column in found if column is not None)
        self._want()

    def read_also(self, sources: Sequence[Source], signals: frozenset[SignalId]) -> None:
        """Read these signals of these sources beside the columns' from the next tick on, and none of earlier calls.

        They are no part of `census`: only frames know them, for as long as somebody looks at them.
        """
        self._also = signals
        self._sampler.beside(sources)
        self._want()

    def _want(self) -> None:
        self._sampler.want(signals_of(self._columns, self.census) | self._also)

    def add(self, text: str) -> Column:
        """Add a counter by hand, read from the next tick on if its column is wanted.

        Args:
            text: as --add takes it (turbostat-spec 1.6).

        Returns:
            Its column; whether it can be had is for `selection.why_absent` to say.

        Raises:
            AddError: it is no counter as written, or its name is taken by another one.
            UsageError: its name is that of another column.
        """
        counter = parse_added(text)
        rival = next((one for one in self.added if one.name == counter.name), None)
        if rival is not None:
            counter = rival if rival == counter else join_homes(rival, counter)
        known = (*self.added, counter) if rival is None else self.added
        self._keep(tuple(counter if one is rival else one for one in known))
        if counter is not rival:
            source = added_source(counter)
            self.census = self.census.plus(self.machine, source)
            self._sampler.add(source)
        return self.catalog.by_id[counter.name]

    def remove(self, name: ColumnId) -> None:
        """Take a column away that was added by hand; any other name changes nothing."""
        self._keep(tuple(one for one in self.added if one.name != name))

    def _keep(self, counters: tuple[AddedCounter, ...]) -> None:
        columns = with_added(self._known.columns, counters)
        self.added = counters
        self.catalog = Catalog(columns, {column.id: column for column in columns})

    def start(self, on_frame: Callable[[Frame], None], *, intervals: int | None = None, first: float | None = None,
              on_end: Callable[[], None] | None = None) -> None:
        """Sample on a thread of its own; on a session that samples already, take its frames over.

        Args:
            on_frame: called on that thread with every frame; the first one has no deltas yet.
            intervals: stop after this many.
            first: length of the first interval in seconds; None for a full one.
            on_end: called on that thread when sampling has ended, for whatever reason.
        """
        self._on_frame = on_frame
        self._on_end = on_end or _nothing
        if self._thread is not None:
            if self.latest is not None:
                on_frame(self.latest)
            if not self._thread.is_alive():
                self._on_end()
            return
        sys.setswitchinterval(_SWITCH_SECONDS)
        self._sampler.bus.attach(_Callback(self._publish))
        self._thread = threading.Thread(target=self._run, args=(intervals, first), name="sampler", daemon=True)
        self._thread.start()

    def end_interval(self) -> None:
        """End the interval now, whatever the deadline."""
        self._sampler.end_interval()

    def set_interval(self, seconds: float) -> None:
        """Change the nominal interval, and end the one under way."""
        self._sampler.set_interval(max(SHORTEST_INTERVAL, seconds))

    def stop(self, wait_seconds: float = 5.0) -> None:
        """End the interval, publish it, close every counter."""
        self._sampler.stop()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(wait_seconds)

    def own_cost(self) -> OwnCost:
        """What this process used over the last interval."""
        return self._cost

    def _run(self, intervals: int | None, first: float | None) -> None:
        try:
            asyncio.run(self._sampler.run(intervals, first))
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits: a thread's own traceback would be lost
            self.failure = error
        finally:
            self._on_end()

    def _publish(self, frame: Frame) -> None:
        self.latest = frame
        self._measure(frame)
        self._on_frame(frame)

    def _measure(self, frame: Frame) -> None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        mark = (time.monotonic(), usage.ru_utime + usage.ru_stime)
        percent: float | None = None
        if self._cost_mark is not None and mark[0] > self._cost_mark[0]:
            percent = 100.0 * (mark[1] - self._cost_mark[1]) / (mark[0] - self._cost_mark[0])
        self._cost_mark = mark
        newer = frame.newer
        self._cost = OwnCost(percent, self._resident(), newer.span_ns / 1e6, newer.late_total, newer.overruns)

    def _resident(self) -> int | None:
        try:
            words = self._own_host.read_text("/proc/self/statm").split()  # proc(5): pages, the second is resident
            return int(words[1]) * resource.getpagesize()
        except (HostError, IndexError, ValueError):
            return None


class _Callback:
    """A mailbox that calls."""

    def __init__(self, call: Callable[[Frame], None]) -> None:
        self.put = call


def _ignore(_frame: Frame) -> None:
    """For a session nobody listens to."""


def _nothing() -> None:
    """For a session whose end nobody waits for."""
