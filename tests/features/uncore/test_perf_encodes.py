"""Events of simulated machines' uncore PMUs, as an installed perf encodes them over a copy of their sysfs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from uncorewatch import UncoreWatch

from turbotui.events.perf_encoder import PerfEncoder
from turbotui.features.uncore.kinds import UncoreUnits
from turbotui.machine.host import Host
from turbotui.machine.pmus import DEVICES
from turbotui.machine.small_files import names_in

Words = tuple[int, int, int, int]
_CONFIGS = tuple(re.compile(rf"\b{word}(?: \}})?\s+(0x[0-9a-f]+|\d+)") for word in ("config", "config1", "config2"))
_TYPE = re.compile(r"type\s+(\d+)")
_WATCHPOINT = "watchpoint_down,wp_dev_sel=1,wp_chn_sel=3,wp_grp=1,wp_val=0x12,wp_mask=0xfffffffffffffff0"
TYPED = {"arm_cmn": (_WATCHPOINT, "hnf_mc_reqs,bynodeid=1,nodeid=0x44"), "arm_ni": ("amni,nodeid=1,eventid=0x3",),
         "smmuv3_pmcg": ("transaction,filter_enable=1,filter_span=1,filter_stream_id=0x1ff",)}


def copied(host: Host, pmu: str, root: Path) -> None:
    """The files of a PMU that perf reads."""
    for folder in ("", "/format", "/events"):
        for name in names_in(host, f"{DEVICES}/{pmu}{folder}"):
            try:
                text = host.read_text(f"{DEVICES}/{pmu}{folder}/{name}")
            except OSError:
                continue
            path = root / f"sys/bus/event_source/devices/{pmu}{folder}/{name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def perfs(perf: str, root: Path, events: Sequence[str]) -> list[Words]:
    """Return the events that perf would open, which it prints before the kernel refuses the missing PMU."""
    result: list[Words] = []
    for event in events:
        text = subprocess.run(  # noqa: S603 - no shell
            [perf, "stat", "-vv", "-a", "-e", event, "true"], capture_output=True, check=False, text=True,
            env={**os.environ, "LC_ALL": "C", "SYSFS_PATH": str(root / "sys")},
        ).stderr
        block = text.partition("perf_event_attr:")[2].partition("-----")[0]
        values = [re_.search(block) for re_ in _CONFIGS]
        words = [0 if match is None else int(match[1], 0) for match in values]
        kind = _TYPE.search(block)
        assert kind is not None, (event, text[:300])
        result.append((int(kind[1]), words[0], words[1], words[2]))
    return result


def asked(units: UncoreUnits) -> list[str]:
    """Return every event that the kind's values need, and what a user could type."""
    needs = dict.fromkeys(name for metric in units.metrics for name in metric.needs)
    return [f"{units.pmu.name}/{event}/" for event in (*needs, *TYPED.get(units.kind.id, ()))]


@pytest.mark.parametrize(("shape", "kinds"), [
    ("neoverse-2s", ("arm_cmn", "arm_dsu", "arm_dmc620", "smmuv3_pmcg", "arm_ni")),
    ("granite-2s", ("uncore_imc", "uncore_cha", "uncore_upi", "uncore_iio", "uncore_b2cmi", "uncore_cxlcm",
                    "uncore_cxldp", "dmar")),
])
def test_every_event_has_perfs_encoding(shape: str, kinds: tuple[str, ...], tmp_path: Path) -> None:
    perf = shutil.which("perf")
    if perf is None:
        pytest.skip("linux-perf")
    watch = UncoreWatch(shape)
    events: list[str] = []
    for kind in kinds:
        units = watch.units_of(kind)
        copied(watch.host, units.pmu.name, tmp_path)
        events += asked(units)
    encoder = PerfEncoder(watch.host)
    ours = [(encoded_event.attr.type, encoded_event.attr.config, encoded_event.attr.config1, encoded_event.attr.config2)
            for event in events for encoded_event in encoder.encode(event)]
    assert dict(zip(events, ours, strict=True)) == dict(zip(events, perfs(perf, tmp_path, events), strict=True))
