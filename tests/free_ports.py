"""Ports of the loopback interface on which a test can start a server."""

from __future__ import annotations

import itertools
import os
import socket

_FIRST, _EACH = 20_000, 1_000
"""Below the ports that the kernel gives to connections (ip_local_port_range): one of those may be taken before the
server has started. Each process of a suite has ports of its own."""
_numbers = itertools.count()


def free_port() -> int:
    """Return a free port, another one at each call."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 12
    while True:
        port = _FIRST + _EACH * worker + next(_numbers) % _EACH
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:  # somebody else's
            continue
        return port
