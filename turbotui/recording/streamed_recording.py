"""Recordings that come through a pipe, read while they arrive (`turbotui collect`, `cat FILE`), or packed in a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeVar

from turbotui.machine.gathered.archive import LARGEST, GatheredError, unpack
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.machine import Machine
from turbotui.recording.framing import LaterFormatError, Missing, RecordingError
from turbotui.recording.journal import Journal
from turbotui.recording.recorded_host import RecordedHost
from turbotui.recording.rows import RecordedRows

MOST_BYTES: Final = 1 << 29
"""Of a stream that are kept: 500 hours of 2 CPUs, or 4 of 1,024, a reading a second."""
_CHUNK: Final = 1 << 16
_MOST_BEFORE: Final = 1 << 24  # bytes before the first reading; the layout of 1,024 CPUs has 300 kB


class StreamSource(Protocol):
    """A source of a recording's bytes, which arrive while it is read."""

    name: str  # for people

    def read(self) -> bytes:
        """Wait for more bytes; empty at the end. Raises OSError if the stream cannot be read."""

    def failure(self) -> str:
        """Why the stream ended too early, after its end; "" if it did not."""

    def close(self) -> None:
        """End the stream, whose rest nobody reads."""


class DescriptorSource:
    """A descriptor that somebody else opened, and closes."""

    name = "stdin"

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def read(self) -> bytes:
        return os.read(self._descriptor, _CHUNK)

    def failure(self) -> str:
        return ""

    def close(self) -> None:
        """Leave the descriptor open."""


class Arrived:
    """The bytes of a stream so far, in a file in memory; a signal by Ctrl-C ends the stream."""

    def __init__(self, source: StreamSource, most: int) -> None:
        self.source, self._most = source, most
        self.failure = ""
        self.descriptor = os.memfd_create("stream", os.MFD_CLOEXEC)
        self.size = 0
        self.ended = False

    def grow(self) -> bool:
        """Wait for more bytes; false at the end of the stream.

        Raises:
            RecordingError: the stream cannot be read, or is too long.
        """
        if self.ended:
            return False
        try:
            data = self.source.read()
            self.failure = "" if data else self.source.failure()
        except KeyboardInterrupt:  # the terminal's Ctrl-C is also that of the program which writes the stream
            data = b""
        except OSError as error:
            raise RecordingError(f"the recording on {self.source.name} cannot be read: {error.strerror}") from error
        self.ended = not data
        self.size += len(data)
        if self.size > self._most:
            raise RecordingError(f"the stream on {self.source.name} has more than {self._most >> 20} MiB: turbotui "
                                 "record keeps long times in a file, and turbotui view - shows a stream without end")
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.descriptor, rest):]
        return not self.ended


class StreamedJournal(Journal):
    """A `Journal` of a stream: frames are made as their ticks arrive, and what needs the end waits for it."""

    def __init__(self, arrived: Arrived) -> None:
        super().__init__((f"/proc/self/fd/{arrived.descriptor}",), grow=arrived.grow)
        self.paths = (arrived.source.name,)
        self._arrived = arrived

    def close(self) -> None:
        """Close the journal, and let go of what arrived."""
        super().close()
        self._arrived.source.close()
        os.close(self._arrived.descriptor)

    @property
    def missing(self) -> tuple[Missing, ...]:
        """What the recording lacks; its end, too, if the stream broke off."""
        failure = self._arrived.failure
        lost = (Missing(self._arrived.size, 0, 0, f"{failure}; what came before is whole"),) if failure else ()
        return *super().missing, *lost

    @property
    def ended(self) -> bool:
        """Whether the stream has ended."""
        return self._arrived.ended

    @property
    def last_ns(self) -> int:
        """Wall clock of the last tick of the whole stream, in ns since 1970."""
        self._wait_for_the_end()
        return super().last_ns

    def clocks(self) -> Sequence[int]:
        """Return the wall clock of every tick of the whole stream, in ns since 1970."""
        self._wait_for_the_end()
        return super().clocks()

    def rows(self, stream: int, start_ns: int, end_ns: int) -> Iterator[RecordedRows]:
        """Yield rows; waits for the tick behind the interval, because rows come after their tick."""
        part = self._parts[0]
        while (part.clocks() or (0,))[-1] <= end_ns and self._arrived.grow():
            pass
        return super().rows(stream, start_ns, end_ns)

    def _wait_for_the_end(self) -> None:
        while self._arrived.grow():
            pass


def read_stream(source: int = 0, most: int = MOST_BYTES) -> Journal:
    """Open the recording that a descriptor gives, as soon as its first reading has arrived.

    Args:
        source: the descriptor, stdin by default; the recording in a file is opened as that file.
        most: bytes of a stream that are kept.

    Raises:
        RecordingError: it gives no recording, or cannot be read.
    """
    try:
        kind = os.fstat(source).st_mode
    except OSError as error:
        raise RecordingError(f"there is no stdin: {error.strerror}") from error
    if os.isatty(source):
        raise RecordingError("stdin is a terminal, and gives no recording: turbotui collect | turbotui stat --replay -")
    if stat.S_ISREG(kind):
        journal = Journal((f"/proc/self/fd/{source}",))
        journal.paths = ("stdin",)
        return journal
    return arriving(DescriptorSource(source), StreamedJournal, most)


J = TypeVar("J", bound=StreamedJournal)


def arriving(source: StreamSource, kind: Callable[[Arrived], J], most: int = MOST_BYTES) -> J:
    """Open the recording that comes from a source, as `read_stream` does.

    Args:
        kind: the class of the journal.

    Raises:
        RecordingError: it gives no recording, or cannot be read; the source is closed.
    """
    arrived = Arrived(source, most)
    try:
        while True:
            grew = arrived.grow()
            try:
                return kind(arrived)
            except LaterFormatError:
                raise
            except RecordingError as error:
                if not grew or arrived.size > _MOST_BEFORE:
                    raise RecordingError(arrived.failure
                                         or f"{source.name} holds no reading of turbotui collect or record") from error
    except BaseException:
        os.close(arrived.descriptor)
        source.close()
        raise


class HostJournal(StreamedJournal):
    """A `StreamedJournal` whose numbers are current, and therefore not marked as recorded."""

    @property
    def machine(self) -> Machine:
        """The machine as it was at the first tick."""
        machine, header = super().machine, self.header
        return replace(machine, host=RecordedHost(header.name, header.was, header.privileges, now_ns=header.now_ns,
                                                  wall_ns=header.wall_ns, kept=self.kept, current=True))


MEMBER: Final = "recording"
"""The name, within the archive, of the file with ten seconds of readings."""


def read_gathered(path: str) -> Journal:
    """Open the recording of a gathered machine.

    Raises:
        RecordingError: the file holds no gathered machine, is damaged, or has no recording.
    """
    try:
        files = unpack(read_given(path, LARGEST).data)
    except (GatheredError, GivenFileError) as error:
        raise RecordingError(f"{path} is no file of turbotui gather: {error}") from error
    if MEMBER not in files:
        raise RecordingError(f"{path} is of a gathered machine without a recording")
    memory = os.memfd_create(MEMBER, os.MFD_CLOEXEC)
    try:
        data = memoryview(files[MEMBER])
        while data:
            data = data[os.write(memory, data):]
        journal = Journal((f"/proc/self/fd/{memory}",))
    except RecordingError as error:
        raise RecordingError(f"the recording in {path} cannot be read, or is empty") from error
    finally:
        os.close(memory)
    journal.paths = (path,)
    return journal
