"""Reads the control groups of a machine, again and again: files stay open, and only those that are wanted are read.

A group that used no CPU time since it was read, and of which nothing else had moved before, sleeps: tasks that come to
wait for a CPU, memory or storage run before, so its pressure stands still. Its other files are read one time in five,
like those of limits. docs/specs/groups.md 1.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.groups.files import FILES, QUANTITIES, UNIFIED, GroupFile, Quantity, files_for
from turbotui.features.groups.model import CGROUP, Group, GroupMoment, GroupSample
from turbotui.machine.cgroups import Hierarchy, find_groups, hierarchies
from turbotui.machine.host import Host, HostError
from turbotui.machine.open_files import FileReading, GoneError, OpenFiles
from turbotui.machine.tasks.group_names import group_name
from turbotui.quantities.unavailable import Reason, Unavailable

MOST_GROUPS: Final = 20_000
"""Groups that are listed; a machine with more is said to have more."""
_LISTED_ANEW: Final = 200
"""Listing takes at most one part in so many of the time, however often groups come and go."""
_SELDOM_NS: Final = 10_000_000_000
"""A tree of version 1 does not say that its groups changed, so it is listed so often; refused files are tried again."""
_ONE_IN: Final = 5
"""One reading in so many is of every file: the others leave out what can hardly have moved."""
_ALWAYS: Final = frozenset({"io.stat", "blkio.throttle.io_service_bytes"})
"""Files that move while no task of the group runs: what it wrote reaches the disk later."""
_CONTROLLERS: Final = frozenset(file.controller for file in FILES)


@dataclass(frozen=True, slots=True)
class _Place:
    """A group that was found.

    Attributes:
        group: which one.
        directories: by the controller in whose tree they are.
    """

    group: Group
    directories: Mapping[str, str]


class CgroupReader:
    """Reads every control group.

    Args:
        host: the machine.
        wanted: what is to be known of each.
    """

    def __init__(self, host: Host, wanted: Iterable[Quantity] = QUANTITIES) -> None:
        self._host = host
        self._wanted = frozenset(wanted) & QUANTITIES
        self._files = OpenFiles(host)
        self._trees = _trees(host)
        self._unified = self._trees.get(UNIFIED)
        self._places: Mapping[str, _Place] = {}
        self._serials: dict[str, int] = {}
        self._last: dict[str, GroupSample] = {}
        self._rounds = 0
        self._complete = True
        self._stale = True
        self._descendants: object = None
        self._listed_ns = self._listing_ns = 0
        self._plans: dict[frozenset[str], tuple[tuple[GroupFile, ...], Mapping[Quantity, str]]] = {}

    @property
    def why_none(self) -> Unavailable | None:
        """Why there are no control groups to read; None where there are."""
        if self._trees:
            return None
        return Unavailable(Reason.NO_DRIVER, "/proc/self/mountinfo names no mounted tree of control groups",
                           "mount -t cgroup2 cgroup2 /sys/fs/cgroup")

    @property
    def versions(self) -> tuple[int, ...]:
        """Of the mounted trees."""
        return tuple(sorted({tree.version for tree in self._trees.values()}))

    @property
    def open_files(self) -> int:
        """How many files are kept open."""
        return len(self._files)

    def want(self, wanted: Iterable[Quantity]) -> None:
        """Read this from now on."""
        wanted = frozenset(wanted) & QUANTITIES
        if wanted != self._wanted:
            self._wanted = wanted
            self._plans.clear()
            self._files.close()  # those that are read no more; the others are opened again

    def directory(self, key: str) -> str:
        """The directory of a group, that of version 2 first; "" for one that is not there."""
        place = self._places.get(key)
        return "" if place is None else next(iter(place.directories.values()), "")

    def read(self) -> GroupMoment:
        """Read every group; one that vanishes meanwhile is left out."""
        wall_ns, at_ns = self._host.wall_ns(), self._host.now_ns()
        self._rounds += 1
        self._list_where_needed(at_ns)
        samples: dict[str, GroupSample] = {}
        for at, (key, place) in enumerate(self._places.items()):
            try:
                samples[key] = self._sample(at, key, place)
            except GoneError:
                self._stale = True
                self._last.pop(key, None)
                self._serials[key] = self._serials.get(key, 0) + 1
                for directory in place.directories.values():
                    self._close(directory)
        return GroupMoment(wall_ns, at_ns, samples, self._complete)

    def close(self) -> None:
        """Close every file."""
        self._files.close()

    def _sample(self, at: int, key: str, place: _Place) -> GroupSample:
        files, gives = self._plan(frozenset(place.directories))
        last, later = self._last.get(key), (self._rounds + at) % _ONE_IN
        serial = self._serials.get(key, 0)
        if last is not None and (last.serial != serial or last.gives is not gives):
            last = None
        readings: dict[str, FileReading] = {}
        absent: dict[str, Unavailable] = {}
        asleep = moved = False
        at_ns = 0
        for file in files:
            then = None if last is None else last.readings.get(file.id)
            if then is not None and later and (file.seldom or (asleep and file.id not in _ALWAYS)):
                readings[file.id] = FileReading(then.values, at_ns or then.at_ns)
                continue
            found = self._files.read(f"{place.directories[file.controller]}/{file.name}", file.parse)
            if isinstance(found, Unavailable):
                absent[file.id] = found
                continue
            readings[file.id], at_ns = found, found.at_ns
            moved |= then is None or found.values is not then.values
            if "cpu_usec" in file.gives:
                asleep = not moved and last is not None and last.calm
        calm = last is not None and not moved
        sample = self._last[key] = GroupSample(place.group, serial, readings, absent, gives, calm)
        return sample

    def _plan(self, controllers: frozenset[str]) -> tuple[tuple[GroupFile, ...], Mapping[Quantity, str]]:
        """The files of groups in these trees, and which of them gives each quantity."""
        plan = self._plans.get(controllers)
        if plan is None:
            files = files_for(self._wanted, controllers)
            gives: dict[Quantity, str] = {}
            for file in files:
                for quantity in file.gives:
                    if quantity in self._wanted:
                        gives.setdefault(quantity, file.id)
            plan = self._plans[controllers] = files, gives
        return plan

    def _list_where_needed(self, now_ns: int) -> None:
        """Look which groups there are, where something says that they changed, and that was not done just now."""
        since = now_ns - self._listed_ns
        if not self._stale:
            self._stale = self._changed() or since > _SELDOM_NS
        if self._stale and (not self._places or since > _LISTED_ANEW * self._listing_ns):
            self._list()
            self._stale, self._listed_ns = False, self._host.now_ns()
            self._listing_ns = self._listed_ns - now_ns
            self._descendants = self._descendants_now()

    def _changed(self) -> bool:
        """Whether a group of version 2 came or went: one that goes while another comes fails to be read."""
        return self._unified is not None and self._descendants_now() != self._descendants

    def _descendants_now(self) -> object:
        if self._unified is None:
            return None
        try:
            found = self._files.read(f"{self._unified.top}/cgroup.stat", _descendants)
        except GoneError:
            return None
        return found if isinstance(found, Unavailable) else dict(found.values)

    def _list(self) -> None:
        found: dict[str, dict[str, str]] = {}
        self._complete = True
        for controller, tree in self._trees.items():
            groups = find_groups(self._host, tree, MOST_GROUPS)
            self._complete &= groups.complete
            for directory in groups.directories:
                found.setdefault(tree.name(directory), {})[controller] = directory
        self._files.retry()
        before = self._places
        self._places = {path: _kept(before.get(path), path, found[path]) for path in _outer_first(found)}
        for path in before.keys() - self._places.keys():
            self._last.pop(path, None)
            for directory in before[path].directories.values():
                self._close(directory)
        self._serials = {path: serial for path, serial in self._serials.items() if path in self._places}

    def _close(self, directory: str) -> None:
        for file in FILES:
            self._files.forget(f"{directory}/{file.name}")


def _kept(before: _Place | None, path: str, directories: Mapping[str, str]) -> _Place:
    if before is not None and before.directories == directories:
        return before
    name = group_name((path,))
    return _Place(Group(CGROUP, path, path if name is None else _said(name.text, path, name.path)), directories)


def _said(text: str, path: str, named: str) -> str:
    """What a group is for people: the last part of its path where only a group around it has a name."""
    return text if named == path and text != path else path.rpartition("/")[2] or path


def _outer_first(paths: Iterable[str]) -> list[str]:
    """Groups as a tree has them: each before those in it, neighbours by name."""
    return sorted(paths, key=lambda path: path.strip("/").split("/") if path != "/" else [])


def _trees(host: Host) -> dict[str, Hierarchy]:
    """The mounted trees by controller; the first one where a tree is mounted twice."""
    found: dict[str, Hierarchy] = {}
    for tree in hierarchies(host):
        controllers = (UNIFIED,) if tree.version == 2 else tuple(sorted(tree.controllers & _CONTROLLERS))
        for controller in controllers:
            if _is_there(host, tree):
                found.setdefault(controller, tree)
    return dict(sorted(found.items()))


def _is_there(host: Host, tree: Hierarchy) -> bool:
    try:
        host.list_dir(tree.top)
    except HostError:
        return False
    return True


def _descendants(content: bytes) -> Mapping[Quantity, int | float | Unavailable]:
    words = content.split()
    found = dict(zip(words[::2], words[1::2], strict=False))
    return {"descendants": int(found[b"nr_descendants"])}
