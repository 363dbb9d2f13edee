"""Command lines that the user may run for a group; turbotui shows and copies them, and never runs one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from operator import attrgetter
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.groups.model import CGROUP, CONTROL, WHOLE, Group
from turbotui.machine.cgroups import hierarchies
from turbotui.machine.host import Host
from turbotui.machine.resctrl import USUAL, resctrl_groups, resctrl_info, resctrl_mount
from turbotui.machine.tasks.group_names import GroupName, group_name
from turbotui.widgets.command_lines import CommandLine, CommandRow, lines_for, quoted, unit_commands


@dataclass(frozen=True, slots=True)
class GroupTarget:
    """The group that command lines are for."""

    kind: str  # the kind of the row
    path: str  # the group's path
    directory: str  # the group's directory; "" if unknown
    resctrl: str = ""  # the mount point of resctrl; "" if not mounted
    rmids: str = ""  # the numbers of existing and possible groups, "3 of 255"; "" if unknown
    # the group's directories of version 1 by controller, "cpu", "memory"
    old: Mapping[str, str] = field(default_factory=dict, hash=False)
    counters: str = ""  # bandwidth counters that can still be assigned, "0=30;1=30"; "" if each group has its own


def _unit(target: GroupTarget) -> GroupName | None:
    """Return the systemd unit of a control group itself, not of an outer group; None if there is none."""
    name = group_name((target.path,)) if target.kind == CGROUP else None
    return name if name is not None and name.path == target.path else None


def _line(text: str, fits: Callable[[GroupTarget], bool],
          place_of: Callable[[GroupTarget], str] = attrgetter("directory")) -> Callable[[GroupTarget], str | None]:
    """Make a line with a {place} of a group, its directory unless another is named, for the groups that it fits."""
    def line(target: GroupTarget) -> str | None:
        place = quoted(place_of(target))
        return text.format(place=place) if fits(target) and place is not None else None

    return line


def _is_inner(target: GroupTarget) -> bool:
    """Whether a group is a control group other than the outermost one."""
    return target.kind == CGROUP and target.path != WHOLE


def _is_resctrl(target: GroupTarget) -> bool:
    return target.kind != CGROUP


def _in_old(controller: str, text: str) -> Callable[[GroupTarget], str | None]:
    """Make a line with a group's directory in the tree of a version 1 controller."""
    return _line(text, _is_inner, lambda target: target.old.get(controller, ""))


def _has_counters(target: GroupTarget) -> bool:
    return target.kind != CGROUP and bool(target.counters)


def _any_directory(target: GroupTarget) -> str:
    """Return a directory of a control group: that of version 2, else the first of version 1."""
    return target.directory or next(iter(target.old.values()), "")


def _measured(target: GroupTarget) -> str | None:
    """Make the lines that put a control group's tasks into a monitor group of resctrl."""
    directory = quoted(_any_directory(target))
    name = quoted(f"{target.resctrl or USUAL}/mon_groups/{target.path.rpartition('/')[2]}")
    if not _is_inner(target) or directory is None or name is None:
        return None
    threads = "cgroup.threads" if target.directory else "tasks"
    return f'mkdir {name} && while read -r pid; do echo "$pid" > {name}/tasks; done < {directory}/{threads}'


