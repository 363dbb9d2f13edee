"""Real causes of slowness, made by the test in its own processes and groups: found while they last."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from patience import PATIENCE

from turbotui.diagnosis.findings import Finding
from turbotui.features.why.engine import watch_machine
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine

pytestmark = pytest.mark.real

SPIN = "while True: pass"
GO = "import sys\nsys.stdin.readline()\nwhile True: pass"


@contextmanager
def running(program: str) -> Iterator[subprocess.Popen[str]]:
    """A Python program that is ended with the test."""
    child = subprocess.Popen([sys.executable, "-S", "-c", program], stdin=subprocess.PIPE, text=True)  # noqa: S603 - ours
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def watched_until(named: Callable[[Finding], bool]) -> Finding:
    """Watch until a finding is so; a busy machine may take several looks, only a failure takes long."""
    machine = read_machine(LinuxHost())
    until, seen = time.monotonic() + PATIENCE, dict[str, str]()
    while time.monotonic() < until:
        for finding in watch_machine(machine, 3, 0.5).verdict.findings:
            seen[finding.rule.id] = finding.sentence
            if named(finding):
                return finding
    pytest.fail(f"not found; there was {seen}")


@pytest.mark.skipif(not Path("/proc/pressure/cpu").exists(), reason="the kernel counts no pressure here")
def test_more_tasks_than_cpus_and_who_they_are() -> None:
    with ExitStack() as children:
        for _ in range(4 * len(os.sched_getaffinity(0))):
            children.enter_context(running(SPIN))
        finding = watched_until(lambda item: item.rule.id == "overload" and "python" in " ".join(item.who))
    assert "tasks want to run on" in finding.sentence
    assert finding.observed.lost > 0.5


@pytest.fixture
def limited() -> Iterator[Path]:
    """A group that may use a hundredth of a CPU, of version 1 or 2."""
    for place, name, text in (("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "1000"),
                              ("/sys/fs/cgroup", "cpu.max", "1000 100000")):
        folder = Path(place) / f"turbotui-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / name).write_text(text, encoding="ascii")
        except OSError:
            folder.rmdir()
            continue
        yield folder
        folder.rmdir()
        return
    pytest.skip("no control group with a quota of CPU time can be made here")


def test_a_quota_that_is_used_up_and_whose(limited: Path) -> None:
    with running(GO) as child:
        (limited / "cgroup.procs").write_text(str(child.pid), encoding="ascii")
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
        finding = watched_until(lambda item: item.rule.id == "quota" and f"/{limited.name}" in item.who)
    assert re.search(rf"used up in \d+ % of its periods: \S*{limited.name} \(0.01 CPUs\)", finding.sentence)
