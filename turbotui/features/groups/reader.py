"""Reads the control groups of a machine periodically; files stay open, and only wanted files are read.

A group rests if it used no CPU time since the last reading and nothing else had changed before: tasks run before they
wait for a CPU, memory or storage, so the group's pressure does not change. Its other files, and all files of the groups
in it, whose CPU time its own includes, are read one time in five, like files of limits
(docs/specs/groups.md 1.5).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.groups.files import (
    FILES,
    QUANTITIES,
    UNIFIED,
    GroupFile,
    Quantity,
    files_for,
    words_by_name,
)
from turbotui.features.groups.model import CGROUP, WHOLE, Group, GroupMoment, GroupSample, StillRow
from turbotui.machine.cgroups import Hierarchy, find_groups, hierarchies
from turbotui.machine.host import Host, HostError
from turbotui.machine.open_files import FileReading, GoneError, OpenFiles
from turbotui.machine.tasks.group_names import group_name
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.unavailable import Reason, Unavailable

MOST_GROUPS: Final = 20_000
"""The most groups that are listed; if there are more, the output says so."""
_LISTED_ANEW: Final = 200
"""Listing takes at most one part in this many of the time, however often groups come and go."""
_SELDOM_NS: Final = 10_000_000_000
"""The time between listings of version 1 trees, which do not tell changes, and between retries of refused files."""
_ONE_IN: Final = 5
"""One reading in this many is of every file; the others skip files that hardly ever change."""
_ONE_IN_RESTED: Final = 10
"""One reading in this many is of every file of a group that has rested for longer than `_WRITTEN_NS`."""
_ALWAYS: Final = frozenset({"io.stat", "blkio.throttle.io_service_bytes"})
"""Files that change while no task of the group runs, because its writes reach the disk later."""
_WRITTEN_NS: Final = 60_000_000_000
"""How long writes may follow a group's last change: data of 30 s is written every 5 s (dirty_expire_centisecs)."""
_CONTROLLERS: Final = frozenset(file.controller for file in FILES)


@dataclass(frozen=True, slots=True)
class _Place:
    group: Group
    directories: Mapping[str, str]  # its directories by controller
    controllers: frozenset[str]  # the controllers of these directories
    paths: Mapping[str, str]  # the path of every possible file, by its id


