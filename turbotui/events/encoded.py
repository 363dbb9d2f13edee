"""An event ready to be opened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turbotui.dataclass import copier, dataclass
from turbotui.machine.host import PerfAttr
from turbotui.machine.pmus import Pmu

FLAGS = {
    # name -> bit of the flag word of perf_event_attr (uapi linux/perf_event.h, Linux 6.18)
    name: bit
    for bit, name in enumerate((
        "disabled", "inherit", "pinned", "exclusive", "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle",
        "mmap", "comm", "freq", "inherit_stat", "enable_on_exec", "task", "watermark", "precise_ip", "precise_ip_high",
        "mmap_data", "sample_id_all", "exclude_host", "exclude_guest", "exclude_callchain_kernel",
        "exclude_callchain_user", "mmap2", "comm_exec", "use_clockid", "context_switch", "write_backward", "namespaces",
        "ksymbol", "bpf_event", "aux_output", "cgroup", "text_poke", "build_id", "inherit_thread", "remove_on_exec",
        "sigtrap", "defer_callchain", "defer_output",
    ))
}
PRECISE_SHIFT = FLAGS["precise_ip"]  # a field of two bits
_PRECISE_MASK = 3 << PRECISE_SHIFT


def precise_of(flags: int) -> int:
    """The field precise_ip of a flag word, 0 to 3."""
    return (flags & _PRECISE_MASK) >> PRECISE_SHIFT


def flag_names(flags: int) -> dict[str, int]:
    """The fields of a flag word that are not zero, by the kernel's names."""
    names = {name: 1 for name, bit in FLAGS.items() if flags >> bit & 1
             and bit not in (PRECISE_SHIFT, PRECISE_SHIFT + 1)}
    return {**names, "precise_ip": precise_of(flags)} if flags & _PRECISE_MASK else names


@dataclass(frozen=True, slots=True)
class EncodedEvent:
    """One counter as perf_event_open(2) wants it, and what its number means.

    A string that names several PMUs (a wildcard, a hybrid machine's kinds of core) gives one of these for each.
    """

    # the event as written; the instances of one event have it in common, and are summed. Of a pattern that stands for
    # unlike events (sched:sched_*) each has a string of its own, which names only that one.
    string: str
    fstr: str  # the same in full: the PMU's own name, every term and modifier
    pmu: str  # name in sysfs of the PMU that counts it; "" where the kernel chooses the core PMU
    # for perf_event_open. The own engine sets no exclude bit that was not asked for: guests and hosts are both counted;
    # libpfm leaves guests out unless the string says mg.
    attr: PerfAttr
    engine: str = "own"  # "own", "tables" (of the vendor) or "libpfm"
    table: str = ""  # where the vendor's tables are from, for an event of theirs: "perf 7.2.13 list -j"
    description: str = ""  # what the table says of the event
    name: str = ""  # what `name=` gave, else `string`
    unit: str = ""  # the PMU's .unit file, "Joules"; "" for a plain count
    scale: float = 1.0  # factor from counts to `unit`
    snapshot: bool = False  # the value is a level, not a running count
    per_package: bool = False  # counted once a package
    cpus: tuple[int, ...] = ()  # the CPUs to open it on; empty for every CPU
    # the CPUs whose share of the machine an uncore PMU counts (associated_cpus); empty where it is not said
    covers: tuple[int, ...] = ()
    uncore: bool = False  # whether `cpus` comes from a cpumask: one of them counts for many CPUs
    group: int | None = None  # number of the group in the whole string, None for an event that stands alone
    leader: bool = True  # whether it leads its group
    regrouped: bool = False  # the braces hold events of several PMUs, which became a group for each
    weak: bool = False  # the group may be broken up when it does not fit
    sample_read: bool = False  # the modifier S
    bpf: bool = False  # the modifier b
    retire_latency: bool = False  # the modifier R
    options: tuple[tuple[str, str], ...] = ()  # terms that only sampling or perf's own output use, as written
    cpu: int = -1  # what libpfm's cpu= gave, -1 otherwise
    index: int | None = None  # libpfm's number of the event, None for the own engine
    needs_leader: PerfAttr | None = None  # the event that has to lead its group; None where it may be alone


def on_units(event: EncodedEvent, units: Iterable[tuple[Pmu, tuple[int, ...]]]) -> Iterator[EncodedEvent]:
    """An event of an uncore PMU on others that have the same formats and events.

    Args:
        units: each with the CPUs that it covers.
    """
    attr_of = copier(PerfAttr, "type")
    event_of = copier(EncodedEvent, "fstr", "pmu", "attr", "cpus", "covers")
    behind = event.fstr.removeprefix(event.pmu)
    for pmu, covers in units:
        yield event_of(event, pmu.name + behind, pmu.name, attr_of(event.attr, pmu.type), pmu.cpumask, covers)


@dataclass(frozen=True, slots=True)
class BareCodes:
    """An event as words for the registers of a PMU, without an operating system."""

    string: str
    fstr: str
    pmu: str
    # of an x86 core first the event select register with its enable bits, then the extra register if there is one
    codes: tuple[int, ...]
    engine: str = "own"
    index: int | None = None  # libpfm's number of the event, None for the own engine
