"""Write turbotui's files to the folders of the XDG Base Directory Specification 0.8, completely or not at all.

Under sudo(8) the files belong to the invoking user, in that user's folders, and are written with that user's rights: a
link placed there leads root nowhere that the user could not write anyway (`turbotui.machine.identity`).
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
    """The folder of a user's settings: $XDG_CONFIG_HOME/turbotui, by default in ~/.config."""
    return _place(environment, "XDG_CONFIG_HOME", ".config")


def data_folder(environment: Mapping[str, str]) -> str:
    """The folder of measurements: $XDG_DATA_HOME/turbotui, by default in ~/.local/share."""
    return _place(environment, "XDG_DATA_HOME", ".local", "share")


def state_folder(environment: Mapping[str, str]) -> str:
    """The folder of kept runs, failures and the alert log: $XDG_STATE_HOME/turbotui, by default in ~/.local/state."""
    return _place(environment, "XDG_STATE_HOME", ".local", "state")


def cache_folder(environment: Mapping[str, str]) -> str:
    """The folder of data that can be made again: $XDG_CACHE_HOME/turbotui, by default in ~/.cache."""
    return _place(environment, "XDG_CACHE_HOME", ".cache")


def _place(environment: Mapping[str, str], variable: str, *usual: str) -> str:
    base = environment.get(variable, "")
    if not os.path.isabs(base):  # the specification says to ignore relative ones
        person = invoking_user(environment)
        home = person.home if person is not None else environment.get("HOME") or os.path.expanduser("~")
        base = os.path.join(home, *usual)
    return os.path.join(base, "turbotui")


def replace_file(path: str, text: str) -> None:
    """Write a file in one step, replacing an existing one and creating its folder.

    Raises:
        OSError: it cannot be written; an existing file is unchanged, and no new file is left behind.
    """
    folder = os.path.dirname(path)
    with as_invoking_user(os.environ):
        os.makedirs(folder, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".new", dir=folder)
        with _gone_on_failure(temporary):
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())  # some file systems report a full disk only now
            os.replace(temporary, path)


