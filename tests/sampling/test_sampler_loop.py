"""The sampler uses the right event loop, whatever other threads import meanwhile."""

from __future__ import annotations

import asyncio
import sys
from types import ModuleType

import pytest

from turbotui.sampling.collector import loop_here


async def test_it_is_the_loop_that_runs_in_this_thread() -> None:
    assert loop_here() is asyncio.get_running_loop()


def test_without_a_loop_there_is_none() -> None:
    assert loop_here() is None


def test_asyncio_that_another_thread_is_importing_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncio", ModuleType("asyncio"))
    assert loop_here() is None
