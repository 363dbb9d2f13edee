"""Refusals of perf_event_open that do not depend on the event, refusals of groups, and their share of the counters.

The order is the kernel's (kernel/events/core.c, Linux 6.18): the attribute's bits, the rights to kernel mode, the PMU
and the event, the rights to a whole CPU. So a plan that opens on a simulated machine opens on the real one, too.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.leaders import SLOTS, is_metric
from turbotui.machine.host import CAP_PERFMON, CAP_SYS_ADMIN, PerfAttr, Privileges
from turbotui.simulated.pmu import Context, SimulatedCounter, SimulatedPmu
from turbotui.simulated.pmus_core import EXCLUDE_KERNEL, EXCLUDE_USER, HARDWARE, HW_CACHE, RAW

EXCLUDES: Final = 0b1111 << 4 | 0b11 << 19  # user, kernel, hv, idle; host, guest
_KNOWN_FLAGS: Final = (1 << 38) - 1  # up to sigtrap; defer_callchain came after 6.18
_LEADERS_FLAGS: Final = 0b11 << 2  # pinned, exclusive
_INHERIT: Final = 1 << 1
_EXCLUDE_IDLE: Final = 1 << 7
_FREQUENCY: Final = 1 << 10
_PRECISE_SHIFT: Final = 15
_NAMESPACES: Final = 1 << 28
_REMOVE_ON_EXEC: Final = 1 << 36
_SIGTRAP: Final = 1 << 37
_READ_FORMATS: Final = 0b11111  # enabled, running, id, group, lost
_GROUP: Final = 8
_SAMPLE_TYPES: Final = (1 << 25) - 1  # up to weight_struct
_SAMPLE_TID: Final = 1 << 1
_SAMPLE_READ: Final = 1 << 4
_TARGET_FLAGS: Final = 0b1111  # no_group, output, pid_cgroup, cloexec
_FASTEST: Final = 100_000  # Hz, kernel.perf_event_max_sample_rate
_LARGEST_READ: Final = 16 * 1024  # bytes that a group read may be (perf_event_validate_size)
_MOST_PRECISE: Final = 3
_HARDWARE_EVENTS: Final = 10  # PERF_COUNT_HW_MAX

_EXCLUDE_MODES: Final = 0b111 << 4  # user, kernel, hv
_EXCLUDE_MACHINES: Final = 0b11 << 19  # host, guest
_IBS_COUNT: Final = 0xFFFF | 0x7F << 20  # IBS_OP_MAX_CNT and its extension, arch/x86/include/asm/amd/ibs.h
_IBS_CONFIG: Final = _IBS_COUNT | 1 << 19 | 1 << 16  # and cnt_ctl, l3missonly
_IBS_SHORTEST: Final = 0x90
_IBS_LATENCIES: Final = (128, 2048)
_MEM_LOADS, _MEM_LOADS_AUX = 0x01CD, 0x8203
_DATA_SRC: Final = 1 << 15

_BITS: Final[tuple[tuple[Callable[[PerfAttr], bool], int], ...]] = (
    # (what is wrong, errno), in the order of perf_event_open and perf_copy_attr
    (lambda attr: attr.target_flags & ~_TARGET_FLAGS != 0, errno.EINVAL),
    (lambda attr: attr.config4 != 0, errno.E2BIG),  # the structure of 6.18 ends with config3
    (lambda attr: attr.flags & ~_KNOWN_FLAGS != 0, errno.EINVAL),
    (lambda attr: attr.sample_type & ~_SAMPLE_TYPES != 0, errno.EINVAL),
    (lambda attr: attr.read_format & ~_READ_FORMATS != 0, errno.EINVAL),
    (lambda attr: bool(attr.flags & _SIGTRAP) and not attr.flags & _REMOVE_ON_EXEC, errno.EINVAL),
)


def refused_bits(attr: PerfAttr, rights: Privileges) -> int:
    """Return the errno with which any PMU refuses an attribute; 0 if none does."""
    for wrong, number in _BITS:
        if wrong(attr):
            return number
    able = rights.has(CAP_PERFMON) or rights.has(CAP_SYS_ADMIN)
    if _level(rights) > 1 and not able and not attr.flags & EXCLUDE_KERNEL:
        return errno.EACCES
    if attr.flags & _NAMESPACES and not able:
        return errno.EACCES
    if attr.flags & _FREQUENCY:
        return errno.EINVAL if attr.sample_period > _FASTEST else 0
    return errno.EINVAL if attr.sample_period >> 63 else 0


def refused_cpu(rights: Privileges) -> int:
    """Return the errno with which a whole CPU is refused, else 0 (Documentation/admin-guide/sysctl/kernel.rst)."""
    able = rights.has(CAP_PERFMON) or rights.has(CAP_SYS_ADMIN)
    return errno.EACCES if _level(rights) > 0 and not able else 0


def refused_thread(rights: Privileges, user: int) -> int:
    """Return the errno with which a user's thread is refused, else 0 (kernel/events/core.c, ptrace_may_access)."""
    able = rights.has(CAP_PERFMON) or rights.has(CAP_SYS_ADMIN)
    return 0 if able or rights.uid in (0, user) else errno.EACCES