_SHARE: Final = "Its share"
_MEASURE: Final = "Measure its caches, bandwidth and energy (resctrl)"
_LOOK: Final = "Look at it"
_HALF_A_CPU, _FIFTH, _STATUS = unit_commands(_unit, _SHARE, _LOOK)
_ACTS: Final[tuple[CommandRow[GroupTarget], ...]] = (
    _HALF_A_CPU,
    _FIFTH,
    CommandRow(_SHARE, _line('echo "200000 100000" > {place}/cpu.max', _is_inner),
               "At most two CPUs: 200 ms in every 100 ms. Its manager may write its own value again."),
    CommandRow(_SHARE, _line("echo max > {place}/cpu.max", _is_inner), "No quota any more."),
    CommandRow(_SHARE, _line("echo 8G > {place}/memory.high", _is_inner),
               "From 8 GiB on it is slowed down and its memory is reclaimed; nothing is ended."),
    CommandRow(_SHARE, _in_old("cpu", "echo 200000 > {place}/cpu.cfs_quota_us"),
               "At most two CPUs, where cpu.cfs_period_us is 100000. Its manager may write its own value again."),
    CommandRow(_SHARE, _in_old("cpu", "echo -1 > {place}/cpu.cfs_quota_us"), "No quota any more."),
    CommandRow(_SHARE, _in_old("memory", "echo 8G > {place}/memory.soft_limit_in_bytes"),
               "When memory is short what the group has beyond 8 GiB is reclaimed first; nothing is ended."),
    CommandRow(_MEASURE, lambda target: None if target.resctrl else f"mount -t resctrl resctrl {USUAL}",
               "Mounts resctrl, where the processor monitors caches and bandwidth; costs nothing before there are "
               "groups."),
    CommandRow(_MEASURE, _measured,
               "Makes a monitor group and moves the threads of the group into it{rmids}. Threads that they make later "
               "follow. A thread is in one monitor group only: others lose it. To end it: rmdir."),
    CommandRow(_MEASURE, _line("cat {place}/tasks", _is_resctrl), "Prints the threads in it."),
    CommandRow(_MEASURE, _line("cat {place}/schemata", _is_resctrl),
               "Prints how much of caches and bandwidth it may use."),
    CommandRow(_MEASURE, _line("mkdir {place}/mon_groups/NAME && echo TID > {place}/mon_groups/NAME/tasks",
                               lambda target: target.kind == CONTROL),  # a MON group cannot contain another one
               "Makes a monitor group in it and moves a thread into that: put a name for NAME and its number for "
               "TID{rmids}. Threads that it makes later follow."),
    CommandRow(_MEASURE, _line("cat {place}/mbm_L3_assignments", _has_counters),
               "Prints which counters of bandwidth the group has in each domain."),
    CommandRow(_MEASURE, _line("echo 'mbm_total_bytes:*=e' > {place}/mbm_L3_assignments", _has_counters),
               "Has the group's bandwidth counted in every domain, which takes a counter of each (free: {counters}). "
               "Where none is free it fails; _ in place of e gives them back."),
    CommandRow(_MEASURE, _line("rmdir {place}", lambda target: _is_resctrl(target) and target.path != WHOLE),
               "Removes the group: its threads go back to the outermost one, its RMID is free again."),
    _STATUS,
    CommandRow(_LOOK, _line("cat {place}/cgroup.procs", _is_inner, _any_directory),
               "Prints its processes, without those in groups below."),
    CommandRow(_LOOK, _line("systemd-cgls {place}", _is_inner),
               "Prints its processes and the groups in it as a tree."),
    CommandRow(_LOOK, _line("turbotui tasks --cgroup {place} -i 1", _is_inner, attrgetter("path")),
               "Its threads, a table a second."),
)


def target_of(host: Host, group: Group) -> GroupTarget:
    """Make the target of a row, finding a control group's directories in every tree."""
    top = resctrl_mount(host)
    rmids, info = "", resctrl_info(host, top) if top else None
    if info is not None and info.rmids is not None:
        rmids = f"{len(resctrl_groups(host, top))} of {info.rmids}"
    if group.kind != CGROUP:
        return GroupTarget(group.kind, group.path, f"{top}{group.path}".rstrip("/"), top, rmids,
                           counters="" if info is None else info.counters)
    trees = hierarchies(host)
    new = (tree.directory(group.path) for tree in trees if tree.version == 2)
    old = {controller: directory for tree in trees if tree.version == 1 for controller in sorted(tree.controllers)
           if host.exists(directory := tree.directory(group.path))}
    return GroupTarget(CGROUP, group.path, next((path for path in new if host.exists(path)), ""), top, rmids, old)


def group_lines(target: GroupTarget) -> tuple[CommandLine, ...]:
    """Return the command lines that apply to a group; those about resctrl state their cost."""
    costs = f", which takes one RMID ({target.rmids} are taken)" if target.rmids else ", which takes one RMID"
    return tuple(replace(line, meaning=line.meaning.replace("{rmids}", costs).replace(
        "{counters}", target.counters)) for line in lines_for(_ACTS, target))
