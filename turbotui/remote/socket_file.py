"""Make a collector's socket in the file system, in a place where nobody else can substitute another one."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from typing import Final

from turbotui.errors import TurbotuiError, UsageError
from turbotui.quantities.plain_numbers import integer_or_none
from turbotui.untrusted import original

_BACKLOG: Final = 64
_LAST_GROUP: Final = (1 << 32) - 2  # chown(2) takes the number above it, -1, as "no change"
_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


class SocketFileError(TurbotuiError):
    """Why a socket cannot be made, in a sentence."""


def group_number(name: str) -> int:
    """The number of a group. Raises UsageError if there is no such group, or no such number."""
    if name.isascii() and name.isdigit():
        number = integer_or_none(name)
        if number is None or number > _LAST_GROUP:
            raise UsageError(f"{name} is no number of a group: the last one is {_LAST_GROUP}")
        return number
    try:
        return grp.getgrnam(original(name)).gr_gid
    except (KeyError, ValueError):
        raise UsageError(f'there is no group "{name}": make one (groupadd --system {name}), or name another') from None


@contextlib.contextmanager
def listening_socket(path: str, group: int | None) -> Iterator[socket.socket]:
    """Listen at a path, which is removed at the end if it is still this socket.

    Args:
        group: that may connect besides this user and root; None for no group.

    Raises:
        SocketFileError: the socket cannot be made, or another collector listens there.
    """
    folder, name = os.path.split(os.path.abspath(original(path)))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    with contextlib.ExitStack() as opened:
        opened.enter_context(contextlib.closing(listener))
        try:
            # the folder first, which only root and this user may change; the socket is made in the open folder under an
            # unused name, so that links lead nowhere
            directory = open_trusted_folder(os.path.realpath(folder), path)
            opened.callback(os.close, directory)
            _take_stale_away(directory, name, path)
            own = _listen(listener, directory, name, group)
        except OSError as error:
            raise SocketFileError(f"{path} cannot be made: {error.strerror or error}") from error
        opened.callback(_take_away, directory, name, own)
        yield listener


def open_trusted_folder(folder: str, path: str) -> int:
    """Open a folder if only root and this user can replace files in it and in all folders above.

    Args:
        folder: without links; a part that has become one since the links were resolved is refused.

    Raises:
        OSError: a part is a link or cannot be opened.
        SocketFileError: others can change a part.
    """
    trusted = {0, os.geteuid()}
    descriptor = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in ("", *filter(None, folder.split("/"))):
        if part:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        status = os.fstat(descriptor)
        if status.st_uid not in trusted or (status.st_mode & _OTHERS_WRITE and not status.st_mode & stat.S_ISVTX):
            os.close(descriptor)
            raise SocketFileError(f"{path}: others than root and this user can change {folder} or what is above it, "
                                  "and could put another socket there: choose a folder below /run")
    return descriptor


def _take_stale_away(directory: int, name: str, path: str) -> None:
    """Remove the socket of a killed collector.

    Raises:
        SocketFileError: another file is there, or a collector listens.
    """
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != os.geteuid():
        what = "is no socket" if not stat.S_ISSOCK(status.st_mode) else "is another user's socket"
        raise SocketFileError(f"{path} is there, and {what}: it is left as it is; name another path")
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)) as trial:
        number = trial.connect_ex(_within(directory, name))
    if number != errno.ECONNREFUSED:
        raise SocketFileError(f"another collector listens at {path}")
    os.unlink(name, dir_fd=directory)


def _listen(listener: socket.socket, directory: int, name: str, group: int | None) -> os.stat_result:
    """Make the socket, initially without access for others; an existing name or link is refused."""
    # its own name comes last: whoever sees the file can connect, and its group too
    hidden = f".{name}.{secrets.token_hex(4)}"
    before = os.umask(0o177)
    try:
        listener.bind(_within(directory, hidden))
    finally:
        os.umask(before)
    try:
        if group is not None:
            os.chown(hidden, -1, group, dir_fd=directory, follow_symlinks=False)
            os.chmod(hidden, 0o660, dir_fd=directory)
        listener.listen(_BACKLOG)
        # not rename(2), which would replace the socket of a collector that started at the same moment
        os.link(hidden, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
        return os.stat(hidden, dir_fd=directory, follow_symlinks=False)
    finally:
        os.unlink(hidden, dir_fd=directory)


def _within(directory: int, name: str) -> str:
    return f"/proc/self/fd/{directory}/{name}"


def _take_away(directory: int, name: str, own: os.stat_result) -> None:
    with contextlib.suppress(OSError):  # already removed
        if os.path.samestat(own, os.stat(name, dir_fd=directory, follow_symlinks=False)):
            os.unlink(name, dir_fd=directory)