def _level(rights: Privileges) -> int:
    return 2 if rights.perf_paranoid is None else rights.perf_paranoid


def refused_by_pmu(pmu: SimulatedPmu, attr: PerfAttr, *, x86: bool) -> int:
    """Return the errno with which a PMU refuses an attribute's modes or sampling; 0 if it accepts them."""
    sampled = attr.sample_period != 0
    inherited_read = attr.flags & _INHERIT and attr.sample_type & _SAMPLE_READ
    if inherited_read and not attr.sample_type & _SAMPLE_TID:
        return errno.EINVAL
    if pmu.context is Context.UNCORE or pmu.name == "msr":  # PERF_PMU_CAP_NO_EXCLUDE, and no interrupts
        return pmu.sampling if sampled else errno.EINVAL if attr.flags & EXCLUDES else 0
    if pmu.context is Context.SAMPLER:
        return _refused_by_ibs(attr, software_filter="swfilt" in pmu.formats)
    if pmu.context is not Context.CORE:
        return 0
    if not pmu.modes and attr.flags & (EXCLUDE_USER | EXCLUDE_KERNEL):
        return errno.EINVAL
    if attr.type == HARDWARE and attr.config & 0xFFFF_FFFF >= _HARDWARE_EVENTS:
        return errno.EINVAL
    if not x86:
        return errno.EOPNOTSUPP if attr.flags & _EXCLUDE_IDLE else 0  # drivers/perf/arm_pmuv3.c
    precise = attr.flags >> _PRECISE_SHIFT & _MOST_PRECISE
    if precise > int(pmu.files.get("caps/max_precise", "0")):
        return errno.EOPNOTSUPP
    return errno.EINVAL if precise and not sampled else 0  # arch/x86/events/core.c, x86_pmu_hw_config


def _refused_by_ibs(attr: PerfAttr, *, software_filter: bool) -> int:
    """Return the errno of perf_ibs_init (arch/x86/events/amd/ibs.c) on Zen 5, which filters modes in software only."""
    if attr.config & ~_IBS_CONFIG or attr.flags & (_EXCLUDE_IDLE | _EXCLUDE_MACHINES):
        return errno.EINVAL
    if attr.flags & _EXCLUDE_MODES and not (software_filter and attr.config2 & 1):
        return errno.EINVAL
    if attr.sample_period and attr.config & _IBS_COUNT:
        return errno.EINVAL  # two periods
    period = attr.sample_period & ~0xF if attr.sample_period else (attr.config & 0xFFFF) << 4
    if not attr.flags & _FREQUENCY and period < _IBS_SHORTEST:
        return errno.EINVAL
    least = attr.config1 & 0xFFF
    return errno.EINVAL if least and not _IBS_LATENCIES[0] <= least <= _IBS_LATENCIES[1] else 0


