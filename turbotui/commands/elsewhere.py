"""--host of verbs: what they report of this machine, of another one that ssh reaches.

Another machine sends a recording, which a verb reads while it arrives, as with --replay.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from turbotui.errors import UsageError
from turbotui.recording.framing import MARKER, Record, RecordingError, RecordParser, framed

if TYPE_CHECKING:  # few runs read another machine: its modules are loaded then
    from turbotui.recording.journal import Journal
    from turbotui.remote.ssh import SshConnector, SshLink

_LOOK: Final = 0.25  # seconds after which a wait for bytes begins anew


def add_host_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --host and what says how turbotui is started there."""
    parser.add_argument("--host", metavar="USER@NODE",
                        help="another machine than this: ssh starts turbotui collect there, without asking for "
                        "passwords; where no turbotui is, what it needs is sent to python3")
    parser.add_argument("--sudo", action="store_true",
                        help="with --host: collect there as root, by a sudo that asks for no password")
    parser.add_argument("--remote", metavar="COMMAND",
                        help='with --host: the command that starts turbotui there, such as "sudo -n turbotui"')


def check_host_arguments(arguments: argparse.Namespace) -> None:
    """Refuse --sudo and --remote without --host. Raises UsageError if one is given."""
    for option, given in (("--sudo", arguments.sudo), ("--remote", arguments.remote)):
        if given and not arguments.host:
            raise UsageError(f"{option} is for --host: it says how turbotui is started there")


def way_to_host(arguments: argparse.Namespace, words: Iterable[str]) -> SshConnector:
    """The way to the machine that --host names.

    Args:
        words: of turbotui there; --machine and --sysroot are added.

    Raises:
        UsageError: --host or --remote cannot be used.
    """
    from turbotui.remote.collecting_part import RECORDING  # noqa: PLC0415 - few runs read another machine
    from turbotui.remote.ssh import connector_by_ssh  # noqa: PLC0415 - as above

    sysroot = getattr(arguments, "sysroot", "/")
    return connector_by_ssh(arguments.host, arguments.remote or "", {
        "--machine": arguments.machine, "--sysroot": None if sysroot == "/" else sysroot,
    }, sudo=arguments.sudo, verb=tuple(words), part=RECORDING)


def watching_words(arguments: argparse.Namespace) -> Iterator[str]:
    """The words of `add_watching_arguments` for a turbotui on another machine.

    Raises:
        UsageError: one names a file of this machine.
    """
    for option, value in (("--events", arguments.events), ("--event-tables", arguments.event_tables)):
        if value:
            raise UsageError(f"{option} names files of this machine, which --host cannot read")
    yield f"--interval={arguments.interval}"
    for option, value in (("--TCC", arguments.tcc), ("--cpu", arguments.cpu)):
        if value is not None:
            yield f"{option}={value}"
    if arguments.moments:
        yield "--moments"
    yield from (f"--{option}={names}" for option, names in arguments.choices)
    yield from (f"--add={text}" for text in arguments.add)


class SshSource:
    """The bytes that a program on another machine writes.

    Args:
        begins: the first of them.
        relays: whether what the program says beside them goes to stderr; `failure` has the reason for an early end.
        patience: seconds until the beginning, but for those in which a program is sent; by default a collector's.
    """

    def __init__(self, way: SshConnector, begins: bytes = MARKER, *, relays: bool = True,
                 patience: float | None = None) -> None:
        from turbotui.remote.links import FIRST_SECONDS  # noqa: PLC0415 - few runs read another machine

        self.name = way.name
        self._link: SshLink = way.open(begins)
        self._stopped = False
        self._host = way.host if relays else None
        self._patience = FIRST_SECONDS if patience is None else patience
        self._until = time.monotonic() + self._patience

    def read(self) -> bytes:
        """Wait for more bytes; empty at the end. Raises LinkError if their beginning does not come."""
        while not self._stopped:
            data = self._link.read(_LOOK)
            if data:
                self._relay()
            if data is not None:
                return data
            if not self._link.begun:
                self._give_up()
        return b""

    def failure(self) -> str:
        """Why the stream ended too early, after its end; "" if it did not."""
        failure = "" if self._stopped else self._link.failure
        if not failure:
            self._relay()
        return failure

    def stop(self) -> None:
        """End the stream here; may be called by a signal handler."""
        self._stopped = True

    def remarks(self) -> Iterator[str]:
        """Yield the lines of its stderr that were not relayed."""
        return self._link.remarks()

    def _give_up(self) -> None:
        """Raise a LinkError if the beginning should have come."""
        from turbotui.remote.links import LinkError  # noqa: PLC0415 - as above

        now = time.monotonic()
        if self._link.sending:
            self._until = now + self._patience
        elif now >= self._until:
            raise LinkError(f"{self.name}: nothing of turbotui came in {self._patience:.0f} s"
                            f": `{self.name} true` has to end, and to print nothing")

    def _relay(self) -> None:
        if self._host is not None:
            for line in self.remarks():
                print(f"turbotui: on {self._host}: {line.removeprefix('turbotui: ')}", file=sys.stderr)

    def close(self) -> None:
        self._link.close()


def open_host_recording(arguments: argparse.Namespace, *, intervals: int | None, seconds: float,
                        tables: str = "", columns: str = "") -> Journal:
    """Open the recording that the machine of --host begins now.

    Args:
        intervals: after which it ends; None for one without end.
        seconds: of an interval.
        tables: for `collect --tables`.
        columns: for `collect --enable`.

    Raises:
        LinkError: ssh cannot be started.
        RecordingError: no reading came.
        UsageError: as `way_to_host`.
    """
    from turbotui.recording.streamed_recording import HostJournal, arriving  # noqa: PLC0415 - as above

    cpus = getattr(arguments, "cpu", None)
    words = ["collect", f"-i{seconds:g}", *(() if intervals is None else (f"-n{intervals}",)),
             *((f"--tables={tables}",) if tables else ()), *((f"--enable={columns}",) if columns else ()),
             *((f"--cpu={cpus}",) if cpus else ())]
    return arriving(SshSource(way_to_host(arguments, words)), HostJournal)


def copy_records(source: SshSource, write: Callable[[bytes], None]) -> None:
    """Write the records of a stream, none of which is torn, until its end.

    Raises:
        RecordingError: `write` raised it, or no record came.
    """
    parser, begun = RecordParser(), False
    while data := source.read():
        records = b"".join(framed(item) for item in parser.feed(data) if isinstance(item, Record))
        if records:
            write(records)
            begun = True
    if not begun:
        raise RecordingError(source.failure() or f"{source.name} sent no recording")
