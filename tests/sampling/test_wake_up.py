"""Waits of the sampler in its own thread without asyncio, and on a given loop."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Generator
from types import ModuleType

import pytest
from patience import PATIENCE

from turbotui.errors import InternalError
from turbotui.sampling.collector import WakeUp, clock_here, loop_here, run_alone, run_on_loop, when_resting

FAR = time.monotonic() + 1e6


def alone(coroutine: Callable[[], Awaitable[bool]]) -> bool:
    async def body() -> bool:
        return await coroutine()

    return run_alone(body())


def on_a_loop(coroutine: Callable[[], Awaitable[bool]]) -> bool:
    async def body() -> bool:
        return await coroutine()

    return run_on_loop(body())


@pytest.mark.parametrize("run", [alone, on_a_loop])
def test_a_time_that_has_come_ends_the_sleep_and_is_no_request(run: Callable[[object], bool]) -> None:
    wake_up = WakeUp()

    async def sleep() -> bool:
        return await wake_up.sleep_until(clock_here()() + 0.01)

    assert run(sleep) is False


@pytest.mark.parametrize("run", [alone, on_a_loop])
def test_a_request_of_another_thread_wakes_once(run: Callable[[object], bool]) -> None:
    wake_up, asleep = WakeUp(), threading.Event()

    def ask() -> None:
        asleep.wait(PATIENCE)
        wake_up.request()

    thread = threading.Thread(target=ask)
    thread.start()

    async def sleep() -> bool:
        asleep.set()
        woken = await wake_up.sleep_until(FAR)
        return woken and not wake_up.requested and not await wake_up.sleep_until(0.0)

    assert run(sleep) is True
    thread.join()


@pytest.mark.parametrize("run", [alone, on_a_loop])
def test_a_request_before_the_sleep_is_not_lost_and_leaves_none_behind(run: Callable[[object], bool]) -> None:
    wake_up = WakeUp()
    for _ in range(3):
        wake_up.request()

    async def sleep() -> bool:
        first = await wake_up.sleep_until(FAR)
        return first and not await wake_up.sleep_until(clock_here()() + 0.01)  # the bell was rung for the first

    assert run(sleep) is True


def test_what_waits_for_anything_else_is_not_run_alone() -> None:
    class Other:
        def __await__(self) -> Generator[None, None, None]:
            yield None

    async def waits() -> None:
        await Other()

    with pytest.raises(InternalError):
        run_alone(waits())


def test_what_is_put_off_until_the_thread_rests_is_done_then_or_at_the_end() -> None:
    done: list[str] = []
    wake_up = WakeUp()

    async def body() -> bool:
        when_resting(lambda: done.append("at once: this thread has not rested yet"))
        await wake_up.sleep_until(0.0)
        when_resting(lambda: done.append("at the next rest"))
        before = len(done)
        await wake_up.sleep_until(0.0)
        when_resting(lambda: done.append("at the end"))
        return before == 1 and len(done) == 2

    result: list[bool] = []
    thread = threading.Thread(target=lambda: result.append(alone(body)))
    thread.start()
    thread.join()
    assert result == [True]
    assert [text.partition(":")[0] for text in done] == ["at once", "at the next rest", "at the end"]


def test_asyncio_that_another_thread_imports_right_now_is_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncio", ModuleType("asyncio"))  # as it stands there in the middle of it
    assert loop_here() is None
    assert alone(lambda: WakeUp().sleep_until(0.0)) is False


def test_text_is_printed_without_asyncio() -> None:
    program = ("import sys\nfrom turbotui.cli import main\n"
               "status = main(['stat', '--machine', 'guest', '-n1', '-i0.05', '-q'])\n"
               "print('asyncio' in sys.modules, status)")
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True,  # noqa: S603 - ours
                           timeout=PATIENCE)
    assert ended.stdout.splitlines()[-1] == "False 0"
