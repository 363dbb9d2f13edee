"""A gathered machine: texts, directories, words of devices, tried counters, and errnos of refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostKind, PerfAttr, Privileges

Answer: TypeAlias = bytes | int
"""The result of a read at an offset: bytes, or an errno."""


class OpenAttempt(NamedTuple):
    """A counter that was tried.

    Attributes:
        attr: the event.
        beside: the events that its group already had, the leader first; () for a leader.
        cpu: the CPU; -1 for any.
    """

    attr: PerfAttr
    beside: tuple[PerfAttr, ...]
    cpu: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """The parts of a machine that a program read, with visible paths (`turbotui.untrusted`).

    Attributes:
        origin: the kind of machine that was read.
        time: when, in UTC, ISO 8601.
        version: the version of turbotui that read it.
        rights: the rights of the process that read it.
        usable: the CPUs that the process could use; None for all.
        files: the whole content of each file.
        folders: the names in each listed directory.
        present: requested paths that exist, whether or not they were read.
        absent: requested paths that do not exist.
        errors: errno of existing paths that could not be opened, read or listed.
        words: results of reads of devices and large files: path, then offset.
        counters: errno of each tried counter, 0 for one that opened.
        left_out: what was read and is not included, with the reason.
    """

    origin: HostKind
    time: str
    version: str
    rights: Privileges
    usable: frozenset[int] | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    present: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    errors: Mapping[str, int] = field(default_factory=dict)
    words: Mapping[str, Mapping[int, Answer]] = field(default_factory=dict)
    counters: Mapping[OpenAttempt, int] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
