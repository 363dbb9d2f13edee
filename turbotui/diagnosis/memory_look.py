"""Look at resctrl: which group moved most bytes from and to memory between two looks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, TypeAlias

from turbotui.diagnosis.rules import MemoryMover
from turbotui.machine.host import Host
from turbotui.machine.resctrl import domains_of, event_value, resctrl_groups, resctrl_mount
from turbotui.machine.small_files import text_of
from turbotui.untrusted import one_line

_TOTAL: Final = "mbm_total_bytes"
_LOCAL: Final = "mbm_local_bytes"
_MOST_GROUPS: Final = 256  # whose counters are read, in the order of resctrl
_Reading: TypeAlias = tuple[int, int]  # bytes, and the time in ns
_AS_MUCH: Final = 0.8  # share of its control group's bytes from which a monitoring group inside is named instead


class MemoryLook:
    """Looks at the counters of bandwidth of a host's resctrl groups; groups created later are not seen."""

    def __init__(self, host: Host) -> None:
        self._host = host
        top = resctrl_mount(host)
        groups = resctrl_groups(host, top)[:_MOST_GROUPS] if top else ()
        folders = {group.path: tuple(domains_of(host, group.directory).values()) for group in groups}
        self._files = {path: tuple(f"{folder}/{_TOTAL}" for folder in inside) for path, inside in folders.items()}
        # a control group's counts have those of the monitoring groups in it
        self._local_files = tuple(f"{folder}/{_LOCAL}" for path, inside in folders.items() if not _parent(path)
                                  for folder in inside)
        self._names = {group.path: one_line(group.name) for group in groups}
        # of the two last looks: by group its bytes, and when they were read
        self._looks: tuple[Mapping[str, _Reading], Mapping[str, _Reading]] = {}, {}
        self._local_looks: tuple[_Reading | None, _Reading | None] = None, None  # of all groups

    def look(self) -> None:
        """Read the counters of every group."""
        now = {path: read for path, files in self._files.items() if (read := self._total(files)) is not None}
        self._looks = self._looks[1], now
        self._local_looks = self._local_looks[1], self._total(self._local_files)

    def _total(self, files: tuple[str, ...]) -> _Reading | None:
        """The bytes of a group in all domains, and when they were read; None where one of them has no count."""
        began, total = self._host.now_ns(), 0
        for path in files:
            try:
                value = event_value(text_of(self._host, path).encode())
            except ValueError:
                return None
            if not isinstance(value, int):
                return None
            total += value
        return (total, (began + self._host.now_ns()) >> 1) if files else None

    def _moved(self) -> dict[str, float]:
        """Bytes a second of each group that is counted, between the looks."""
        before, now = self._looks
        moved: dict[str, float] = {path: rate
                                   for path in now.keys() & before.keys()
                                   if (rate := _rate(before[path], now[path])) is not None}
        return moved

    @property
    def traffic(self) -> float | None:
        """Bytes a second that the L3 caches moved between the looks; None unless all groups are counted."""
        moved = self._moved()
        if not moved or moved.keys() != self._files.keys():
            return None
        return math.fsum(rate for path, rate in moved.items() if not _parent(path))

    @property
    def local(self) -> float | None:
        """Bytes a second of them from and to memory of the caches' own node; None unless all groups are counted."""
        before, now = self._local_looks
        return None if before is None or now is None else _rate(before, now)

    @property
    def mover(self) -> MemoryMover | None:
        """The group that moved most between the looks; None if none that is counted moved anything.

        A control group's counts have those of the monitoring groups in it.
        """
        moved = self._moved()
        outer = {path: rate for path, rate in moved.items() if not _parent(path)}
        if not (whole := math.fsum(outer.values())):
            return None
        most = max(outer, key=outer.__getitem__)
        inside = max((path for path in moved if _parent(path) == most), key=moved.__getitem__, default=most)
        name = inside if moved[inside] >= _AS_MUCH * moved[most] else most
        # the kernel leaves monitoring groups without a counter out of their control group's sum
        uncounted = {_parent(path) for path in self._files if path not in moved}
        return MemoryMover(self._names[name], moved[name], None if uncounted else moved[name] / whole,
                           least=name in uncounted)


def _rate(before: _Reading, now: _Reading) -> float | None:
    """Bytes a second between two readings; None if a group began anew under its name."""
    grown, ns = (new - old for new, old in zip(now, before, strict=True))
    return 1e9 * grown / ns if grown >= 0 and ns > 0 else None


def _parent(path: str) -> str:
    """The control group of a monitoring group's path, "/web/mon_groups/db"; "" of a control group's own."""
    head, mark, _name = path.rpartition("/mon_groups/")
    return (head or "/") if mark else ""
