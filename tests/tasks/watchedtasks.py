"""Runs `turbotui tasks` and programs for it to watch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patience import PATIENCE

from turbotui.machine.host import HostError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.tasks.sets import When, choose

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    status: int
    out: str
    err: str

    @property
    def tables(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]


def tasks(*words: str, **keywords: Any) -> Done:
    done = subprocess.run([sys.executable, "-m", "turbotui", "tasks", *words], capture_output=True,  # noqa: S603 - ours
                          text=True, check=False, timeout=PATIENCE, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, **keywords)
    return Done(done.returncode, done.stdout, done.stderr)


def started(*words: str) -> subprocess.Popen[str]:
    """`turbotui tasks`, to be read while it runs."""
    return subprocess.Popen([sys.executable, "-m", "turbotui", "tasks", *words], stdout=subprocess.PIPE,  # noqa: S603 - ours
                            text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})


def switches_allowed() -> bool:
    """Whether the kernel lets this user sample switches."""
    try:
        return choose(LinuxHost(), min(os.sched_getaffinity(0)), (), whole_cpus=False).when is When.SWITCHES
    except HostError:
        return False
