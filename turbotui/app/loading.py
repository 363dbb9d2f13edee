"""Loads what the dashboard stands on, without what it never uses. Nothing here imports Textual."""

from __future__ import annotations

import importlib
import sys


def load_asyncio() -> None:
    """Import asyncio without TLS, if neither was imported yet: 4 MB and 5 ms of CPU time.

    Where `ssl` cannot be imported asyncio does without it, as in a Python that was built without OpenSSL; None in
    `sys.modules` has an import fail (the import system, "The module cache"). No connection of the dashboard's loop is
    one of TLS; whoever imports `ssl` later, as HTTP of the fleet does, has it.
    """
    if "ssl" in sys.modules or "asyncio" in sys.modules:
        return
    sys.modules["ssl"] = None  # type: ignore[assignment]  # as said
    try:
        importlib.import_module("asyncio")
    finally:
        del sys.modules["ssl"]
