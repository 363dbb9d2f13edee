"""A gathered machine: texts, directories, words of devices, tried counters, and errnos of refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostKind, PerfAttr, Privileges

Answer: TypeAlias = "bytes | int"
"""The result of a read at an offset: bytes, or an errno."""


class OpenAttempt(NamedTuple):
    """A counter that was tried."""

    attr: PerfAttr  # the event
    beside: tuple[PerfAttr, ...]  # the events that its group already had, the leader first; () for a leader
    cpu: int  # the CPU; -1 for any


@dataclass(frozen=True, slots=True)
class Gathered:
    """The parts of a machine that a program read, with visible paths (`turbotui.untrusted`)."""

    origin: HostKind  # the kind of machine that was read
    time: str  # when, in UTC, ISO 8601
    version: str  # the version of turbotui that read it
    rights: Privileges  # the rights of the process that read it
    usable: frozenset[int] | None = None  # the CPUs that the process could use; None for all
    files: Mapping[str, bytes] = field(default_factory=dict)  # the whole content of each file
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # the names in each listed directory
    present: frozenset[str] = frozenset()  # requested paths that exist, whether or not they were read
    absent: frozenset[str] = frozenset()  # requested paths that do not exist
    # errno of existing paths that could not be opened, read or listed
    errors: Mapping[str, int] = field(default_factory=dict)
    # results of reads of devices and large files: path, then offset
    words: Mapping[str, Mapping[int, Answer]] = field(default_factory=dict)
    # errno of each tried counter, 0 for one that opened
    counters: Mapping[OpenAttempt, int] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)  # what was read and is not included, with the reason
