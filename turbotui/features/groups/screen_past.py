"""What the groups screen keeps of an interval, and what it is told by the thread that reads groups."""

from __future__ import annotations

from enum import Enum

from textual.message import Message

from turbotui.dataclass import dataclass
from turbotui.features.groups.live import GroupSnapshot, GroupWatcher
from turbotui.sampling.energy import Energy


@dataclass(frozen=True, slots=True)
class PastGroups:
    """The groups of one interval.

    Attributes:
        time_ns: when it ended, in ns since 1970.
        seq: its number.
        snapshot: the groups.
        energy: of the interval.
    """

    time_ns: int
    seq: int
    snapshot: GroupSnapshot
    energy: Energy

    @property
    def size(self) -> int:
        """Rows, and one for the rest."""
        return 1 + len(self.snapshot.rows) + len(self.snapshot.resctrl)


@dataclass()
class GroupsReady(Message, bubble=False):
    """A snapshot from the watcher's thread."""

    snapshot: GroupSnapshot
    watcher: GroupWatcher


class RowsShown(Enum):
    """What stands in the table; the value is what a person is told."""

    TREE = "Control groups stand in their tree"
    FLAT = "Control groups stand one below the other, each with what is in it"
    RESCTRL = "Groups of resctrl: caches, memory bandwidth, energy of cores"
