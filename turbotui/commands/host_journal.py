"""The recording that another machine writes now, and that is read while it arrives."""

from __future__ import annotations

from dataclasses import replace

from turbotui.machine.machine import Machine
from turbotui.recording.recorded_host import RecordedHost
from turbotui.recording.streamed_recording import StreamedJournal


class HostJournal(StreamedJournal):
    """A `StreamedJournal` whose numbers are current, and therefore not marked as recorded."""

    @property
    def machine(self) -> Machine:
        """The machine as it was at the first tick."""
        machine, header = super().machine, self.header
        return replace(machine, host=RecordedHost(header.name, header.was, header.privileges, now_ns=header.now_ns,
                                                  wall_ns=header.wall_ns, kept=self.kept, current=True))
