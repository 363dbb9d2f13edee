"""How turbotui starts itself, without importing from the working folder, and what installs a package beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import turbotui
from turbotui.machine.own_program import environment_of_children, install_command, own_command

TRAPS = ("turbotui/__init__.py", "turbotui/__main__.py", "turbotui/cli.py", "argparse.py", "encodings/__init__.py",
         "sitecustomize.py", "usercustomize.py", "lib/sitecustomize.py", "lib/argparse.py")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder in which somebody waits for an interpreter that imports from it."""
    for name in TRAPS:
        path = tmp_path / "here" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\nraise SystemExit(99)\n")
    return tmp_path / "here"


@pytest.mark.parametrize("path", [None, "", ":", ".", "lib", "/nowhere:", "lib:/nowhere:."])
def test_no_module_of_the_working_folder_is_imported(hostile: Path, path: str | None) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if path is not None:
        environment["PYTHONPATH"] = path
    done = subprocess.run([*own_command(), "--version"], cwd=hostile,  # noqa: S603 - ourselves
                          capture_output=True, text=True, check=False,
                          env=environment_of_children(environment))
    assert not (hostile.parent / "ran").exists()
    assert (done.returncode, done.stdout) == (0, f"turbotui {turbotui.__version__}\n"), done.stderr


def test_a_checkout_that_is_not_installed_starts_itself(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "turbotui").symlink_to(turbotui.__path__[0])
    words = subprocess.run(
        [sys.executable, "-c", "import turbotui.machine.own_program as own; print(*own.own_command(), sep='\\n')"],
        cwd=checkout, capture_output=True, text=True, check=True).stdout.splitlines()
    assert str(checkout) in words[-1]
    shown = """import runpy, sys; sys.argv[1:] = ['--version']
try: runpy.run_path(sys.orig_argv[-1], run_name='__main__')
finally: print(sys.modules['turbotui.cli'].__file__)"""
    done = subprocess.run([*words[:-1], "-c", shown, words[-1]], cwd=tmp_path,  # noqa: S603 - ourselves
                          capture_output=True, text=True,
                          check=False)
    assert done.stdout.splitlines()[-1] == str(checkout / "turbotui" / "cli.py")


def test_folders_that_the_user_names_stay() -> None:
    assert environment_of_children({"PYTHONPATH": "/a::b:/c:.", "HOME": "/h"}) == {"PYTHONPATH": "/a:/c", "HOME": "/h"}
    assert environment_of_children({"PYTHONPATH": ":", "PYTHONHOME": "x", "PYTHONUSERBASE": "."}) == {}
    assert environment_of_children({"PATH": ":/bin:bin:."}) == {"PATH": "/bin"}
    assert environment_of_children({"PYTHONPYCACHEPREFIX": "cache"}) == {}
    assert environment_of_children({"LD_LIBRARY_PATH": ":/opt/lib;;/lib;lib"}) == {"LD_LIBRARY_PATH": "/opt/lib:/lib"}
    assert environment_of_children({"LD_PRELOAD": "./a.so /b.so:c.so", "LD_AUDIT": "./a.so"}) == {"LD_PRELOAD": "/b.so"}


def test_a_package_for_a_turbotui_with_all_it_needs_goes_beside_it(tmp_path: Path,
                                                                   monkeypatch: pytest.MonkeyPatch) -> None:
    # pip refuses the interpreter of a distribution (EXTERNALLY-MANAGED), but not a folder of its own
    (tmp_path / "turbotui").mkdir()
    (tmp_path / "turbotui" / "PYZ").touch()
    monkeypatch.setattr(turbotui, "__path__", [str(tmp_path / "turbotui")])
    assert install_command("mcp>=2") == f"{sys.executable} -m pip install --target {tmp_path} 'mcp>=2'"


@pytest.mark.parametrize(("file", "begin"), [
    ("pipx_metadata.json", "pipx inject {name} "),
    ("uv-receipt.toml", "uv pip install --python {prefix} "),
    ("pyvenv.cfg", "{python} -m pip install "),
])
def test_a_package_is_installed_by_what_made_the_environment(file: str, begin: str, tmp_path: Path,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / file).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    begin = begin.format(name=tmp_path.name, prefix=tmp_path, python=sys.executable)
    assert install_command("mcp>=2", "pyarrow") == f"{begin}'mcp>=2' pyarrow"
