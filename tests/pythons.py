"""Other Pythons of this machine."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


def pythons(*versions: tuple[int, int]) -> Iterator[str]:
    """Interpreters of these versions that work: in the path, or installed beside ours, as pyenv does."""
    for version in (".".join(map(str, version)) for version in versions):
        beside = map(str, Path(sys.base_prefix).parent.glob(f"{version}.*/bin/python3"))
        for path in (shutil.which(f"python{version}"), *beside):
            # a shim of pyenv is there for versions that are not chosen, and fails
            if path and not subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode:  # noqa: S603 - as said
                yield path
                break
