"""`turbotui uncore` of an Intel server: the unit nearest to its peak, PMUs without named events, explanations."""

from __future__ import annotations

import json

import pytest
from uncorewatch import UncoreWatch

from turbotui.cli import main
from turbotui.features.uncore.screen_rows import caption_of, content_of
from turbotui.features.uncore.tables import uncore_table

pytestmark = pytest.mark.usefixtures("moved_time")

FAST = ("--machine", "sapphire-2s", "-i", "0.2", "-n", "1")


def test_text_says_what_is_nearest_to_its_peak_and_what_has_no_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uncore", *FAST, "-k", "iio", "-k", "pcu"]) == 0
    out = capsys.readouterr().out
    assert "IIO: PCI Express stacks (8 x uncore_iio); nearest to its peak: pkg " in out
    assert "81:00.0" in out
    assert "  - nothing is counted of uncore_pcu: the kernel names no events of these PMUs" in out
    assert "current_link_speed" in out  # of the stack that has no device
    lines = out[out.index("PCU: power control (2 x uncore_pcu)\n"):].splitlines()
    assert lines[1].startswith("  - nothing is counted of uncore_pcu"), "rows without a number say nothing"


def test_every_table_of_json_says_what_has_no_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["uncore", *FAST, "-k", "ubox", "--format", "json"]) == 0
    (table,) = map(json.loads, capsys.readouterr().out.splitlines())
    (note,) = table["notes"]
    assert note.startswith("UBOX: the kernel names no events of these PMUs: -e uncore_ubox/event=0x1,umask=0x2/")


def test_an_explanation_has_the_name_of_the_vendor_and_the_encoding() -> None:
    watch = UncoreWatch("sapphire-2s")
    frame = watch.frames()[-1]
    units = watch.units_of("uncore_cha")
    table = uncore_table(watch.counters, units, frame)
    column = next(metric for metric in watch.counters.shown(units) if metric.id == "miss latency ns")
    evidence = table.evidence(column, units.rows[0])
    name = "UNC_CHA_TOR_OCCUPANCY.IA_MISS_DRD"
    assert evidence.arithmetic[0].startswith(f"= {name} / UNC_CHA_TOR_INSERTS.IA_MISS_DRD * dt")
    assert "UNC_" not in evidence.arithmetic[1]
    (counted, encoded) = evidence.readings[0]
    assert counted.startswith(f"Δ{name} = ")
    assert "config 0xc817fe00000136" in encoded
    assert any("UNC_CHA_CLOCKTICKS and the interval are averaged" in remark for remark in evidence.remarks)


def test_a_caption_ends_behind_a_word() -> None:
    watch = UncoreWatch("sapphire-2s", whole=True)
    units = watch.units_of("uncore_cha")
    content = content_of(uncore_table(watch.counters, units, watch.frames()[-1]))

    def caption(width: int) -> str:
        return "".join(text for text, _role in caption_of(units, content, width))

    assert caption(200).startswith(f"   CHA  no share of a peak: {units.no_peak} · cache and home agents: ")
    assert caption(79) == "   CHA  no share of a peak · cache and home agents: last-level cache slices …"
    assert {len(caption(width)) <= width for width in range(10, 180)} == {True}


@pytest.mark.parametrize("machine", ["sapphire-2s", "turin-2s", "grace-2s", "vera-2s", "neoverse-2s"])
def test_at_80_columns_the_answer_above_a_table_is_whole(machine: str) -> None:
    watch = UncoreWatch(machine)
    frame = watch.frames()[-1]
    answers = []
    for units in watch.counters.kinds:
        content = content_of(uncore_table(watch.counters, units, frame))
        fullest = content.whole.fullest()  # type: ignore[attr-defined]  # of a table of units
        answers.append(f"nearest to its peak: {fullest.words}  " if fullest is not None else
                       f"no GB/s: {units.kind.no_bytes} · " if units.kind.no_bytes else
                       "no share of a peak · " if units.no_peak else "")
        caption = "".join(text for text, _role in caption_of(units, content, 79))
        assert caption.removeprefix(f"   {units.kind.title}  ").startswith(answers[-1])
    assert any(answers)
    assert machine != "vera-2s" or "no GB/s: it counts requests and no bytes · " in answers


def test_what_is_nearest_to_its_peak() -> None:
    watch = UncoreWatch("sapphire-2s")
    frame = watch.frames()[-1]
    upi = uncore_table(watch.counters, watch.units_of("uncore_upi"), frame).fullest()
    assert upi is not None
    assert " #0 " in upi.words  # the first link takes 40 %
    assert upi.words.endswith(f" {100 * upi.share:.1f} %")
    assert uncore_table(watch.counters, watch.units_of("uncore_m2m"), frame).fullest() is None
