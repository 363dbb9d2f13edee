"""`python -m bench.bare_stat [INTERVALS]`: the floor of an interval of `turbotui stat` on two CPUs, in bare Python.

Two threads, each on a CPU of its own, read eight files of cpuidle and six registers a CPU, as `stat` does on a machine
with an MSR driver; the main thread reads two files of all CPUs and writes three rows of 28 numbers. There is no
catalog, no reason and no scope. A CPU without a file is not read, so the floor belongs to machines that have them:
`tests/bed/measure.py` runs it on the fake one.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time

_SECONDS = 0.2
_REGISTERS = (0x10, 0xE7, 0xE8, 0x34, 0x19C, 0x1B1)
_WHOLE = ("/proc/stat", "/proc/interrupts")
_COLUMNS = 28


class _Reader(threading.Thread):
    """Reads one CPU on request."""

    def __init__(self, cpu: int) -> None:
        super().__init__(daemon=True)
        self._cpu = cpu
        self.asked, self.answered = threading.Semaphore(0), threading.Semaphore(0)
        self.values: list[int] = []

    def run(self) -> None:
        os.sched_setaffinity(0, {self._cpu})
        folder = f"/sys/devices/system/cpu/cpu{self._cpu}/cpuidle"
        states = [os.open(f"{folder}/state{state}/{fact}", os.O_RDONLY) for state in range(4)
                  for fact in ("usage", "time")]
        registers = os.open(f"/dev/cpu/{self._cpu}/msr", os.O_RDONLY)
        while self.asked.acquire():
            values = [time.monotonic_ns()]
            values += [int(os.pread(state, 64, 0)) for state in states]
            values += [int.from_bytes(os.pread(registers, 8, number), "little") for number in _REGISTERS]
            self.values = values
            self.answered.release()


def interval_ms(intervals: int) -> float:
    """Return the milliseconds of CPU time for each interval, without the start."""
    readers = [_Reader(0), _Reader(1)]
    for reader in readers:
        reader.start()
    before: list[list[int]] = []
    began = 0.0
    with open(os.devnull, "wb", buffering=0) as sink:
        for turn in range(intervals + 1):
            for reader in readers:
                reader.asked.release()
            for reader in readers:
                reader.answered.acquire()
            for name in _WHOLE:
                with open(name, "rb", buffering=0) as file:
                    file.read(1 << 16)
            now = [reader.values for reader in readers]
            if turn:
                sink.write(_text(before, now))
            else:
                began = _cpu_seconds()
            before = now
            time.sleep(_SECONDS)
    return 1e3 * (_cpu_seconds() - began) / intervals


def _text(before: list[list[int]], now: list[list[int]]) -> bytes:
    rows = [[float(new - old) for old, new in zip(*pair, strict=True)] for pair in zip(before, now, strict=True)]
    rows.insert(0, [sum(values) / len(rows) for values in zip(*rows, strict=True)])
    lines = ["\t".join("%.2f" % (100.0 * row[at % len(row)] / row[0]) for at in range(_COLUMNS)) for row in rows]
    return "\n".join(lines).encode()


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    print(f"{interval_ms(int(sys.argv[1]) if len(sys.argv) > 1 else 100):.2f} ms an interval in bare Python")
