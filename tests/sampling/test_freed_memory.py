"""Nothing of a past interval stays in memory, and the process stays as small as possible."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import tempfile
import threading
import weakref
from dataclasses import replace

import pytest
from moved_clock import frames_of
from patience import PATIENCE
from scripted import FakeHost, FakeSource, column, counter, machine_of
from watched_machines import frames_of_machine

from turbotui.machine.allocator import spare_memory
from turbotui.quantities.scope import SYSTEM_ROW, Scope
from turbotui.quantities.signals import Raw
from turbotui.sampling.answers import Answer, Readings, ReadRequest
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.evidence import evidence
from turbotui.sampling.frame import Frame
from turbotui.sampling.layout import Layouts, TickColumns
from turbotui.sampling.restarts import Restarts
from turbotui.sampling.sampler import Sampler
from turbotui.sampling.workers import Worker

_ARENAS = """
import ctypes, sys, threading
from turbotui.machine.allocator import spare_memory
assert spare_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
held, go = threading.Barrier(9), threading.Event()
def take():
    libc.malloc(1_000)  # ctypes lets the interpreter's lock go: as many arenas as there may be are wanted
    held.wait()
    go.wait()
for _ in range(8):
    threading.Thread(target=take, daemon=True).start()
held.wait()
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
go.set()
"""

_LARGE = """
import ctypes, sys
from turbotui.machine.allocator import spare_memory
assert spare_memory(int(sys.argv[1]))
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
class Info(ctypes.Structure):
    _fields_ = [(f"word{number}", ctypes.c_size_t) for number in range(10)]  # struct mallinfo2; 3: mapped blocks
libc.mallinfo2.restype = Info
libc.free(ctypes.c_void_p(libc.malloc(10_000_000)))  # raises the limit for large blocks, unless it was set
before = libc.mallinfo2().word3
for _ in range(200):
    libc.malloc(int(sys.argv[2]))  # the first ones may find room that is there
print(libc.mallinfo2().word3 - before > 100)
"""

_HOLES = """
from turbotui.machine.allocator import return_free_pages, spare_memory
assert spare_memory()
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1])
begin = resident()
blocks = [bytes(3_000) for _ in range(20_000)]
print(resident() - begin)
blocks = blocks[::50]
print(resident() - begin)
return_free_pages()
print(resident() - begin)
"""


@pytest.mark.usefixtures("objects_of_the_test_alone")
def test_a_frame_goes_with_its_last_reference_whatever_was_asked_of_it() -> None:
    host = FakeHost()
    source = FakeSource([counter("x")], lambda cpu, _name: (cpu + 1) * host.now)
    sampler = Sampler(machine_of(host), probe_sources(machine_of(host), [source]), frozenset(["x"]), 0.05,
                      clock=host.clock)
    plain = column("x", ("x",))

    def ask(frame: Frame) -> None:
        host.now += 1_000_000_000
        for scope in Scope:
            for row in frame.rows(scope):
                frame.cell(plain, row)
                frame.partial(plain, row)
                evidence(frame, plain, row)

    gc.disable()
    try:
        before = _frames()
        frames = frames_of(sampler, 3, ask)
        assert frames[-1].cell(plain, SYSTEM_ROW) is not None
        assert _frames() == before + len(frames)
        frames.clear()
        assert _frames() == before
    finally:
        gc.enable()


def _python(script: str, *words: str) -> str:
    command = [sys.executable, "-c", script, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout  # noqa: S603 - ours


def _frames() -> int:
    return sum(isinstance(item, Frame) for item in gc.get_objects())


def test_a_worker_that_waits_does_not_keep_what_it_read() -> None:
    host = FakeHost()
    source = FakeSource([counter("x")], lambda _cpu, _name: 1)
    machine = machine_of(host)
    capabilities = probe_sources(machine, [source])
    answered = threading.Event()
    seen: list[weakref.ref[ReadRequest]] = []
    worker = Worker("cpu0")

    def reply(_answer: Answer) -> None:
        answered.set()

    # a second request shows that the first has been let go: a queue hands over in order
    for _ in range(2):
        answered.clear()
        work = _WeakWork((), ((capabilities.sources[0], frozenset(["x"])),), machine, reply)
        seen.append(weakref.ref(work))
        worker.ask(work)
        del work
        if not worker.is_alive():
            worker.start()
        assert answered.wait(PATIENCE)
    assert seen[0]() is None
    worker.end()
    worker.join(PATIENCE)
    assert seen[1]() is None


class _WeakWork(ReadRequest):
    """A request with weak references, to observe when it is freed."""

    __slots__ = ("__weakref__",)


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="this C library is not glibc")
def test_threads_share_one_arena() -> None:
    with tempfile.NamedTemporaryFile("r") as report:
        _python(_ARENAS, report.name)
        assert report.read().count("<heap nr=") == 1


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="this C library is not glibc 2.33 or later")
@pytest.mark.parametrize(("cpus", "size", "kernels"), [(2, 100_000, True), (224, 100_000, False),
                                                       (224, 232_000, True), (1024, 213_000, False),
                                                       (1024, 1_500_000, True)])
def test_large_blocks_are_the_kernels_whatever_was_freed_before(cpus: int, size: int, *, kernels: bool) -> None:
    assert _python(_LARGE, str(cpus), str(size)) == f"{kernels}\n"


def test_a_c_library_without_the_setting_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: object())
    assert spare_memory() is False


def test_asyncio_has_tls_after_the_sampler_was_loaded() -> None:
    """What records over a network needs it whole, in the same process."""
    script = ("import turbotui.sampling.session, asyncio.sslproto, ssl\n"
              "assert asyncio.sslproto.ssl is ssl\n"
              "print(asyncio.sslproto.SSLAgainErrors)")
    assert "SSLWantReadError" in _python(script)


class _Values(list[Raw]):
    """A reader's values with weak references, to observe when they are freed."""


