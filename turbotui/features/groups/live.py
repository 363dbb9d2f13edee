"""Reads groups on a thread of its own, so that a screen never waits for the machine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from turbotui.features.groups.counting import GroupEvents
from turbotui.features.groups.engine import GroupInterval, GroupRequest, GroupsReader
from turbotui.machine.machine import Machine
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.threads import NamedThread

_FIRST: Final = 0.3
"""Seconds after which the groups are read early, however long the dashboard's intervals are."""


class GroupWatcher:
    """Reads the groups of a machine on a thread, from `start` to `stop`."""

    def __init__(self, machine: Machine, publish: Callable[[GroupInterval], None]) -> None:
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
        reader = GroupsReader(self._machine.host, (), GroupEvents(self._machine))
        try:
            self._loop(reader)
        except Exception as error:  # noqa: BLE001 - a thread's own traceback would go to the screen it draws on
            why = Unavailable(Reason.FAILED, f"internal error, reading has ended: {type(error).__name__}: {error}")
            self._publish(GroupInterval(why=why))
        finally:
            reader.close()

    def _loop(self, reader: GroupsReader) -> None:
        before: GroupRequest | None = None
        rounds = 0
        while (asked := self._next_request(_FIRST if rounds == 1 else None)) is not None:
            rounds += 1
            request, early = asked
            interval = reader.read(request=request, ends=before is None or not early or _reads_more(before, request))
            if before is None or interval.seconds > 0:
                self._publish(replace(interval, early=early and before is not None))
            before = request

    def _next_request(self, patience: float | None) -> tuple[GroupRequest, bool] | None:
        """Wait for a request, or repeat the last one early, after some seconds; None ends the watching."""
        with self._changed:
            self._changed.wait_for(lambda: self._due or self._over, patience)
            early, self._due, self._tick = not self._tick, False, False
            return None if self._over or self._request is None else (self._request, early)


def _reads_more(before: GroupRequest, now: GroupRequest) -> bool:
    """Return whether something is read that was not read before: it has an increase from this reading on."""
    return not before.wanted >= now.wanted or before.resctrl < now.resctrl or (
        before.plans != now.plans)
