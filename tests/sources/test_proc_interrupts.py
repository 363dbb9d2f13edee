from __future__ import annotations

import errno
from collections.abc import Sequence

import pytest
from every_row import of_every
from hypothesis import given
from hypothesis import strategies as st
from prochost import machine_of, plain_topology

from turbotui.machine.topology import Topology
from turbotui.quantities.signals import Raw, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.irq_rows import RowTotals
from turbotui.sources.proc_interrupts import PATH, InterruptRow, ProcInterrupts, interrupt_rows
from turbotui.sources.proc_softirqs import ProcSoftirqs
from turbotui.sources.source import Adjustable, Summing, TopologyFollower

X86 = """\
           CPU0       CPU1       
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
 36:          0       8632 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
NMI:          3          4   Non-maskable interrupts
LOC:      14718      13139   Local timer interrupts
RES:       3848       3060   Rescheduling interrupts
CAL:      26084      18717   Function call interrupts
TLB:       1049        978   TLB shootdowns
TRM:          5          6   Thermal event interrupts
ERR:         77
MIS:         88
PIN:          2          1   Posted-interrupt notification event
"""  # noqa: W291 - the kernel's own blanks
ARM = """\
           CPU0       CPU1       CPU3
 11:     100000     200000     300000    GICv3  27 Level     arch_timer
 20:          7          0          0    GICv3  65 Level     ttyAMA0
IPI0:        10         20         30       Rescheduling interrupts
IPI1:        11         21         31       Function call interrupts
IPI4:        12         22         32       Timer broadcast interrupts
Err:          9
"""
IDS = frozenset(f"irq.{word}" for word in (
    "total", "nmi", "loc", "res", "cal", "tlb", "ipi", "work", "pmi", "trm", "virt", "other", "device", "err", "mis"))
NONE = [None, None]


def read(text: str, topology: Topology | None = None, wanted: frozenset[str] = IDS) -> dict[str, list[Raw]]:
    _, machine = machine_of({PATH: text}, topology)
    reader = ProcInterrupts().open_shared(machine, wanted)
    return {signal: list(values) for signal, values in zip(reader.signals, reader.read(), strict=True)}


def test_x86_rows_by_kind_and_in_all() -> None:
    assert read(X86) == {
        "irq.total": [1 + 3 + 14718 + 3848 + 26084 + 1049 + 5 + 2, 8632 + 4 + 13139 + 3060 + 18717 + 978 + 6 + 1],
        "irq.device": [1, 8632],
        "irq.nmi": [3, 4],
        "irq.loc": [14718, 13139],
        "irq.res": [3848, 3060],
        "irq.cal": [26084, 18717],
        "irq.tlb": [1049, 978],
        "irq.ipi": NONE,
        "irq.work": NONE,
        "irq.pmi": NONE,
        "irq.trm": [5, 6],
        "irq.virt": [2, 1],
        "irq.other": NONE,
        "irq.err": [77],
        "irq.mis": [88],
    }


def test_on_a_single_cpu_err_and_mis_are_still_not_interrupts_of_cpu_0() -> None:
    text = "           CPU0\n  1:          4   IO-APIC 1-edge  i8042\nNMI:  5 Non-maskable\nERR: 1000\nMIS: 2000\n"
    values = read(text, plain_topology((0,)))
    assert values["irq.total"] == [9]
    assert values["irq.err"] == [1000]


def test_arm_rows_are_known_by_their_text_and_a_cpu_without_a_column_is_unknown() -> None:
    values = read(ARM, plain_topology((0, 1, 2, 3)))
    assert values["irq.res"] == [10, 20, None, 30]
    assert values["irq.cal"] == [11, 21, None, 31]
    assert values["irq.loc"] == [100012, 200022, None, 300032]  # the broadcast tick stands in for a CPU's timer
    assert values["irq.device"] == [7, 0, None, 0]
    assert values["irq.total"] == [100007 + 33, 200000 + 63, None, 300000 + 93]
    assert values["irq.tlb"] == [None] * 4
    assert values["irq.err"] == [9]


