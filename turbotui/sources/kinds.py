"""The two ways a source is opened, each refusing the other way."""

from __future__ import annotations

from turbotui.errors import InternalError
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import SignalId
from turbotui.sources.source import Reader, SharedReader


class SharedSource:
    """Base of sources whose one file holds all CPUs."""

    shared = True
    counts_from_open = True

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:  # noqa: ARG002 - the contract's
        """Refused: this source is opened with `open_shared`.

        Raises:
            InternalError: always.
        """
        raise InternalError(f"{type(self).__name__} holds all CPUs in one file and is not opened on CPU {cpu} alone")


class PerCpuSource:
    """Base of sources that are opened on each reading CPU."""

    shared = False
    counts_from_open = False

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:  # noqa: ARG002 - as above
        """Refused: this source is opened with `open`.

        Raises:
            InternalError: always.
        """
        raise InternalError(f"{type(self).__name__} is opened on each reading CPU, not once for all of them")
