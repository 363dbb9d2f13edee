"""Why a file could not be read, as an `Unavailable`, and whether that may pass."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence

from turbotui.machine.given_files import REFUSED
from turbotui.machine.host import NOT_GATHERED, Host, HostError, HostKind, is_bare_copy
from turbotui.quantities.unavailable import Reason, Unavailable

_REASONS = {
    errno.EACCES: Reason.NOT_PERMITTED,
    errno.EPERM: Reason.NOT_PERMITTED,
    errno.ENOENT: Reason.NO_DRIVER,
    errno.ENODEV: Reason.OFFLINE,
    errno.ENXIO: Reason.OFFLINE,
    errno.EMFILE: Reason.NO_DESCRIPTORS,
    errno.ENFILE: Reason.NO_DESCRIPTORS,
}


_LASTING = frozenset({*_REASONS, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EFBIG, errno.EINVAL, errno.ENOSYS,
                      errno.ECANCELED, REFUSED})
"""Errors that stay for as long as the file, the process and the machine are what they are."""


def may_pass(error: HostError, host: Host) -> bool:
    """Tell whether a later attempt may succeed, as after EAGAIN, EBUSY, EIO or ENODATA of a driver.

    EINVAL of a read(2) of sysfs may pass too; of perf_event_open(2) it does not.
    """
    if error.errno == NOT_GATHERED:
        return host.kind is HostKind.REAL or is_bare_copy(host)
    return error.errno not in _LASTING or (error.errno == errno.EINVAL and not error.what.startswith("perf_event_open"))


def refusal_of(host: Host, paths: Iterable[str]) -> HostError | None:
    """Read files until one can be read; return None then, else the error that is likeliest to pass."""
    refused: HostError | None = None
    for path in paths:
        try:
            host.read_text(path)
        except HostError as error:
            if refused is None or (may_pass(error, host) and not may_pass(refused, host)):
                refused = error.with_traceback(None)
        else:
            return None
    return refused


def unreadable(error: HostError, remedy: str = "") -> Unavailable:
    """Return the reason for an errno, with the file and the errno in the detail."""
    return Unavailable(_REASONS.get(error.errno or 0, Reason.FAILED), str(error), remedy)


def proc_unreadable(error: HostError, host: Host) -> Unavailable:
    """Return why a file of /proc or sysfs could not be read; on copied trees it may not have been copied."""
    if is_bare_copy(host) and error.errno == errno.ENOENT:
        return Unavailable(Reason.RECORDED, f"{error.what}: not among the files that were copied")
    if error.errno == NOT_GATHERED and host.kind is not HostKind.REAL:  # where a driver has none of a battery's numbers
        return Unavailable(Reason.RECORDED, f"{error.what}: not among what was gathered", "gather the machine again")
    return unreadable(error, "mount -t proc proc /proc" if error.what.startswith("/proc") else "")


def names_of_class(host: Host, directory: str) -> Sequence[str] | Unavailable:
    """Return the names in a directory of /sys/class, none if the kernel lacks it; else why it cannot be listed."""
    try:
        return host.list_dir(directory)
    except HostError as error:
        return () if error.errno == errno.ENOENT and not is_bare_copy(host) else proc_unreadable(error, host)
