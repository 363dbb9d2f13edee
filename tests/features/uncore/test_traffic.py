"""The map of traffic: its edges compared with the model, its picture at every size, and unknown values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from uncoretree import CORESIGHT, GRACE_INFO, INTEL_INFO, machine
from uncorewatch import UncoreWatch

from turbotui.cli import main
from turbotui.features.memory import MEMORY
from turbotui.features.uncore.counters import Reading, UncoreCounters
from turbotui.features.uncore.map_picture import draw_map
from turbotui.features.uncore.traffic import Traffic, find_edges, metrics_by_kind, traffic_of, traffic_table
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.uncore import EdgeKind
from turbotui.simulated import SHAPES, MachineShape


def watched(shape: str | MachineShape) -> tuple[UncoreWatch, tuple[Traffic, ...]]:
    watch = UncoreWatch(shape)
    edges = find_edges(watch.machine, watch.counters.kinds)
    watch.counters.count_beside(metrics_by_kind(edges))
    frame = watch.frames(1)[-1]
    return watch, traffic_of(watch.counters, frame, edges)


def picture(traffic: tuple[Traffic, ...], width: int, height: int) -> list[str]:
    return ["".join(text for text, _role in line) for line in draw_map(traffic, width, height)]


def test_what_leaves_one_package_arrives_at_the_other() -> None:
    _watch, traffic = watched("turin-2s")
    links = [row for row in traffic if row.edge.place.kind is EdgeKind.PACKAGE]
    assert len(links) == 2 * 6
    sides = {row.edge.package: {"in": 0.0, "out": 0.0} for row in links}
    for row in links:
        assert (row.peak.value, row.edge.end.partition(" by ")[0]) == (None, f"package {1 - row.edge.package}")
        sides[row.edge.package]["in"] += row.inward.value or 0.0
        sides[row.edge.package]["out"] += row.outward.value or 0.0
    assert sides[0]["in"] == pytest.approx(sides[1]["out"], rel=5e-3)
    assert sides[1]["in"] == pytest.approx(sides[0]["out"], rel=5e-3)
    assert sides[0]["in"] > 0


@pytest.mark.parametrize("packages", [2, 4, 8])
def test_both_ends_of_a_link_tell_of_the_same_bytes(packages: int) -> None:
    block = replace(SHAPES["big-8s"].blocks[0], cores=4, l3=4)
    _watch, traffic = watched(replace(SHAPES["big-8s"], packages=packages, blocks=(block,)))
    links = {(row.edge.package, row.edge.end): row for row in traffic if row.edge.place.kind is EdgeKind.PACKAGE}
    assert len(links) == 3 * packages
    for (package, end), row in links.items():
        other, _by, label = end.removeprefix("package ").partition(" by ")
        far = links[int(other), f"package {package} by {label}"]
        assert row.inward.value == pytest.approx(far.outward.value, rel=5e-3, abs=1e-6)
    assert sum(row.inward.value or 0.0 for row in links.values()) > 0


def test_memory_has_one_peak_for_both_directions() -> None:
    watch, traffic = watched("turin-2s")
    memory = next(row for row in traffic if row.edge.place.kind is EdgeKind.MEMORY)
    assert memory.inward.value is not None
    assert memory.outward.value is not None
    assert memory.peak.value == pytest.approx(12 * 48.0)
    assert memory.share == pytest.approx((memory.inward.value + memory.outward.value) / (12 * 48.0))
    table = traffic_table(watch.counters, traffic)
    evidence = table.evidence(next(column for column in table.columns if column.id == "in"), memory)
    assert "64 / dt" in "\n".join(evidence.arithmetic)


@pytest.mark.parametrize("shape", ["turin-2s", "sapphire-2s"])
def test_more_than_a_peak_is_disputed_in_the_table_and_on_the_map(shape: str) -> None:
    watch, traffic = watched(shape)
    known = next(row for row in traffic if row.share and row.peak.value)
    edge = known.edge
    assert known.share is not None
    assert known.peak.value is not None
    for share, sign in ((1.0, ""), (1.03, "?")):
        row = replace(known, peak=replace(known.peak, value=known.peak.value * known.share / share))
        table = traffic_table(watch.counters, [row])
        cells = {column.id: table.cell(column, row) for column in table.columns}
        assert cells["of peak"].signs == sign
        assert bool(cells["of peak"].disputed) is bool(sign)
        assert not any(cell.disputed for name, cell in cells.items() if name != "of peak")
        assert any(f"{100 * share:.1f}%{sign} of " in line or f"{100 * share:.1f}%{sign}" in line
                   for line in picture((row,), 120, 40)), edge.end


@pytest.mark.parametrize(("reading", "partial"), [
    (lambda row: replace(row.outward, partial=True), True),
    (lambda _row: Reading(why=Unavailable(Reason.LATE, "cpu 0 did not answer in time")), True),
    (lambda _row: Reading(why=Unavailable(Reason.NO_HARDWARE, "counts no bytes of this direction")), False),
])
@pytest.mark.parametrize("kind", [EdgeKind.MEMORY, EdgeKind.PACKAGE])
def test_a_share_of_a_peak_without_a_part_of_the_traffic_is_marked(
    reading: Callable[[Traffic], Reading], kind: EdgeKind, *, partial: bool,
) -> None:
    watch, traffic = watched("granite-2s")
    whole = next(row for row in traffic if row.edge.place.kind is kind and row.share is not None)
    assert not whole.is_partial
    outward = reading(whole)
    total = replace(whole.total, value=None if outward.value is None else whole.total.value, why=outward.why,
                    partial=outward.partial)
    row = replace(whole, outward=outward, total=total)
    table = traffic_table(watch.counters, [row])
    cell = table.cell(next(column for column in table.columns if column.id == "of peak"), row)
    assert row.is_partial is partial
    assert cell.partial is partial
    drawn = "\n".join(picture((row,), 120, 40))
    assert ("≥" in drawn) is (partial and (row.share is not None or row.inward.value is not None))
    if partial and row.share is not None:
        assert cell.bare is None


def test_every_column_that_is_a_share_of_a_peak_is_held_against_it() -> None:
    shares = {metric for shape in ("sapphire-2s", "turin-2s", "grace-2s", "vera-2s", "neoverse-2s")
              for units in UncoreWatch(shape).counters.kinds for metric in units.metrics
              if metric.unit == "%" and any(word in metric.what.split() for word in ("used", "peak"))}
    assert shares
    assert all(metric.of_peak for metric in shares)
    assert [column.id for column in MEMORY.columns if column.of_peak] == ["Peak%"]
    column = Column[float]("p", "%", 1, (), lambda row: row, of_peak=True)
    values = [99.0, 100.0, 100.0000001, 100.06, 101.0, 103.0]  # 0.06 %: 1,066 MT/s for 1,066.67
    noted = RowTable("t", "row", (column,), values).cells(column, values).noted
    assert {at: cell.signs for at, cell in noted.items()} == {4: "?", 5: "?"}


def test_what_nobody_counts_says_why() -> None:
    watch, traffic = watched("vera-2s")
    link = next(row for row in traffic if row.edge.place.kind is EdgeKind.PACKAGE)
    assert (link.inward.value, link.share) == (None, None)
    reasons = "\n".join(traffic_table(watch.counters, traffic).reasons())
    assert "NV-CLink counts no bytes" in reasons
    assert "UCF has no peak: no counter and no file says how much" in reasons


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 36), (200, 60)])
def test_the_picture_fits(width: int, height: int) -> None:
    _watch, traffic = watched("turin-2s")
    lines = picture(traffic, width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    assert sum("│ package 0 │" in line for line in lines) == 1
    assert any(line.startswith("[  memory 1") for line in lines)
    assert any("I/O 7" in line for line in lines) == (height > 24), "else devices are added up"


def test_a_small_picture_has_a_line_for_each_package() -> None:
    _watch, traffic = watched("turin-2s")
    lines = picture(traffic, 60, 2)
    assert [line[:10].strip() for line in lines] == ["package 0", "package 1"]
    assert [line[:10].strip() for line in picture(traffic, 60, 4)] == ["package 0", "", "package 1", ""]
    assert "mem" in lines[0]
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize("shape", ["granite-2s", "neoverse-2s", "vera-2s", "grace-2s"])
def test_names_are_whole_in_80_columns(shape: str) -> None:
    _watch, traffic = watched(shape)
    lines = picture(traffic, 80, 40)
    for row in traffic:
        other, _by, label = row.edge.end.partition(" by ")
        name = f"{label} to {other} │" if label else row.edge.end
        if row.edge.place.kind is not EdgeKind.DEVICE or "(" not in name:
            assert any(name in line for line in lines), name
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("width", [78, 79, 80, 83])
def test_a_share_goes_without_its_peak_before_it_is_cut(width: int) -> None:
    _watch, traffic = watched("vera-2s")
    ports = [line for line in picture(traffic, width, 40) if "PCIE" in line]
    assert ports
    assert all(re.search(r"%( of \d+)?$", line) for line in ports), ports


@pytest.mark.parametrize(("packages", "size", "beside"), [
    (4, (80, 14), ("pkg 1 ", "pkg 2 ", "pkg 3 ")), (8, (120, 26), ("pkg 1 ", "pkg 2 ", "pkg 3 ")),
    (8, (200, 50), ("UPI 0 to package 1 │", "UPI 1 to package 2 │", "[  memory 1  ]"))])
def test_many_packages_keep_their_links(packages: int, size: tuple[int, int], beside: tuple[str, ...]) -> None:
    _watch, traffic = watched(replace(SHAPES["big-8s"], packages=packages, blocks=(replace(SHAPES["big-8s"].blocks[0],
                                                                                           cores=4, l3=4),)))
    lines = picture(traffic, *size)
    assert len(lines) <= size[1]
    assert max(map(len, lines)) <= size[0]
    for name in beside:
        assert any(name in line for line in lines), name


def test_what_is_at_the_most_is_reported_in_a_line_too() -> None:
    _watch, traffic = watched("neoverse-2s")
    machine, *packages = picture(traffic, 80, 4)
    assert machine.startswith("machine    mem ")
    assert "≤" not in machine
    assert [line[:16] for line in packages] == ["package 0  mem ≤", "package 1  mem ≤"]


def test_both_directions_of_cxl_ports_are_one_sum() -> None:
    """Each is counted by a PMU of its own, so that nothing is missing in their sum."""
    _watch, traffic = watched("granite-2s")
    ports = [row for row in traffic if row.edge.place.kind is EdgeKind.CXL and row.edge.package == 0]
    inward = sum(row.inward.value or 0.0 for row in ports)
    outward = sum(row.outward.value or 0.0 for row in ports)
    assert any(f"◀{inward:>7.2f}{outward:>8.2f}▶ CXL, 4 edges" in line for line in picture(traffic, 80, 24))


def test_of_links_added_up_the_fullest_has_its_share_told() -> None:
    """A full link holds work up: a share of all their peaks would hide it."""
    _watch, traffic = watched("granite-2s")
    links = [row for row in traffic if row.edge.place.kind is EdgeKind.PACKAGE and row.edge.package == 0]
    most = max(value or 0.0 for row in links for value in (row.inward.value, row.outward.value))
    (line,) = [line for line in picture(traffic, 90, 16) if "package 1, 6 edges" in line]
    peak = 3.0 * 3 * 64 / 9  # GHz, slots a cycle, bytes a slot carries
    assert line.endswith(f"  max {100 * most / peak:.1f}% of 64")
    short = next(line for line in picture(traffic, 60, 2) if line.startswith("package 0"))
    assert f"{100 * most / peak:.0f}%" in short.partition("links")[2].partition("ports")[0]


def test_what_comes_in_is_what_the_other_of_two_packages_sends() -> None:
    """Zen 4 counts on its links what goes out, and no more."""
    watch, traffic = watched(replace(SHAPES["turin-2s"], family=25, model=0x11))
    first, second = [row for row in traffic if row.edge.place.kind is EdgeKind.PACKAGE]
    assert (first.edge.end, second.edge.end) == ("package 1 by xGMI", "package 0 by xGMI")
    assert first.inward.value == second.outward.value != first.outward.value
    assert first.total.value == pytest.approx((first.inward.value or 0.0) + (first.outward.value or 0.0))
    table = traffic_table(watch.counters, traffic)
    columns = {column.id: column for column in table.columns}
    counted = table.evidence(columns["in"], first)
    assert any("package 1" in line for part in counted.readings for line in part), "who counted it"
    assert table.evidence(columns["total"], first).arithmetic[0] == "= in + out"


def test_more_than_two_packages_do_not_say_who_sent() -> None:
    _watch, traffic = watched(replace(SHAPES["turin-2s"], family=25, model=0x11, packages=4))
    links = [row for row in traffic if row.edge.place.kind is EdgeKind.PACKAGE]
    assert len(links) == 4
    assert all(row.inward.value is None and row.outward.value for row in links)


def test_a_machine_without_such_pmus_has_no_edges(tmp_path: Path) -> None:
    result = machine(tmp_path, {"xyz_0": {**CORESIGHT, "cpumask": "0"}}, GRACE_INFO, ((0, 1), (2, 3)))
    counters = UncoreCounters(result)
    assert find_edges(result, counters.kinds) == ()
    assert draw_map((), 80, 24) == []


def link(tmp_path: Path, packages: tuple[tuple[int, ...], ...]) -> str:
    """What a UPI link of package 0 leads to, by files as the kernel's ABI/testing/sysfs-devices-mapping has them."""
    box = {"format/event": "config:0-7", "format/umask": "config:8-15,32-55", "cpumask": "0", "die0": "upi_1,die_3"}
    result = machine(tmp_path, {"uncore_upi_0": box}, INTEL_INFO, packages)
    (edge,) = find_edges(result, UncoreCounters(result).kinds)
    return edge.end


def test_a_link_leads_where_the_kernel_says(tmp_path: Path) -> None:
    assert link(tmp_path, ((0, 1), (2, 3), (4, 5), (6, 7))) == "package 3 by UPI"


def test_a_machine_of_one_package_has_its_memory_there() -> None:
    _watch, traffic = watched("laptop")
    (memory,) = traffic
    assert (memory.edge.start, memory.edge.end, memory.peak.value) == ("package 0", "memory 0", None)
    assert memory.inward.value is not None


def test_the_verb_draws_it_and_tells_its_edges(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["uncore", "--machine", "turin-2s", "--map", "-i", "0.1", "-n", "1"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.startswith("# SIMULATED machine turin-2s")
    assert "[  memory 0  ]" in out
    assert main([*words, "--format", "json"]) == 0
    (table,) = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert table["table"] == "traffic"
    assert {(row["from"], row["to"]) for row in table["rows"]} >= {("package 0", "memory 0"), ("package 1", "I/O 7")}
