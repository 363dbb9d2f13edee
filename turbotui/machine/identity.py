"""The user on whose behalf the program works.

Under sudo(8) files belong to the invoking user, not to root, and root's rights can be given up for good once everything
that needs them is open (--drop-privileges).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import pwd
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError
from turbotui.machine.uname import own_uname
from turbotui.quantities.plain_numbers import hexadecimal, whole_number

_SETGROUPS: Final[Mapping[tuple[str, int], int]] = {
    # (uname machine, pointer bytes): arch/*/entry/syscalls/syscall*.tbl; 159 is the generic table's number. libc's own
    # setgroups() would change every thread of the process (nptl(7)); the system call changes the calling one.
    ("x86_64", 8): 116,
    ("aarch64", 8): 159,
    ("riscv64", 8): 159,
    ("loongarch64", 8): 159,
    ("ppc64le", 8): 81,
    ("i386", 4): 206,
    ("i686", 4): 206,
    ("x86_64", 4): 206,
    ("armv7l", 4): 206,
    ("aarch64", 4): 206,
}
_NO_NEW_PRIVS: Final = 38  # PR_SET_NO_NEW_PRIVS (uapi linux/prctl.h)
_NOBODY: Final = 65534  # the overflow id of kernels and the user "nobody" of distributions
_QUERY: Final = 0xFFFF_FFFF  # an id that setfsuid(2) never accepts, so that it returns the present one


@dataclass(frozen=True, slots=True)
class Person:
    """The user on whose behalf a root process runs."""

    # uid, gid: the user and the login group
    uid: int
    gid: int
    groups: tuple[int, ...]  # the supplementary groups of the user, as at a login
    home: str  # the home folder


def invoking_user(environment: Mapping[str, str]) -> Person | None:
    """Return the user behind a root process; None if root works for itself.

    This also works after root was given up for that user, whose home the environment may not name.
    """
    home, gid = "", 0
    uid = whole_number(environment.get("SUDO_UID", "")) or 0
    if not uid:
        # sudo(8) sets SUDO_UID; su -m, doas(1) and run0(1) keep only the environment: where HOME is somebody else's
        # folder, root would write there, so its owner decides
        home = environment.get("HOME", "")
        uid, gid = _owner(home)
    if not uid or os.geteuid() not in (0, uid):
        return None
    try:
        known = pwd.getpwuid(uid)
    except (KeyError, OverflowError):  # an id that no user has here; a container's folders may belong to such
        return Person(uid, gid or uid, (), home) if home else None
    return Person(uid, known.pw_gid, tuple(os.getgrouplist(known.pw_name, known.pw_gid)), home or known.pw_dir)


def _owner(folder: str) -> tuple[int, int]:
    """The user and the group to whom a folder belongs; 0 for root's, or none."""
    try:
        status = os.stat(folder) if os.path.isabs(folder) else None
    except (OSError, ValueError):  # ValueError: the name has a NUL
        status = None
    return (0, 0) if status is None else (status.st_uid, status.st_gid)


@contextlib.contextmanager
def as_invoking_user(environment: Mapping[str, str]) -> Iterator[None]:
    """Access files with the rights of the user behind sudo(8), in the calling thread only.

    Counters that other threads open meanwhile keep their rights.

    Raises:
        OSError: the identity cannot be taken.
    """
    person = invoking_user(environment)
    if person is None or os.geteuid() == person.uid:
        yield
        return
    before = os.getgroups(), os.getegid(), os.geteuid()
    try:
        # the kernel then checks every path, links included, with that user's rights, and new files are that user's
        # (setfsuid(2))
        _take(person.groups, person.gid, person.uid)
        yield
    finally:
        _take(*before)


def _take(groups: Sequence[int], gid: int, uid: int) -> None:
    """Set the ids, the user last on the way down and first on the way up, because only root may set the others."""
    if uid == 0:
        _filesystem_id("setfsuid", uid)
    _set_groups(groups)
    _filesystem_id("setfsgid", gid)
    if uid != 0:
        _filesystem_id("setfsuid", uid)


def _set_groups(groups: Sequence[int]) -> None:
    if (number := _SETGROUPS.get((own_uname().machine, struct.calcsize("P")))) is None:
        raise OSError(errno.ENOSYS, "setgroups of one thread is not known on this architecture")
    array = (ctypes.c_uint32 * len(groups))(*groups)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), ctypes.c_size_t(len(groups)), array) != 0:
        raise OSError(ctypes.get_errno(), f"setgroups: {os.strerror(ctypes.get_errno())}")


def _filesystem_id(call: str, wanted: int) -> None:
    """Call setfsuid(2) or setfsgid(2), which report no failure, so that a second call checks the result."""
    change = getattr(ctypes.CDLL(None), call)
    change(ctypes.c_uint32(wanted))
    if change(ctypes.c_uint32(_QUERY)) & _QUERY != wanted:
        raise PermissionError(errno.EPERM, f"{call} to {wanted} is refused")


def forbid_new_privileges() -> None:
    """Prevent programs run from now on from gaining rights, by set-user-id or otherwise (no_new_privs, prctl(2)).

    It applies to the calling thread and to every thread and process that it creates, so it must be called before others
    exist.

    Raises:
        TurbotuiError: there is nothing to give up later, or the kernel refuses.
    """
    if os.geteuid() != 0 and _held_capabilities():
        raise TurbotuiError("--drop-privileges gives up root, and this process has capabilities without being root: "
                            "take them from the interpreter's file (setcap -r) and start turbotui by sudo")
    if ctypes.CDLL(None, use_errno=True).prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise TurbotuiError(f"--drop-privileges: no_new_privs cannot be set: {os.strerror(ctypes.get_errno())}")


def give_up_privileges(environment: Mapping[str, str]) -> None:
    """Become the user behind sudo(8), or nobody, in every thread and for good; does nothing unless root.

    Raises:
        TurbotuiError: some rights remain; then the program must not continue.
    """
    if os.geteuid() == 0:
        uid, gid = after_root(environment)
        try:
            # groups first and the user last, because only root may change groups. When real, effective and saved user
            # are all changed, the kernel clears the capabilities of every thread (capabilities(7)); libc changes all
            # threads together (nptl(7)).
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
        except OSError as error:
            raise TurbotuiError(f"--drop-privileges: root cannot be given up: {error.strerror}") from error
    left = _held_capabilities()
    if left or 0 in os.getresuid():
        raise TurbotuiError(f"root was not given up entirely: {left or 'a user id'} is left; nothing is measured")


def after_root(environment: Mapping[str, str]) -> tuple[int, int]:
    """Return the user and the group that `give_up_privileges` changes to."""
    person = invoking_user(environment)
    return (_NOBODY, _NOBODY) if person is None else (person.uid, person.gid)


def without_root() -> None:
    """Give up root in a command's process before its exec, with --drop-privileges.

    Raises:
        TurbotuiError: some rights of root remain.
    """
    forbid_new_privileges()
    give_up_privileges(os.environ)


def _held_capabilities() -> str:
    """Name the threads of this process that have or may gain a capability; "" for none (proc_pid_status(5))."""
    held = []
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/status", encoding="utf-8", errors="replace") as file:
                sets = dict(line.split(":", 1) for line in file if line.startswith(("CapPrm:", "CapEff:", "CapAmb:")))
        except (FileNotFoundError, ProcessLookupError):  # the thread has ended
            continue
        if any(hexadecimal(value) for value in sets.values()):
            held.append(f"thread {thread} has capabilities {sets['CapPrm'].strip()}")
    return ", ".join(held)
