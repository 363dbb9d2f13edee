"""Load what the dashboard needs without parts that it never uses; nothing here imports Textual."""

from __future__ import annotations

import importlib
import sys


def load_asyncio() -> None:
    """Import asyncio without TLS, if neither was imported yet: 4 MB and 5 ms of CPU time.

    asyncio works without `ssl` if that cannot be imported, as in a Python built without OpenSSL; None in `sys.modules`
    makes an import fail (the import system, "The module cache"). No connection of the dashboard's loop uses TLS. Code
    that imports `ssl` later, such as the fleet's HTTP, gets it.
    """
    if "ssl" in sys.modules or "asyncio" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # as said
    try:
        importlib.import_module("asyncio")
    finally:
        del sys.modules["ssl"]
