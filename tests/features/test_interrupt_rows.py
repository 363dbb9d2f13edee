"""Rows of /proc/interrupts as kernels print them: sources, CPUs, wraps, CPUs that come and go, and affinity."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import replace

import pytest
from knownmachines import known_machine
from treehost import TreeHost

from turbotui.features.interrupts import COLUMNS, INTERRUPTS, InterruptReader, InterruptSource
from turbotui.machine.host import HostKind
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import KindRow, row_table
from turbotui.sampling.row_workers import NarrowedSource
from turbotui.sampling.rows import Columns, RowTick
from turbotui.simulated import simulated_host

PATH = "/proc/interrupts"
X86 = """\
           CPU0       CPU1       CPU3
  0:         44          0          0   IO-APIC   2-edge      timer
  9:          0          7          0   IO-APIC   9-fasteoi   acpi
 24:       1000          0         20   PCI-MSIX-0000:01:00.0   1-edge      nvme0q1
 25:          3          0          0   PCI-MSIX-0000:00:1f.0   0-edge      i801_smbus, PCIe PME
 26:          5          0          0   PCI-MSIX-0000:00:02.0   0-edge
NMI:          0          1          2   Non-maskable interrupts
LOC:    500000     400000     300000   Local timer interrupts
ERR:          0
MIS:          0
"""
ARM = """\
           CPU0       CPU1
 11:        250        260     GICv3  30 Level     arch_timer
 12:          0          0     GICv3  23 Level     arm-pmu
