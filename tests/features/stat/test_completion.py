"""Completion of --add texts on a machine of a few files."""

from __future__ import annotations

import pytest
from statscripts import FilesHost

from turbotui.quantities.added import parse_added
from turbotui.sampling.event_completion import complete_added

PMU = "/sys/bus/event_source/devices"
HOST = FilesHost({
    f"{PMU}/power/type": "9\n", f"{PMU}/power/events/energy-pkg": "event=0x02\n",
    f"{PMU}/power/events/energy-pkg.scale": "2.3e-10\n", f"{PMU}/power/events/energy-ram": "event=0x03\n",
    f"{PMU}/msr/type": "10\n", f"{PMU}/msr/events/tsc": "event=0x00\n",
    "/sys/class/x/one": "1\n", "/sys/class/x/two": "2\n",
})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ("perf/", "msr0x", "/sys/", "pmt,")),
        ("perf/", ("perf/msr/", "perf/power/")),
        ("perf/p", ("perf/power/",)),
        ("perf/power/", ("perf/power/energy-pkg", "perf/power/energy-ram")),
        ("perf/power/energy-r", ("perf/power/energy-ram",)),
        ("perf/absent/", ()),
        ("/sys/class/x/t", ("/sys/class/x/two",)),
        ("/sys/nowhere/t", ()),
        ("msr0x10,pa", ("msr0x10,package",)),
        ("msr0x10,u", ("msr0x10,u32", "msr0x10,u64", "msr0x10,usec")),
        ("pmt,name=a,do", ("pmt,name=a,domain=cpu", "pmt,name=a,domain=core", "pmt,name=a,domain=package")),
    ],
)
def test_completions(text: str, expected: tuple[str, ...]) -> None:
    assert complete_added(HOST, text) == expected


def test_a_completed_event_and_register_are_counters() -> None:
    for text in (*complete_added(HOST, "perf/power/"), *complete_added(HOST, "msr0x3f")):
        assert parse_added(text).name
    assert "msr0x611" in complete_added(HOST, "msr0x61")
    assert all(word.startswith("msr0x61") for word in complete_added(HOST, "msr0x61"))
    assert len(complete_added(HOST, "msr0x", limit=3)) == 3
