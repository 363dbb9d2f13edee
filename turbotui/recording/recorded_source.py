"""Sources of a recorded machine, which tell what probing found at the time, and read nothing."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.catalog.defined import defined_catalog
from turbotui.quantities.definition import Definition
from turbotui.quantities.signals import SignalId
from turbotui.sampling.capabilities import Capabilities
from turbotui.sources.source import Defined, Probe, Reader, SharedReader


@dataclass(frozen=True, slots=True, eq=False)
class RecordedSource:
    """A source of a recorded machine."""

    id: str
    title: str
    gives: str
    shared: bool
    counts_from_open: bool
    probed: Probe
    definition: Definition | None = None

    def probe(self, machine: Machine) -> Probe:  # noqa: ARG002 - it was asked when it was recorded
        """Return what probing found when the machine was recorded."""
        return self.probed

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:  # noqa: ARG002 - none is opened
        """0: a recording opens no counters."""
        return 0

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Always fail with a HostError: a recording holds readings and no counters."""
        raise HostError(errno.ENODEV, f"{self.title} of the recording of {machine.host.name}, CPU {cpu}, {len(wanted)}")

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Always fail with a HostError, as `open`."""
        raise HostError(errno.ENODEV, f"{self.title} of the recording of {machine.host.name}, {len(wanted)} signals")


def definitions_of(capabilities: Capabilities) -> Iterator[Definition]:
    """Return the definitions that were counted beside the catalog, in the order of the requests."""
    for source in capabilities.sources:
        definition = source.definition if isinstance(source, Defined) else None
        if definition is not None:
            yield definition


def recorded_catalog(capabilities: Capabilities) -> Catalog:
    """Return the columns that this version computes from recorded signals, and those that were added at the time."""
    return defined_catalog(capabilities.signals, definitions_of(capabilities))
