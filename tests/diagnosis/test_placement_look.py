"""Why the kernel chose its cores, as far as files tell."""

from __future__ import annotations

import errno

import pytest
from judged_frames import made

from turbotui.diagnosis.looks import placement
from turbotui.diagnosis.rule_table import RULES
from turbotui.diagnosis.rules import LookResults, Observed
from turbotui.machine.host import HostError
from turbotui.simulated import SimulatedHost, simulated_host

OLD = "/proc/sys/kernel/sched_itmt_enabled"
NEW = "/sys/kernel/debug/x86/sched_itmt_enabled"
HINT = "/sys/bus/pci/devices/0000:00:04.0/workload_hint/workload_type_index"


def laptop(**texts: str) -> SimulatedHost:
    """A laptop with some of the files; those without a text are refused as the kernel refuses hints that are off."""
    host = simulated_host("laptop")
    paths = {"old": OLD, "new": NEW, "hint": HINT}
    given = {paths[name]: text for name, text in texts.items()}
    read = host.read_text

    class Laptop:
        @staticmethod
        def read_text(path: str) -> str:
            if path in given and not given[path]:
                raise HostError(errno.ENODATA, path)
            return given[path] if path in given else read(path)

    return Laptop()  # type: ignore[return-value]


@pytest.mark.parametrize(("texts", "words"), [
    ({"old": "0\n"}, "not to prefer fast cores"),
    ({"old": "1\n", "hint": "1\n"}, "firmware takes the work for battery life (workload_type_index 1)"),
    ({"new": "N\n"}, "not to prefer fast cores"),
])  # fmt: skip
def test_what_says_why_cores_were_chosen(texts: dict[str, str], words: str) -> None:
    assert words in placement(laptop(**texts))


@pytest.mark.parametrize("texts", [{}, {"old": "1\n"}, {"new": "Y\n"}, {"hint": "2\n"}, {"hint": "17\n"}, {"hint": ""}])
def test_nothing_is_reported_where_nothing_speaks_for_slow_cores(texts: dict[str, str]) -> None:
    assert placement(laptop(**texts)) == ""


def test_the_finding_on_efficiency_cores_has_the_reason() -> None:
    rule = next(slowness_rule for slowness_rule in RULES if slowness_rule.id == "slow-cores")
    result = rule.judge(made(
        "laptop", cpus={"Busy%": {cpu: 2.0 if cpu < 12 else 95.0 for cpu in range(22)}},
        words={"Type": {cpu: "P" if cpu < 12 else "E" for cpu in range(22)}},
        seen=LookResults(placement="firmware takes the work for idle"),
    ))  # fmt: skip
    assert isinstance(result, Observed)
    assert result.sentence.endswith("2 % busy; firmware takes the work for idle")