@contextlib.contextmanager
def passing_files(files: Mapping[str, str]) -> Iterator[str]:
    """A folder with these texts by their paths in it, for a program that needs them; removed at the end.

    Raises:
        OSError: they cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="turbotui-") as folder:
        for path, text in files.items():
            whole = os.path.join(folder, original(path))
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(original(text))
        yield folder


def publish_file(path: str, data: bytes) -> None:
    """Write a world-readable file in one step, replacing an existing one, with this process's own rights.

    Root does so even under sudo, in folders where the user could not.

    Raises:
        OSError: it cannot be written; an existing file is unchanged, and no new file is left behind.
    """
    path = original(path)
    temporary = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}")
    # a name that must not exist, renamed to the old one at the end: no link leads elsewhere
    descriptor = os.open(temporary, _NEW, 0o600)
    with _gone_on_failure(temporary):
        with open(descriptor, "wb") as file:
            file.write(data)
            os.fchmod(descriptor, 0o644)  # whatever the umask
        os.replace(temporary, path)


def withdraw_file(path: str) -> None:
    """Remove what `publish_file` wrote, if it exists and this process may."""
    with contextlib.suppress(OSError):
        os.unlink(original(path))


def create_bytes(path: str, data: bytes) -> None:
    """Write a file that must not exist.

    Raises:
        FileExistsError: it exists.
        OSError: it cannot be written; no file is left behind.
    """
    path = original(path)
    with as_invoking_user(os.environ), open(path, "xb") as file, _gone_on_failure(path):
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def new_file(path: str) -> Iterator[BinaryIO]:
    """Open a file that must not exist for writing bytes; it remains only if the block ends without an error.

    A device or a FIFO, such as /dev/null or /dev/stdout, is written to.

    Raises:
        FileExistsError: it exists.
        OSError: it cannot be written.
    """
    path = original(path)
    with as_invoking_user(os.environ):
        try:
            descriptor = os.open(path, _NEW, 0o666)
        except FileExistsError:
            if not _is_stream(os.stat(path).st_mode):  # a folder, or a file of somebody else, cannot be opened
                raise
            descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)  # which changes no file
            with open(descriptor, "wb") as stream:  # judged again: another file may have taken the name
                if not _is_stream(os.fstat(descriptor).st_mode):
                    raise
                yield stream
            return
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        with as_invoking_user(os.environ), contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        raise


def _is_stream(mode: int) -> bool:
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def append_lines(path: str, lines: bytes) -> None:
    """Append whole lines to a file, which is created with its folder if it does not exist.

    Raises:
        OSError: the lines cannot be written; the file has its old length.
    """
    with as_invoking_user(os.environ):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with _locked(path) as descriptor:
            length = os.fstat(descriptor).st_size
            if length and os.pread(descriptor, 1, length - 1) != b"\n":  # a writer was cut off within a line
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
    """Append whole lines to a file of bounded size; lines that would exceed the size start a new file.

    Args:
        path: of the file; its predecessor is named with `.1` at the end, and there is no third.

    Raises:
        OSError: the lines cannot be written.
    """
    with as_invoking_user(os.environ), contextlib.suppress(FileNotFoundError):
        if os.lstat(path).st_size + len(lines) > most:
            os.replace(path, f"{path}.1")
    append_lines(path, lines)


@contextlib.contextmanager
def sole_writer(path: str) -> Iterator[None]:
    """Wait until nobody else writes, and make others wait, as far as the file system supports it.

    The lock file is created with its folder if it does not exist.

    Raises:
        OSError: it cannot be opened for writing.
    """
    with contextlib.ExitStack() as stack:
        with as_invoking_user(os.environ):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            stack.enter_context(_locked(path))
        yield


def open_output(path: str) -> TextIO:
    """Open a file named by the user for output, replacing its content.

    Under sudo(8) it is opened with the user's rights. In a folder where only root can write, root opens it; a new file
    belongs to the user.

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
        if status.st_uid != 0 or status.st_mode & _OTHERS_WRITE:  # otherwise a link could be placed where root opens
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
    """Open a recording for appending, with this process as its only writer; it is created if it does not exist.

    Returns:
        A descriptor that releases the lock when it is closed, or when this program dies.

    Raises:
        BlockingIOError: another process is writing it.
        OSError: it cannot be opened for writing.
    """
    path = original(path)
    with as_invoking_user(os.environ):
        while True:
            mode = 0o644 & os.stat(os.path.dirname(path) or ".").st_mode  # others open no file in a folder of one's own
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, mode)
            try:
                _lock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                        return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)  # it was renamed in between


def own_folder(path: str) -> str:
    """Make a folder that only its owner may enter, or close an existing one to others, and return its path.

    Raises:
        OSError: it cannot be made, or is another user's.
    """
    with as_invoking_user(os.environ):
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o700)
    return path


def is_recorded_to(path: str) -> bool:
    """Whether a process, this one included, has a recording open for writing."""
    try:
        with as_invoking_user(os.environ):
            descriptor = os.open(original(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        _lock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def rename_recording(path: str, to: str) -> None:
    """Rename a recording within its folder. Raises OSError if it cannot be renamed."""
    with as_invoking_user(os.environ):
        os.replace(original(path), original(to))


def remove_recording(path: str) -> None:
    """Remove a recording; a missing one is no error. Raises OSError if it cannot be removed."""
    with as_invoking_user(os.environ), contextlib.suppress(FileNotFoundError):
        os.unlink(original(path))


@contextlib.contextmanager
def _locked(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _lock(descriptor, fcntl.LOCK_EX)  # released when it is closed, also when this program dies
        yield descriptor
    finally:
        os.close(descriptor)


def _lock(descriptor: int, how: int) -> None:
    """Lock an open file, as far as its file system supports that."""
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