class CgroupReader:
    """Reads every control group."""

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
        """Return why there are no control groups to read; None if there are some."""
        if self._trees:
            return None
        return Unavailable(Reason.NO_DRIVER, "/proc/self/mountinfo names no mounted tree of control groups",
                           "mount -t cgroup2 cgroup2 /sys/fs/cgroup")

    @property
    def open_files(self) -> int:
        """Return the number of files that are kept open."""
        return len(self._files)

    def want(self, wanted: Iterable[Quantity]) -> None:
        """Read these quantities from now on."""
        wanted = frozenset(wanted) & QUANTITIES
        if wanted != self._wanted:
            self._wanted = wanted
            self._plans.clear()
            self._files.close()  # close the files; those still wanted are opened again

    def directory(self, key: str) -> str:
        """Return a group's directory, preferably that of version 2; "" if the group is gone."""
        place = self._places.get(key)
        return "" if place is None else next(iter(place.directories.values()), "")

    def read(self) -> GroupMoment:
        """Read every group, leaving out groups that vanish meanwhile."""
        wall_ns = self._host.wall_ns()
        at_ns = self._files.read_ns = self._host.now_ns()
        self._rounds += 1
        self._list_where_needed(at_ns)
        samples: dict[str, GroupSample] = {}
        for at, (key, place) in enumerate(self._places.items()):
            try:
                samples[key] = self._sample(at, key, place, self._at_rest_above(place, samples))
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

    def _at_rest_above(self, place: _Place, samples: Mapping[str, GroupSample]) -> tuple[int, int]:
        """Return when the parent group was just seen to rest, and how far that may be off in ns.

        0 if it did not rest, or does not count this group.
        """
        parent = place.group.parent
        if parent is None or parent == WHOLE:
            return 0, 0
        above, around = samples.get(parent), self._places.get(parent)
        alike = around is not None and around.controllers == place.controllers
        return (0, 0) if above is None or not alike else (above.at_ns, above.unsure_ns)

    def _sample(self, at: int, key: str, place: _Place, above: tuple[int, int]) -> GroupSample:
        files, gives = self._plan(place.controllers)
        last = self._last.get(key)
        rested = last is not None and last.since_ns and last.at_ns - last.since_ns > _WRITTEN_NS
        later = (self._rounds + at) % (_ONE_IN_RESTED if rested else _ONE_IN)
        serial = self._serials.get(key, 0)
        if last is not None and (last.serial != serial or last.gives is not gives):
            last = None
        sleeping = last if later and last is not None and last.since_ns and "cpu_usec" in gives else None
        sample = None if sleeping is None or not above[0] else self._asleep(place, files, sleeping, above)
        if sample is not None:
            self._last[key] = sample
            return sample
        readings: dict[str, FileReading] = {}
        absent: dict[str, Unavailable] = {}
        moved, began_ns = False, self._files.read_ns
        for file in files:
            then = None if last is None else last.readings.get(file.id)
            if then is not None and later and file.seldom:
                readings[file.id] = then
                continue
            reading = self._files.read(place.paths[file.id], file.parse)
            if isinstance(reading, Unavailable):
                absent[file.id] = reading
                continue
            readings[file.id] = reading
            moved |= then is None or reading.values is not then.values
            if sleeping is not None and not moved and "cpu_usec" in file.gives:
                sample = self._asleep(place, files, sleeping, (reading.at_ns, reading.unsure_ns))
                if sample is not None:
                    self._last[key] = sample
                    return sample
        if last is not None and not moved and absent == last.absent:
            ended_ns = self._files.read_ns
            sample = _rested(last, (began_ns + ended_ns) >> 1, (ended_ns - began_ns) >> 1)
        else:
            sample = GroupSample(place.group, serial, readings, absent, gives)
        self._last[key] = sample
        return sample

    def _asleep(self, place: _Place, files: Iterable[GroupFile], last: GroupSample,
                at: tuple[int, int]) -> GroupSample | None:
        """Make the sample of a group that used no CPU time; None if its storage traffic changed."""
        if at[0] - last.since_ns < _WRITTEN_NS:
            for file in files:
                if file.id in _ALWAYS and file.id in last.readings:
                    storage = self._files.read(place.paths[file.id], file.parse)
                    if isinstance(storage, Unavailable) or storage.values is not last.readings[file.id].values:
                        return None
        return _rested(last, *at)

    def _plan(self, controllers: frozenset[str]) -> tuple[tuple[GroupFile, ...], Mapping[Quantity, str]]:
        """Return the files of groups in these trees, and the file of each quantity."""
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
        """List the groups if they changed and were not listed just now."""
        since = now_ns - self._listed_ns
        if not self._stale:
            self._stale = self._changed() or since > _SELDOM_NS
        if self._stale and (not self._places or since > _LISTED_ANEW * self._listing_ns):
            self._list()
            self._stale, self._listed_ns = False, self._host.now_ns()
            self._listing_ns = self._listed_ns - now_ns
            self._descendants = self._descendants_now()

    def _changed(self) -> bool:
        """Tell whether the number of version 2 groups changed; a replaced group is noticed when reading it fails."""
        return self._unified is not None and self._descendants_now() != self._descendants

    def _descendants_now(self) -> object:
        if self._unified is None:
            return None
        try:
            reading = self._files.read(f"{self._unified.top}/cgroup.stat", _descendants)
        except GoneError:
            return None
        return reading if isinstance(reading, Unavailable) else dict(reading.values)

    def _list(self) -> None:
        listed: dict[str, dict[str, str]] = {}
        self._complete = True
        for controller, tree in self._trees.items():
            groups = find_groups(self._host, tree, MOST_GROUPS)
            self._complete &= groups.complete
            for directory in groups.directories:
                listed.setdefault(tree.name(directory), {})[controller] = directory
        self._files.retry()
        before = self._places
        paths = sorted(listed, key=lambda path: path.strip("/").split("/") if path != "/" else [])  # parents first
        self._places = {path: _kept(before.get(path), path, listed[path]) for path in paths}
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
    group = Group(CGROUP, path, path if name is None else _in_words(name.text, path, name.path))
    paths = {file.id: f"{directories[file.controller]}/{file.name}" for file in FILES if file.controller in directories}
    return _Place(group, directories, frozenset(directories), paths)


def _rested(last: GroupSample, at_ns: int, unsure_ns: int) -> GroupSample:
    """Make the sample of a resting group: its last readings, still valid at a later time."""
    return GroupSample(last.group, last.serial, last.readings, last.absent, last.gives, last.since_ns or at_ns, at_ns,
                       unsure_ns, last.still or StillRow())


def _in_words(text: str, path: str, named: str) -> str:
    """Return a group's name for people: the last part of its path if only an outer group has a known name."""
    return text if named == path and text != path else path.rpartition("/")[2] or path


def _trees(host: Host) -> dict[str, Hierarchy]:
    """Return the mounted trees by controller; the first mount if a tree is mounted twice."""
    trees: dict[str, Hierarchy] = {}
    for tree in hierarchies(host):
        controllers = (UNIFIED,) if tree.version == 2 else tuple(sorted(tree.controllers & _CONTROLLERS))
        for controller in controllers:
            if _is_there(host, tree):
                trees.setdefault(controller, tree)
    return dict(sorted(trees.items()))


def _is_there(host: Host, tree: Hierarchy) -> bool:
    try:
        host.list_dir(tree.top)
    except HostError:
        return False
    return True


def _descendants(content: bytes) -> Mapping[Quantity, int | float | Unavailable]:
    return {"descendants": integer(words_by_name(content)[b"nr_descendants"])}
