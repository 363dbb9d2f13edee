"""The tests of a package folder are found by its name: tests/features/tasks tests turbotui/features/tasks."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
BESIDE = {
    "added": "columns that users add, through events, sampling, formats and screens",
    "bed": "the whole program on a fake machine, beside turbostat",
    "cli": "the module cli.py: command lines of every verb",
    "dataclass": "the module dataclass.py",
    "docs": "the texts beside the code",
    "e2e": "the dashboard in a real terminal",
    "guest": "the whole program in virtual machines",
    "truth": "numbers of simulated machines against their models, through all layers",
    "untrusted": "the module untrusted.py, and that no text evades it",
}
"""Folders of tests of single modules, or of all packages together."""


def _folders(root: str, pattern: str) -> set[str]:
    """Folders that hold files of a pattern, relative to a root."""
    return {str(path.parent.relative_to(ROOT / root)) for path in (ROOT / root).rglob(pattern)}


def test_every_package_has_a_folder_of_tests_and_the_reverse() -> None:
    tests = _folders("tests", "test_*.py") - {"."}
    packages = {name for name in _folders("turbotui", "*.py")
                if len(list((ROOT / "turbotui" / name).glob("*.py"))) > 1} - {"."}
    assert packages - tests == set()
    assert tests - packages == set(BESIDE)
