"""Files that turbotui writes: at the places of the XDG Base Directory Specification 0.8, whole or not at all.

Under sudo(8) they are the invoking user's, at that user's places, and are written with that user's rights: a link that
somebody put there leads root nowhere that the user could not write anyway (`turbotui.machine.identity`).
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from typing import BinaryIO, TextIO

from turbotui.machine.identity import as_invoking_user, invoking_user
from turbotui.untrusted import original

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)  # file systems without flock(2), some of the network
_FORBIDDEN = (errno.EACCES, errno.EPERM)
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OLD = os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW


def config_folder(environment: Mapping[str, str]) -> str:
    """Where a person's settings are: $XDG_CONFIG_HOME/turbotui, ~/.config by default."""
    return _place(environment, "XDG_CONFIG_HOME", ".config")


def data_folder(environment: Mapping[str, str]) -> str:
    """Where measurements are kept: $XDG_DATA_HOME/turbotui, ~/.local/share by default."""
    return _place(environment, "XDG_DATA_HOME", ".local", "share")


def state_folder(environment: Mapping[str, str]) -> str:
    """Where reports of failures and the log of alerts are: $XDG_STATE_HOME/turbotui, ~/.local/state by default."""
    return _place(environment, "XDG_STATE_HOME", ".local", "state")


def cache_folder(environment: Mapping[str, str]) -> str:
    """Where what can be made anew is kept: $XDG_CACHE_HOME/turbotui, ~/.cache by default."""
    return _place(environment, "XDG_CACHE_HOME", ".cache")


def _place(environment: Mapping[str, str], variable: str, *usual: str) -> str:
    base = environment.get(variable, "")
    if not os.path.isabs(base):  # the specification wants relative ones ignored
        person = invoking_user(environment)
        home = person.home if person is not None else environment.get("HOME") or os.path.expanduser("~")
        base = os.path.join(home, *usual)
    return os.path.join(base, "turbotui")


def replace_file(path: str, text: str) -> None:
    """Write a file in one step, in place of one of that name; its folder is made.

    Raises:
        OSError: it cannot be written; what was there is as it was, and nothing new is beside it.
    """
    folder = os.path.dirname(path)
    with as_invoking_user(os.environ):
        os.makedirs(folder, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".new", dir=folder)
        with _gone_on_failure(temporary):
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())  # a disk that fills up tells some file systems only now
            os.replace(temporary, path)