def test_what_the_machine_has_no_row_for_is_no_hardware() -> None:
    _, machine = machine_of({PATH: ARM})
    signals = ProcInterrupts().probe(machine).signals
    assert set(signals) == IDS
    tlb = signals["irq.tlb"]
    assert isinstance(tlb, Unavailable)
    assert tlb.reason is Reason.NO_HARDWARE
    assert isinstance(signals["irq.loc"], Signal)


def by_kind(*rows: str) -> dict[str, Raw]:
    """Totals of CPU 0 by the last word of their signal, of a table with these rows; zero and unknown are left out."""
    values = read("           CPU0       CPU1\n" + "".join(f"{row}\n" for row in rows))
    return {signal.removeprefix("irq."): values[signal][0] for signal in values if values[signal][0]}


def test_s390_sums_are_not_counted_again_through_their_parts() -> None:
    assert by_kind(
        "EXT: 1111 0", "I/O: 20 0", "AIO: 3000 0", " 27: 2000 0  PCI-MSI  mlx5_comp0@pci:0001:00:00.0",
        "CLK: 1000 0  [EXT] Clock Comparator", "EXC: 100 0  [EXT] External Call", "EMS: 10 0  [EXT] Emergency Signal",
        "TAL: 1 0  [EXT] Timing Alert", "CIO: 20 0  [I/O] Common I/O Layer Interrupt",
        "QAI: 1000 0  [AIO] QDIO Adapter Interrupt", "PCD: 2000 0  [AIO] PCI Directed Interrupt",
        "NMI: 5 0  [NMI] Machine Check", "RST: 7 0  [CPU] CPU Restart",
    ) == {"total": 4143, "nmi": 5, "loc": 1000, "ipi": 110, "other": 8, "device": 3020}


def test_timers_of_hypervisors_are_timers() -> None:
    assert by_kind(
        "24: 7 0  Hyper-V PCIe MSI 0-edge  nvme0q0", "LOC: 0 0  Local timer interrupts",
        "HYP: 30 0  Hypervisor callback interrupts", "HRE: 1 0  Hyper-V reenlightenment interrupts",
        "HVS: 500 0  Hyper-V stimer0 interrupts",
    ) == {"total": 538, "loc": 500, "virt": 31, "device": 7}


def test_events_of_xen_are_counted_once_by_kind_though_twice_in_all() -> None:
    # Every event comes as an upcall (HYP); rescheduling and calls are in RES and CAL as well (arch/x86/xen/smp.c).
    assert by_kind(
        " 48: 500 0  xen-percpu    -virq      timer0", "49: 20 0  xen-percpu-ipi       resched0",
        " 50: 3 0  xen-percpu    -ipi       callfuncsingle0", " 51: 2 0  xen-percpu    -ipi       spinlock0",
        " 60: 100 0  xen-dyn    -event     blkif", "RES: 20 0  Rescheduling interrupts",
        "CAL: 3 0  Function call interrupts", "HYP: 625 0  Hypervisor callback interrupts",
    ) == {"total": 1273, "loc": 500, "res": 20, "cal": 3, "other": 2, "device": 100}


