"""Why a file could not be read, as an `Unavailable`."""

from __future__ import annotations

import errno

from turbotui.machine.host import HostError
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
    """The reason that goes with the errno, with the file and the errno in the detail."""
    return Unavailable(_REASONS.get(error.errno or 0, Reason.FAILED), str(error), remedy)
