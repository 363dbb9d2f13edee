"""Why a file could not be read, as an `Unavailable`."""

from __future__ import annotations

import errno

from turbotui.machine.host import NOT_GATHERED, Host, HostError, is_bare_copy
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


def unreadable(error: HostError, remedy: str = "") -> Unavailable:
    """Return the reason for an errno, with the file and the errno in the detail."""
    return Unavailable(_REASONS.get(error.errno or 0, Reason.FAILED), str(error), remedy)


def proc_unreadable(error: HostError, host: Host) -> Unavailable:
    """Return why a file of /proc could not be read; on copied trees it may not have been copied."""
    if is_bare_copy(host) and error.errno == errno.ENOENT:
        return Unavailable(Reason.RECORDED, f"{error.what}: not among the files that were copied")
    if error.errno == NOT_GATHERED:
        return Unavailable(Reason.RECORDED, f"{error.what}: not among what was gathered", "gather the machine again")
    return unreadable(error, "mount -t proc proc /proc")
