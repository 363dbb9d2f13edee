"""Parse the addresses at which a verb listens, and limit who is connected there."""

from __future__ import annotations

import ipaddress
from typing import Final, TypeAlias

from turbotui.errors import UsageError
from turbotui.quantities.plain_numbers import whole_number

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

MOST_CONNECTIONS: Final = 32
"""The most connections at a time; one more cuts the oldest, because a normal request takes milliseconds."""
ASK_SECONDS: Final = 5.0
"""The time that a client may take for its request, with the TLS handshake."""

_PORTS: Final = range(65536)


def parse_address(text: str) -> tuple[Address, int]:
    """Parse ADDRESS:PORT, with an IPv6 address in brackets; "localhost" is 127.0.0.1.

    Raises:
        UsageError: the text has another form.
    """
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    try:
        number = whole_number(port)
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        number = None
    if not colon or number is None or number not in _PORTS:
        raise UsageError(f"--listen {text}: an address and a port are wanted, as 127.0.0.1:8000 or [::1]:8000")
    return address, number
