"""Reads the groups of resctrl periodically: caches, bandwidth, and energy if the processor counts it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.groups.files import OCCUPANCY, Quantity
from turbotui.features.groups.model import (
    CONTROL,
    DOMAIN,
    MONITOR,
    NODE,
    SUB_NODE,
    Group,
    GroupMoment,
    GroupRow,
    GroupSample,
    rows_between,
)
from turbotui.machine.host import Host
from turbotui.machine.open_files import FileReading, GoneError, OpenFiles, Values
from turbotui.machine.resctrl import (
    UNASSIGNED,
    ResctrlInfo,
    domains_of,
    event_value,
    events_of,
    nodes_of,
    resctrl_groups,
    resctrl_info,
    resctrl_mount,
    why_no_resctrl,
)
from turbotui.quantities.unavailable import Unavailable

_LISTED_NS: Final = 5_000_000_000
"""Seconds between listings of groups, because nothing tells when a group is made."""


def _values(quantity: Quantity, content: bytes) -> Values:
    return {quantity: event_value(content)}


@dataclass(frozen=True, slots=True)
class _Place:
    group: Group
    files: Mapping[Quantity, str]  # path of each quantity, "L3 00 llc_occupancy"
    gives: Mapping[Quantity, str]  # the file's id of each quantity, which equals the quantity


class ResctrlReader:
    """Reads every group of resctrl, with the wanted events ("llc_occupancy"; None for all)."""

    def __init__(self, host: Host, wanted: Iterable[Quantity] | None = None) -> None:
        self._host = host
        self._wanted = None if wanted is None else frozenset(wanted)
        self._files = OpenFiles(host)
        self._top = resctrl_mount(host)
        self._places: dict[str, _Place] = {}
        self._serials: dict[str, int] = {}
        self._listed_ns: int | None = None

    @property
    def why_none(self) -> Unavailable | None:
        """Return why there are no groups to read; None if there are some."""
        return None if self._top else why_no_resctrl(self._host)

    @property
    def info(self) -> ResctrlInfo:
        """Read again what resctrl can monitor."""
        return resctrl_info(self._host, self._top)

    def want(self, wanted: Iterable[Quantity]) -> None:
        """Read these events from now on."""
        wanted = frozenset(wanted)
        if wanted != self._wanted:
            self._wanted, self._listed_ns = wanted, None

    def read(self) -> GroupMoment:
        """Read every group, leaving out groups that vanish meanwhile."""
        wall_ns = self._host.wall_ns()
        at_ns = self._files.read_ns = self._host.now_ns()
        if self._listed_ns is None or at_ns - self._listed_ns > _LISTED_NS:
            self._list()
            self._listed_ns = at_ns
        samples: dict[str, GroupSample] = {}
        silent: dict[tuple[str | None, Quantity], Unavailable] = {}
        for key, place in self._places.items():
            try:
                samples[key] = self._sample(key, place)
            except GoneError:
                self._listed_ns = None
                self._serials[key] = self._serials.get(key, 0) + 1
                for path in place.files.values():
                    self._files.forget(path)
                continue
            silent |= {(place.group.parent, quantity): replace(UNASSIGNED, detail=f"{key}: {UNASSIGNED.detail}")
                       for quantity, reading in samples[key].readings.items() if reading.values[quantity] is UNASSIGNED}
        # the sum of a CTRL_MON group lacks, without a word, MON groups in it that have no counter
        for (outer, quantity), why in silent.items():
            sample = samples.get(outer or "")
            if sample is not None and quantity in sample.readings:
                reading = sample.readings[quantity]._replace(values={quantity: why})
                samples[sample.group.key] = replace(sample, readings={**sample.readings, quantity: reading})
        return GroupMoment(wall_ns, at_ns, samples)

    def close(self) -> None:
        """Close every file."""
        self._files.close()

    def _sample(self, key: str, place: _Place) -> GroupSample:
        readings: dict[str, FileReading] = {}
        absent: dict[str, Unavailable] = {}
        for quantity, path in place.files.items():
            reading = self._files.read(path, partial(_values, quantity))
            if isinstance(reading, Unavailable):
                absent[quantity] = reading
            else:
                readings[quantity] = reading
        return GroupSample(place.group, self._serials.get(key, 0), readings, absent, place.gives)

    def _list(self) -> None:
        before = self._places
        self._places = {}
        events: dict[str, Sequence[str]] = {}  # of a domain: the same in every group
        nodes: dict[str, Sequence[str]] = {}  # likewise
        for group in resctrl_groups(self._host, self._top):
            files: dict[Quantity, str] = {}
            for domain, directory in domains_of(self._host, group.directory).items():
                if domain not in events:
                    events[domain] = events_of(self._host, directory)
                    nodes[domain] = tuple(nodes_of(self._host, directory))
                places = {domain: directory, **{f"{domain}{NODE}{node}": f"{directory}/mon_sub_L3_{node}"
                                                for node in nodes[domain]}}
                files |= {f"{place} {event}": f"{at}/{event}" for place, at in places.items()
                          for event in events[domain] if self._wanted is None or event in self._wanted}
            made = Group(MONITOR if group.is_monitor else CONTROL, group.path, group.name)
            self._places[made.key] = _Place(made, files, {quantity: quantity for quantity in files})
        self._files.retry()
        there = {path for place in self._places.values() for path in place.files.values()}
        for place in before.values():
            for path in place.files.values():
                if path not in there:
                    self._files.forget(path)


def resctrl_rows(older: GroupMoment | None, newer: GroupMoment) -> Sequence[GroupRow]:
    """Compute all groups' rows between two moments, each followed by its domains."""
    return with_domains(rows_between(older, newer))


def with_domains(groups: Iterable[GroupRow]) -> Sequence[GroupRow]:
    """Return the rows of groups, each followed by its domains."""
    rows: list[GroupRow] = []
    for row in groups:
        parts = tuple(dict.fromkeys(quantity.rpartition(" ")[0] for quantity in row.files))
        rows.append(replace(row, domains=tuple(part for part in parts if NODE not in part)))
        rows += [replace(row, group=_part(row.group.path, part), domains=(part,)) for part in parts]
    return rows


def _part(path: str, part: str) -> Group:
    """Make the row of a group's domain, or of a sub-NUMA node of a domain."""
    domain, mark, node = part.partition(NODE)
    return Group(SUB_NODE if mark else DOMAIN, path, f"node {node}" if mark else domain, part)


def events_in(rows: Iterable[GroupRow]) -> tuple[Quantity, ...]:
    """Return the events of some groups, the occupancy first."""
    events = dict.fromkeys(quantity.rpartition(" ")[2] for row in rows if not row.group.domain
                           for quantity in row.files)
    return tuple(sorted(events, key=lambda event: event != OCCUPANCY))
