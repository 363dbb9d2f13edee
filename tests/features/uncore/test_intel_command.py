"""`turbotui uncore` of an Intel server: the unit nearest to its peak, PMUs without named events, explanations."""

from __future__ import annotations

import json

import pytest
from uncorewatch import UncoreWatch

from turbotui.cli import main
from turbotui.features.uncore.screen_rows import caption_of, content_of
from turbotui.features.uncore.tables import uncore_table

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
    column = next(one for one in watch.counters.shown(units) if one.id == "miss latency ns")
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

    assert caption(200).endswith("channels and links have peaks")
    assert caption(79) == "   CHA  cache and home agents: last-level cache slices · 112 x uncore_cha …"
    assert {len(caption(width)) <= width for width in range(10, 180)} == {True}


def test_at_80_columns_it_is_whole_why_a_link_has_no_bandwidth() -> None:
    watch = UncoreWatch("vera-2s")
    units = watch.units_of("nvidia_nvlink_c2c_pmu")
    content = content_of(uncore_table(watch.counters, units, watch.frames()[-1]))
    caption = "".join(text for text, _role in caption_of(units, content, 79))
    assert caption.startswith("   NVLink-C2C  no GB/s: it counts requests and no bytes · ")


def test_what_is_nearest_to_its_peak() -> None:
    watch = UncoreWatch("sapphire-2s")
    frame = watch.frames()[-1]
    upi = uncore_table(watch.counters, watch.units_of("uncore_upi"), frame).fullest()
    assert upi is not None
    assert " #0 " in upi.words  # the first link takes 40 %
    assert upi.words.endswith(f" {100 * upi.share:.1f} %")
    assert uncore_table(watch.counters, watch.units_of("uncore_m2m"), frame).fullest() is None
