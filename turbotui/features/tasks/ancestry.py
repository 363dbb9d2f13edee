"""Parents of the processes seen in an interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from turbotui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Ancestry:
    """Parents of the processes in a snapshot.

    Attributes:
        parents: of each process, and of those above it.
        names: of all of them that live.
    """

    parents: Mapping[int, int] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)

    def plus(self, later: Ancestry) -> Ancestry:
        """The ancestry of this interval joined with that of the interval before it."""
        return Ancestry({**self.parents, **later.parents}, {**self.names, **later.names})
