"""asyncio without TLS: import it from here, and the ssl module with its libraries stays out of the process.

asyncio takes ssl if it can be imported and does without if not (asyncio/base_events.py, sslproto.py). Nothing here
speaks TLS, and the libraries behind it are 4 MB of resident memory and some milliseconds of every start.
"""

from __future__ import annotations

import sys
from typing import cast

_SSL = "ssl"

if _SSL in sys.modules:
    import asyncio
else:
    # None in sys.modules makes an import fail at once (Python language reference, 5.3.1); taken back right after, so
    # that whoever wants TLS later has it
    modules = cast("dict[str, object]", sys.modules)
    modules[_SSL] = None
    try:
        import asyncio
    finally:
        del modules[_SSL]

__all__ = ["asyncio"]
