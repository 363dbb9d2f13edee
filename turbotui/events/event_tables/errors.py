"""Errors that say why a machine has no vendor's tables."""

from __future__ import annotations

import os
import stat

from turbotui.machine.given_files import kind_of
from turbotui.machine.pmus import EventError
from turbotui.untrusted import one_line

_ANOTHER = "name another folder with --event-tables, or none"


class VendorTablesError(EventError):
    """Tables cannot be read or used; the message says which, why, and what to do."""


def unusable(path: str, why: str) -> VendorTablesError:
    """Make the error of a file that cannot be used, with the reason and what to do."""
    return VendorTablesError(f"{path} {why}: get the file anew, or {_ANOTHER}.")


def no_row(mapfile: str, cpuid: str, patterns: list[str]) -> VendorTablesError:
    """Make the error of a mapfile without a row for the CPU."""
    others = f"its {len(patterns)} rows are of other CPUs, {one_line(patterns[0])} first" if patterns else "it has none"
    return VendorTablesError(f"{mapfile} has no row for the CPU {cpuid} ({others}): name the folder of one model to "
                             f"take its events all the same, or {_ANOTHER}.")


def folder_fault(folder: str) -> VendorTablesError | None:
    """Return the error of a directory named by the user that cannot be listed; None if it can."""
    try:
        mode = os.stat(folder).st_mode
        if stat.S_ISDIR(mode):
            os.listdir(folder)
            return None
        why = f"are {kind_of(mode)}, not a folder"
    except FileNotFoundError:
        why = "are not there"
    except (OSError, ValueError) as error:
        why = f"cannot be read: {error.strerror if isinstance(error, OSError) else error}"
    return VendorTablesError(f"The event tables {folder} {why}: name a folder of pmu-events JSON files that you can "
                             "read.")
