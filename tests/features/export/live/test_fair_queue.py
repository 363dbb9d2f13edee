"""Turns of clients: each in its turn, one of the busiest refused, and none lost when one is given up."""

from __future__ import annotations

import asyncio
import random

import pytest

from turbotui.features.export.live.fair_queue import FairQueue, client_of


class _FullError(Exception):
    pass


async def _take(turns: FairQueue, client: str, order: list[str]) -> None:
    async with turns.of(client):
        order.append(client)
        await asyncio.sleep(0)


async def test_clients_take_turns_however_many_each_wants() -> None:
    turns, order = FairQueue(100, _FullError), list[str]()
    await asyncio.gather(*(_take(turns, client, order) for client in "aaaaabcbc"))
    assert "".join(order) == "aabcabcaa"


async def test_beyond_the_most_one_of_the_busiest_client_is_refused() -> None:
    turns, order = FairQueue(4, _FullError, lambda below: below - 1), list[str]()
    results = await asyncio.gather(*(_take(turns, client, order) for client in "aaaaabbb"), return_exceptions=True)
    assert [type(result) for result in results] == [type(None)] * 3 + [_FullError] * 2 + [type(None)] * 2 + [_FullError]
    assert "".join(order) == "aabab"


@pytest.mark.parametrize("others", ["a", "abcdefgh"])
async def test_who_asks_among_many_that_ask_at_once_again_has_a_turn_by_its_share(others: str) -> None:
    """One in ten that ask is right, and one in ten that ask gets a turn."""
    turns, order = FairQueue(8, _FullError, random.Random(1).randrange), list[str]()

    async def ask(client: str, *, right: bool) -> None:
        async with turns.of(client):
            order.append("right" if right else "wrong")
            has_turn.release()
            await free.acquire()

    has_turn, free = asyncio.Semaphore(0), asyncio.Semaphore(0)
    asked = [asyncio.create_task(ask("x", right=False))]
    await has_turn.acquire()
    for _ in range(2000):
        asked += [asyncio.create_task(ask(others[at % len(others)], right=at == 5)) for at in range(10)]
        await asyncio.sleep(0)
        free.release()
        await has_turn.acquire()
    for task in asked:
        task.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    assert 150 < order.count("right") < 300


async def test_a_client_whose_waits_are_refused_keeps_its_place_among_the_others() -> None:
    turns, order = FairQueue(4, _FullError), list[str]()
    async with turns.of("x"):
        tasks = [asyncio.create_task(_take(turns, client, order)) for client in "aaabaaa"]
        await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert "".join(order) == "abaa"


async def test_a_turn_that_is_given_up_goes_to_the_next() -> None:
    turns, order = FairQueue(100, _FullError), list[str]()
    async with turns.of("x"):
        tasks = [asyncio.create_task(_take(turns, client, order)) for client in "aabb"]
        await asyncio.sleep(0)
        tasks[0].cancel()
        tasks[3].cancel()
        await asyncio.sleep(0)
    tasks[1].cancel()  # its turn came at this moment
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["b"]
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [True, True, False, True]
    await _take(turns, "c", order)
    assert order == ["b", "c"]


async def test_a_turn_of_a_client_that_was_just_given_up_is_passed_on() -> None:
    turns, order = FairQueue(100, _FullError), list[str]()
    async with turns.of("x"):
        tasks = [asyncio.create_task(_take(turns, client, order)) for client in "ab"]
        await asyncio.sleep(0)
        tasks[0].cancel()  # it learns of it in the next round of the loop: its place is in the queue still
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [True, False]
    await _take(turns, "c", order)
    assert order == ["b", "c"]


async def test_a_client_that_was_just_given_up_makes_room() -> None:
    turns, order = FairQueue(2, _FullError, lambda below: below - 1), list[str]()
    async with turns.of("x"):
        tasks = [asyncio.create_task(_take(turns, "a", order)) for _ in range(2)]
        await asyncio.sleep(0)
        waits = asyncio.create_task(_take(turns, "b", order))  # asks before the other knows that it was given up
        tasks[1].cancel()
        await asyncio.sleep(0)
    results = await asyncio.gather(*tasks, waits, return_exceptions=True)
    assert [type(result) for result in results] == [type(None), asyncio.CancelledError, type(None)]
    assert order == ["a", "b"]


@pytest.mark.parametrize(("one", "other", "same"), [
    ("192.0.2.1", "192.0.2.1", True), ("192.0.2.1", "192.0.2.2", False), ("2001:db8::1", "2001:db8::2:0:0:1", True),
    ("2001:db8::1", "2001:db8:0:1::1", False), ("fe80::1%eth0", "fe80::2%eth0", True),
    ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False), ("", "", True),
])
def test_an_address_and_a_network_of_64_bits_are_one_client(one: str, other: str, same: bool) -> None:
    assert (client_of(one) == client_of(other)) is same
