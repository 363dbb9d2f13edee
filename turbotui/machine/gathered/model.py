"""A gathered machine: texts, folders, words of devices, counters that were tried, each refusal's errno."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.machine.host import HostKind, PerfAttr, Privileges

Answer: TypeAlias = bytes | int
"""What a read at an offset gave: bytes, or an errno."""


class OpenAttempt(NamedTuple):
    """A counter that was tried.

    Attributes:
        attr: the event.
        beside: the events that were in its group already, the leader first; () for a leader.
        cpu: where, -1 for any.
    """

    attr: PerfAttr
    beside: tuple[PerfAttr, ...]
    cpu: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """A machine as far as a program read it. Paths are visible text (`turbotui.untrusted`).

    Attributes:
        origin: the kind of machine that was read.
        time: when, in UTC, ISO 8601.
        version: of the turbotui that read it.
        rights: of the process that read it.
        usable: the CPUs that it might use; None: all.
        files: the whole content of each file.
        folders: the names in each folder that was listed.
        present: what was asked for and is there, whether or not it was read.
        absent: what was asked for and is not there.
        errors: errno of paths that are there and could not be opened, read or listed.
        words: what devices and large files gave: path, then offset.
        counters: errno of each counter that was tried, 0 for one that opened.
        left_out: what was read and is not here, with the reason.
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
