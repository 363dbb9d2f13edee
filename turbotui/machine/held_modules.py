"""Keeps Python's own files in reach after root is given up, where folders above them let nobody else in."""

from __future__ import annotations

import os
import stat
import sys
from types import ModuleType

import turbotui
from turbotui.errors import TurbotuiError


def hold_module_folders(uid: int, gid: int) -> None:
    """Let modules be imported from where a user without groups may not go, such as a Python below /root.

    Raises:
        TurbotuiError: the user may not read the folder of turbotui's modules or Python's itself.
    """
    for file in (turbotui.__file__, os.__file__):
        folder = os.path.dirname(file)
        if not (_may(folder, stat.S_IROTH | stat.S_IXOTH, uid, gid) and _may(file, stat.S_IROTH, uid, gid)):
            raise TurbotuiError(f"--drop-privileges: user {uid} may not read {folder}, from which modules are loaded "
                                "later: install turbotui where everybody may read it, or call it by sudo")
    folders = {_own_folder(module) for module in list(sys.modules.values())}
    folders |= {os.path.abspath(folder) for folder in sys.path if folder}
    moved: dict[str, str] = {}
    for folder in sorted(folders - {""}):
        if (around := os.path.dirname(folder)) in moved and _may(around, stat.S_IXOTH, uid, gid):
            continue
        if os.path.isdir(folder) and not _may_enter(folder, uid, gid):
            # a process may always follow the descriptors of its own (fs/proc/fd.c, proc_fd_permission), and the folder
            # above, which the user may not enter, is not passed then
            moved[folder] = f"/proc/self/fd/{os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)}"
    if not moved:
        return
    sys.path[:] = [_renamed(folder, moved) for folder in sys.path]
    for module in list(sys.modules.values()):
        facts = getattr(module, "__dict__", {})  # asking a module that loads itself late would load it
        if isinstance(facts.get("__path__"), list):
            facts["__path__"][:] = [_renamed(fact, moved) for fact in facts["__path__"]]
        if isinstance(facts.get("__file__"), str):
            facts["__file__"] = _renamed(facts["__file__"], moved)


def _own_folder(module: ModuleType) -> str:
    """The folder of a package that lies in no other package; "" for other modules."""
    facts = getattr(module, "__dict__", {})
    path = facts.get("__path__")
    return os.path.abspath(path[0]) if isinstance(path, list) and path and "." not in facts["__name__"] else ""


def _within(path: str, folders: dict[str, str]) -> str:
    around = (folder for folder in folders if path == folder or path.startswith(folder + os.sep))
    return max(around, key=len, default="")


def _renamed(path: str, moved: dict[str, str]) -> str:
    folder = _within(os.path.abspath(path), moved) if path else ""
    return moved[folder] + os.path.abspath(path)[len(folder):] if folder else path


def _may_enter(folder: str, uid: int, gid: int) -> bool:
    parts = os.path.realpath(folder).split(os.sep)
    return all(_may(os.sep.join(parts[:count]) or os.sep, stat.S_IXOTH, uid, gid) for count in range(1, len(parts) + 1))


def _may(path: str, others: int, uid: int, gid: int) -> bool:
    """Tell whether permissions, given as those of others, are a user's; access lists are left aside."""
    facts = os.stat(path)
    shift = 6 if facts.st_uid == uid else 3 if facts.st_gid == gid else 0
    return facts.st_mode >> shift & others == others
