"""Start turbotui again without loading anything from the working folder, in which others may be able to write.

`python -m NAME` imports from the working folder first, and an empty or relative entry of PATH or PYTHONPATH means a
folder in it (https://docs.python.org/3/using/cmdline.html, -m, -P and PYTHONPATH).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Final

import turbotui

_SEARCHED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX"), os.pathsep),
    "LD_LIBRARY_PATH": ":;", "LD_PRELOAD": ": ", "LD_AUDIT": ":",
}
"""Variables that say where programs, modules and libraries are searched for, and what separates their entries
(execvp(3), Python's command line, ld.so(8), where an empty entry is the working folder too)."""


def own_command() -> list[str]:
    """The first words of a command line that starts this turbotui, by its path, with this interpreter."""
    user_site = ["-s"] if sys.flags.no_user_site else []
    package = os.path.abspath(turbotui.__path__[0])
    unpacked = os.path.isfile(os.path.join(package, "PYZ"))  # .ci/pyz: what turbotui needs lies beside it
    started = os.path.dirname(package) if unpacked else os.path.join(package, "__main__.py")
    return [sys.executable, "-P", *user_site, started]


def environment_of_children(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment by which nothing is searched for in the working folder."""
    own = dict(environment)
    for name, separators in _SEARCHED.items():
        kept = [entry for entry in re.split(f"[{separators}]", own.pop(name, "")) if os.path.isabs(entry)]
        if kept:
            own[name] = os.pathsep.join(kept)
    return own
