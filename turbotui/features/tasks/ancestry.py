"""Parents of the processes seen in an interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from turbotui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Ancestry:
    """Parents of the processes in a snapshot."""

    parents: Mapping[int, int] = field(default_factory=dict)  # of each process, and of those above it
    names: Mapping[int, str] = field(default_factory=dict)  # of all of them that live