def test_power_loongarch_riscv_and_mips_by_their_own_names() -> None:
    assert by_kind(
        " 16: 40 0  XIVE-IPI 0 Edge IPI-0", " 20: 7 0  XIVE-IRQ 1234 Level  nvme0q1",
        "LOC: 500 0  Local timer interrupts for timer event device", "BCT: 1 0  Broadcast timer interrupts for timer",
        "LOC: 2 0  Local timer interrupts for others", "SPU: 3 0  Spurious interrupts",
        "DBL: 60 0  Doorbell interrupts", "PMI: 4 0  Performance monitoring interrupts",
    ) == {"total": 617, "loc": 503, "ipi": 100, "pmi": 4, "other": 3, "device": 7}
    assert by_kind(
        " 12: 500 0  CPUINTC  12  timer", " 13: 30 0  CPUINTC  13  IPI", " 16: 9 0  PCH-MSI   1  nvme0q0",
        "IPI0: 20 0  LoongArch  1  Rescheduling interrupts", "IPI1: 10 0  LoongArch  2  Function call interrupts",
    ) == {"total": 569, "loc": 500, "res": 20, "cal": 10, "device": 9}
    assert by_kind(
        "  5: 500 0  RISC-V INTC   5 Edge      riscv-timer", " 10: 8 0  SiFive PLIC  33 Edge      virtio1",
        "IPI0: 20 0 Rescheduling interrupts", "IPI5: 1 0 Timer broadcast interrupts", "IPI4: 2 0 IRQ work interrupts",
    ) == {"total": 531, "loc": 501, "res": 20, "work": 2, "device": 8}
    assert by_kind(" 7: 3 0  MIPS GIC 7 timer", " 8: 20 0  MIPS GIC 8 IPI resched") == {
        "total": 23, "loc": 3, "res": 20}


def test_a_kvm_host_takes_timers_of_its_guests() -> None:
    assert by_kind(
        " 11: 500 0  GICv3  30 Level     arch_timer", " 12: 40 0  GICv3  27 Level     kvm guest vtimer",
        " 13: 6 0  GICv3  25 Level     vgic", " 14: 2 0  GICv3  23 Level     arm-pmu",
    ) == {"total": 548, "loc": 540, "virt": 6, "pmi": 2}


def test_a_row_that_nobody_knows_is_other_and_only_a_number_makes_a_device() -> None:
    assert by_kind("  9: 5 0  IO-APIC   9-fasteoi   acpi", "  0: 6 0  IO-APIC 2-edge timer",
                   "NEW: 70 0  Interrupts of next year", "UAH: 2 0  Unaligned access handler traps",
                   "STK: 4096 0  Kernel stack usage") == {"total": 83, "loc": 6, "other": 72, "device": 5}


@of_every(interrupt_rows())
def test_a_row_of_the_table_has_a_kind_and_a_kernel_file(row: InterruptRow) -> None:
    assert row.kind in {"nmi", "timer", "resched", "call", "tlb", "ipi", "work", "pmi", "thermal", "virt", "other",
                        "device", "again", "none"}
    assert row.document.startswith("linux ")
    assert row.labels or row.actions or row.chip


def test_a_signal_names_the_rows_that_it_adds_up() -> None:
    _, machine = machine_of({PATH: X86.replace("RES:", "HVS:")})
    timer = ProcInterrupts().probe(machine).signals["irq.loc"]
    assert isinstance(timer, Signal)
    assert "row LOC, HVS: " in timer.origin


def test_two_rows_of_one_name_are_two_rows() -> None:
    # PowerPC has LOC for the event device and LOC for others.
    text = "  CPU0 CPU1\nLOC: {} 1 Local timer interrupts for timer event device\nLOC: 100 100 Local timer for others\n"
    host, machine = machine_of({PATH: text.format(5)})
    reader = ProcInterrupts().open_shared(machine, frozenset({"irq.loc"}))
    assert list(reader.read()[0]) == [105, 101]
    host.files[PATH] = text.format(7)
    assert list(reader.read()[0]) == [107, 101]


def test_numbers_wider_than_their_column() -> None:
    text = (
        "           CPU0       CPU1\n  9: 4294967295 4294967295 12-edge x\nLOC:42949672950 1 Local timer interrupts\n"
    )
    values = read(text)
    assert values["irq.device"] == [4294967295, 4294967295]
    assert values["irq.loc"] == [42949672950, 1]


def totals_of(*texts: str, cpus: Sequence[int] = (0, 1)) -> list[int | None] | None:
    totals = RowTotals(cpus, lambda _label, _text: ("all",))
    for text in texts:
        totals.update(text)
    return totals.totals("all")


