"""Functions of a command: a program of two functions of known shares, and events whose places are known."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jsontables import tables
from patience import least_disturbed

from turbotui.features.roofline import function_points
from turbotui.features.roofline.engine import count_command
from turbotui.features.roofline.function_points import FunctionPoint
from turbotui.features.roofline.result_tables import function_table
from turbotui.features.roofline.text import report_lines
from turbotui.machine.core_metrics import CountedCoreType
from turbotui.machine.elf_symbols import FunctionTable
from turbotui.machine.ip_records import CodeFile
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.pmus import Pmu
from turbotui.quantities.metric_definitions import MetricDefinition, MetricEvent, Term
from turbotui.quantities.roofline import Sizing, WidthModel
from turbotui.tables.envelope import Envelope
from turbotui.tables.json_lines import JsonLines

_SOURCE = r"""
#include <stddef.h>
#include <sys/mman.h>
static volatile double sink;
#define WORK double a = 1; for (long i = 0; i < n; i++) a = a * 1.0000001 + 1e-9; sink = a
__attribute__((noinline)) void heavy(long n) { WORK; }
__attribute__((noinline)) void light(long n) { WORK; }
__attribute__((noinline)) void touch(char *area, size_t size) { for (size_t i = 0; i < size; i += 4096) area[i] = 1; }
int main(void)
{
    for (int i = 0; i < 40; i++) {
        char *area = mmap(NULL, 100 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(area, 100 * 4096, MADV_NOHUGEPAGE);
        touch(area, 100 * 4096);
        munmap(area, 100 * 4096);
        heavy(3000000);
        light(1000000);
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (package gcc)")
    folder = tmp_path_factory.mktemp("functions")
    (folder / "two.c").write_text(_SOURCE)
    subprocess.run([compiler, "-O1", "-o", folder / "two", folder / "two.c"], check=True)  # noqa: S603 - of PATH
    return folder / "two"


def _stand_in() -> CountedCoreType:
    """Page faults stand in for operations, minor ones for accesses: the kernel samples each of them."""
    definition = MetricDefinition(
        slug="software", name="software", pmu=("software",),
        events=(MetricEvent("operations", 2, "page-faults"), MetricEvent("loads", 5, "minor-faults")),
        flops=(Term("operations", 1),), accesses=(Term("loads", 1),), widths=(), counters=4, note="a stand-in",
        source="perf_event_open(2)", instructions=1,
    )
    return CountedCoreType(definition, Pmu("software", 1), None)  # PERF_TYPE_SOFTWARE


@pytest.mark.real
@least_disturbed
def test_shares_and_operations_are_those_of_the_program(program: Path) -> None:
    result = count_command(read_machine(LinuxHost()), [str(program)], 0.5, core_types=(_stand_in(),),
                           sizing=Sizing(WidthModel.GIVEN, 8.0), theory=True, functions=True)
    assert result.status == 0
    points: dict[str, FunctionPoint] = {point.name: point for point in result.functions.points if point.file == "two"}
    heavy, light, touch = points["heavy"], points["light"], points["touch"]
    assert heavy.samples > 50
    # 3 : 1, within four standard deviations of so few samples
    error = 4 * (heavy.error + 3 * light.error)
    assert abs(heavy.share - 3 * light.share) < error
    assert sum(point.share for point in result.functions.points) == pytest.approx(1.0)
    # all faults of the areas are in one function, and each stands for one operation and one access of 8 bytes
    assert touch.flops is not None
    assert touch.flops == pytest.approx(40 * 100, rel=0.1)
    assert touch.intensity == pytest.approx(1 / 8, rel=0.1)
    assert (heavy.flops or 0.0) < 0.05 * touch.flops


@pytest.mark.real
def test_functions_are_reported_with_what_is_not_known(program: Path) -> None:
    result = count_command(read_machine(LinuxHost()), [str(program)], 0.5, core_types=(), functions=True)
    assert result.points == ()
    envelope = Envelope(result.host, result.kind, 0, result.seconds)
    text = "\n".join(report_lines(envelope, result, plot=False, width=100, coloured=False))
    assert "heavy" in text
    assert "one for each millisecond of a CPU" in text
    (table,) = tables("\n".join(JsonLines().lines(envelope, function_table(result))))
    row = next(row for row in table["rows"] if row["function"] == "heavy")
    assert row["values"]["AI"] is None
    assert "only time is sampled" in str(row)


@pytest.mark.real
def test_a_stripped_program_has_shares_and_no_names(program: Path) -> None:
    strip = shutil.which("strip")
    if strip is None:
        pytest.skip("no strip (package binutils)")
    bare = program.with_name("bare\x1b[31m")
    shutil.copy(program, bare)
    subprocess.run([strip, "--strip-all", bare], check=True)  # noqa: S603 - of PATH
    result = count_command(read_machine(LinuxHost()), [str(bare)], 0.5, core_types=(), functions=True)
    busiest = result.functions.points[0]
    assert (busiest.name, busiest.file) == ("(no symbol)", "bare␛[31m")
    assert busiest.share > 0.8


def test_symbol_tables_of_all_files_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code of everybody is sampled, and a file of holes may have a table of 256 MiB."""
    monkeypatch.setattr(function_points, "_MOST_HELD", 2 << 20)
    held = {CodeFile("/large", 1): FunctionTable(texts=bytes(2 << 20))}
    name, why = function_points._named(CodeFile(sys.executable, 0), 0, held, 0.0)
    assert name == ("(no symbol)", os.path.basename(sys.executable))
    assert why == "functions of other files take 2 MiB already"
