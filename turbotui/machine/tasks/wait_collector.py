"""Reads the waits of all threads on a thread of its own, so that no ring overflows between two looks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.machine.host import Host
from turbotui.machine.tasks.run_queue import WaitSums
from turbotui.machine.tasks.wait_set import WaitSet
from turbotui.machine.tasks.wait_times import WaitTimes
from turbotui.quantities.unavailable import Unavailable
from turbotui.threads import NamedThread

_TAKE: Final = 0.2  # seconds between two looks at the rings


class WaitCollector:
    """The waits of all threads since the last call of `take`, until `close`.

    Raises:
        HostError: EACCES if the user may not watch whole CPUs, EMFILE, EPERM beyond the memory that may be locked.
        MachineError: no memory for a ring.
    """

    def __init__(self, host: Host, cpus: Sequence[int]) -> None:
        self._host = host
        self._waiting = WaitSet()
        try:
            self._times = WaitTimes(host, cpus, self._waiting)
        except BaseException:
            self._waiting.close()
            raise
        self._lock = threading.Lock()
        self._over = False
        self._thread = NamedThread(target=self._run, name="waits", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over:
            self._waiting.wait(_TAKE)
            with self._lock:
                if not self._over:
                    self._times.drain(self._host.now_ns())

    @property
    def why_no_wakeups(self) -> Unavailable | None:
        """Why wake-ups are unknown, so that only waits after losing a CPU are; None if they are known."""
        return self._times.why_no_wakeups

    @property
    def lost(self) -> int:
        """The number of records of switches for which a ring had no room."""
        return self._times.lost

    def take(self) -> tuple[Mapping[int, WaitSums], Mapping[int, WaitSums]]:
        """Return the waits since the last call, by thread and, of those that ended, by CPU; none after `close`."""
        with self._lock:
            if self._over:
                return {}, {}
            return self._times.take(self._host.now_ns()), self._times.take_cpus()

    def close(self) -> None:
        """Close every descriptor."""
        with self._lock:
            self._over = True
        self._waiting.wake()
        self._thread.join()
        self._times.close()
        self._waiting.close()