HEAD = "  CPU0 CPU1\n"


def test_a_row_that_wraps_does_not_pull_the_total_back() -> None:
    assert totals_of(HEAD + "LOC: 4294967290 7 x\n", HEAD + "LOC: 4 9 x\n") == [4294967290 + 10, 9]


def test_a_row_that_started_again_leaves_the_increase_of_its_cpu_unknown_for_an_interval() -> None:
    before, after, later = (
        HEAD + f"LOC: {100 * at} {100 * at} x\n 30: {count} 5 eth0\n"
        for at, count in enumerate((2_000_000_000, 40, 50)))
    assert totals_of(before) == [2_000_000_000, 5]
    assert totals_of(before, after) == [1_999_999_999, 105]  # no increase that anybody could take for a rate
    assert totals_of(before, after, later) == [2_000_000_109, 205]


def test_a_row_that_vanishes_keeps_what_it_gave_and_a_new_row_counts_in_full() -> None:
    both, item = HEAD + " 30: 9 5 a\n 31: 100 200 b\n", HEAD + " 30: 10 5 a\n"
    assert totals_of(both, item) == [110, 205]
    assert totals_of(both, item, both.replace("9 5", "11 5")) == [111, 205]
    assert totals_of(item, both.replace("9 5", "11 5")) == [111, 205]


def test_a_cpu_that_leaves_and_returns_takes_its_column_along() -> None:
    texts = (HEAD + "LOC: 10 20 x\nRES: 1 2 y\n", "  CPU1\nLOC: 25 x\nRES: 2 y\n", HEAD + "LOC: 11 26 x\nRES: 1 2 y\n")
    assert totals_of(*texts[:2]) == [None, 27]
    assert totals_of(*texts) == [12, 28]


def test_an_unchanged_line_is_not_classified_or_added_twice() -> None:
    seen = []

    def classify(label: str, _text: str) -> tuple[str, ...]:
        seen.append(label)
        return ("all",)

    totals = RowTotals((0, 1), classify)
    for _ in range(3):
        totals.update(HEAD + " 30: 9 5 a\n")
    assert totals.totals("all") == [9, 5]
    assert seen == ["30"]


steps = st.lists(st.lists(st.integers(0, 2**31 - 1), min_size=6, max_size=6), min_size=1, max_size=8)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=6, max_size=6), steps)
def test_totals_grow_by_exactly_what_was_counted_whatever_wraps(start: list[int], growth: list[list[int]]) -> None:
    cells = list(start)
    totals = RowTotals((0, 1), lambda _label, _text: ("all",))

    def table() -> str:
        return HEAD + "".join(f"{row}: {cells[2 * row]:10} {cells[2 * row + 1]:10} text 7\n" for row in range(3))

    totals.update(table())
    expected = [sum(start[0::2]), sum(start[1::2])]
    for step in growth:
        # A wrap is told from a restart by the cell having been in its upper half.
        step = [grow if old + grow < 2**32 or old >= 2**31 else 0 for old, grow in zip(cells, step, strict=True)]  # noqa: PLW2901
        cells = [(old + grow) % 2**32 for old, grow in zip(cells, step, strict=True)]
        totals.update(table())
        expected = [expected[0] + sum(step[0::2]), expected[1] + sum(step[1::2])]
    assert totals.totals("all") == expected


@given(st.lists(st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=2), min_size=2, max_size=10))
def test_a_total_falls_where_a_cell_started_again_and_nowhere_else(tables: list[list[int]]) -> None:
    totals = RowTotals((0, 1), lambda _label, _text: ("all",))
    last, cells = [0, 0], [0, 0]
    for table in tables:
        totals.update(HEAD + "LOC: {} {} x\n".format(*table))
        now = [value for value in totals.totals("all") or () if value is not None]
        fell = [new < old < 2**31 for old, new in zip(cells, table, strict=True)]
        assert [new < old for old, new in zip(last, now, strict=True)] == fell
        assert totals.restarted("all") == {cpu for cpu in (0, 1) if fell[cpu]}
        last, cells = now, table


