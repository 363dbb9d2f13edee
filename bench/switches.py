"""`python -m bench.switches`: unpacks each switch of all CPUs and adds up run times by thread, until it is killed.

Below that no reader of every switch in Python can go: no names, no ends of threads, no timeline, no rows.
"""

from __future__ import annotations

import time

from turbotui.features.tasks.applications import parse_targets
from turbotui.features.tasks.choosing import choose_sets
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.machine.perf_blocks import Decoder
from turbotui.machine.perf_records import HEADER, SAMPLE_KIND
from turbotui.machine.tasks.tracer import TaskTracer

_EVERY = 0.2  # seconds, as on the screen of tasks
_TID, _RUN = 5, 11  # places in an unpacked sample of a CPU


def main() -> None:
    """Read the rings as the screen of tasks does."""
    host = LinuxHost()
    machine = read_machine(host)
    tracer = TaskTracer(host, choose_sets(machine, parse_targets("all")[0], ()).sets[0], machine.topology.cpus)
    tracer.add_cpus()
    tracer._unname()  # noqa: SLF001 - the records that name who is switched out, which it leaves out after a second
    rings = list(tracer._rings.values())  # noqa: SLF001 - not decoded
    layout = Decoder(tracer.choice.read_format, tracer.choice.width)._whole  # noqa: SLF001 - of a sample
    ran: dict[int, int] = {}
    last = dict.fromkeys(range(len(rings)), 0)
    while True:
        time.sleep(_EVERY)
        for number, ring in enumerate(rings):
            size, at = ring.waiting, 0
            data = memoryview(ring.look(size))
            while at < size:
                kind, _misc, length = HEADER.unpack_from(data, at)
                if kind != SAMPLE_KIND or length != layout.size:
                    at += length
                    continue
                for words in layout.iter_unpack(data[at:at + (size - at) // length * length]):
                    if words[0] != kind or words[2] != length:
                        break
                    ran[words[_TID]] = ran.get(words[_TID], 0) + words[_RUN] - last[number]
                    last[number] = words[_RUN]
                    at += length
            ring.give_back(size)


if __name__ == "__main__":
    main()
