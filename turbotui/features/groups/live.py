"""Reads groups on a thread of its own, so that a screen never waits for the machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.groups.counting import GroupEvents
from turbotui.features.groups.event_plans import EventPlan
from turbotui.features.groups.files import Quantity
from turbotui.features.groups.model import GroupMoment, GroupRow, rows_between
from turbotui.features.groups.reader import CgroupReader
from turbotui.features.groups.resctrl_reader import ResctrlReader, resctrl_rows
from turbotui.features.groups.resctrl_table import monitored_in_words
from turbotui.machine.machine import Machine
from turbotui.quantities.definition import CountedEvents
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.threads import NamedThread

_FIRST: Final = 0.3
"""Seconds after which the groups are read early, however long the dashboard's intervals are."""


@dataclass(frozen=True, slots=True)
class GroupRequest:
    """A request for the groups' activity since the previous request."""

    wanted: frozenset[Quantity]  # the quantities to read of each control group from now on
    resctrl: bool  # whether resctrl groups are read
    clocks: tuple[int, int]  # wall and monotonic clock of the tick that ends the interval
    plans: tuple[EventPlan, ...] = ()  # events to count from now on
    followed: tuple[str, ...] = ()  # paths of the groups to count for, the most wanted first


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """The groups over an interval, read for a request."""

    request: GroupRequest
    rows: Sequence[GroupRow] = ()  # all control groups; rows of the first interval have gauges only
    seconds: float = 0.0  # length of the interval; 0 for the first one
    complete: bool = True  # whether all groups of the machine were read
    why: Unavailable | None = None  # why there are no control groups; None if there are some
    resctrl: Sequence[GroupRow] = ()  # all resctrl groups, each followed by its domains
    said: str = ""  # a sentence on the number of resctrl groups and its limit; "" if resctrl is not read
    # why there are no resctrl groups; None if there are some, or if they were not requested
    why_no_resctrl: Unavailable | None = None
    counted: tuple[CountedEvents, ...] = ()  # the events that were counted for control groups
    said_of_events: str = ""  # for how many groups they were, in a sentence; "" for all that are followed
    # whether no tick has ended the interval: it belongs to no frame, and the next one includes its time
    early: bool = False


class GroupWatcher:
    """Reads the groups of a machine on a thread, from `start` to `stop`."""

    def __init__(self, machine: Machine, publish: Callable[[GroupSnapshot], None]) -> None:
        self._machine = machine
        self._publish = publish
        self._changed = threading.Condition()
        self._request: GroupRequest | None = None
        self._due = self._tick = self._over = False
        self._thread = NamedThread(target=self._run, name="groups", daemon=True)

    def start(self) -> None:
        """Begin; nothing is read before somebody asks."""
        self._thread.start()

    def ask(self, request: GroupRequest, *, early: bool = False) -> None:
        """Ask for an interval. Never waits; two requests at once give one interval.

        Args:
            early: whether no tick ends the interval.
        """
        with self._changed:
            self._request, self._due = request, True
            self._tick = self._tick or not early
            self._changed.notify()

    def stop(self, wait_seconds: float = 5.0) -> None:
        """Close every file; waits for the thread."""
        with self._changed:
            self._over = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(wait_seconds)

    def _run(self) -> None:
        host = self._machine.host
        reader, monitors, events = CgroupReader(host, ()), ResctrlReader(host), GroupEvents(self._machine)
        try:
            self._loop(reader, monitors, events)
        except Exception as error:  # noqa: BLE001 - a thread's own traceback would go to the screen it draws on
            why = Unavailable(Reason.FAILED, f"internal error, reading has ended: {type(error).__name__}: {error}")
            request = self._request or GroupRequest(frozenset(), resctrl=False, clocks=(0, 0))
            self._publish(GroupSnapshot(request, why=why))
        finally:
            reader.close()
            monitors.close()
            events.close()

    def _loop(self, reader: CgroupReader, monitors: ResctrlReader, events: GroupEvents) -> None:
        older: tuple[GroupMoment, GroupMoment | None] | None = None
        before: GroupRequest | None = None
        rounds = 0
        while (asked := self._next_request(_FIRST if rounds == 1 else None)) is not None:
            rounds += 1
            request, early = asked[0], asked[1] and older is not None
            reader.want(request.wanted)
            events.want(request.plans)
            events.follow(request.followed)
            newer = events.merged(reader.read())
            none = monitors.why_none
            monitored = monitors.read() if request.resctrl and none is None else None
            seconds = 0.0 if older is None else (newer.at_ns - older[0].at_ns) * 1e-9
            if older is None or seconds > 0:
                groups_before, monitored_before = (None, None) if older is None else older
                groups = () if monitored is None else resctrl_rows(monitored_before, monitored)
                note = "" if monitored is None else monitored_in_words(monitors.info, len(monitored.samples))
                self._publish(GroupSnapshot(
                    request, rows_between(groups_before, newer), seconds, newer.complete, reader.why_none, groups, note,
                    none if request.resctrl else None, tuple(plan.counted for plan in request.plans), events.said,
                    early))
            if not early or older is None or _reads_more(before, request):
                older = newer, monitored
            before = request

    def _next_request(self, patience: float | None) -> tuple[GroupRequest, bool] | None:
        """Wait for a request, or repeat the last one early, after some seconds; None ends the watching."""
        with self._changed:
            self._changed.wait_for(lambda: self._due or self._over, patience)
            early, self._due, self._tick = not self._tick, False, False
            return None if self._over or self._request is None else (self._request, early)


def _reads_more(before: GroupRequest | None, now: GroupRequest) -> bool:
    """Return whether something is read that was not read before: it has an increase from this reading on."""
    return before is None or not before.wanted >= now.wanted or before.resctrl < now.resctrl or (
        before.plans != now.plans)