def test_a_thousand_cpus_and_three_hundred_rows() -> None:
    cpus = range(1024)
    header = " ".join(f"CPU{cpu}" for cpu in cpus)
    counts = " ".join(f"{cpu:10}" for cpu in cpus)
    text = "\n".join([header, *(f"{row:4}: {counts} PCI-MSI {row}-edge nvme0q{row}" for row in range(300)), ""])
    values = read(text, plain_topology(cpus), frozenset({"irq.total", "irq.device"}))
    assert values["irq.total"] == values["irq.device"] == [300 * cpu for cpu in cpus]


def test_a_table_with_a_torn_line_is_read_again() -> None:
    """The kernel asks for each row anew which CPUs are online (show_interrupts(), kernel/irq/proc.c)."""
    host, machine = machine_of({PATH: X86})
    reader = ProcInterrupts().open_shared(machine, frozenset({"irq.total", "irq.loc"}))
    before = sum(value for value in reader.read()[0] if isinstance(value, int))
    texts = iter([X86.replace("14718      13139", "14718"), X86.replace("13139", "13140")])
    host.read_text = lambda _path: next(texts)  # type: ignore[method-assign,assignment]
    total, timers = (list(row) for row in reader.read())
    assert timers == [14718, 13140]
    assert sum(value for value in total if isinstance(value, int)) == before + 1


@pytest.mark.parametrize("text", ["Local timer interrupts", "33 Level timer"])
def test_a_row_with_the_count_of_a_cpu_that_came_in_mid_table_is_read_again(text: str) -> None:
    """Its other counts would be those of the CPUs before: CPU 2 would have had a thousand interrupts of CPU 1."""
    host, machine = machine_of({PATH: f"  CPU0 CPU2\nLOC: 10 20 {text}\n"}, plain_topology(range(3)))
    reader = ProcInterrupts().open_shared(machine, frozenset({"irq.loc"}))
    reader.read()
    texts = iter([f"  CPU0 CPU2\nLOC: 11 1000 22 {text}\n", f"  CPU0 CPU1 CPU2\nLOC: 11 1000 22 {text}\n"])
    host.read_text = lambda _path: next(texts)  # type: ignore[method-assign,assignment]
    assert list(reader.read()[0]) == [11, 1000, 22]
    assert not list(texts), "read again"


def test_a_restarted_row_is_told_by_its_cpus_and_kinds() -> None:
    host, machine = machine_of({PATH: X86})
    reader = ProcInterrupts().open_shared(machine, frozenset({"irq.total", "irq.loc", "irq.tlb"}))
    assert isinstance(reader, Summing)
    for text, unsure in ((X86, set()), (X86.replace("13139", "7"), {"irq.total", "irq.loc"}), (X86, set())):
        host.files[PATH] = text
        reader.read()
        assert reader.unsure == dict.fromkeys(unsure, frozenset({1}))


def test_a_row_whose_interrupt_was_given_anew_is_read_whatever_its_text_begins_with() -> None:
    """One row that were taken for torn for ever would leave the counts of all rows unknown."""
    host, machine = machine_of({PATH: "  CPU0 CPU1\n 24: 10 20 PCI-MSI 1-edge nvme0\n"})
    reader = ProcInterrupts().open_shared(machine, frozenset({"irq.total"}))
    for texts, counts in ((("24: 11 22 7 Level button",), [11, 22]), (("24: 12 22 33 8 Level door",), [12, 22]),
                          (("24: 13 500 23 33 8 Level door", "24: 13 23 33 8 Level door"), [13, 23])):
        lines = iter(texts)
        host.read_text = lambda _path, lines=lines: f"  CPU0 CPU1\n {next(lines)}\n"  # type: ignore[method-assign,misc]
        assert list(reader.read()[0]) == counts
        assert not list(lines)


