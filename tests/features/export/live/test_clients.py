"""Whose turn a password takes: users of this machine are told apart whatever address they come from."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

from turbotui.features.export.live.clients import Clients
from turbotui.features.export.live.requests import HttpRequest
from turbotui.machine.linux import LinuxHost


def _of(*requests: HttpRequest) -> list[str]:
    async def ask() -> list[str]:
        clients = Clients(LinuxHost())
        return await asyncio.gather(*[clients.of(request) for request in requests])

    return asyncio.run(ask())


def _request(peer: tuple[str, int], own: tuple[str, int]) -> HttpRequest:
    return HttpRequest("GET", "/metrics", {}, peer, own)


@pytest.mark.parametrize(("listens", "connects"), [
    ("127.0.0.1", "127.0.0.1"), ("127.0.0.1", "127.0.0.9"), ("::1", "::1")])
def test_a_connection_from_this_machine_is_its_users(listens: str, connects: str) -> None:
    family = socket.AF_INET6 if ":" in listens else socket.AF_INET
    if family is socket.AF_INET6 and not os.path.exists("/proc/net/if_inet6"):
        pytest.skip("no IPv6 here")
    with (socket.create_server((listens, 0), family=family) as server,
          socket.create_connection(server.getsockname()[:2], source_address=(connects, 0)) as client):
        served, peer = server.accept()
        with served:
            request = _request(peer[:2], served.getsockname()[:2])
            assert _of(request) == [f"user {os.getuid()} of this machine"]
            client.close()  # of what is closed the kernel says user 0
            assert _of(request) == ["this machine"]


def test_a_connection_that_the_kernel_does_not_list_is_this_machines() -> None:
    assert _of(_request(("127.0.0.1", 1), ("127.0.0.1", 2))) == ["this machine"]


@pytest.mark.parametrize(("peer", "client"), [
    ("192.0.2.1", "192.0.2.1"), ("2001:db8::1:2:3:4", str(0x2001_0db8_0000_0000)), ("", "")])
def test_other_machines_are_networks_and_no_table_is_read_for_them(peer: str, client: str) -> None:
    assert _of(_request((peer, 5), ("203.0.113.1", 9177))) == [client]


def test_the_table_is_read_once_for_all_who_ask_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def listed(self: LinuxHost, path: str) -> str:
        read.append(path)
        return ("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
                "   0: 0100007F:0001 0100007F:0002 01 00000000:00000000 00:00000000 00000000  1000        0 77 1 0\n")

    monkeypatch.setattr(LinuxHost, "read_text", listed)
    asked = [_request(("127.0.0.1", port), ("127.0.0.1", 2)) for port in range(1, 400)]
    answers = _of(*asked)
    assert answers == ["user 1000 of this machine", *["this machine"] * 398]
    assert read == ["/proc/net/tcp"]
