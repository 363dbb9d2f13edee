"""A name that stands for unlike events becomes one event for each, with its own name."""

from __future__ import annotations

from pathlib import Path

import pytest
from file_machines import AMD, hybrid, pmu, tree, xeon

from turbotui.events import errors as faults
from turbotui.events.encoder import EventEncoder
from turbotui.machine.pmus import EventError

_TICKS = {"clockticks": "event=0x1", "other": "event=0x2"}
_LINES = {
    "cas_count_read_sch0": "event=0x05,umask=0xcf", "cas_count_read_sch1": "event=0x06,umask=0xcf",
    "cas_count_write_sch0": "event=0x05,umask=0xf0", **_TICKS,
}  # fmt: skip


def server(root: Path) -> EventEncoder:
    """Controllers, caches and meshes, two of each, with an event that all of them have."""
    formats = {"event": "config:0-7", "umask": "config:8-15"}
    files: dict[str, str] = {**pmu("cpu", 4, AMD, {"cpu-cycles": "event=0x76"}), **pmu("tracepoint", 2, {})}
    number = 20
    for name, events in (("uncore_imc", _LINES), ("uncore_cha", _TICKS), ("uncore_m2m", _TICKS),
                         ("uncore_imc_free_running", _TICKS)):
        for instance in (0, 1):
            files |= pmu(f"{name}_{instance}", number, formats, events, cpumask="0")
            number += 1
    files |= pmu("nvidia_pcie_pmu_0_rc_4", 50, formats, _TICKS, cpumask="0")
    files |= pmu("nvidia_pcie_pmu_1_rc_9", 51, formats, _TICKS, cpumask="0")
    return EventEncoder(tree(root, files))


def strings(encoder: EventEncoder, text: str) -> dict[str, int]:
    """Each string with the number of its counters."""
    result = [event.string for event in encoder.encode(text)]
    return {name: result.count(name) for name in dict.fromkeys(result)}


@pytest.mark.parametrize(("text", "expected"), [
    ("uncore_imc/cas_count_read_sch?/", {"uncore_imc/cas_count_read_sch0/": 2, "uncore_imc/cas_count_read_sch1/": 2}),
    ("imc/cas_*_sch0/u", {"imc/cas_count_read_sch0/u": 2, "imc/cas_count_write_sch0/u": 2}),
    ("imc_0/event=cas_count_r*,umask=3/", {"imc_0/cas_count_read_sch0,umask=3/": 1,
                                           "imc_0/cas_count_read_sch1,umask=3/": 1}),
    ("uncore_imc/clockticks/", {"uncore_imc/clockticks/": 2}),
    ("uncore_imc_?/clockticks/", {"uncore_imc_?/clockticks/": 2}),
    ("uncore_imc*/clockticks/", {"uncore_imc/clockticks/": 2, "uncore_imc_free_running/clockticks/": 2}),
    ("nvidia_pcie_pmu_*/clockticks/", {"nvidia_pcie_pmu_*/clockticks/": 2}),
    ("uncore_*/*ticks/", {f"uncore_{name}/clockticks/": 2 for name in ("cha", "imc", "imc_free_running", "m2m")}),
    ("clockticks:u", {
        **{f"uncore_{name}/clockticks/u": 2 for name in ("cha", "imc", "imc_free_running", "m2m")},
        "nvidia_pcie_pmu_*_rc_*/clockticks/u": 2,
    }),
    ("clockticks/umask=2/", {
        **{f"uncore_{name}/clockticks,umask=2/": 2 for name in ("cha", "imc", "imc_free_running", "m2m")},
        "nvidia_pcie_pmu_*_rc_*/clockticks,umask=2/": 2,
    }),
    ("{imc_0/cas_*_sch0/}", {"imc_0/cas_count_read_sch0/": 1, "imc_0/cas_count_write_sch0/": 1}),
    ("cycles", {"cycles": 1}),
    ("cas_count_read_sch0", {"cas_count_read_sch0": 2}),
])
def test_instances_are_summed_and_unlike_things_are_not(tmp_path: Path, text: str, expected: dict[str, int]) -> None:
    encoder = server(tmp_path)
    assert strings(encoder, text) == {name: expected[name] for name in sorted(expected, key=list(expected).index)}
    for name, count in expected.items():
        alone = encoder.encode(name)
        assert {event.string for event in alone} == {name}, "the name of one stands for it alone"
        assert len(alone) == count
        same = [event for event in encoder.encode(text) if event.string == name]
        assert [(event.pmu, event.attr) for event in alone] == [(event.pmu, event.attr) for event in same]


def test_tracepoints_of_a_pattern_are_events_of_their_own(tmp_path: Path) -> None:
    encoder = EventEncoder(xeon(tmp_path))
    assert strings(encoder, "sched:sched_*") == {"sched:sched_switch": 1, "sched:sched_wakeup": 1}
    assert strings(encoder, "*:*_w*:k") == {"sched:sched_wakeup:k": 1}
    assert strings(encoder, "{sched:sched_*,cs}") == {"sched:sched_switch": 1, "sched:sched_wakeup": 1, "cs": 1}


def test_the_cores_of_a_hybrid_machine_are_alike(tmp_path: Path) -> None:
    encoder = EventEncoder(hybrid(tmp_path))
    for text in ("cycles", "cpu_*/cycles/", "cpu/cycles/"):
        assert strings(encoder, text) == {text: 2}


@pytest.mark.parametrize(("text", "fault", "says"), [
    ("imc/zz*/", faults.UnknownEventError, "fits 'zz\\*'"),
    ("imc/cas_count_raed*/", faults.UnknownEventError, "did you mean"),
    ("zz*/clockticks/", faults.UnknownPmuError, "no PMU 'zz"),
    ("imc/cas*,clockticks/", faults.ConflictError, "two events"),
])
def test_a_pattern_that_fits_nothing_is_one_sentence(
    tmp_path: Path, text: str, fault: type[EventError], says: str
) -> None:
    with pytest.raises(fault, match=says):
        server(tmp_path).encode(text)