def test_a_table_that_is_torn_twice_is_unknown_and_nothing_of_it_is_lost() -> None:
    host, machine = machine_of({PATH: X86})
    reader = ProcInterrupts().open_shared(machine, frozenset({"irq.loc", "irq.err"}))
    reader.read()
    texts = iter([X86.replace("14718      13139", cells) for cells in ("14720", "14720")])
    host.read_text = lambda _path: next(texts)  # type: ignore[method-assign,assignment]
    assert [list(row) for row in reader.read()] == [[None, None], [None]]
    host.read_text = lambda _path: X86.replace("14718      13139", "14725 13140")  # type: ignore[method-assign,assignment]
    assert list(reader.read()[0]) == [14725, 13140]


def test_an_unreadable_file_is_unknown_then_and_counted_on_later() -> None:
    host, machine = machine_of({PATH: X86})
    reader = ProcInterrupts().open_shared(machine, frozenset({"irq.tlb", "irq.err"}))
    assert list(reader.read()[0]) == [1049, 978]
    host.files[PATH] = errno.EIO
    assert [list(row) for row in reader.read()] == [[None, None], [None]]
    host.files[PATH] = X86.replace("1049", "1050")
    assert list(reader.read()[0]) == [1050, 978]


@pytest.mark.real
def test_this_machines_own_file_adds_up_to_the_kernels_own_sum() -> None:
    def kernel_sum() -> int:
        with open("/proc/stat", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("intr "))

    with open(PATH, encoding="ascii") as file:
        before, text, after = kernel_sum(), file.read(), kernel_sum()
    cpus = [int(word[3:]) for word in text.partition("\n")[0].split()]
    values = read(text, plain_topology(cpus))
    device, total = (
        sum(value for value in values[f"irq.{word}"] if isinstance(value, int)) for word in ("device", "total")
    )
    assert 0 < device < total
    # /proc/stat's intr leaves out some rows of the architecture (TLB, HYP on x86) and has none that is not a row.
    assert device <= after
    assert total >= before * 0.9


def counts(values: Sequence[Raw]) -> list[int]:
    return [value for value in values if isinstance(value, int)]


@pytest.mark.parametrize("source", [ProcInterrupts(), ProcSoftirqs()], ids=lambda source: source.id)
def test_totals_continue_when_a_cpu_leaves_and_when_other_kinds_are_asked_for(
    source: ProcInterrupts | ProcSoftirqs
) -> None:
    def table(cpus: Sequence[int], count: int) -> str:
        head = " ".join(f"CPU{cpu}" for cpu in cpus)
        rows = ("NMI", "LOC", "TIMER", "NET_RX")
        return f"{head}\n" + "".join(f"{row}: {' '.join(str(count + cpu) for cpu in cpus)} x\n" for row in rows)

    first, second, path = (
        ("irq.total", "irq.nmi", PATH) if source.id == "proc-interrupts" else
        ("softirq.total", "softirq.net_rx", "/proc/softirqs"))
    host, machine = machine_of({path: table((0, 1, 2), 100)}, plain_topology((0, 1, 2)))
    reader = source.open_shared(machine, frozenset({first}))
    before = counts(reader.read()[0])
    assert isinstance(reader, TopologyFollower)
    assert isinstance(reader, Adjustable)
    reader.follow((0, 2))
    host.files[path] = table((0, 2), 110)
    after = counts(reader.read()[0])
    rows = before[0] // 100
    assert after == [before[0] + rows * 10, before[2] + rows * 10]
    assert reader.choose(frozenset({first, second}))
    host.files[path] = table((0, 2), 115)
    total, kind = reader.read()
    assert counts(total) == [after[0] + rows * 5, after[1] + rows * 5]
    assert list(kind) == [115, 117]
    assert reader.choose(frozenset({second}))
    host.files[path] = table((0, 2), 120)
    assert [list(row) for row in reader.read()] == [[120, 122]]
