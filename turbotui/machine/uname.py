"""uname(2) of the running kernel, which a sandbox may refuse."""

from __future__ import annotations

import os
import sys


def own_uname() -> os.uname_result:
    """Return the names of the running kernel; of a refused call only the architecture is known, by the interpreter."""
    try:
        return os.uname()
    except OSError:
        built_for = str(getattr(sys.implementation, "_multiarch", "")).partition("-")[0]
        return os.uname_result(("Linux", "", "", "", built_for))
