"""A control group made by the test, with a child of the test, watched until it is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from watchedtasks import switches_allowed

from turbotui.errors import MachineError
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.tables import Grouping
from turbotui.features.tasks.watched_applications import WatchedApplications
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(os.geteuid() != 0, reason="making a control group needs root"),
    pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here"),
]

ECHO = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"


def cgroup2() -> Path | None:
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        words = line.split(" ")
        if words[2] == "cgroup2":
            return Path(words[1])
    return None


@pytest.fixture
def container() -> Iterator[Path]:
    """A group that is named as podman names that of a container."""
    mount = cgroup2()
    if mount is None:
        pytest.skip("no cgroup2 hierarchy is mounted here")
    folder = mount / f"libpod-{os.getpid():064x}.scope"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made in {mount}: {error.strerror}")
    yield folder
    folder.rmdir()


def test_a_container_is_watched_by_its_id(container: Path) -> None:
    watching = WatchedApplications(read_machine(LinuxHost()))
    try:
        with subprocess.Popen([sys.executable, "-S", "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE,  # noqa: S603 - ours
                              text=True) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            try:
                (container / "cgroup.procs").write_text(str(child.pid), encoding="ascii")
            except OSError as error:
                child.kill()
                pytest.skip(f"{container} takes no process: {error.strerror}")
            word = f"{os.getpid():064x}"
            application = watching.add(Application(word, container=word))
            for number in range(50):
                child.stdin.write(f"{number}\n")
                child.stdin.flush()
                assert child.stdout.readline() == f"{number}\n"
            watching.round(0)
            report = watching.report(application, Grouping.PROCESS)
            assert [row.pid for row in report.rows] == [child.pid]
            units = watching.report(application, Grouping.UNIT, again=True)
            assert [row.name for row in units.rows] == [f"podman {word[:12]}"]
            child.stdin.close()
            child.wait()
    finally:
        watching.close()


@pytest.fixture
def group() -> Iterator[Path]:
    mount = cgroup2()
    if mount is None:
        pytest.skip("no cgroup2 hierarchy is mounted here")
    folder = mount / f"turbotui-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made in {mount}: {error.strerror}")
    yield folder
    with suppress(FileNotFoundError):  # the test has removed it
        folder.rmdir()


def test_a_control_group_is_watched_until_it_is_gone(group: Path) -> None:
    watching = WatchedApplications(read_machine(LinuxHost()))
    try:
        with subprocess.Popen([sys.executable, "-S", "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE,  # noqa: S603 - ours
                              text=True) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            try:
                (group / "cgroup.procs").write_text(str(child.pid), encoding="ascii")
            except OSError as error:
                child.kill()
                pytest.skip(f"{group} takes no process: {error.strerror}")
            item = watching.add(Application(group.name, cgroup=str(group)))
            for number in range(50):
                child.stdin.write(f"{number}\n")
                child.stdin.flush()
                assert child.stdout.readline() == f"{number}\n"
            watching.round(0.0)
            report = watching.report(item, Grouping.PROCESS)
            child.stdin.close()
            child.wait()
        assert {row.pid for row in report.rows} == {child.pid}
        assert report.rows[0].counts["switches"] >= 40
        assert report.rows[0].counts["run"] > 0
        assert not report.ended
        group.rmdir()
        watching.round(0.0)
        assert watching.report(item, Grouping.PROCESS).ended
        watching.finish()
        assert item.aggregate.read is not None
        assert tuple(map(sum, zip(item.aggregate.sums(), item.aggregate.tail, strict=True))) == item.aggregate.read
        with pytest.raises(MachineError, match=f"no control group {group}"):
            watching.add(Application("again", cgroup=str(group)))
    finally:
        watching.close()
