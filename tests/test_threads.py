"""Threads have their names in the kernel, and no module starts one without."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from turbotui.sampling.workers import Worker
from turbotui.threads import NamedThread

PACKAGE = Path(__file__).parents[1] / "turbotui"


def _comm() -> str:
    return Path(f"/proc/self/task/{threading.get_native_id()}/comm").read_text().strip()


@pytest.mark.parametrize(("name", "comm"), [("sampler", "sampler"), ("a name of 20 letters", "a name of 20 le")])
def test_the_kernel_shows_fifteen_bytes_of_the_name(name: str, comm: str) -> None:
    seen: list[str] = []
    thread = NamedThread(target=lambda: seen.append(_comm()), name=name)
    thread.start()
    thread.join()
    assert seen == [comm]


def test_a_worker_has_the_name_of_its_cpu() -> None:
    class Named(Worker):
        def _next(self) -> None:
            seen.append(_comm())

    seen: list[str] = []
    worker = Named("cpu0")
    worker.start()
    worker.join()
    assert seen == ["cpu0"]


def test_every_thread_is_a_named_one() -> None:
    texts = {str(path.relative_to(PACKAGE)): path.read_text() for path in PACKAGE.rglob("*.py")}
    del texts["threads.py"]
    assert [name for name, text in texts.items() if "threading.Thread(" in text] == []
    assert [name for name, text in texts.items()
            if "(threading.Thread)" in text and "name_this_thread()" not in text] == []