IPI0:         9         10       Rescheduling interrupts
Err:          1
"""


class Bench:
    """A reader over files that a test changes, and its ticks, a second apart."""

    quantities = tuple(INTERRUPTS.source.quantities)

    def __init__(self, text: str, files: Mapping[str, str] | None = None, *, only: frozenset[int] | None = None,
                 columns: Columns | None = None) -> None:
        self.host = TreeHost({PATH: text, **{f"/proc/irq/{name}": value for name, value in (files or {}).items()}})
        self.columns = columns or Columns(INTERRUPTS.source.kind, self.quantities)
        self.reader = InterruptReader(self.host, only)
        self.seconds = 0
        self.last: RowTick | None = None
        self.found = self.tick()

    def tick(self, text: str | None = None) -> RowDifferences:
        if text is not None:
            self.host.files[PATH] = text
        self.seconds += 1
        at = self.seconds * 1_000_000_000
        self.host.now_ns = lambda: at  # type: ignore[method-assign]  # the time is the test's
        self.columns.begin(at, at)
        assert self.reader.read(self.columns) is None
        newer = self.columns.tick()
        self.found, self.last = RowDifferences(self.last, newer), newer
        return self.found

    def row(self, key: str) -> KindRow:
        slots = self.found.newer.roster.slots
        return KindRow(self.found, slots[key, 0], self.found.newer.roster.rows[slots[key, 0]])

    def value(self, key: str, column: str) -> object:
        return next(item for item in COLUMNS if item.id == column).compute(self.row(key))

    def why(self, key: str, column: str) -> Reason:
        table = row_table(INTERRUPTS, self.found, parts=True)
        cell = table.cell(next(item for item in COLUMNS if item.id == column), self.row(key))
        assert cell.value is None
        assert cell.why is not None
        return cell.why.reason

    @property
    def keys(self) -> set[str]:
        return {row.key for slot, row in self.found.newer.roster.rows.items() if slot not in self.found.newer.died}


def test_every_source_and_every_cpu_that_took_any_is_a_row() -> None:
    bench = Bench(X86)
    assert bench.keys == {"0", "0:0", "9", "9:1", "24", "24:0", "24:3", "25", "25:0", "26", "26:0", "NMI", "NMI:1",
                          "NMI:3", "LOC", "LOC:0", "LOC:1", "LOC:3", "ERR", "MIS"}
    assert bench.value("24", "Total") == 1020
    assert bench.value("24:3", "Total") == 20
    assert bench.why("24", "Int/s") is Reason.FIRST_TICK
    bench.tick(X86.replace("1000          0         20", "1060          0         60").replace("500000", "500900"))
    assert [bench.value("24", name) for name in ("Int/s", "CPUs", "Top", "Top%")] == [100, 2, 0, 60]
    assert [bench.value("24:3", name) for name in ("IRQ", "CPU", "Int/s")] == ["24", 3, 40]
    assert bench.value("LOC", "Int/s") == 900
    assert bench.value("9", "Int/s") == 0
    assert bench.why("9", "Top") is Reason.OUT_OF_RANGE


@pytest.mark.parametrize(("key", "device", "chip"), [
    ("24", "nvme0q1", "PCI-MSIX-0000:01:00.0 1-edge"), ("25", "i801_smbus, PCIe PME", "PCI-MSIX-0000:00:1f.0 0-edge"),
    ("0", "timer", "IO-APIC 2-edge"), ("26", None, "PCI-MSIX-0000:00:02.0 0-edge"),
    ("LOC", "Local timer interrupts", None), ("ERR", None, None),
])
def test_the_words_of_a_line_are_the_device_and_its_controller(key: str, device: str | None, chip: str | None) -> None:
    bench = Bench(X86)
    assert (bench.value(key, "Device"), bench.value(key, "Chip")) == (device, chip)


def test_arm_prints_the_number_and_level_before_the_device() -> None:
    bench = Bench(ARM)
    assert (bench.value("11", "Device"), bench.value("11", "Chip")) == ("arch_timer", "GICv3 30 Level")
    assert bench.value("Err", "Total") == 1
    assert bench.value("Err", "CPUs") is None


def test_a_count_of_the_whole_machine_is_no_cpus_on_a_machine_of_one_cpu() -> None:
    bench = Bench("           CPU0\n LOC:   5   Local timer interrupts\n ERR:   3\n")
    assert bench.keys == {"LOC", "LOC:0", "ERR"}
    bench.tick("           CPU0\n LOC:   9   Local timer interrupts\n ERR:   4\n")
    assert (bench.value("ERR", "Int/s"), bench.value("LOC", "Int/s")) == (1, 4)


def test_cells_wrap_at_32_bits_and_a_restarted_one_is_unknown() -> None:
    high = (1 << 32) - 10
    bench = Bench(f"   CPU0 CPU1\n 24: {high} 100 chip  1-edge  dev\n")
    bench.tick("   CPU0 CPU1\n 24: 5 101 chip  1-edge  dev\n")
    assert (bench.value("24", "Int/s"), bench.value("24:0", "Int/s"), bench.value("24:1", "Int/s")) == (16, 15, 1)
    bench.tick("   CPU0 CPU1\n 24: 6 3 chip  1-edge  dev\n")
    assert (bench.value("24:0", "Int/s"), bench.value("24:1", "Int/s"), bench.value("24", "Int/s")) == (1, None, None)
    assert bench.why("24", "Int/s") is bench.why("24:1", "Int/s") is Reason.INTERRUPTED
    assert [bench.value("24", name) for name in ("CPUs", "Top", "Top%")] == [None] * 3
    bench.tick("   CPU0 CPU1\n 24: 7 4 chip  1-edge  dev\n")
    assert bench.value("24", "Int/s") == 2


def test_a_source_or_a_cpu_that_appears_counts_whole_and_one_that_goes_ends() -> None:
    bench = Bench(X86)
    bench.tick(X86.replace("  9:          0          7          0", " 30:          8          0          1")
               .replace("NMI:          0", "NMI:          4"))
    assert (bench.value("30", "Int/s"), bench.value("30:3", "Int/s")) == (9, 1)
    assert (bench.value("NMI", "Int/s"), bench.value("NMI:0", "Int/s")) == (4, 4)
    assert "9" not in bench.keys
    assert "9:1" not in bench.keys


def test_a_cpu_that_comes_has_no_difference_and_no_part_in_its_sources() -> None:
    bench = Bench("   CPU0 CPU1\n 24: 10 20 chip  1-edge  dev\n")
    bench.tick("   CPU0 CPU2\n 24: 11 5000 chip  1-edge  dev\n")
    assert bench.keys == {"24", "24:0", "24:2"}
    assert bench.why("24", "Int/s") is Reason.INTERRUPTED, "CPU 1 may have taken more before it went"
    assert bench.why("24:2", "Int/s") is Reason.FIRST_TICK
    assert [bench.value("24", name) for name in ("CPUs", "Top", "Top%")] == [None] * 3, "CPU 2 may have taken more"
    bench.tick("   CPU0 CPU2\n 24: 12 5002 chip  1-edge  dev\n")
    assert (bench.value("24", "Int/s"), bench.value("24:2", "Int/s")) == (3, 2)
    bench.tick("   CPU0 CPU3\n 24: 12 5002 chip  1-edge  dev\n")  # the same line, of other CPUs
    assert bench.keys == {"24", "24:0", "24:3"}
    bench.tick("   CPU0 CPU3 CPU4\n 24: 13 5002 0 chip  1-edge  dev\n")
    assert bench.value("24", "Int/s") == 1, "CPU 4 has taken none"
    bench.tick("   CPU0 CPU3 CPU4 CPU5\n 24: 13 5002 1 7 chip  1-edge  dev\n")
    assert bench.why("24", "Int/s") is Reason.INTERRUPTED, "nobody knows when CPU 5 took its 7"


def test_a_cpu_that_goes_leaves_its_sources_unknown_for_one_interval() -> None:
    bench = Bench("   CPU0 CPU1\n 24: 10 20 chip  1-edge  dev\n")
    bench.tick("   CPU0\n 24: 12 chip  1-edge  dev\n")
    assert bench.why("24", "Int/s") is Reason.INTERRUPTED
    assert bench.value("24:0", "Int/s") == 2
    bench.tick("   CPU0\n 24: 15 chip  1-edge  dev\n")
    assert bench.value("24", "Int/s") == 3


def test_a_line_without_a_cpu_of_the_header_was_not_read() -> None:
    bench = Bench(X86)
    bench.tick(X86.replace("LOC:    500000     400000     300000", "LOC:    500900     400000"))
    assert bench.value("LOC", "Int/s") is None, "none were counted, and not none came"
    assert (bench.why("LOC", "Int/s"), bench.why("LOC:0", "Int/s")) == (Reason.NOT_READ, Reason.NOT_READ)
    assert bench.value("24", "Int/s") == 0
    bench.tick(X86.replace("500000", "501800"))
    assert (bench.value("LOC", "Int/s"), bench.value("LOC:0", "Int/s")) == (900, 900), "over both seconds"


def test_an_interval_of_any_length_over_a_restart_is_unknown() -> None:
    bench = Bench("   CPU0\n 24: 500 chip  1-edge  dev\n")
    first = bench.last
    for count in (3, 4000):
        bench.tick(f"   CPU0\n 24: {count} chip  1-edge  dev\n")
    assert bench.last is not None
    bench.found = RowDifferences(first, bench.last)
    assert bench.why("24", "Int/s") is Reason.INTERRUPTED


def test_only_the_measured_cpus_count() -> None:
    bench = Bench(X86, only=frozenset({0, 3}))
    assert {"24", "24:0", "24:3", "LOC:3"} <= bench.keys
    assert not {"9:1", "LOC:1"} & bench.keys
    bench.tick(X86.replace("1000          0         20", "1060        500         60"))
    assert [bench.value("24", name) for name in ("Int/s", "CPUs", "Top%")] == [100, 2, 60]
    assert bench.value("ERR", "Int/s") == 0
    topology = known_machine(simulated_host("laptop"), frozenset({0, 3})).topology
    assert topology.restricted == frozenset({0, 3})
    assert known_machine(simulated_host("laptop")).topology.restricted is None


def test_a_full_kind_has_no_busiest_cpu_and_says_why_at_every_tick() -> None:
    kind = replace(INTERRUPTS.source.kind, most=3)
    bench = Bench("   CPU0 CPU1\n 24: 10 20 chip  1-edge  dev\nERR: 1\n", columns=Columns(kind, Bench.quantities))
    for _ in range(2):
        bench.tick()
        assert bench.found.newer.omitted == 1, "ERR"
    bench = Bench("   CPU0 CPU1 CPU2\n 24: 10 20 5 chip  1-edge  dev\n", columns=Columns(kind, bench.quantities))
    for _ in range(2):
        bench.tick()
        assert bench.found.newer.omitted == 1
    assert bench.why("24", "Top") is Reason.OUT_OF_RANGE
    assert bench.value("24", "Int/s") == 0


def test_affinity_is_read_for_numbered_rows_and_read_again_every_fifth_tick() -> None:
    bench = Bench(X86, {"24/smp_affinity_list": "0-3\n", "24/effective_affinity_list": "0\n",
                        "9/smp_affinity_list": "1\n", "9/effective_affinity_list": "\n"})
    assert (bench.value("24", "Affinity"), bench.value("24", "Effective")) == ("0-3", "0")
    assert bench.value("9", "Affinity") == "1"
    assert bench.why("9", "Effective") is Reason.NOT_SET
    assert bench.why("25", "Affinity") is Reason.RECORDED  # the tree has no such file
    assert bench.why("LOC", "Affinity") is Reason.NO_HARDWARE
    bench.host.files["/proc/irq/24/smp_affinity_list"] = "2\n"
    before = bench.host.reads
    seen = [bench.tick() and bench.value("24", "Affinity") for _ in range(5)]
    assert seen[-1] == "2"
    assert bench.host.reads - before == 5 * 1 + 5 * len(("affinity", "effective")), "each of five rows once"
    table = row_table(INTERRUPTS, bench.found)
    evidence = table.evidence(next(column for column in COLUMNS if column.id == "Affinity"), bench.row("24"))
    assert evidence.readings[0][:2] == ("affinity 2", "  /proc/irq/24/smp_affinity_list")


def test_two_rows_of_one_name_are_two_rows() -> None:
    """PowerPC prints LOC twice."""
    bench = Bench("   CPU0\nLOC: 10 Local timer interrupts for timer event device\nLOC: 5 others\n")
    bench.tick("   CPU0\nLOC: 12 Local timer interrupts for timer event device\nLOC: 9 others\n")
    assert (bench.value("LOC", "Int/s"), bench.value("LOC'", "Int/s")) == (2, 4)


@pytest.mark.parametrize("line", ["24: x 1 c  1-edge  d", "24: 99999999999 1 c  1-edge  d", "24:", "ERR:",
                                  "ERR: 18446744073709551616", "ERR: 9999999999", "٣: 1 2 c  1-edge  d"])
def test_lines_that_no_kernel_prints_harm_nobody(line: str) -> None:
    bench = Bench(f"   CPU0 CPU1\n{line}\nLOC: 1 2 Local\n")
    assert {key for key in bench.keys if key.isascii()} == {"LOC", "LOC:0", "LOC:1"}
    bench.tick(f"   CPU0 CPU1\n{line}\nLOC: 3 2 Local\n")
    assert bench.value("LOC", "Int/s") == 2
    bench.tick(f"   CPU0 CPU1\nLOC: torn 2 Local\n{line}\n")
    bench.tick("   CPU0 CPU1\nLOC: 7 2 Local\n")
    assert bench.value("LOC", "Int/s") == 2, "4 in the two seconds since it was read"


def test_a_row_with_the_count_of_a_cpu_that_came_in_mid_table_is_read_at_the_next_tick() -> None:
    bench = Bench("   CPU0 CPU2\nLOC: 10 20 Local\n")
    bench.tick("   CPU0 CPU2\nLOC: 11 1000 22 Local\n")
    bench.tick("   CPU0 CPU1 CPU2\nLOC: 12 1001 24 Local\n")
    assert (bench.value("LOC:0", "Int/s"), bench.value("LOC:2", "Int/s")) == (1, 2), "of two seconds each"


def test_a_file_that_cannot_be_read_says_why() -> None:
    reader = InterruptReader(TreeHost({}, errors={PATH: errno.EACCES}))
    columns = Columns(INTERRUPTS.source.kind, INTERRUPTS.source.quantities)
    columns.begin(1, 1)
    why = reader.read(columns)
    assert why is not None
    assert why.reason is Reason.NOT_PERMITTED


def test_affinity_is_read_only_while_a_column_of_it_is_looked_at() -> None:
    bench = Bench(X86, {"24/smp_affinity_list": "0-3\n", "24/effective_affinity_list": "0\n"})
    effective = [column for column in COLUMNS if column.id in ("Int/s", "Effective")]
    for columns, reads in (([], 0), (effective, 5), ([], 0), (COLUMNS, 10)):
        asked = INTERRUPTS.asked(columns)
        assert isinstance(asked, NarrowedSource)
        bench.columns.want(asked.wanted)
        before = bench.host.reads
        bench.tick()
        assert bench.host.reads - before == 1 + reads, "the file, and those of five numbered rows"
        assert bench.value("24", "Device") == "nvme0q1"
        assert (bench.value("24", "Effective") == "0") is (reads > 0)
        assert reads or bench.why("24", "Effective") is Reason.NOT_READ


@pytest.mark.parametrize("slow", [1, 2, 3])
def test_an_interrupted_read_is_made_again_and_given_up_after_three(slow: int) -> None:
    bench = Bench(X86)
    now = [bench.seconds * 10**9]
    takes = [100_000]
    read_text = bench.host.read_text

    def slowly(path: str) -> str:
        now[0] += takes.pop() if takes else 100_000
        return read_text(path)

    bench.host.now_ns = lambda: now[0]  # type: ignore[method-assign]
    bench.host.read_text = slowly  # type: ignore[method-assign]
    result = []
    for durations in ([100_000], [300_000_000] * slow, [100_000]):
        now[0] += 10**9
        takes[:] = durations
        bench.columns.begin(now[0], now[0])
        result.append(bench.reader.read(bench.columns))
    assert [why is None for why in result] == [True, slow < 3, True]
    assert slow < 3 or (result[1] is not None and result[1].reason is Reason.INTERRUPTED)


def test_a_recorded_machine_says_that_nothing_moves_there() -> None:
    host = TreeHost({PATH: X86})
    assert host.kind is HostKind.RECORDED
    result = InterruptSource().open(replace(known_machine(simulated_host("laptop")), host=host))
    assert isinstance(result, Unavailable)
    assert result.reason is Reason.RECORDED


def test_a_cell_tells_its_arithmetic_and_what_was_read() -> None:
    bench = Bench(X86)
    bench.tick(X86.replace("1000", "1060"))
    evidence = row_table(INTERRUPTS, bench.found).evidence(
        next(column for column in COLUMNS if column.id == "Int/s"), bench.row("24"))
    assert evidence.arithmetic == ("= Δcount / interval", "= 60 / 1")
    assert evidence.readings == (("count 1,020 → 1,080 in 1.000 s", "  /proc/interrupts, row 24",
                                  "  proc(5); kernel Documentation/filesystems/proc.rst"),)