@contextlib.contextmanager
def passing_files(files: Mapping[str, str]) -> Iterator[str]:
    """A folder of its own with these files, for a program that wants some; gone at the end of the block.

    Args:
        files: texts by their paths below it.

    Raises:
        OSError: they cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="turbotui-") as folder:
        for path, text in files.items():
            whole = os.path.join(folder, original(path))
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "w", encoding="utf-8") as file:
                file.write(original(text))
        yield folder


def publish_file(path: str, data: bytes) -> None:
    """Write a file that every user may read in one step, in place of one of that name, with this process's own rights.

    Root does it under sudo too, in folders where the person could not: a new name is written, which must not be there,
    and takes the place of the old one, so that no link leads elsewhere.

    Raises:
        OSError: it cannot be written; what was there is as it was, and nothing new is beside it.
    """
    path = original(path)
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}")
    descriptor = os.open(temporary, _NEW, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(descriptor, 0o644)  # whatever the umask
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def withdraw_file(path: str) -> None:
    """Take away what `publish_file` wrote, if it is there and this process may."""
    with contextlib.suppress(OSError):
        os.unlink(original(path))


def create_file(path: str, text: str) -> None:
    """Write a text that must not be there yet, as `create_bytes` does."""
    create_bytes(path, text.encode())


def create_bytes(path: str, data: bytes) -> None:
    """Write a file that must not be there yet.

    Raises:
        FileExistsError: it is there.
        OSError: it cannot be written, and is not there.
    """
    path = original(path)
    with as_invoking_user(os.environ), open(path, "xb") as file, _gone_on_failure(path):
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """A file that must not be there yet, open for bytes; it stays only if the block ends without an error.

    Raises:
        FileExistsError: it is there.
        OSError: it cannot be written.
    """
    path = original(path)
    with as_invoking_user(os.environ):
        descriptor = os.open(path, _NEW, 0o666)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        with as_invoking_user(os.environ), contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        raise


def append_lines(path: str, lines: bytes) -> None:
    """Add whole lines to the end of a file, which is made with its folder where it is not there.

    Raises:
        OSError: they cannot be written; the file is as long as it was.
    """
    with as_invoking_user(os.environ):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with _locked(path) as descriptor:
            length = os.fstat(descriptor).st_size
            if length and os.pread(descriptor, 1, length - 1) != b"\n":  # somebody was cut off within a line
                lines = b"\n" + lines
            os.lseek(descriptor, 0, os.SEEK_END)
            try:
                while lines:
                    lines = lines[os.write(descriptor, lines) :]
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, length)
                raise


def append_bounded(path: str, lines: bytes, most: int) -> None:
    """Add whole lines to a file that is kept below a size: what would make it larger begins a new one.

    Args:
        path: of the file; the one before it has `.1` behind its name, and there is no third.
        lines: whole ones.
        most: bytes of a file.

    Raises:
        OSError: they cannot be written.
    """
    with as_invoking_user(os.environ), contextlib.suppress(FileNotFoundError):
        if os.lstat(path).st_size + len(lines) > most:
            os.replace(path, f"{path}.1")
    append_lines(path, lines)


@contextlib.contextmanager
def sole_writer(path: str) -> Iterator[None]:
    """Wait until nobody else writes, and keep others waiting, as far as the file system can do that.

    Args:
        path: of a file that is there for its lock only; made with its folder where it is not there.

    Raises:
        OSError: it cannot be opened for writing.
    """
    with contextlib.ExitStack() as stack:
        with as_invoking_user(os.environ):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            stack.enter_context(_locked(path))
        yield


def open_output(path: str) -> TextIO:
    """Open a file that a person named for output, in place of what is there.

    Under sudo(8) it is opened as the person could. In a folder where nobody but root can write, root does it; a file
    that is new is the person's.

    Raises:
        OSError: it cannot be opened.
    """
    path = original(path)
    person = invoking_user(os.environ)
    try:
        with as_invoking_user(os.environ):
            return open(path, "w", encoding="utf-8")
    except OSError as error:
        if person is None or error.errno not in _FORBIDDEN:
            raise
        denied = error
    folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        status = os.fstat(folder)
        if status.st_uid != 0 or status.st_mode & _OTHERS_WRITE:  # else somebody could put a link where we open
            raise denied
        name = os.path.basename(path)
        try:
            descriptor = os.open(name, _NEW, 0o644, dir_fd=folder)
            os.fchown(descriptor, person.uid, person.gid)
        except FileExistsError:
            descriptor = os.open(name, _OLD, dir_fd=folder)
    finally:
        os.close(folder)
    return open(descriptor, "w", encoding="utf-8")


def open_recording(path: str) -> int:
    """Open a file to append to it, for as long as this process alone writes it; made where it is not there.

    Returns:
        A descriptor, which gives the lock back when it is closed, also when this program dies.

    Raises:
        BlockingIOError: another process writes it.
        OSError: it cannot be opened for writing.
    """
    path = original(path)
    with as_invoking_user(os.environ):
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                _lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                        return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # it was renamed in between


def rename_recording(path: str, to: str) -> None:
    """Give a recording another name in its folder.

    Raises:
        OSError: it cannot be renamed.
    """
    with as_invoking_user(os.environ):
        os.replace(original(path), original(to))


def remove_recording(path: str) -> None:
    """Remove a recording; one that is gone is no failure.

    Raises:
        OSError: it cannot be removed.
    """
    with as_invoking_user(os.environ), contextlib.suppress(FileNotFoundError):
        os.unlink(original(path))


@contextlib.contextmanager
def _locked(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _lock(descriptor, fcntl.LOCK_EX)  # given back when it is closed, also when this program dies
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, how: int) -> None:
    """Lock an open file, as far as its file system can."""
    try:
        fcntl.flock(descriptor, how)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


@contextlib.contextmanager
def _gone_on_failure(path: str) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        raise
