"""The kernel's resource control file system (resctrl): groups, domains, and monitored events.

Intel's RDT, AMD's PQoS and Arm's MPAM have the same files: kernel Documentation/filesystems/resctrl.rst;
docs/specs/groups.md 2.1. This module only reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host
from turbotui.machine.small_files import names_in, text_of
from turbotui.machine.view import read_view
from turbotui.quantities.plain_numbers import decimal, integer, numbers_among
from turbotui.quantities.unavailable import Reason, Unavailable

USUAL: Final = "/sys/fs/resctrl"
_FILESYSTEMS: Final = "/proc/filesystems"
_MON_GROUPS: Final = "mon_groups"
_NO_GROUPS: Final = frozenset({"info", "mon_data", _MON_GROUPS})
_DOMAIN: Final = re.compile(r"mon_(?P<resource>\w+)_(?P<number>\d+)\Z", re.ASCII)
_NODE: Final = re.compile(r"mon_sub_L3_(?P<number>\d+)\Z", re.ASCII)
_FEATURES: Final = re.compile(r"(?P<resource>\w+)_MON\Z", re.ASCII)
OCCUPANCY: Final = "llc_occupancy"
"""The event of the bytes that a group has in a cache; the other events are counters."""
UNASSIGNED: Final = Unavailable(
    Reason.NOT_SET, "resctrl says Unassigned: no counter of bandwidth is assigned to this group (mbm_event)",
    "echo 'mbm_total_bytes:*=e' > mbm_L3_assignments in the group's directory, where available_mbm_cntrs has one")
_WORDS: Final[Mapping[bytes, Unavailable]] = {
    b"Unavailable": Unavailable(
        Reason.NOT_READ, "resctrl says Unavailable: the hardware has no count of this group at the moment (it has just "
        "been made, or hardware follows fewer groups than there are)"),
    b"Unassigned": UNASSIGNED,
    b"Error": Unavailable(Reason.FAILED, "resctrl says Error: the hardware refused the read"),
}


@dataclass(frozen=True, slots=True)
class ResctrlGroup:
    """A group of tasks or CPUs that hardware counts together."""

    path: str  # below the mount: "/", "/batch", "/batch/mon_groups/one"
    directory: str  # the group's directory

    @property
    def is_monitor(self) -> bool:
        """Whether the group is a MON group, a part of a CTRL_MON group whose counts include it."""
        return f"/{_MON_GROUPS}/" in self.path

    @property
    def outer(self) -> str | None:
        """The path of the CTRL_MON group that contains a MON group; None for a CTRL_MON group."""
        return self.path.rpartition(f"/{_MON_GROUPS}/")[0] or "/" if self.is_monitor else None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2] or "default group"


@dataclass(frozen=True, slots=True)
class ResctrlInfo:
    """A mounted resctrl filesystem and its options."""

    top: str  # the mount point
    # monitored events by resource: {"L3": ("llc_occupancy",)}
    events: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    rmids: int | None = None  # the most groups that can be monitored; None if unknown
    mode: str = ""  # how bandwidth counters are assigned to groups, "mbm_event"; "" if hardware has one for each group
    counters: str = ""  # free bandwidth counters of each domain, as "0=30;1=30"; "" if hardware has one for each group

    def in_words(self, groups: int) -> str:
        """Return how many of the possible resctrl groups are monitored, and which events count."""
        room = f"{groups} of {self.rmids}" if self.rmids is not None else str(groups)
        events = "; ".join(f"{resource}: {', '.join(names)}" for resource, names in self.events.items())
        free = {count for _domain, _, count in (word.partition("=") for word in self.counters.split(";"))}
        counters = f"{min(free)} in each domain" if len(free) == 1 and ";" in self.counters else self.counters
        mode = f"; counters of bandwidth are assigned ({self.mode}), free: {counters}" if self.counters else ""
        return f"{room} RMIDs are taken; {events}{mode}"


def event_value(content: bytes) -> int | float | Unavailable:
    """Parse an event file: a number, or the reason in its place. Raises ValueError if the content is neither."""
    word = content.strip()
    if (reason := _WORDS.get(word)) is not None:
        return reason
    return integer(word) if word.isdigit() else decimal(word)


def assignment_mode(host: Host, top: str) -> str:
    """Return how counters of bandwidth are assigned to groups, "mbm_event"; "" if hardware has one for each group."""
    mode = re.search(r"\[(\w+)\]", text_of(host, f"{top}/info/L3_MON/mbm_assign_mode"))
    return "" if mode is None else mode[1]


def resctrl_mount(host: Host) -> str:
    """Return the mount point of resctrl (proc_pid_mountinfo(5)); "" if it is not mounted."""
    return next((mount.point for mount in read_view(host).mounts if mount.kind == "resctrl"), "")


def why_no_resctrl(host: Host) -> Unavailable:
    """Return why there is no resctrl: not built, no hardware, or not mounted."""
    if "resctrl" in text_of(host, _FILESYSTEMS):
        return Unavailable(Reason.NOT_SET, "resctrl is not mounted", f"mount -t resctrl resctrl {USUAL}")
    if (hidden := read_view(host).hidden(_FILESYSTEMS)) is not None:
        return hidden
    return Unavailable(Reason.NO_HARDWARE, "/proc/filesystems has no resctrl: the processor monitors no caches and "
                       "bandwidth by group (RDT, PQoS, MPAM), or the kernel was built without it")


def resctrl_info(host: Host, top: str) -> ResctrlInfo:
    """Read monitoring features, and the number of groups: the least number of RMIDs of all resources."""
    events: dict[str, tuple[str, ...]] = {}
    rmids: list[int] = []
    for name in names_in(host, f"{top}/info"):
        if (match := _FEATURES.match(name)) is None:
            continue
        folder = f"{top}/info/{name}"
        events[match["resource"]] = tuple(text_of(host, f"{folder}/mon_features").split())
        rmids += numbers_among([text_of(host, f"{folder}/num_rmids").strip()])
    return ResctrlInfo(top, events, min(rmids, default=None), assignment_mode(host, top),
                       text_of(host, f"{top}/info/L3_MON/available_mbm_cntrs").strip())


def resctrl_groups(host: Host, top: str) -> tuple[ResctrlGroup, ...]:
    """Return every group: the default one first, and each CTRL_MON group before its MON groups."""
    groups: list[ResctrlGroup] = []
    for path in ("", *(f"/{name}" for name in names_in(host, top) if name not in _NO_GROUPS)):
        directory = f"{top}{path}"
        if not host.exists(f"{directory}/tasks"):
            continue
        groups.append(ResctrlGroup(path or "/", directory))
        groups += [ResctrlGroup(f"{path}/{_MON_GROUPS}/{name}", f"{directory}/{_MON_GROUPS}/{name}")
                   for name in names_in(host, f"{directory}/{_MON_GROUPS}")]
    return tuple(groups)


def domains_of(host: Host, directory: str) -> Mapping[str, str]:
    """Return the directories of the domains in which a group is monitored, by name ("L3 00")."""
    names = names_in(host, f"{directory}/mon_data")
    matches = ((name, _DOMAIN.match(name)) for name in names)
    return {f"{match['resource']} {match['number']}": f"{directory}/mon_data/{name}"
            for name, match in matches if match is not None}


def nodes_of(host: Host, domain: str) -> Mapping[str, str]:
    """Return the directories of a domain's sub-NUMA nodes, by number ("01"); none if each cache is one node."""
    matches = ((name, _NODE.match(name)) for name in names_in(host, domain))
    return {match["number"]: f"{domain}/{name}" for name, match in matches if match is not None}


def events_of(host: Host, domain: str) -> tuple[str, ...]:
    """Return the events of a domain, one for each file; directories of sub-NUMA nodes are left out."""
    return tuple(name for name in names_in(host, domain) if not name.startswith("mon_"))
