"""One writer at a time to a file that several programs may change at once."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)  # file systems without flock(2), some of the network


@contextlib.contextmanager
def sole_writer(path: str) -> Iterator[None]:
    """Wait until nobody else writes, and keep others waiting, as far as the file system can do that.

    Args:
        path: of a file that is there for its lock only, or that is appended to; made where it is not there.

    Raises:
        OSError: it cannot be opened for writing.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # given back when it is closed, also when this program dies
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield
    finally:
        os.close(descriptor)
