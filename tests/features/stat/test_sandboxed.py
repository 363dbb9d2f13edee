"""The program under a real seccomp filter, and with real masks over its files."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import sandbox
from patience import PATIENCE

_PROGRAM = Path(sandbox.__file__)
_TURBOTUI = (sys.executable, "-m", "turbotui")
_HIDE = 'mount --make-rprivate / && mount --bind /dev/null /proc/interrupts && {} && exec "$@"'


def filtered(calls: str, *words: str) -> subprocess.CompletedProcess[str]:
    if sandbox.why_not():
        pytest.skip(sandbox.why_not())
    return run((sys.executable, str(_PROGRAM), calls, str(errno.EPERM), *_TURBOTUI, *words))


def masked(how: str, *words: str) -> subprocess.CompletedProcess[str]:
    unshare = shutil.which("unshare")
    if unshare is None or os.geteuid() != 0:
        pytest.skip("needs root, and unshare (package util-linux)")
    return run((unshare, "-m", "sh", "-c", _HIDE.format(how), "sh", *_TURBOTUI, *words))


def run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE,  # noqa: S603 - ours
                          stdin=subprocess.DEVNULL)
    if "Operation not permitted" in done.stderr and words[0].endswith("unshare"):
        pytest.skip(f"nothing may be mounted: {done.stderr.strip()}")
    return done


def tables(output: str, name: str) -> list[dict[str, object]]:
    return [table for line in output.splitlines() if (table := json.loads(line)).get("table") == name]


def test_without_affinity_files_are_read_by_threads_that_are_bound_to_no_cpu() -> None:
    done = filtered("sched_setaffinity", "stat", "-q", "-n", "1", "-i", "0.2", "--show", "CPU,Load%,IRQ", "--format",
                    "json")
    assert done.returncode == 0, done.stderr
    rows = tables(done.stdout, "cpus")[-1]["rows"]
    assert isinstance(rows, list)
    cpus = [row["values"] for row in rows if row["row"] == "cpu"]
    assert len(cpus) == len(os.sched_getaffinity(0))
    assert all(values["Load%"] is not None and values["IRQ"] is not None for values in cpus)


def test_without_affinity_the_doctor_names_what_is_refused() -> None:
    done = filtered("sched_setaffinity", "doctor", "--format", "json")
    said = [row["values"] for table in tables(done.stdout, "sources") for row in table["rows"]  # type: ignore[attr-defined]
            if row.get("source") == "rdtsc"]
    assert said
    assert all("sched_setaffinity" in values["detail"] for values in said if "x86" not in values["detail"]), said
    facts = [table["facts"] for table in tables(done.stdout, "sources") if "facts" in table]
    assert "seccomp" in json.dumps(facts)


@pytest.mark.parametrize("words", [("stat", "-n", "1", "-i", "0.1"), ("doctor",), ("groups", "-n", "1", "-i", "0.1")])
def test_limits_and_names_that_may_not_be_asked_for_are_unknown(words: tuple[str, ...]) -> None:
    done = filtered("prlimit64,getrlimit,setrlimit,uname,sched_getaffinity", *words)
    assert done.returncode == 0, done.stderr
    assert "internal error" not in done.stderr
    if words == ("doctor",):
        assert "prlimit64" in done.stdout


def test_masks_of_a_container_are_named() -> None:
    done = masked("mount -t tmpfs -o ro tmpfs /sys/bus/event_source", "doctor")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("/proc/interrupts"))
    assert "hides /proc/interrupts" in line
    assert "mount -t proc" not in done.stdout
    assert any("hides /sys/bus/event_source" in line for line in done.stdout.splitlines() if "perf hardware" in line)


def test_a_proc_of_processes_alone_ends_no_verb() -> None:
    how = "mount -t proc -o subset=pid,hidepid=invisible proc /proc"
    for words in (("stat", "-n", "1", "-i", "0.1"), ("doctor",)):
        done = masked(how, *words)
        assert done.returncode == 0, done.stderr
        assert "x86 only" not in done.stdout
    assert "unknown: /proc/cpuinfo is hidden" in done.stdout
