# ruff: noqa: S603, S607 - programs are run with words of these tests
"""`.ci/pyz` and `.ci/deb`: turbotui and all it needs, started by a Python that has nothing installed."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

ROOT = Path(__file__).parents[2]
PYTHON = getattr(sys, "_base_executable", sys.executable)
STAT = ("stat", "--machine", "laptop", "-n", "1", "-i", "0.1", "-q", "-S", "--show", "Busy%")


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file, as the command makes it."""
    path = tmp_path_factory.mktemp("pyz") / "turbotui.pyz"
    done = subprocess.run([sys.executable, ROOT / ".ci/pyz", path], capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    if "PackageNotFoundError" in done.stderr:
        pytest.skip("turbotui is not installed in this environment: pip install -e .")
    assert re.fullmatch(rf"[0-9a-f]{{64}}  {path}\n", done.stdout), done.stderr
    return path


def run(pyz: Path, home: Path, *words: str, python: str = PYTHON) -> str:
    """What turbotui prints there, by a Python without any package."""
    done = subprocess.run([python, "-IS", pyz, *words],
                          capture_output=True, text=True, timeout=PATIENCE, check=False,
                          env={"HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(home)})
    return done.stdout + done.stderr


def test_it_starts_with_nothing_installed_and_is_unpacked_once(pyz: Path, tmp_path: Path) -> None:
    assert "Busy%" in run(pyz, tmp_path, *STAT)
    (folder,) = (tmp_path / ".cache/turbotui/pyz").iterdir()
    unpacked = (folder / "turbotui/cli.py").stat().st_mtime_ns
    assert "Busy%" in run(pyz, tmp_path, *STAT)
    assert [*(tmp_path / ".cache/turbotui/pyz").iterdir()] == [folder]
    assert (folder / "turbotui/cli.py").stat().st_mtime_ns == unpacked
    started = subprocess.run([PYTHON, "-IS", folder, "stat", "--version"], capture_output=True, text=True,
                             timeout=PATIENCE, check=False)
    assert started.stderr.startswith("turbotui version"), "turbotui starts itself by this folder"
    own = ("import sys; sys.path.insert(0, sys.argv[1]); from turbotui.machine.own_program import own_command; "
           "print(own_command()[-1])")
    assert subprocess.run([PYTHON, "-ISc", own, folder], capture_output=True, text=True, timeout=PATIENCE,
                          check=False).stdout == f"{folder}\n"
    typed = subprocess.run(["./turbotui.pyz", "--version"], cwd=pyz.parent, capture_output=True, text=True, check=False,
                           timeout=PATIENCE, env={"HOME": str(tmp_path / "other"), "PATH": os.environ["PATH"]})
    assert typed.stdout.startswith("turbotui "), typed.stderr
    for package in ("textual", "rich", "plotext"):
        assert (folder / package / "__init__.py").exists()


def test_a_cache_that_others_can_write_is_not_trusted(pyz: Path, tmp_path: Path) -> None:
    cache = tmp_path / ".cache"
    cache.mkdir()
    cache.chmod(0o777)
    assert "Busy%" in run(pyz, tmp_path, *STAT)
    assert not [*(cache / "turbotui/pyz").iterdir()]
    assert {path.name for path in tmp_path.iterdir()} == {".cache"}, "what was unpacked for one run is gone"


def test_an_old_python_is_told_the_version(pyz: Path, tmp_path: Path) -> None:
    beside = [path for minor in range(10, 6, -1) for path in (
        shutil.which(f"python3.{minor}"), *Path("~/.pyenv/versions").expanduser().glob(f"3.{minor}.*/bin/python3"))]
    old = next((str(path) for path in beside if path is not None  # a shim of pyenv may stand for no version
                and not subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode), None)
    if old is None:
        pytest.skip("there is no Python older than 3.11 here")
    assert run(pyz, tmp_path, "stat", python=old).startswith("turbotui: Python 3.11 or newer is wanted, and this is 3.")


def test_the_same_checkout_makes_the_same_file(pyz: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.pyz"
    subprocess.run([sys.executable, ROOT / ".ci/pyz", again], capture_output=True, timeout=PATIENCE, check=True)
    assert again.read_bytes() == pyz.read_bytes()


def test_the_debian_package_has_all_that_turbotui_needs(tmp_path: Path) -> None:
    if not all(map(shutil.which, ("dpkg-deb", "git"))):
        pytest.skip("there is no dpkg-deb or git here: apt-get install dpkg git")
    who = {**os.environ, "DEBFULLNAME": "Ann", "DEBEMAIL": "ann@example.org"}
    done = subprocess.run([sys.executable, ROOT / ".ci/deb", tmp_path], capture_output=True, text=True, check=False,
                          timeout=PATIENCE, env=who)
    if "PackageNotFoundError" in done.stderr or "not a git repository" in done.stderr:
        pytest.skip("turbotui is not installed in this environment, or this is no clone")
    (package,) = tmp_path.glob("turbotui_*.deb")
    assert done.stdout == f"{hashlib.sha256(package.read_bytes()).hexdigest()}  {package}\n"
    subprocess.run(["dpkg-deb", "-R", package, tmp_path / "root"], check=True)
    root = tmp_path / "root"
    control = (root / "DEBIAN/control").read_text("utf-8")
    assert "\nDepends: python3 (>= 3.11)," in control
    assert "\nMaintainer: Ann <ann@example.org>\n" in control
    for line in (root / "DEBIAN/md5sums").read_text("utf-8").splitlines():
        digest, name = line.split("  ")
        assert hashlib.md5((root / name).read_bytes(), usedforsecurity=False).hexdigest() == digest, name
    assert "Busy%" in run(root / "usr/lib/turbotui", tmp_path, *STAT)
    assert (root / "usr/bin/turbotui").stat().st_mode & 0o777 == 0o755
    assert (root / "usr/bin/turbotui").read_text("utf-8").startswith("#!/usr/bin/python3 -P\n")
    pages = {path.name for path in (ROOT / "share/man/man1").iterdir()}
    assert {path.name.removesuffix(".gz") for path in (root / "usr/share/man/man1").iterdir()} == pages
    assert (root / "usr/lib/systemd/system/turbotui-collect.service").exists()
    assert (root / "usr/share/doc/turbotui/copyright").exists()
