"""Sources of a recorded machine: they say what was found when it was recorded, and read nothing."""

from __future__ import annotations

import errno
from dataclasses import dataclass

from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import SignalId
from turbotui.sources.source import Probe, Reader, SharedReader


@dataclass(frozen=True, slots=True, eq=False)
class RecordedSource:
    """A source as it was found; see `sources.source.Source`."""

    id: str
    title: str
    gives: str
    shared: bool
    counts_from_open: bool
    found: Probe

    def probe(self, machine: Machine) -> Probe:  # noqa: ARG002 - it was asked when it was recorded
        """The answer of the recorded machine."""
        return self.found

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:  # noqa: ARG002 - none is opened
        """None are needed."""
        return 0

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Refused.

        Raises:
            HostError: always; a recording holds readings and no counters.
        """
        raise HostError(errno.ENODEV, f"{self.title} of the recording of {machine.host.name}, CPU {cpu}, {len(wanted)}")

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Refused.

        Raises:
            HostError: always, as `open`.
        """
        raise HostError(errno.ENODEV, f"{self.title} of the recording of {machine.host.name}, {len(wanted)} signals")
