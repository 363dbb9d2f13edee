"""Connections to a collector that a test writes down, and the time that passes on them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from turbotui.machine.machine import Machine
from turbotui.remote.backlog import Backlog, Outgoing, Unsent
from turbotui.remote.links import LinkError
from turbotui.sampling.frame import Frame


def stream_of(machine: Machine, frames: Sequence[Frame], lost: Sequence[Frame] = ()) -> bytes:
    """The bytes of these frames; those that were lost come before the last one."""
    parts: list[bytes] = []
    outgoing = Outgoing(parts.append, machine)
    for frame in frames[:-1] if lost else frames:
        outgoing.send(waiting(frame))
    if lost:
        backlog = Backlog(1)
        backlog.put(lost[0])
        for frame in lost:
            backlog.put(frame)
        backlog.take()
        backlog.put(frames[-1])
        last = backlog.take()
        assert last is not None
        outgoing.send(last)
    return b"".join(parts)


def waiting(frame: Frame) -> Unsent:
    backlog = Backlog()
    backlog.put(frame)
    unsent = backlog.take()
    assert unsent is not None
    return unsent


@dataclass
class Clock:
    """A clock that advances when a link is read in vain, or waited for."""

    now: float = 0.0
    pauses: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def pause(self, stopped: threading.Event, seconds: float) -> bool:
        self.pauses.append(seconds)
        self.now += seconds
        return stopped.is_set()


class ScriptedLink:
    """Gives pieces one by one; None lets time pass, b"" is the end.

    Behind the last piece nothing comes, and time passes only if it is to be silent.
    """

    def __init__(self, pieces: Sequence[bytes | None], clock: Clock, why: str = "it was cut", *,
                 silent: bool = False) -> None:
        self._silent = silent
        self._pieces = list(pieces)
        self._clock = clock
        self._why = why
        self.asked: list[bytes] = []
        self.closed = False
        self.drained = threading.Event()

    def read(self, seconds: float) -> bytes | None:
        if self._pieces:
            piece = self._pieces.pop(0)
            if piece is not None:
                return piece
            self._clock.now += seconds
        else:
            self.drained.set()
            self._clock.now += seconds if self._silent else 0.0
        return None

    def ask(self, request: bytes) -> None:
        self.asked.append(request)

    def why_ended(self) -> str:
        return self._why

    def close(self) -> None:
        self.closed = True


class ScriptedWay:
    """Opens one link after the other; a text is a connection that fails for this reason."""

    name = "a script"

    def __init__(self, links: Sequence[ScriptedLink | str], *, again: bool = True) -> None:
        self._links = list(links)
        self.again = again

    def open(self) -> ScriptedLink:
        link = self._links.pop(0)
        if isinstance(link, str):
            raise LinkError(link)
        return link
