"""Write files for a user, never replacing an existing one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from turbotui.errors import TurbotuiError
from turbotui.machine.own_files import new_file


def write_new(path: str, text: str) -> None:
    """Write a file that must not exist yet. Raises TurbotuiError if it exists, or cannot be written."""
    with writing_new(path) as file:
        file.write(text.encode())


@contextlib.contextmanager
def writing_new(path: str) -> Iterator[BinaryIO]:
    """Open a file that must not exist yet for bytes; it remains only if the block ends without an error.

    Raises:
        TurbotuiError: it exists, or cannot be written.
    """
    try:
        with new_file(path) as file:
            yield file
    except FileExistsError as error:
        raise TurbotuiError(f"{path} exists already, and is not written over: give another name") from error
    except OSError as error:
        raise TurbotuiError(f"{path} cannot be written: {error.strerror}; choose another folder") from error


def write_numbered(folder: str, stem: str, suffix: str, text: str) -> str:
    """Write STEM.SUFFIX, or STEM-2.SUFFIX and so on if that exists, and return the path.

    Raises:
        TurbotuiError: it cannot be written.
    """
    return f"{write_alike(folder, stem, {suffix: text})}.{suffix}"


def write_alike(folder: str, stem: str, texts: Mapping[str, str]) -> str:
    """Write texts by suffix under STEM, or STEM-2 and so on if one exists; returns the path without suffix.

    Raises:
        TurbotuiError: a file cannot be written; the earlier ones remain.
    """
    for number in range(1, 1000):
        path = os.path.join(folder, f"{stem}{'' if number == 1 else f'-{number}'}")
        if not any(os.path.lexists(f"{path}.{suffix}") for suffix in texts):
            for suffix, text in texts.items():
                write_new(f"{path}.{suffix}", text)
            return path
    raise TurbotuiError(f"{folder} holds 999 files called {stem}: move them away")
