"""The clock at moments: ten a second beside a loop of known work over the same second, and what a moment costs.

`python -m bench.core_clock [SECONDS [CPU]]`: a child executes loops of 400,000 exclusive ors, each one cycle, on one
CPU, and tells how long each took; a thread times moments there. Loops that were interrupted do not count.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import struct
import sys
import time
from itertools import pairwise

from turbotui.machine.code.chains import CHAINS, ChainTimer, judge
from turbotui.machine.code.mapping import CodePage
from turbotui.machine.code.shapes import ChainShape
from turbotui.quantities.clock_moments import KEPT, moment_error

_LOOP = ChainShape(400_000, 20, 20, 20, 20)  # 0.1 ms; what follows its exclusive ors takes some ns
_CHUNK = struct.Struct("<qqq")
_DISTURBED = 0.05  # how much longer than the median of its second a loop is that was interrupted


def _loop(write_end: int, until: float) -> None:
    """Tell monotonic ns, the loop's ns and CPU ns at the end of each loop."""
    clock = ctypes.cast(ctypes.CDLL(None).clock_gettime, ctypes.c_void_p).value or 0
    words, chunks = (ctypes.c_int64 * 10)(), bytearray()
    with CodePage(CHAINS[os.uname().machine].write(_LOOP)) as page:
        while time.monotonic() < until:
            page.run_briefly(ctypes.addressof(words), clock, 1)
            took = 10**9 * (words[2] - words[0]) + words[3] - words[1]
            chunks += _CHUNK.pack(time.monotonic_ns(), took, time.process_time_ns())
    with open(write_end, "wb") as pipe:  # at the end: a full pipe would stop the loops
        pipe.write(chunks)


def _moments(timer: ChainTimer, seconds: int) -> tuple[list[tuple[int, float]], int]:
    chains = CHAINS[os.uname().machine]
    moments, refused = [], 0
    start = time.monotonic()
    for number in range(seconds * KEPT):
        time.sleep(max(0.0, start + number / KEPT - time.monotonic()))
        moment = judge(timer.times()[1], chains)
        if moment.hertz is None:
            refused += 1
        else:
            moments.append((time.monotonic_ns(), moment.hertz))
    return moments, refused


def _cost(timer: ChainTimer, asleep: float, tries: int) -> float:
    """The median CPU time of a moment in us after a rest."""
    chains, spent = CHAINS[os.uname().machine], []
    for _ in range(tries):
        time.sleep(asleep)
        start = time.thread_time_ns()
        judge(timer.times()[1], chains)
        spent.append((time.thread_time_ns() - start) / 1e3)
    return statistics.median(spent)


def main() -> None:
    """Compare, and print the differences and the costs."""
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    cpu = int(sys.argv[2]) if len(sys.argv) > 2 else max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        _loop(write_end, time.monotonic() + seconds + 1)
        os._exit(0)
    os.close(write_end)
    timer = ChainTimer(os.uname().machine)
    clocks, refused = _moments(timer, seconds)
    with open(read_end, "rb") as pipe:
        chunks = [_CHUNK.unpack(words) for words in iter(lambda: pipe.read(_CHUNK.size), b"")]
    os.waitpid(child, 0)
    off, single, busy = [], [], []
    first = chunks[0][0]
    for second in range(seconds):
        begin, end = first + second * 10**9, first + (second + 1) * 10**9
        inside = [chunk for chunk in chunks if begin <= chunk[0] < end]
        moments = [hertz for at, hertz in clocks if begin <= at < end]
        if len(inside) < 100 or len(moments) < KEPT - 2:
            continue
        usual = statistics.median(took for _at, took, _used in inside)
        clean = [took for _at, took, _used in inside if took < usual * (1 + _DISTURBED)]
        loop = 1e9 * _LOOP.anchor / statistics.fmean(clean)
        off.append(statistics.fmean(moments) / loop - 1)
        single += [hertz / loop - 1 for hertz in moments]
        spent = [after[2] - before[2] for before, after in pairwise(inside)]
        busy.append(statistics.fmean(spent) / statistics.fmean(clean) - 1)
    for name, values in ((f"mean of {KEPT} moments", off), ("one moment", single)):
        rms = statistics.fmean(value * value for value in values) ** 0.5
        within = sum(abs(value) < 0.01 for value in values) / len(values)
        print(f"{name} against the loops of its second: mean {100 * statistics.fmean(values):+.2f} %, "
              f"rms {100 * rms:.2f} %, worst {100 * max(map(abs, values)):.2f} %, within 1 %: {100 * within:.0f} % "
              f"of {len(values)}")
    print(f"loops take {100 * statistics.fmean(busy):.1f} % more CPU time than uninterrupted ones: Python between "
          "them, interrupts, exits to the host")
    print(f"expected rms: ten {100 * moment_error(KEPT, statistics.pstdev(single)):.2f} %, "
          f"one {100 * moment_error(1, statistics.pstdev(single)):.2f} %; refused {refused} of {seconds * KEPT}")
    print(f"CPU time of a moment: {_cost(timer, 0, 1000):.0f} us warm, {_cost(timer, 0.1, 50):.0f} us after 0.1 s")


if __name__ == "__main__":
    main()
