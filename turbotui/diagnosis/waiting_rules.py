"""Rules about waiting: for a CPU, a quota, memory, swap space or storage."""

from __future__ import annotations

from typing import Final

from turbotui.diagnosis.rules import (
    Certainty,
    JudgedFrame,
    NoFinding,
    Observed,
    RankedBy,
    SlownessRule,
    name_of,
    opening,
)
from turbotui.quantities.marks import above_peak, sign_above_peak
from turbotui.quantities.sentences import several
from turbotui.quantities.unavailable import Reason, Unavailable

_FULL: Final = 80.0  # percent of the machine's time; below, tasks that wait for a CPU also wait for something else
_OVERLOAD: Final = 0.1  # share of the wanted CPU time that tasks wait for
_CPU_PRESSURE: Final = 15.0
_QUOTA: Final = 5.0  # percent of the periods
_QUOTA_SHARE: Final = 0.5  # share of a period that is lost when the quota was used up, if nothing gives it
_MEMORY: Final = 5.0  # percent of the time
_RECLAIMS: Final = 100.0  # a second
_SHORT_LOST: Final = 0.02  # share of the work, if the waits themselves are shorter or not counted
_MUCH_LEFT: Final = 20.0  # percent of memory; with this much left nobody waits for the machine's memory
_GROUP_MEMORY: Final = (
    "cat memory.max memory.high memory.events of the group (memory.limit_in_bytes, memory.failcnt of version 1) show "
    "its limit; systemctl set-property UNIT MemoryMax=SIZE MemoryHigh=SIZE gives it more"
)
_GROUP_IS_SHORT: Final = ", so what is short is a control group's limit"
_STORAGE: Final = 12.0
_SWAPPED_IN: Final = 100.0  # pages a second
_SWAP_SECONDS: Final = 100e-6  # seconds to read a page back from a fast disk
_SLOW_SWAP_SECONDS: Final = 1e-3  # the same with many readers, or from a slow disk
_MEMORY_FULL: Final = 0.75  # share of the sheet's peak; refreshes and bus turnarounds leave hardly more
_LEVELS: Final = "memory"
"""The kind of rows of levels of memory."""
_STALLED: Final = 0.5  # share of the work that counts as lost at the peak: how much more would be done is unknown
_IOWAIT: Final = 5.0  # percent of the time of all CPUs
_IOWAIT_CPUS: Final = 0.7  # CPUs' worth of it, if little else is done
_IOWAIT_LOST: Final = 0.1
_IOWAIT_MOSTLY: Final = 0.3
_WORKING: Final = 50.0  # percent busy from which the memory may be what cores wait for


def _overload(frame: JudgedFrame) -> Observed | NoFinding:
    load, running, pressure = frame.load, frame.number("RunQ"), frame.number("PSIcpu%")
    waited = frame.number("RunDelay%")
    if load is None or (running is None and pressure is None and waited is None):
        return NoFinding.UNKNOWN
    cpus = frame.online
    if load < _FULL:
        return NoFinding.CLEAR
    working = cpus * load / 100.0
    wanting = 0.0 if running is None else running
    facts = [] if pressure is None else [f"a task waits for a CPU {pressure:.0f} % of the time"]
    if waited is not None:  # for the measured CPUs; as many wait for each of the others, which are as busy
        measured = len(frame.frame.topology.cpus)
        queued, sure = waited / 100.0 * cpus / measured, Certainty.LIKELY if measured < cpus else Certainty.CERTAIN
        facts.append(f"{waited / 100.0:,.1f} wait on average" + (
            f" for {'the one' if measured == 1 else f'the {measured:,}'} measured" if measured < cpus else ""))
    elif pressure is not None:  # at least one waits for that time, and as many as at the instant of the reading
        queued = pressure / 100.0 * max(1.0, wanting - cpus)
        sure = Certainty.LIKELY if running is None else Certainty.CERTAIN
    else:
        queued, sure = max(0.0, wanting - cpus), Certainty.LIKELY
    facts += [frame.seen.tail] if frame.seen.tail else []
    lost = queued / (queued + working)
    if lost < _OVERLOAD or (pressure is not None and pressure < _CPU_PRESSURE):
        return NoFinding.CLEAR
    # few at the instant of the reading: the mean counts
    want = f"{wanting:,.0f} tasks" if wanting > cpus else f"{queued + working:,.1f} tasks on average"
    return Observed(lost, "; ".join((f"{want} want to run on {_busy_cpus(frame, load)}", *facts)), sure)


