"""How turbotui is started again, and what installs a package beside it.

Nothing is loaded from the working folder, in which others may be able to write: `python -m NAME` imports from that
folder first, and an empty or relative entry of PATH or PYTHONPATH means a folder in it
(https://docs.python.org/3/using/cmdline.html, -m, -P and PYTHONPATH).
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import turbotui
from turbotui.errors import TurbotuiError

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


def install_command(*packages: str) -> str:
    """The command that installs Python packages beside this turbotui.

    Environments of pipx and uv have no pip of their own; each leaves a file of this name in them.
    """
    words = shlex.join(packages)
    package = os.path.abspath(turbotui.__path__[0])
    if os.path.isfile(os.path.join(package, "PYZ")):  # what turbotui needs lies beside it (.ci/pyz, .ci/deb)
        beside = os.path.dirname(package)
        sudo = "" if os.access(beside, os.W_OK) else "sudo "
        return f"{sudo}{shlex.quote(sys.executable)} -m pip install --target {shlex.quote(beside)} {words}"
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx inject {shlex.quote(os.path.basename(sys.prefix))} {words}"
    if os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml")):
        return f"uv pip install --python {shlex.quote(sys.prefix)} {words}"
    return f"{shlex.quote(sys.executable)} -m pip install {words}"


@contextmanager
def needing_packages(what: str, modules: Mapping[str, str], *packages: str) -> Iterator[None]:
    """Import what other Python packages have.

    Args:
        what: what needs it, such as "turbotui serve".
        modules: the packages of the modules that may be missing.
        packages: all that `what` needs.

    Raises:
        TurbotuiError: one of the modules is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (package := modules.get((error.name or "").partition(".")[0])) is None:
            raise
        raise TurbotuiError(f"{what} needs the Python package {package}, which is not installed: "
                            f"{install_command(*packages)}") from error


def environment_of_children(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment by which nothing is searched for in the working folder."""
    own = dict(environment)
    for name, separators in _SEARCHED.items():
        kept = [entry for entry in re.split(f"[{separators}]", own.pop(name, "")) if os.path.isabs(entry)]
        if kept:
            own[name] = os.pathsep.join(kept)
    return own
