""".ci/packages: a package that cannot be installed does not prevent others, and is named at the end."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = Path(__file__).parents[2] / ".ci" / "packages"


def test_guests_are_made_where_nothing_can_be_installed(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "mktemp", "ln", "rm"):
        (programs / name).symlink_to(shutil.which(name) or name)
    (programs / "python3").symlink_to(sys.executable)
    (programs / "id").write_text("#!/bin/sh\necho 1000\n")  # nobody may install anything
    (programs / "id").chmod(0o755)
    guests = tmp_path / "tests" / "guest"
    guests.mkdir(parents=True)
    (guests / "arm64guest.py").write_text("raise SystemExit('no mirror')")
    (guests / "x86guest.py").write_text("open('made', 'w').close()")
    ended = subprocess.run([programs / "bash", PACKAGES], cwd=tmp_path,  # noqa: S603 - our own script
                           env={"PATH": str(programs), "HOME": str(tmp_path)}, stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=False)
    failed = [line.removeprefix("failed: ") for line in ended.stderr.splitlines() if line.startswith("failed: ")]
    assert "tmux" in failed
    assert "pcp python3-pcp python3-requests" in failed
    assert failed[-1] == "tests/guest/arm64guest.py"
    assert (tmp_path / "made").exists(), ended.stderr
    assert ended.returncode == 1
