"""Open files, folders, register devices and counters of a simulated machine, by descriptor."""

from __future__ import annotations

import errno
import itertools
from collections.abc import Callable
from typing import TypeVar

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostError
from turbotui.simulated.perf import OpenEvent
from turbotui.simulated.tree import File


@dataclass(slots=True)
class OpenFile:
    """A descriptor on a file."""

    path: str
    file: File


@dataclass(slots=True)
class OpenFolder:
    """A descriptor on a directory, which can name a control group."""

    path: str


@dataclass(slots=True)
class OpenMsr:
    """A descriptor on the register device of one CPU."""

    cpu: int


Opened = OpenFile | OpenFolder | OpenMsr | OpenEvent
_Kind = TypeVar("_Kind", OpenFolder, OpenEvent)


class Descriptors(dict[int, Opened]):
    """The open descriptors of a process, numbered from 3 on, without reuse of numbers.

    The limit includes the three streams (RLIMIT_NOFILE).
    """

    def __init__(self, limit: Callable[[], int]) -> None:
        super().__init__()
        self._limit = limit
        self._numbers = itertools.count(3)

    def check_room(self, what: str) -> None:
        """Refuse to open a descriptor beyond the limit.

        Raises:
            HostError: EMFILE, with `what` in the message.
        """
        if len(self) + 3 >= self._limit():
            raise HostError(errno.EMFILE, what)

    def take(self, what: Opened) -> int:
        """Add an open object, and return its number.

        Raises:
            HostError: EMFILE.
        """
        self.check_room("open")
        number = next(self._numbers)
        self[number] = what
        return number

    def of_kind(self, kind: type[_Kind], number: int, message: str = "descriptor {}") -> _Kind:
        """Return the open object of a number, which must be of one kind.

        Raises:
            HostError: EBADF, with `message` in the message.
        """
        opened = self.get(number)
        if not isinstance(opened, kind):
            raise HostError(errno.EBADF, message.format(number))
        return opened

    def events(self) -> list[OpenEvent]:
        """The counters that are open."""
        return [opened for opened in self.values() if isinstance(opened, OpenEvent)]
