"""One at a time, the clients in turn: whoever asks often waits for whoever asks seldom, not the other way round."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import IPv6Address, ip_address


class FairQueue:
    """Gives one turn at a time to each client that waits, in their order, then the next to each.

    Which of a client's own waits has its turn, and which is refused where there are too many, is drawn by lot: whoever
    asks again at once after a refusal, or holds every place, has no more chances than another try.

    Args:
        most: turns that may wait; beyond it one of the client with most of them is refused.
        refusal: makes the exception that is raised for it.
        draw: returns a number below another by chance.
    """

    def __init__(self, most: int, refusal: Callable[[], Exception],
                 draw: Callable[[int], int] = secrets.randbelow) -> None:
        self._most = most
        self._refusal = refusal
        self._draw = draw
        self._busy = False
        self._waiting: dict[str, list[asyncio.Future[bool]]] = {}  # by client, the next one first

    @asynccontextmanager
    async def of(self, client: str) -> AsyncIterator[None]:
        """Wait for a client's turn, and keep it while the block runs."""
        if self._busy:
            await self._wait(client)
        self._busy = True
        try:
            yield
        finally:
            self._end()

    async def _wait(self, client: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, []).append(turn)
        self._keep_to_most()
        try:
            has_turn = await turn
        except asyncio.CancelledError:
            if turn in self._waiting.get(client, ()):
                self._take(client, turn)
            elif not turn.cancelled() and turn.result():  # its turn came as it was given up
                self._end()
            raise
        if not has_turn:
            raise self._refusal()

    def _keep_to_most(self) -> None:
        if sum(map(len, self._waiting.values())) > self._most:
            longest = max(self._waiting, key=lambda client: (len(self._waiting[client]), self._draw(1 << 32)))
            _answer(self._take(longest), has_turn=False)

    def _take(self, client: str, turn: asyncio.Future[bool] | None = None) -> asyncio.Future[bool]:
        """Remove and return one of a client's waiting turns: the given one, or one drawn by lot."""
        waiting = self._waiting[client]
        taken = waiting.pop(self._draw(len(waiting)) if turn is None else waiting.index(turn))
        if not waiting:
            del self._waiting[client]
        return taken

    def _end(self) -> None:
        """Give the turn to the next client, whose further ones wait behind those of all others."""
        while self._waiting:
            client = next(iter(self._waiting))
            turn = self._take(client)
            if client in self._waiting:
                self._waiting[client] = self._waiting.pop(client)
            if _answer(turn, has_turn=True):
                return
        self._busy = False


def _answer(turn: asyncio.Future[bool], *, has_turn: bool) -> bool:
    """Tell a client whether it has its turn, unless it was cancelled in this round of the loop and is still there."""
    if turn.done():
        return False
    turn.set_result(has_turn)
    return True


def client_of(address: str) -> str:
    """Whose turns an address takes: its own; of IPv6 those of its network of 64 bits, which one site has (RFC 6177)."""
    try:
        address_of = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(int(address_of) >> 64) if isinstance(address_of,
                                                    IPv6Address) and address_of.ipv4_mapped is None else str(address_of)
