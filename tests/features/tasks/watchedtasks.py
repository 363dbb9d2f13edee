"""Runs `turbotui tasks` and programs for it to watch."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from forked import run_forked
from jsontables import by as rows_by
from jsontables import tables
from patience import PATIENCE

from turbotui.features.tasks.task_table import AFTER, FINAL, SINCE_START, SUM, TASKS, TOTALS, USED
from turbotui.machine.host import HostError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.tasks.sets import SamplingMoment, choose
from turbotui.quantities.tables import AnyTable
from turbotui.tables.envelope import Envelope
from turbotui.tables.json_lines import JsonLines

ROOT = Path(__file__).parents[3]
_BURN = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str

    @property
    def tables(self) -> list[dict[str, Any]]:
        return intervals(self.out)


def intervals(text: str) -> list[dict[str, Any]]:
    """Return the content of each pair of tables: `tasks`, and the totals by kind, with facts and notes."""
    result = [table for table in tables("\n".join(line for line in text.splitlines() if line.startswith("{")))
              if table["table"] in (TASKS, TOTALS)]
    return [_interval(rows, totals) for rows, totals in zip(result[::2], result[1::2], strict=True)]


def _interval(rows: dict[str, Any], totals: dict[str, Any]) -> dict[str, Any]:
    assert (rows["table"], totals["table"]) == (TASKS, TOTALS)
    whole = rows_by(totals, "what")
    known = {what: {name: value for name, value in values.items() if value is not None}
             for what, values in whole.items()}
    others = (SUM, AFTER, FINAL, SINCE_START, USED)
    (summed,) = (row for row in totals["rows"] if row["what"] == SUM)
    return {
        **rows["facts"], "kind": rows["kind"], "seconds": rows["seconds"], "notes": rows.get("notes", []),
        "tasks": [{"pid": None, "tid": None, "thr": 1, **row, **row["values"]} for row in rows["rows"]],
        "sum": whole[SUM], "final_read": known.get(FINAL), "after_last_samples": known.get(AFTER),
        "since_start": known[SINCE_START], "used": known.get(USED), "estimated": summed.get("estimated", []),
        "not_in_rows": {what: values for what, values in known.items()
                        if what not in others and not what.startswith("set ")},
        "set_counts": [values for what, values in known.items() if what.startswith("set ") and what.endswith(SUM)],
    }


def written(envelope: Envelope, shown: Iterable[AnyTable]) -> dict[str, Any]:
    """Return the tables of one interval as `intervals` does, without running a program."""
    (result,) = intervals("\n".join(line for table in shown for line in JsonLines().lines(envelope, table)))
    return result


def tasks(*words: str, by: Sequence[str] = (), **user: Any) -> Done:
    """Run `turbotui tasks`, by another program or as another user if one is given."""
    if not by and not user:
        done = run_forked("tasks", *words)
    else:
        done = subprocess.run([*by, sys.executable, "-m", "turbotui", "tasks", *words], capture_output=True,  # noqa: S603 - ours
                              text=True, check=False, timeout=PATIENCE, cwd=ROOT,
                              env={**os.environ, "PYTHONPATH": str(ROOT)}, **user)
    return Done(done.returncode, done.stdout, done.stderr)


def started(*words: str) -> subprocess.Popen[str]:
    """`turbotui tasks`, to be read while it runs."""
    return subprocess.Popen([sys.executable, "-m", "turbotui", "tasks", *words], stdout=subprocess.PIPE,  # noqa: S603 - ours
                            text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


def switches_allowed() -> bool:
    """Whether the kernel lets this user sample switches."""
    try:
        return choose(LinuxHost(), min(os.sched_getaffinity(0)), (), whole_cpus=False).when is SamplingMoment.SWITCHES
    except HostError:
        return False


def in_namespaces(test: Callable[..., None]) -> Callable[..., None]:
    """The marks of a test that watches from a pid namespace."""
    for mark in (pytest.mark.real, pytest.mark.skipif(
            os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare (util-linux)"),
                 pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here")):
        test = mark(test)
    return test


@contextmanager
def busy_loops() -> Iterator[list[int]]:
    """A busy loop on every CPU; gives their process numbers."""
    loops = [subprocess.Popen([sys.executable, "-S", "-c", _BURN, str(cpu)]) for cpu in os.sched_getaffinity(0)]  # noqa: S603 - ours
    try:
        yield [loop.pid for loop in loops]
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