@pytest.mark.parametrize("ticks", [1, 2, 5])
def test_where_values_go_is_kept_but_not_the_values(ticks: int) -> None:
    names = ("x", "y")
    layouts = Layouts(lambda _source, cpu, _names: (((0, "x", cpu), (1, "y", cpu)), ((0, cpu),)))
    columns = TickColumns({"x": 3, "y": 3}, [3])
    gone: list[weakref.ref[_Values]] = []
    by_layout = False
    for tick in range(ticks):
        readings = Readings()
        for cpu in range(3):
            raw = _Values([tick * 10 + cpu, -cpu])
            gone.append(weakref.ref(raw))
            readings.add((cpu, "fake"), names, 1, 3, raw)
        by_layout = layouts.put(readings, columns)
        del raw, readings
    assert by_layout is (ticks > 1)
    assert columns.values == {"x": [ticks * 10 - 10, ticks * 10 - 9, ticks * 10 - 8], "y": [0, -1, -2]}
    assert [reference_type() for reference_type in gone] == [None] * len(gone)


def test_counters_that_were_opened_together_share_one_set_of_places() -> None:
    """Each would take 224 bytes, in the last snapshots and in what a tier carries on: 3 MB of 3,156 counters."""
    _machine, made = frames_of_machine("sapphire-2s", 1, small=True)
    first, second = (frame.newer for frame in made)
    assert len({id(inside) for inside in first.fresh.values()}) == len(set(first.fresh.values())) < len(first.fresh)
    carried = Restarts()
    carried.skip(first)
    carried.skip(replace(second, fresh={}))
    joined = carried.added_to(replace(second, fresh={}))
    assert joined.fresh.keys() == first.fresh.keys()
    assert all(inside is first.fresh[name] for name, inside in joined.fresh.items())


def test_pages_between_blocks_that_stay_are_returned() -> None:
    if not hasattr(ctypes.CDLL(None), "malloc_trim"):
        pytest.skip("not glibc")
    before, between, after = map(int, _python(_HOLES).split())
    assert between > before / 2  # freed, and kept
    assert after < before / 2
