"""The protocol of counter sources: one module in this folder each, listed in `turbotui.sources.SOURCES`.

A source provides signals. It knows nothing of columns. It never raises because something is absent: absence is an
`Unavailable` with a reason and a remedy, per signal.
"""

from __future__ import annotations

import errno
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostError
from turbotui.machine.machine import Machine
from turbotui.quantities.definition import Definition
from turbotui.quantities.signals import Raw, Signal, SignalId
from turbotui.quantities.unavailable import Unavailable


class CpuGone(Exception):  # noqa: N818 - an event in a machine's life, not an error of anybody's
    """The CPU or device for which a reader was opened is gone; the topology is read again."""


GONE = (errno.ENODEV, errno.ENXIO)
"""The errors of an offline CPU's counters and devices."""


def raise_if_gone(error: HostError) -> None:
    """Tell the error of an offline CPU from others. Raises CpuGone if it is one."""
    if error.errno in GONE:
        raise CpuGone(str(error)) from error


class Reader(Protocol):
    """Open counters, which one thread reads repeatedly."""

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """The signals that `read` returns, in this order."""

    def read(self) -> Sequence[Raw]:
        """Return one raw value for each of `signals`; None for a value that could not be read this time.

        For a shared source each item is instead a sequence over the instances of the signal's scope, in topology
        order.

        Raises:
            CpuGone: the CPU went offline.
        """

    def close(self) -> None:
        """Close every descriptor."""


@runtime_checkable
class Adjustable(Protocol):
    """A reader that can change what it returns without reopening counters, so that no count starts again."""

    def choose(self, wanted: frozenset[SignalId]) -> bool:
        """Return `wanted` from now on; return False, without a change, if a part of it is not open here."""


@runtime_checkable
class Summing(Protocol):
    """A shared reader that adds up counts itself, of which it may not know a part."""

    @property
    def unsure(self) -> Mapping[SignalId, frozenset[int]]:
        """Positions of signals whose last reading lacks a part of what was counted since the one before."""


@runtime_checkable
class Incomplete(Protocol):
    """A reader that may lack something that can be opened or read later."""

    @property
    def incomplete(self) -> bool:
        """Whether something is missing."""

    def retry(self) -> None:
        """Try once to open and read what is missing. Raises HostError if no descriptor is left."""


Capture: TypeAlias = "Sequence[bytes | None]"
"""What each counter group of a reader gave, as it came from the kernel; None where the kernel refused."""


@runtime_checkable
class Rotating(Protocol):
    """A reader that rotates between event sets, counting another set in the next interval.

    Its readings can be taken in two steps: `read` is both in one. Where its thread wakes for a moment, the
    first step is what has to be done there and then.
    """

    @property
    def deferrable(self) -> bool:
        """Whether captures may be decoded later, several together, in their order."""

    def capture(self) -> Capture:
        """Read the counters now, and return the kernel's bytes undecoded. Raises CpuGone if the CPU went offline."""

    def decode(self, captured: Capture, started: int, ended: int) -> Sequence[Raw]:
        """Decode a capture into what `read` would have returned between these host times in ns.

        Raises:
            CpuGone: the CPU went offline.
            HostError: it could not be read.
        """

    def rotate(self, *, more: bool = False) -> None:
        """Note that an interval has ended and its counts were read.

        Args:
            more: captures of the same set are still to be decoded, so that nothing else may be counted yet.

        Raises:
            CpuGone: the CPU went offline.
            HostError: what is to be counted next does not open.
        """


@runtime_checkable
class Momentary(Protocol):
    """A reader of gauges that hold at the moment of reading, so that how long a read takes does not matter.

    Its thread may look between two ticks.
    """

    @property
    def pause(self) -> float | None:
        """Seconds until the next look; None for no look before the next tick."""

    def look(self) -> None:
        """Look once more, for the next `read`. Raises HostError if that fails."""


@runtime_checkable
class Focused(Protocol):
    """A source that looks at some CPUs more often than at others, in each session at others."""

    def own(self) -> Source:
        """Return a source like this for one session."""

    def look_often(self, cpus: Collection[int] | None) -> None:
        """Look often at these CPUs from the next tick on; None: at all."""


@runtime_checkable
class TopologyFollower(Protocol):
    """A shared reader that follows changes of the online CPUs: only the counts of changed CPUs start again."""

    def follow(self, cpus: Sequence[int]) -> None:
        """Return these CPUs from now on, in this order."""


class SharedReader(Protocol):
    """A `Reader` of a file that holds every CPU: one sequence for each signal, one item for each instance."""

    @property
    def signals(self) -> tuple[SignalId, ...]:
        """The signals that `read` returns, in this order."""

    def read(self) -> Sequence[Sequence[Raw]]:
        """Return for each of `signals` a sequence over the instances of its scope, in topology order."""

    def close(self) -> None:
        """Close every descriptor."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The findings of a source on this machine."""

    # every signal the source could ever give, with its facts or with why not
    signals: Mapping[SignalId, Signal | Unavailable]
    note: str = ""  # one line for the doctor beyond the per-signal reasons; may be empty
    # signals that are offered although every attempt to read them failed, because the failure may pass; another source
    # that can read them is preferred
    doubtful: frozenset[SignalId] = frozenset()


@runtime_checkable
class Source(Protocol):
    """One way to get signals."""

    @property
    def id(self) -> str:
        """The short name in lower case: "perf-msr"."""

    @property
    def title(self) -> str:
        """The name for people: "perf msr"."""

    @property
    def gives(self) -> str:
        """The use of the source's signals, in a few words."""

    @property
    def shared(self) -> bool:
        """Whether one read returns all CPUs (`open_shared`), or the source is opened on each reading CPU."""

    @property
    def counts_from_open(self) -> bool:
        """Whether a reader's counts begin when it is opened, as perf's and accumulated ones do.

        No difference may then be taken across an opening. Registers and sysfs counters go on by themselves.
        """

    def probe(self, machine: Machine) -> Probe:
        """Find what is available without side effects, opening and closing at most one of each counter."""

    def descriptors(self, wanted: frozenset[SignalId], readers: int) -> int:
        """Return the number of descriptors that stay open when `readers` CPUs read `wanted`."""

    def open(self, machine: Machine, cpu: int, wanted: frozenset[SignalId]) -> Reader:
        """Open the wanted signals on one CPU.

        Raises:
            CpuGone: the CPU is offline.
            HostError: what probe() found usable is not any more.
        """

    def open_shared(self, machine: Machine, wanted: frozenset[SignalId]) -> SharedReader:
        """Open the file that holds all CPUs."""


@runtime_checkable
class Defined(Protocol):
    """A source that was made for a user's request."""

    @property
    def definition(self) -> Definition | None:
        """What the source counts, kept by recordings; None for a recorded source without a definition."""