def _busy_cpus(frame: JudgedFrame, load: float) -> str:
    """The machine's CPUs, and how busy the measured ones are."""
    cpus, measured = frame.online, len(frame.frame.topology.cpus)
    which = "which" if measured == cpus else f"of which {'the one' if measured == 1 else f'the {measured:,}'} measured"
    return f"{several(cpus, 'CPU')}, {which} {'is' if measured == 1 else 'are'} {load:.0f} % busy"


def _quota(frame: JudgedFrame) -> Observed | NoFinding:
    group, own = frame.seen.throttled, frame.number("Throttled%")
    if group is None and own is None:
        why = frame.frame.capabilities.why_missing("cgroup.throttled")
        seen = frame.seen.groups and why.reason is not Reason.HIDDEN
        return NoFinding.CLEAR if seen or why.reason is Reason.NOT_SET else NoFinding.UNKNOWN
    percent, name, quota, stood = own or 0.0, "this program's control group", frame.number("Quota"), None
    if group is not None and group.percent >= min(percent, _QUOTA):  # it has a name, and the time that was lost
        percent, name, quota, stood = group.percent, group.name, group.quota, group.stood
    if percent < _QUOTA:
        return NoFinding.CLEAR
    limit = "" if quota is None else f" ({quota:,.2f} CPUs)"
    lost = _QUOTA_SHARE * percent / 100.0
    if stood is not None and frame.load is not None:
        lost = max(0.02, stood / (stood + frame.load / 100.0 * frame.online) if stood else 0.0)
    # names of groups are long: the cause comes first, where a narrow line has room for it
    return Observed(lost, f"A CPU quota was used up in {percent:.0f} % of its periods: {name}{limit}, whose "
                    "tasks stood still then", Certainty.CERTAIN,
                    who=(name,) if group is not None and name == group.name else ())


def _memory(frame: JudgedFrame) -> Observed | NoFinding:
    some, whole, killed = frame.number("PSImem%"), frame.number("PSImemFull%"), frame.number("OOMKills")
    # without pressure counts; reclaim for a control group's own limit is not included
    reclaims = frame.number("Reclaim/s") if some is None else None
    short = reclaims is not None and reclaims >= _RECLAIMS
    if some is None and not killed and not short:
        return NoFinding.UNKNOWN
    if some is not None and some < _MEMORY and not killed:
        return NoFinding.CLEAR
    facts, full = [], whole or 0.0
    if killed:  # memory that it gave back may be what is available now
        facts.append(f"The kernel killed {several(round(killed), 'task')} for want of memory")
    if some is not None:
        facts.append(f"tasks wait for memory {some:.0f} % of the time, all of them at once {full:.0f} %")
    elif short:
        facts.append(f"tasks had to free memory {reclaims:,.0f} times a second before they got some")
    of_group = _is_of_a_group(frame) and not killed
    if (available := frame.number("MemAvail%")) is not None:
        facts.append(f"{available:.0f} % of memory is available" + (_GROUP_IS_SHORT if of_group else ""))
    return Observed(max(_SHORT_LOST, ((some or 0.0) + full) / 200.0), opening("; ".join(facts)),
                    Certainty.LIKELY if some is None and not killed else Certainty.CERTAIN,
                    remedy=_GROUP_MEMORY if of_group else "", who=frame.seen.waiting("memory"))


def _is_of_a_group(frame: JudgedFrame) -> bool:
    """Whether the machine has memory left, so that a limit of a control group makes tasks wait."""
    available = frame.number("MemAvail%")
    return available is not None and available >= _MUCH_LEFT


def _swap_explains_storage(frame: JudgedFrame) -> bool:
    """Whether the rate of pages read back from swap space explains the waits for storage."""
    back, waits = frame.number("SwapIn/s") or 0.0, frame.number("PSIio%")
    return waits is not None and back >= _SWAPPED_IN and back * _SLOW_SWAP_SECONDS * 100.0 >= waits