def refused_loads(pmu: SimulatedPmu, attr: PerfAttr, group: Sequence[tuple[SimulatedPmu, PerfAttr]]) -> int:
    """Return ENODATA for load latency without the auxiliary event before it, else 0.

    intel_pmu_hw_config, arch/x86/events/intel/core.c: on cores whose PMU names mem-loads-aux.
    """
    if "mem-loads-aux" not in pmu.events or attr.config & 0xFFFF != _MEM_LOADS or not attr.sample_type & _DATA_SRC:
        return 0
    return 0 if any(member.config & 0xFFFF == _MEM_LOADS_AUX for _pmu, member in group) else errno.ENODATA


def refused_below(pmu: SimulatedPmu, attr: PerfAttr, group: Sequence[tuple[SimulatedPmu, PerfAttr]]) -> int:
    """Return the errno with which an event is refused in a group; 0 if it is accepted.

    Args:
        pmu: the event's PMU.
        attr: the event's attribute.
        group: the members before it, the leader first; empty for a leader.
    """
    if pmu.context is Context.CORE and is_metric(attr.config) and attr.type not in (HARDWARE, HW_CACHE):
        leads = group[0] if group else None
        if attr.sample_period or leads is None or leads[0] is not pmu or not _is_slots(leads[1]):
            return errno.EINVAL
    if not group:
        return 0
    if attr.flags & _LEADERS_FLAGS:
        return errno.EINVAL
    attrs = [*(member for _pmu, member in group), attr]
    if not any(member.read_format & _GROUP for member in attrs):
        return 0
    # the format of each member gives its bytes in a read of the group
    return errno.E2BIG if 16 + 8 + sum(8 * (1 + (member.read_format >> 2 & 1) + (member.read_format >> 4 & 1))
                                       for member in attrs) >= _LARGEST_READ else 0


def _is_slots(attr: PerfAttr) -> bool:
    return attr.config == SLOTS and attr.type not in (HARDWARE, HW_CACHE) and not attr.sample_period


CORE_TYPES: Final = (HARDWARE, HW_CACHE, RAW)
"""Types of events that a core PMU accepts beside its own number."""


def fits(pmu: SimulatedPmu, members: Sequence[tuple[PerfAttr, SimulatedCounter]]) -> bool:
    """Tell whether events fit one group: enough counters, and the same setting of the PMU's filter."""
    if _demand(counter for _attr, counter in members) > pmu.counters:
        return False
    if len({counter.filter for _attr, counter in members} - {""}) > 1:
        return False
    return pmu.fits is None or pmu.fits([attr for attr, _counter in members])


@dataclass(slots=True)
class Demand:
    """What counters need together that want a PMU at the same time.

    Attributes:
        general: general counters.
        local: how many events each local part of the PMU has to count; "" for those of no part.
        filters: different settings of the PMU's filter.
    """

    general: int
    local: Counter[str]
    filters: int


def demand_of(wanting: Sequence[SimulatedCounter]) -> Demand:
    """Return what counters need together."""
    return Demand(_demand(wanting), Counter(counter.local for counter in wanting),
                  len({counter.filter for counter in wanting} - {""}))


def share_of(pmu: SimulatedPmu, own: Sequence[SimulatedCounter], wanting: Demand) -> float:
    """Return the part of the time in which a group runs while the kernel rotates groups.

    Args:
        wanting: what the groups need that want the PMU at the same time, this one included.
    """
    share = 1.0 if wanting.general <= pmu.counters else pmu.counters / wanting.general
    for part in {counter.local for counter in own} - {""}:
        share = min(share, pmu.local_counters / wanting.local[part])
    if any(counter.filter for counter in own):
        share = min(share, 1 / wanting.filters)
    # a group that uses only fixed counters never has to wait
    return 1.0 if share < 1.0 and _demand(own) == 0 else share


def _demand(counters: Iterable[SimulatedCounter]) -> int:
    """Return the number of general counters needed; a fixed counter serves the first event that can use it."""
    taken: set[str] = set()
    general = 0
    for counter in counters:
        if counter.fixed and counter.fixed not in taken:
            taken.add(counter.fixed)
        else:
            general += counter.slots
    return general
