"""What turbotui needs to run, as files: the checkout's package, and the packages of this environment that it requires."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_LEFT_OUT = frozenset(("__pycache__", "tests", "test"))


def _requirements(name: str) -> list[str]:
    """What the checkout, or a package of this environment, says that it requires."""
    if name == "turbotui":
        return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    return distribution(name).requires or []


def packages(name: str, known: set[str]) -> Iterator[str]:
    """A package's requirements, and theirs, without extras."""
    for requirement in _requirements(name):
        words, _, marker = requirement.partition(";")
        match = re.match(r"[\w.-]+", words)
        wanted = "" if match is None else re.sub(r"[-_.]+", "-", match[0]).lower()
        if "extra" in marker or not wanted or wanted in known:
            continue
        try:
            distribution(wanted)
        except PackageNotFoundError:
            if marker:  # of another platform or version
                continue
            raise SystemExit(f"{sys.executable} has no {wanted}: start this with the Python of an environment that has "
                             "turbotui (pip install -e .), such as .venv/bin/python") from None
        known.add(wanted)
        yield wanted
        yield from packages(wanted, known)


def files() -> Iterator[tuple[str, bytes]]:
    """Names and contents: the checkout's package, and modules of the packages that it needs."""
    for path in (ROOT / "turbotui").rglob("*"):
        if path.is_file() and path.suffix in (".py", ".toml", ".tcss", ".typed"):
            yield str(path.relative_to(ROOT)), path.read_bytes()
    yield "turbotui/PYZ", b""  # by which turbotui starts itself again: machine/own_program.py
    for name in sorted(packages("turbotui", {"turbotui"})):
        for file in distribution(name).files or ():
            if ".cpython-" in file.name and file.suffix == ".so":
                raise SystemExit(f"{file} of the package {name} is for one Python, and what is made is for every Python")
            if file.parts[0] != ".." and file.suffix != ".pyc" and not set(file.parts[:-1]) & _LEFT_OUT:
                yield str(file), Path(str(file.locate())).read_bytes()