def _swapping(frame: JudgedFrame) -> Observed | NoFinding:
    back, out = frame.number("SwapIn/s"), frame.number("SwapOut/s")
    if back is None or out is None:
        return NoFinding.UNKNOWN
    if back < _SWAPPED_IN:
        return NoFinding.CLEAR
    lost, sure, of_group = min(1.0, max(0.03, back * _SWAP_SECONDS)), Certainty.LIKELY, _is_of_a_group(frame)
    facts = [f"{back:,.0f} pages a second are read back from swap space, {out:,.0f} are written to it"]
    some, full = frame.number("PSIio%"), frame.number("PSIioFull%") or 0.0
    if some is not None and some >= _STORAGE and _swap_explains_storage(frame):
        lost, sure = max(lost, (some + full) / 200.0), Certainty.CERTAIN
        facts.append(f"tasks wait for storage {some:.0f} % of the time")
    free, available = frame.number("SwapFree%"), frame.number("MemAvail%")
    if free is not None:
        facts.append(f"{free:.0f} % of swap space is free")
    if of_group:
        facts.append(f"{available:.0f} % of memory is available{_GROUP_IS_SHORT}")
    return Observed(lost, "; ".join(facts), sure, remedy=_GROUP_MEMORY if of_group else "",
                    who=frame.seen.waiting("memory"))


def _storage(frame: JudgedFrame) -> Observed | NoFinding:
    some, whole, waits = frame.number("PSIio%"), frame.number("PSIioFull%"), frame.number("iowait%")
    if some is None:
        return NoFinding.UNKNOWN if frame.can("PSIio%") else _by_iowait(frame)
    full = whole or 0.0
    if some < _STORAGE:
        return NoFinding.CLEAR
    facts = [f"Tasks wait for storage {some:.0f} % of the time, all of them at once {full:.0f} %"]
    if blocked := frame.number("Blocked"):
        facts.append(f"{blocked:,.0f} {'waits' if blocked == 1 else 'wait'} at this instant")
    if waits:
        facts.append(f"iowait is {waits:.1f} %")
    if _swap_explains_storage(frame):
        facts.append("pages are read back from swap space meanwhile")
    return Observed((some + full) / 200.0, "; ".join(facts), Certainty.CERTAIN, who=frame.seen.waiting("io"))


def _by_iowait(frame: JudgedFrame) -> Observed | NoFinding:
    """Judge without pressure counts by idle time booked while a task waited, which is only a hint."""
    waits, load = frame.number("iowait%"), frame.number("Load%")
    if waits is None or load is None:
        return NoFinding.UNKNOWN
    cpus = waits / 100.0 * len(frame.frame.topology.cpus)
    lost = waits / (waits + load) if waits + load else 0.0
    much, mostly = waits >= _IOWAIT and lost >= _IOWAIT_LOST, cpus >= _IOWAIT_CPUS and lost >= _IOWAIT_MOSTLY
    if not (much or mostly) or not frame.lasts(waits, len(frame.frame.topology.cpus)):
        return NoFinding.CLEAR
    return Observed(lost, f"{waits:.1f} % of the CPUs' time is spent idle with a task waiting for storage (iowait), "
                          f"{cpus:.1f} CPUs' worth", Certainty.LIKELY)


def _bandwidth(frame: JudgedFrame) -> Observed | NoFinding:
    memory = frame.memory
    known = None if isinstance(memory, Unavailable) else memory
    share = 0.0 if known is None else known.rate / known.peak
    node = _fullest_node(frame)
    who = "" if frame.seen.mover is None else f"; {frame.seen.mover.words}"
    if node is not None and node[1] / node[2] >= _MEMORY_FULL and node[1] / node[2] > share:
        name, rate, peak = node
        return Observed(
            min(1.0, _STALLED * rate / peak),
            f"The memory of {name} moves {rate * 1e-9:,.0f} of {peak * 1e-9:,.0f} GB/s for L3 caches, "
            f"{_share_of_peak(rate / peak)}{who}", Certainty.POSSIBLE if above_peak(rate / peak) else Certainty.LIKELY)
    if known is None:
        return NoFinding.NOT_ASKED if memory is None else NoFinding.UNKNOWN
    if share < _MEMORY_FULL:
        return NoFinding.CLEAR
    limit = "at most " if known.at_most else ""
    return Observed(
        min(1.0, _STALLED * share),
        f"The memory of {name_of(frame, known.row)} moves {known.rate * 1e-9:,.0f} of {limit}"
        f"{known.peak * 1e-9:,.0f} GB/s, {_share_of_peak(share)}{who}",
        Certainty.POSSIBLE if known.at_most or above_peak(share) else Certainty.LIKELY, known.row,
    )


