"""Watches all threads for the roofline screen while its points are threads."""

from __future__ import annotations

from textual.message import Message
from textual.widget import Widget

from turbotui.dataclass import dataclass
from turbotui.features.roofline.task_points import EVERY_THREAD, THREADS
from turbotui.features.tasks.live import TaskSnapshot, TaskWatcher
from turbotui.features.tasks.report import Report
from turbotui.machine.machine import Machine


@dataclass()
class ThreadsReady(Message, bubble=False):
    """A report from the watcher's thread; a newer one replaces one that was not handled yet."""

    report: Report
    watcher: TaskWatcher

    def can_replace(self, message: Message) -> bool:
        """Tell whether a message replaces this one, as any later report does."""
        return isinstance(message, ThreadsReady)


class ThreadWatch:
    """Opens the counters of all threads when wanted, and closes them otherwise."""

    def __init__(self, owner: Widget, machine: Machine) -> None:
        self._owner = owner
        self._machine = machine
        self._watcher: TaskWatcher | None = None

    @property
    def watches(self) -> bool:
        """Whether counters of threads are open or being opened."""
        return self._watcher is not None

    def want(self, *, wanted: bool) -> None:
        """Open the counters of all threads if wanted, else close them."""
        if not wanted:
            self.end()
        elif self._watcher is None:
            watcher: TaskWatcher | None = None

            def publish(snapshot: TaskSnapshot) -> None:
                if watcher is not None and snapshot.reports:
                    self._owner.post_message(ThreadsReady(snapshot.reports[0], watcher))

            watcher = self._watcher = TaskWatcher(self._machine, (EVERY_THREAD,), publish)
            watcher.start(THREADS)

    def ask(self) -> None:
        """End an interval of the threads; its report arrives as a message."""
        if self._watcher is not None:
            self._watcher.snapshot(THREADS)

    def takes(self, message: ThreadsReady) -> bool:
        """Tell whether a report is from the present watch."""
        return message.watcher is self._watcher

    def end(self) -> None:
        """Close every counter."""
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
