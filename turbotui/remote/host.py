"""The host of a machine that is watched from another process: it answers from what was sent, and reads nothing."""

from __future__ import annotations

import errno

from turbotui.machine.host import HostError, HostKind, PerfAttr
from turbotui.recording.machine_facts import Header
from turbotui.recording.recorded_host import KeptAnswers, RecordedHost


class RemoteHost(RecordedHost):
    """See `machine.host.Host`. Unlike a recording it is of the kind that the collector says: its numbers are of now.

    Args:
        header: of the stream.
        kept: what was sent of the machine's files.
    """

    def __init__(self, header: Header, kept: KeptAnswers | None = None) -> None:
        super().__init__(header.name, header.was, header.privileges, now_ns=header.now_ns, wall_ns=header.wall_ns,
                         kept=kept)
        self._machine = header.name
        self.read_by = f"{header.name} is read by a collector"

    @property
    def kind(self) -> HostKind:
        """The kind of host that the collector reads."""
        return self.was

    @property
    def name(self) -> str:
        """The machine's name."""
        return self._machine

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:  # noqa: ARG002 - none is opened
        """Refused: only the collector counts."""
        raise HostError(errno.ENODEV, f"perf_event_open from here: {self.read_by}")

    def _refusal(self, what: str, usual: int = errno.ENOENT) -> HostError:
        return HostError(super()._refusal(what, usual).errno or usual, f"{what} (of {self._machine}, by a collector)")
