"""One at a time, the clients in turn: whoever asks often waits for whoever asks seldom, not the other way round."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import IPv6Address, ip_address


class FairQueue:
    """Gives one turn at a time to each client that waits, in their order, then the next to each.

    Args:
        most: turns that may wait; beyond it the newest of the client with most of them is refused.
        refusal: makes the exception that is raised for it.
    """

    def __init__(self, most: int, refusal: Callable[[], Exception]) -> None:
        self._most = most
        self._refusal = refusal
        self._busy = False
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # by client, the next one first

    @asynccontextmanager
    async def of(self, client: str) -> AsyncIterator[None]:
        """Wait for a client's turn, and keep it while the block runs."""
        if self._busy:
            self._make_room(client)
            await self._wait(client)
        self._busy = True
        try:
            yield
        finally:
            self._end()

    def _make_room(self, client: str) -> None:
        if sum(map(len, self._waiting.values())) < self._most:
            return
        other = max(self._waiting, key=lambda client: len(self._waiting[client]))
        if len(self._waiting[other]) <= len(self._waiting.get(client, ())) + 1:
            raise self._refusal()
        turn = self._waiting[other].pop()
        if not turn.done():
            turn.set_exception(self._refusal())

    async def _wait(self, client: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                waiting = self._waiting.get(client, deque())
                if turn in waiting:
                    waiting.remove(turn)
                    if not waiting:
                        del self._waiting[client]
            elif turn.exception() is None:  # its turn came as it was given up
                self._end()
            raise

    def _end(self) -> None:
        """Give the turn to the next client, whose further ones wait behind those of all others."""
        while self._waiting:
            client, later = next(iter(self._waiting.items()))
            del self._waiting[client]
            turn = later.popleft()
            if later:
                self._waiting[client] = later
            if not turn.done():  # a client that was cancelled in this round of the loop has not left the queue yet
                turn.set_result(None)
                return
        self._busy = False


def client_of(address: str) -> str:
    """Whose turns an address takes: its own; of IPv6 those of its network of 64 bits, which one site has (RFC 6177)."""
    try:
        address_of = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(int(address_of) >> 64) if isinstance(address_of,
                                                    IPv6Address) and address_of.ipv4_mapped is None else str(address_of)
