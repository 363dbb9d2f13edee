"""Roofs as tables: the origin of each number, and disturbances."""

from __future__ import annotations

from dataclasses import replace

import pytest
from jsontables import tables

from turbotui.cli import main
from turbotui.features.roofline.roof_tables import roof_tables
from turbotui.features.roofline.roofs import Origin, RoofEvidence
from turbotui.features.roofline.theory import chip_roofs
from turbotui.machine.host import HostKind
from turbotui.tables.envelope import Envelope
from turbotui.tables.json_lines import JsonLines
from turbotui.tables.openmetrics import OpenMetricsText

_THEORY = chip_roofs("i7-3770K", "one")
_CALM = RoofEvidence(2.5e9, 0.25, 7, 3.5e9, "8 x 2", 0.99, 4096)
_DISTURBED = replace(_CALM, disturbances=("something else ran for 40 % of the time",))
_MEASURED = replace(
    _THEORY, origin=Origin.MEASURED, threads="0", when="2026-01-02 03:04", groups=(),
    peaks=(replace(_THEORY.peaks[0], evidence=_CALM), replace(_THEORY.peaks[1], evidence=_DISTURBED)),
    bandwidths=(replace(_THEORY.bandwidths[0], evidence=_CALM),),
)


def test_a_disturbed_roof_is_disputed_and_theory_has_no_rounds() -> None:
    writer, envelope = JsonLines(), Envelope("i7-3770K", HostKind.REAL, 0)
    text = "\n".join(line for table in roof_tables([_MEASURED, _THEORY])
                     for line in writer.lines(envelope, table))
    peaks, _integers, bandwidths, _ridges, sets, _cores = tables(text)
    calm, disturbed, theory = peaks["rows"][:3]
    assert (calm["origin"], calm["values"]["median"], calm["values"]["spread"]) == ("measured", 2.5, 25.0)
    assert "disputed" not in calm
    assert disturbed["disputed"]["GFLOP/s"] == "something else ran for 40 % of the time"
    assert (theory["origin"], theory["values"]["rounds"]) == ("theory", None)
    assert "not measured" in theory["why"]["rounds"]
    assert bandwidths["rows"][0]["values"]["bytes"] == 4096
    assert [row["values"]["when"] for row in sets["rows"]] == ["2026-01-02 03:04", None]


def test_open_metrics_are_in_base_units() -> None:
    writer, envelope = OpenMetricsText(), Envelope("i7-3770K", HostKind.REAL, 0)
    lines = [line for table in roof_tables([_THEORY]) for line in writer.lines(envelope, table)]
    assert ('turbotui_peaks_flop_per_second{threads="one",isa="scalar",operation="ADD",precision="double",'
            'origin="theory",machine="i7-3770K",simulated="false"} 3500000000.0') in lines
    assert "# UNIT turbotui_bandwidths_bytes_per_second bytes_per_second" in lines
    assert not [line for line in lines if "gflop" in line.partition("{")[0].lower() and not line.startswith("#")]


@pytest.mark.parametrize("by", ["core", "package"])
def test_every_sample_has_a_name_of_its_own(by: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of several sets of roofs, of kinds of core with a name in common, and of intervals."""
    words = ["roofline", "--machine", "laptop", "-i", "0.1", "-n", "2", "--by", by, "--format", "openmetrics"]
    assert main(words) == 0
    names = [line.rpartition(" ")[0] for line in capsys.readouterr().out.splitlines() if not line.startswith("#")]
    assert len(names) == len(set(names)) > 100
