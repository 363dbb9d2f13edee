from __future__ import annotations

import sys
from pathlib import Path

from prochost import Content, ProcHost, machine_of
from watched_machines import frames_of_machine

from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.signals import Raw, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.simulated import SimulatedHost
from turbotui.sources.own_cgroup import OwnCgroup
from turbotui.sources.source import Summing

sys.path.insert(0, str(Path(__file__).parents[1] / "machine"))
from test_cgroups import PRESSURE, SCOPE, SLICE, V1, V2

IDS = frozenset({
    "cgroup.used", "cgroup.periods", "cgroup.throttled", "cgroup.throttled_time", "cgroup.quota", "cgroup.psi.cpu.some",
    "cgroup.psi.memory.some", "cgroup.psi.memory.full", "cgroup.psi.io.some", "cgroup.psi.io.full",
})  # fmt: skip
UNLIMITED = {name: text for name, text in V2.items() if not name.endswith("cpu.max")}


class Group:
    """A reader of everything, and what it gives."""

    def __init__(self, files: dict[str, Content]) -> None:
        self.host: ProcHost
        self.machine: Machine
        self.host, self.machine = machine_of(files)
        self.signals = OwnCgroup().probe(self.machine).signals
        self.reader = OwnCgroup().open_shared(self.machine, IDS)

    def read(self) -> dict[str, Raw]:
        return {signal: values[0] for signal, values in zip(self.reader.signals, self.reader.read(), strict=True)}


def stat(used: int, periods: int, throttled: int, time: int) -> str:
    return f"usage_usec {used}\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {time}\n"


def test_the_quota_above_the_own_group_is_what_counts() -> None:
    group = Group(V2)
    assert set(group.signals) == IDS
    assert isinstance(group.signals["cgroup.throttled"], Signal)
    first = group.read()
    assert first["cgroup.quota"] == 1_500_000
    group.host.files[f"{SLICE}/cpu.stat"] = stat(800, 50, 16, 1000)
    second = group.read()
    grown = {name: second[name] - first[name] for name in IDS  # type: ignore[operator]
             if name.startswith("cgroup.") and "psi" not in name and name != "cgroup.quota"}
    assert grown == {"cgroup.used": 300_000, "cgroup.periods": 10, "cgroup.throttled": 6,
                     "cgroup.throttled_time": 300_000}


def test_pressure_is_that_of_the_own_group() -> None:
    group = Group({**V2, f"{SLICE}/cpu.pressure": PRESSURE.format(5, 5)})
    assert group.read()["cgroup.psi.cpu.some"] == 1000
    assert isinstance(group.signals["cgroup.psi.io.some"], Unavailable)


def test_counts_continue_when_another_group_becomes_the_tightest() -> None:
    group = Group(V2)
    group.read()
    group.host.files[f"{SCOPE}/cpu.max"] = "50000 100000\n"
    group.host.files[f"{SCOPE}/cpu.stat"] = stat(400, 1000, 900, 1)
    changed = group.read()
    assert changed["cgroup.quota"] == 500_000
    assert changed["cgroup.periods"] == 0, "its thousand periods were before the quota was the tightest"
    group.host.files[f"{SCOPE}/cpu.stat"] = stat(500, 1010, 905, 1)
    assert group.read()["cgroup.throttled"] == 5


def test_a_count_that_falls_is_unknown_and_one_that_was_not_read_is_made_up_for() -> None:
    group = Group(V2)
    group.host.files[f"{SLICE}/cpu.stat"] = stat(800, 50, 16, 1000)
    first = group.read()
    group.host.files[f"{SLICE}/cpu.stat"] = "usage_usec x\n"
    assert group.read()["cgroup.used"] is None
    group.host.files[f"{SLICE}/cpu.stat"] = stat(900, 60, 2, 1500)
    second = group.read()
    assert second["cgroup.throttled"] is None, "not 0: it began anew"
    assert isinstance(group.reader, Summing)
    assert group.reader.unsure == {"cgroup.throttled": frozenset({0})}
    group.host.files[f"{SLICE}/cpu.stat"] = stat(900, 60, 3, 1500)
    third = group.read()
    assert [third[name] - first[name] for name in ("cgroup.used", "cgroup.periods")  # type: ignore[operator]
            ] == [100_000, 10], "with what was counted while it could not be read"


def test_a_group_without_a_quota_has_a_reason_and_no_zero() -> None:
    group = Group(UNLIMITED)
    for name in ("cgroup.quota", "cgroup.throttled", "cgroup.periods", "cgroup.throttled_time"):
        absent = group.signals[name]
        assert isinstance(absent, Unavailable)
        assert absent.reason is Reason.NOT_SET
        assert "/user.slice/user-1000.slice/session-2.scope" in absent.detail
    assert isinstance(group.signals["cgroup.used"], Signal)
    assert group.read()["cgroup.quota"] is None


def test_a_quota_above_what_a_container_sees_is_not_said_to_be_none() -> None:
    absent = Group(UNLIMITED | {"/sys/fs/cgroup/cgroup.type": "domain\n"}).signals["cgroup.quota"]
    assert isinstance(absent, Unavailable)
    assert absent.reason is Reason.HIDDEN
    assert "whether one of them has a quota is not known" in absent.detail
    limited = Group(V2 | {"/sys/fs/cgroup/cgroup.type": "domain\n"})
    assert isinstance(limited.signals["cgroup.quota"], Signal)


def test_version_1() -> None:
    group = Group(V1)
    assert isinstance(group.signals["cgroup.throttled"], Signal)
    group.read()
    group.host.files["/sys/fs/cgroup/cpu,cpuacct/job/cpu.stat"] = "nr_periods 30\nnr_throttled 6\nthrottled_time 0\n"
    read = group.read()
    assert (read["cgroup.periods"], read["cgroup.throttled"], read["cgroup.quota"]) == (10, 1, 500_000)
    assert read["cgroup.throttled_time"] is None, "nobody knows what a count that went down had counted"


def test_a_machine_without_control_groups() -> None:
    group = Group({})
    assert {value.reason for value in group.signals.values() if isinstance(value, Unavailable)} == {Reason.NO_DRIVER}
    assert set(group.signals) == IDS
    assert set(group.read().values()) == {None}


def test_version_1_alone_has_no_pressure() -> None:
    group = Group({**V1, "/proc/self/mountinfo": str(V1["/proc/self/mountinfo"]).rsplit("33 ", maxsplit=1)[0]})
    absent = group.signals["cgroup.psi.cpu.some"]
    assert isinstance(absent, Unavailable)
    assert "version 2" in absent.detail


def test_counts_continue_when_cpus_come_and_go() -> None:
    def plug(host: SimulatedHost, tick: int) -> None:
        if tick > 1:
            host.set_online(3, tick == 3)

    names = ("CgPSIcpu%", "Throttled%", "Quota%")
    _, (_, *frames) = frames_of_machine("laptop-old+overload+quota", 3, columns=names, between=plug)
    assert [len(frame.topology.cpus) for frame in frames] == [8, 7, 8]
    for frame in frames:
        columns = catalog_for(frame.capabilities.signals).by_id
        assert None not in [frame.cell(columns[name], SYSTEM_ROW) for name in names]
