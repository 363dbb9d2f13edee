"""A recording program that is killed at each of its system calls in turn; `test_parts.py` runs it below strace.

`python killed_recorder.py FOLDER CALL COUNT`: says when it is ready, waits for a line of input, then makes children one
after the other. strace kills each at its COUNT-th system call of that name. Child number n first makes COUNT - n such
calls that do nothing, so that it dies at the n-th call of its recorder; the folder FOLDER/n/taken-N says how many ticks
it finished.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import sys
from collections.abc import Callable, Mapping

from made_frames import frames, machine, topology_of_cpus

from turbotui.recording.rotation import Retention, RotatingRecorder

TICKS = 6
RETENTION = Retention(3600.0, 24.0)
"""Each tier has twelve parts: files of full resolution are put aside every two seconds."""
TOPOLOGY = topology_of_cpus(range(2))


def record(path: str, taken: mmap.mmap) -> None:
    recorder = RotatingRecorder(path, machine(TOPOLOGY), RETENTION)
    for number, frame in enumerate(frames(TICKS, TOPOLOGY), 1):
        recorder.take(frame)
        taken[0] = number
    recorder.close()


NOTHING = os.open(os.devnull, os.O_RDWR)
IDLE: Mapping[str, Callable[[], object]] = {
    "openat": lambda: os.open("", 0),
    "write": lambda: os.write(NOTHING, b""),
    "rename": lambda: os.rename("", ""),
    "fdatasync": lambda: os.fdatasync(NOTHING),
    "flock": lambda: fcntl.flock(NOTHING, fcntl.LOCK_UN),
}
"""A call of each name that changes nothing."""


def main(folder: str, call: str, count: int) -> None:
    taken = mmap.mmap(-1, 1)
    print("ready", flush=True)  # what this process calls until now is not to be counted
    sys.stdin.readline()
    for number in range(1, count):
        where = os.path.join(folder, str(number))
        os.mkdir(where)
        taken[0] = 0
        child = os.fork()
        if not child:
            for _ in range(count - number):
                with contextlib.suppress(OSError):
                    IDLE[call]()
            record(os.path.join(where, "a.ttj"), taken)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        os.mkdir(os.path.join(where, f"taken-{taken[0]}"))
        if not status:  # it ended before it could be killed
            break


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
