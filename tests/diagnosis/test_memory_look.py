"""The resctrl group that moves most bytes, by the counters of all groups."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from judged_frames import made
from prochost import ProcHost

from turbotui.cli import main
from turbotui.diagnosis.memory_look import MemoryLook
from turbotui.diagnosis.rules import Certainty, JudgedFrame, LookResults, MemoryMover, MemoryShare, NoFinding, Observed
from turbotui.diagnosis.waiting_rules import BANDWIDTH
from turbotui.quantities.scope import RowId, Scope
from turbotui.simulated import ManualClock, simulated_host

TOP = "/sys/fs/resctrl"
MOUNTS = f"30 20 0:25 / {TOP} rw,relatime shared:9 - resctrl resctrl rw\n"
GB = 10**9


def host_of(*groups: str) -> ProcHost:
    files: dict[str, str | int] = {"/proc/self/mountinfo": MOUNTS}
    for group in groups:
        files[f"{TOP}{group}/tasks"] = ""
        for domain in range(2):
            files[f"{TOP}{group}/mon_data/mon_L3_0{domain}/mbm_total_bytes"] = "0"
    return ProcHost(dict(files))


def grow(host: ProcHost, group: str, content: str) -> None:
    for domain in range(2):
        host.files[f"{TOP}{group}/mon_data/mon_L3_0{domain}/mbm_total_bytes"] = content


def looked(host: ProcHost, **moved: str) -> MemoryMover | None:
    """The mover over 2 s in which the groups reached these counts in each of two domains."""
    look = MemoryLook(host)
    assert look.mover is None
    look.look()
    assert look.mover is None, "one reading is no traffic"
    host.clock_ns += 2 * GB
    for group, content in moved.items():
        grow(host, "" if group == "default" else f"/{group}" if "__" not in group
             else "/" + group.replace("__", "/mon_groups/"), content)
    look.look()
    return look.mover


def test_the_group_that_moved_most_its_rate_and_its_share() -> None:
    host = host_of("", "/batch", "/web")
    mover = looked(host, default=f"{GB}", batch=f"{3 * GB}", web="0")
    assert mover is not None
    assert (mover.name, mover.rate, mover.least) == ("batch", 3.0 * GB, False)
    assert mover.words == "batch moves 3 GB/s, 75 % of all groups"


def test_a_monitoring_group_that_moves_nearly_all_of_its_control_group_is_named() -> None:
    groups = ("", "/batch", "/batch/mon_groups/train", "/batch/mon_groups/other")
    most = looked(host_of(*groups), default="0", batch=f"{10 * GB}", batch__train=f"{9 * GB}")
    assert most is not None
    assert most.name == "train"
    half = looked(host_of(*groups), default="0", batch=f"{10 * GB}", batch__train=f"{5 * GB}", batch__other=f"{5 * GB}")
    assert half is not None
    assert half.name == "batch"
    assert half.share == 1.0


def test_without_a_counter_in_a_group_no_share_is_told() -> None:
    """The kernel leaves a monitoring group without a counter out of its control group's sum."""
    mover = looked(host_of("", "/batch", "/batch/mon_groups/train"), default=f"{GB}", batch=f"{3 * GB}",
                   batch__train="Unassigned")
    assert mover is not None
    assert mover.words == "batch moves at least 3 GB/s of what is counted"
    other = looked(host_of("", "/batch", "/web"), default=f"{GB}", batch=f"{3 * GB}", web="Unavailable")
    assert other is not None
    assert other.words == "batch moves 3 GB/s of what is counted"


def test_a_group_that_began_anew_and_groups_that_moved_nothing() -> None:
    host = host_of("", "/batch")
    grow(host, "/batch", f"{5 * GB}")
    mover = looked(host, default=f"{GB}", batch="7")
    assert mover is not None
    assert (mover.name, mover.share) == ("default group", None)
    assert looked(host_of("", "/batch")) is None
    assert looked(ProcHost({"/proc/self/mountinfo": ""})) is None


def test_the_name_of_a_group_is_one_line() -> None:
    mover = looked(host_of("/a\x1b[2Jb"), **{"a\x1b[2Jb": "9"})
    assert mover is not None
    assert "\x1b" not in mover.words


def test_a_simulated_machine_moves_what_its_groups_do() -> None:
    clock = ManualClock(0)
    look = MemoryLook(simulated_host("sapphire-2s", clock, seed=7))
    for _ in range(2):
        clock.advance(10.0)
        look.look()
    assert look.mover is not None
    assert look.mover.name in {"batch", "train"}
    assert look.mover.share is not None
    assert 0.3 < look.mover.share < 1.0
    assert look.traffic == pytest.approx(look.mover.rate / look.mover.share)
    assert look.local is not None
    assert 0.5 < look.local / look.mover.rate * look.mover.share < 1.0


