"""`ScrapeServer` in this process: each client's time and place, whatever the client does."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from patience import ENDED_BY_THE_TEST, PATIENCE

from turbotui.commands.addresses import MOST_CONNECTIONS
from turbotui.features.export.live.requests import HttpRequest, RefusedError
from turbotui.features.export.live.scrape_server import Access, ClientTimes, HttpAnswer, ScrapeServer, listening_socket

GOOD = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
NEVER = ClientTimes(ENDED_BY_THE_TEST, ENDED_BY_THE_TEST)
SHORT = 0.05
LARGE = 64 << 20
"""Bytes of an answer that no buffer of a socket holds."""


class _Closed(Access):
    async def check(self, request: HttpRequest) -> None:
        raise RefusedError(401, f"{request.method} is not allowed")


@asynccontextmanager
async def serving(times: ClientTimes, access: Access | None = None, body: bytes = b"x\n") -> AsyncIterator[int]:
    """The port of a server that answers every request with a body."""
    with listening_socket("127.0.0.1", 0) as listener:
        server = ScrapeServer(listener, lambda _: HttpAnswer(body), frozenset({"localhost"}), times)
        server.access = access or server.access
        task = asyncio.create_task(server.run())
        try:
            async with asyncio.timeout(PATIENCE):
                yield listener.getsockname()[1]
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def answered(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


async def test_no_method_passes_the_access_rules() -> None:
    async with serving(NEVER, _Closed()) as port:
        for method in (b"GET", b"HEAD"):
            assert (await answered(port, GOOD.replace(b"GET", method))).startswith(b"HTTP/1.1 401 ")


class _Guessed(Access):
    """Rules that refuse everybody, after a time that the test never waits for."""

    def __init__(self) -> None:
        self.refusals: list[weakref.ref[RefusedError]] = []
        self.refused = asyncio.Event()

    async def check(self, request: HttpRequest) -> None:
        self.refused.set()
        raise self._refusal()

    def _refusal(self) -> RefusedError:
        error = RefusedError(401, "no", None, ENDED_BY_THE_TEST)
        self.refusals.append(weakref.ref(error))
        return error


async def test_a_refusal_is_not_kept_while_its_answer_waits() -> None:
    """Else what it was raised through stays with each connection that is cut meanwhile, until gc looks for cycles."""
    access = _Guessed()
    gc.disable()
    try:
        async with serving(NEVER, access) as port:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(GOOD)
            await access.refused.wait()
            await asyncio.sleep(0)
            assert [refusal() for refusal in access.refusals] == [None]
            writer.close()
    finally:
        gc.enable()


async def test_a_request_that_does_not_end_is_cut() -> None:
    async with serving(ClientTimes(SHORT, ENDED_BY_THE_TEST)) as port:
        assert await answered(port, GOOD[:-2]) == b""


async def test_an_answer_that_nobody_takes_is_cut() -> None:
    async with serving(ClientTimes(ENDED_BY_THE_TEST, SHORT), body=bytes(LARGE)) as port:
        before = asyncio.all_tasks()
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(GOOD)
        await reader.readexactly(1)  # the server answers now, and nothing more is taken until it gives up
        await asyncio.gather(*asyncio.all_tasks() - before)
        assert len(await reader.read()) < LARGE
        writer.close()


class _Slow(Access):
    """Rules that take until they are told."""

    def __init__(self) -> None:
        self.asked = asyncio.Semaphore(0)
        self.over = asyncio.Event()

    async def check(self, request: HttpRequest) -> None:
        self.asked.release()
        await self.over.wait()


async def test_who_is_being_checked_is_not_cut_however_many_come() -> None:
    access, many = _Slow(), 2 * MOST_CONNECTIONS
    async with serving(NEVER, access) as port:
        answers = [asyncio.create_task(answered(port, GOOD)) for _ in range(many)]
        for _ in range(many):
            await access.asked.acquire()
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_CONNECTIONS)]
        access.over.set()
        assert [answer.endswith(b"x\n") for answer in await asyncio.gather(*answers)] == [True] * many
        for _, writer in silent:
            writer.close()


async def test_the_oldest_connection_makes_room() -> None:
    async with serving(NEVER) as port:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_CONNECTIONS)]
        assert (await answered(port, GOOD)).endswith(b"x\n")
        assert await silent[0][0].read() == b"", "the oldest is cut"
        for _, writer in silent:
            writer.close()