def _share_of_peak(share: float) -> str:
    if sign := sign_above_peak(share):
        return (f"{100 * share:.0f} %{sign} of its peak, more than it can: what is counted, or what is known"
                " of its modules, is wrong; cores may wait for it")
    return f"{100 * share:.0f} % of its peak: cores wait for it"


def _fullest_node(frame: JudgedFrame) -> tuple[str, float, float] | None:
    """Name, bytes a second and peak of the node whose memory is nearest to its peak; None if none is known.

    Of more than two nodes the bytes are the least that they can be.
    """
    levels = frame.frame.kind(_LEVELS)
    if isinstance(levels, Unavailable):
        return None
    rates = levels.rates("own")
    nodes = [(row.name, rate, peak) for slot, row in levels.newer.roster.rows.items() if row.name.startswith("node ")
             and (rate := rates[slot]) is not None and (peak := levels.level("peak_bytes_per_second", slot))]
    return max(nodes, key=lambda node: node[1] / node[2], default=None)


OVERLOAD: Final = SlownessRule(
    "overload", "more tasks want to run than there are CPUs",
    (("Load%", "Busy%"), ("RunQ", "PSIcpu%", "RunDelay%")), _overload, "run queue and pressure", "7",
    "renice 10 -p PID or systemctl set-property UNIT CPUWeight=20 lets the others go first; fewer jobs at once "
    "(make -j) get done as fast", RankedBy.WAIT, ("PSIcpu%", "RunDelay%"),
)
QUOTA: Final = SlownessRule(
    "quota", "a CPU quota that is used up", (("Throttled%",),), _quota, "CPU quotas", "7",
    "systemctl set-property UNIT CPUQuota= (or the container's limit) gives it more; cat cpu.max and cpu.stat of the "
    "group (version 1: cpu.cfs_quota_us) show limit and counts", RankedBy.NOBODY, ("Quota",),
)
MEMORY: Final = SlownessRule(
    "memory", "waits for memory", (("PSImem%",),), _memory, "memory pressure", "7",
    "ps -eo pid,comm,rss --sort=-rss | head names the largest; systemctl set-property UNIT MemoryHigh=SIZE bounds one",
    RankedBy.FAULTS, ("PSImemFull%", "MemAvail%", "OOMKills", "Reclaim/s"),
)
SWAPPING: Final = SlownessRule(
    "swapping", "memory that is read back from swap space", (("SwapIn/s",), ("SwapOut/s",)), _swapping, "swap counts",
    "7", "grep VmSwap /proc/*/status names who is swapped out; less at once, or more memory, helps", RankedBy.FAULTS,
    ("SwapFree%", "MemAvail%", "PSImem%", "PSIio%", "PSIioFull%"),
)
STORAGE: Final = SlownessRule(
    "storage", "waits for storage", (("PSIio%", "iowait%"),), _storage, "storage pressure", "7",
    "ps -eo state,pid,comm,wchan | grep ^D names the tasks that wait; iostat -x 1 names the device", RankedBy.IO,
    ("PSIioFull%", "iowait%", "Load%", "Blocked", "SwapIn/s"),
)
BANDWIDTH: Final = SlownessRule(
    "bandwidth", "memory bandwidth", (), _bandwidth, "memory bandwidth", "5",
    "turbotui roofline -- COMMAND shows whether it is bound by memory; numactl --interleave=all spreads it over nodes, "
    "and fewer cores get as much done; turbotui groups names the group of resctrl that moves most, turbotui memory the "
    "node", RankedBy.CPU, kinds=(_LEVELS,), decides_from=_WORKING,
)
RULES: Final = (OVERLOAD, QUOTA, MEMORY, SWAPPING, STORAGE, BANDWIDTH)