def test_local_bytes_are_those_of_all_control_groups() -> None:
    host = host_of("", "/batch", "/batch/mon_groups/train")
    look = MemoryLook(host)

    def local(**counts: str) -> float | None:
        for group, content in counts.items():
            for domain in range(2):
                path = group.replace("default", "").replace("batch", "/batch").replace("__", "/mon_groups/")
                host.files[f"{TOP}{path}/mon_data/mon_L3_0{domain}/mbm_local_bytes"] = content
        host.clock_ns += GB
        look.look()
        return look.local

    assert local() is None, "the files are not there"
    assert local(default="0", batch="0", batch__train="0") is None
    assert local(default=f"{GB}", batch=f"{2 * GB}", batch__train=f"{GB}") == pytest.approx(6.0 * GB), "not train twice"
    assert local(batch="Unassigned") is None
    assert local(batch="5") is None
    assert local(batch="3") is None, "it began anew"


def test_traffic_is_unknown_unless_all_groups_are_counted() -> None:
    host = host_of("", "/batch", "/batch/mon_groups/train")
    look = MemoryLook(host)
    look.look()
    assert look.traffic is None
    host.clock_ns += GB
    grow(host, "", f"{GB}")
    grow(host, "/batch", f"{2 * GB}")
    look.look()
    assert look.traffic == pytest.approx(6.0 * GB)
    grow(host, "/batch/mon_groups/train", "Unassigned")
    host.clock_ns += GB
    look.look()
    assert look.traffic is None


class Levels(NamedTuple):
    """Rows of levels of memory: name, bytes a second of its own memory, peak."""

    levels: tuple[tuple[str, float | None, float | None], ...]

    def kind(self, _kind: str) -> SimpleNamespace:
        rows = {slot: SimpleNamespace(name=name) for slot, (name, _rate, _peak) in enumerate(self.levels)}
        return SimpleNamespace(newer=SimpleNamespace(roster=SimpleNamespace(rows=rows)),
                               rates=lambda _name: [rate for _row, rate, _peak in self.levels],
                               level=lambda _name, slot: self.levels[slot][2])


def bandwidth(*levels: tuple[str, float | None, float | None], memory: MemoryShare | None = None,
              mover: MemoryMover | None = None) -> Observed | NoFinding:
    moment = made(seen=LookResults(mover=mover))
    frame: Any = Levels(levels)
    return BANDWIDTH.judge(JudgedFrame(frame, moment.catalog, memory=memory, seen=moment.seen))


def test_a_node_near_its_peak_is_named_with_the_group_that_moves_most() -> None:
    mover = MemoryMover("batch", 40e9, 0.71)
    result = bandwidth(("machine", 99e9, 100e9), ("node 0", 10e9, 50e9), ("node 1", 45e9, 50e9), ("node 2", None, 50e9),
                       ("node 3", 60e9, None), mover=mover)
    assert isinstance(result, Observed)
    assert result.sentence == ("The memory of node 1 moves 45 of 50 GB/s for L3 caches, 90 % of its peak: cores wait "
                               "for it; batch moves 40 GB/s, 71 % of all groups")
    assert result.lost == pytest.approx(0.45)


@pytest.mark.parametrize("at_most", [False, True])
def test_more_than_a_peak_is_marked_and_no_likely_cause(at_most: bool) -> None:
    package = MemoryShare(RowId(Scope.PACKAGE, (0,)), 515e9, 500e9, at_most=at_most)
    moment = made()
    by_package = BANDWIDTH.judge(JudgedFrame(moment.frame, moment.catalog, memory=package, seen=moment.seen))
    for result in (by_package, bandwidth(("node 0", 51.5e9, 50e9))):
        assert isinstance(result, Observed)
        assert "103 %? of its peak, more than it can: " in result.sentence
        assert result.sure is Certainty.POSSIBLE
    assert package.words.endswith("(103 %?)")


def test_what_is_nearer_to_its_peak_is_told() -> None:
    quiet = MemoryShare(RowId(Scope.PACKAGE, (0,)), 5e9, 50e9, at_most=False)
    above = bandwidth(("node 0", 45e9, 50e9), memory=quiet)
    assert isinstance(above, Observed)
    assert "node 0" in above.sentence
    assert bandwidth(("node 0", 20e9, 50e9), memory=quiet) is NoFinding.CLEAR
    assert bandwidth(("node 0", 20e9, 50e9)) is NoFinding.NOT_ASKED, "devices' bytes are not among a cache's"


def test_why_names_the_group(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """No simulated machine whose groups are all counted is near its peak: here a twentieth of it is near."""
    monkeypatch.setattr("turbotui.diagnosis.waiting_rules._MEMORY_FULL", 0.02)
    assert main(["why", "--machine", "sapphire-2s", "-n", "2", "-i", "0.3", "--json"]) == 7
    assert "cores wait for it; batch moves" in capsys.readouterr().out
