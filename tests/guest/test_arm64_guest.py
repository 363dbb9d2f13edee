"""A stock arm64 kernel with a real armv8_pmuv3: binding, encodings and columns compared with exact counts.

QEMU's -icount makes an instruction take 2 ns of virtual time and a cycle 1 ns, so cycles are twice the instructions
while a CPU works, and a billion a second whether it does or not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import arm64guest
import pytest
from comparisons import Comparisons
from jsontables import table

import turbotui

_HERE = Path(__file__).parent
_COMMANDS = {
    "counts": "python3 /guestcounts.py",
    "encoding": "turbotui events encode armv8_pmuv3/inst_retired/ --json",
    "type": "cat /sys/bus/event_source/devices/armv8_pmuv3/type",
    "columns": "turbotui stat -q -i 0.5 -n 2 --format json --show IPC "
    "--add perf/armv8_pmuv3/inst_retired,ins --add perf/armv8_pmuv3/cpu_cycles,cyc",
    "task": "turbotui tasks --json -- "
    "/bin/busybox sh -c 'i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done' 2>/dev/null",
    "groups": "/bin/busybox mount -t cgroup2 none /sys/fs/cgroup; echo +pids > /sys/fs/cgroup/cgroup.subtree_control; "
    "/bin/busybox mkdir /sys/fs/cgroup/job /sys/fs/cgroup/job/inner /sys/fs/cgroup/still; "
    "turbotui groups -n 4 -i 0.5 --table groups --show CPU% --add '{instructions,cycles},rate' --add task-clock,rate "
    # The emulator gives its CPUs turns until the next tick of any: what starts beside a loop takes 20 times as long.
    "--format json | { read -r report; "
    "/bin/busybox sh -c 'echo 0 > /sys/fs/cgroup/job/inner/cgroup.procs; while :; do :; done' & "
    'echo "$report"; cat; kill $!; }',
}
_LOOP = 66  # instructions of one iteration of guestcounts.py's loop: 64 additions, subs, b.ne


@pytest.fixture(scope="module")
def answers() -> dict[str, str]:
    why = arm64guest.GUEST.why_not()
    if why:
        pytest.skip(why)
    tree = Path(turbotui.__file__).parent
    result = arm64guest.GUEST.run(tree, _COMMANDS.values(), [_HERE / "guestcounts.py"])
    return dict(zip(_COMMANDS, result, strict=True))


def test_a_group_of_a_thread_counts_every_instruction(answers: dict[str, str], comparisons: Comparisons) -> None:
    counted = {int(rounds): tries for rounds, tries in json.loads(answers["counts"]).items()}
    (few, short), (many, long) = ((rounds, min(item[2] for item in tries)) for rounds, tries in counted.items())
    # what the interpreter does between two readings may differ by some instructions, and by less than one round
    assert abs(long - short - (many - few) * _LOOP) < _LOOP
    for tries in counted.values():
        for enabled, running, instructions, cycles in tries:
            assert enabled == running
            assert cycles == 2 * instructions
            comparisons.agreed("arm64", "events counters of threads", 2)


def test_an_alias_of_the_pmu_gets_its_type_and_event_number(answers: dict[str, str]) -> None:
    (row,) = table(answers["encoding"], "encodings")["rows"]
    assert row["values"]["type"] == int(answers["type"])
    assert row["values"]["config"] == 0x08  # INST_RETIRED (Arm ARM DDI 0487, D13.12.2)


def test_columns_of_every_cpu_show_what_was_counted(answers: dict[str, str], comparisons: Comparisons) -> None:
    frames = [json.loads(line) for line in answers["columns"].splitlines()]
    assert len(frames) == 2
    for frame in frames:
        rows = [row["values"] for row in frame["rows"] if row["row"] == "cpu"]
        assert len(rows) == 2
        for values in rows:
            # The interval ends when the counter is read, some microseconds before or after the row's own time.
            assert values["cyc"] == pytest.approx(1e9 * frame["seconds"], rel=0.05)
            assert values["ins"] > 0
            assert values["IPC"] == pytest.approx(values["ins"] / values["cyc"], rel=0.1)
            comparisons.agreed("arm64", "events columns added by --add", 2)
            for subject in ("column IPC", "source perf-hardware"):
                comparisons.agreed("arm64", subject)


def _disturbance(rows: Mapping[str, Mapping[str, float]]) -> float:
    """Return by how much the counted times of groups differ from those of their files, as a share."""
    return sum(abs(rows[name]["task-clock"] / max(rows[name]["CPU%"], 0.1) / 1e7 - 1) for name in ("job", "inner"))


def test_a_control_group_has_its_own_counts_and_the_time_that_its_file_says(
    answers: dict[str, str], comparisons: Comparisons
) -> None:
    frames = [json.loads(line) for line in answers["groups"].splitlines() if line.startswith("{")]
    # Groups are read one after the other, in intervals of their own, which rates are over and counts are not. The
    # emulator gives its CPUs turns, so that a reading of both takes up to half an interval beside other load, while the
    # kernel brings a group's file up to date at ticks: the interval in which they are closest was least disturbed.
    rows = min(({row["group"]: row["values"] for row in frame["rows"]} for frame in frames[1:]), key=_disturbance)
    for name in ("job", "inner"):
        assert rows[name]["CPU%"] > 10.0
        assert rows[name]["task-clock"] == pytest.approx(rows[name]["CPU%"] * 1e7, rel=0.1)
        assert rows[name]["cycles"] == pytest.approx(2 * rows[name]["instructions"], rel=1e-4)
    assert rows["job"]["instructions"] == pytest.approx(rows["inner"]["instructions"], rel=0.2)
    assert (rows["still"]["CPU%"], rows["still"]["instructions"], rows["still"]["task-clock"]) == (0, 0, 0)
    assert rows["/"]["instructions"] > rows["job"]["instructions"]
    comparisons.agreed("arm64", "events counters of control groups", 6)


def test_a_command_s_counts_are_its_own(answers: dict[str, str], comparisons: Comparisons) -> None:
    shown, _totals = (json.loads(line) for line in answers["task"].splitlines() if line.startswith("{"))
    (row,) = shown["rows"]
    assert row["values"]["instructions"] > 3000
    # between the readings of the two counters some instructions of the kernel's own may pass
    assert row["values"]["cycles"] == pytest.approx(2 * row["values"]["instructions"], rel=1e-4)
    comparisons.agreed("arm64", "events counters of threads", 2)
