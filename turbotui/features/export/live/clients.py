"""Tells an exporter's clients apart, by user on this machine and by network elsewhere: each has turns of its own."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final

from turbotui.features.export.live.fair_queue import client_of
from turbotui.features.export.live.requests import HttpRequest
from turbotui.machine.host import Host
from turbotui.machine.small_files import text_of

_APART: Final = 0.2
"""Seconds before the table of connections is read for all who ask meanwhile: of 20,000 connections it takes 20 ms."""
_HERE: Final = "this machine"


class Clients:
    """The clients of connections. Those of this machine are told apart by their users, whatever address they choose.

    Args:
        host: the machine that this runs on.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._next: dict[str, asyncio.Task[Mapping[str, str]]] = {}  # readings that have not begun, by file

    async def of(self, request: HttpRequest) -> str:
        """Return whose connection brought a request."""
        peer, own = request.peer, request.own
        if not _is_local(peer[0], own[0]):
            return client_of(peer[0])
        path = "/proc/net/tcp6" if ":" in peer[0] else "/proc/net/tcp"
        if path not in self._next:
            self._next[path] = asyncio.create_task(self._read(path))
        users = await asyncio.shield(self._next[path])
        return users.get(f"{_end(peer)} {_end(own)}", _HERE)

    async def _read(self, path: str) -> Mapping[str, str]:
        await asyncio.sleep(_APART)
        del self._next[path]
        return await asyncio.to_thread(lambda: _users(text_of(self._host, path)))


def _is_local(peer: str, own: str) -> bool:
    try:
        return peer == own or ip_address(peer.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _users(table: str) -> Mapping[str, str]:
    """Parse /proc/net/tcp (Documentation/networking/proc_net_tcp.rst): both ends -> the user of the socket.

    A socket without an inode was closed, and its user is 0, whoever that was.
    """
    rows = [line.split() for line in table.splitlines()[1:]]
    return {f"{row[1]} {row[2]}": f"user {row[7]} of {_HERE}" for row in rows if len(row) > 9 and row[9] != "0"}


def _end(end: tuple[str, int]) -> str:
    """An end of a connection as the table has it: the address as words in this machine's byte order, and the port."""
    host, port = end
    packed = socket.inet_pton(socket.AF_INET6 if ":" in host else socket.AF_INET, host.partition("%")[0])
    return f"{''.join(f'{word:08X}' for word, in struct.iter_unpack('=I', packed))}:{port:04X}"
