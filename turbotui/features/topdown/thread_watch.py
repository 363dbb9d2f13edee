"""Counts the busiest threads on a thread of its own, so that a screen never waits for /proc or for counters."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from turbotui.features.topdown.engine import Drill, TopdownCounters
from turbotui.features.topdown.thread_counters import ThreadCounters, ThreadInterval
from turbotui.features.topdown.thread_search import BusyThreads
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.threads import NamedThread

CHOOSING: Final = 0.3
"""Seconds for finding the busiest threads, before counting begins."""


class BusyThreadWatch:
    """Counts the busiest threads from `start` to `stop`.

    Args:
        publish: called on the watch's own thread with each interval, and the clocks of its request; with the error that
            ended it.

    Attributes:
        counters: the trees of the cores.
    """

    def __init__(self, machine: Machine,
                 publish: Callable[[ThreadInterval | HostError, tuple[int, int] | None], object]) -> None:
        self.counters = TopdownCounters(machine)
        self._finder = BusyThreads(machine.host)
        self._threads = ThreadCounters(machine, self.counters, self._finder)
        self._publish = publish
        self._wake = threading.Condition()
        self._due = self._over = False
        self._clocks: tuple[int, int] | None = None
        self._drill: tuple[int | None, Drill] | None = None
        self._runner = NamedThread(target=self._run, name="topdown threads", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._runner.start()

    def request(self, clocks: tuple[int, int] | None = None) -> None:
        """End an interval, whose rows are published soon; a recorded one has wall and monotonic clock of its tick."""
        with self._wake:
            self._due, self._clocks = True, clocks
            self._wake.notify()

    def drill(self, tid: int | None, drill: Drill) -> None:
        """Count levels below 1 of one thread from now on."""
        with self._wake:
            self._drill = tid, drill
            self._wake.notify()

    def stop(self) -> None:
        """End; every counter is closed on the watch's own thread."""
        with self._wake:
            self._over = True
            self._wake.notify()

    def wait(self) -> None:
        """Wait until every counter is closed."""
        self._runner.join()

    def _run(self) -> None:
        try:
            self._threads.look()
            with self._wake:
                self._wake.wait_for(lambda: self._over, CHOOSING)
            self._threads.look()
            while self._next():
                interval = self._threads.measure()
                if interval.seconds > 0:  # a request that came while the last one was measured may leave no time
                    self._publish(interval, self._clocks)
        except HostError as error:
            self._publish(error, None)
        finally:
            self._threads.close()

    def _next(self) -> bool:
        """Wait for a request, and tell whether there is one."""
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._over or self._due or self._drill is not None)
                wanted, self._drill = self._drill, None
                if self._over:
                    return False
                if wanted is None:
                    self._due = False
                    return True
            self._threads.only, self.counters.drill = wanted
            self._finder.kept = self._threads.only
            self._threads.look()
