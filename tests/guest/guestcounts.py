"""Runs inside the guest: counts code of known length by our own binding, and prints what was counted as JSON."""

from __future__ import annotations

import json
import struct
import sys
from dataclasses import replace

from turbotui.events.encoder import EventEncoder
from turbotui.machine.code import a64
from turbotui.machine.code.mapping import CodePage
from turbotui.machine.code.shapes import LoopShape
from turbotui.machine.linux import LinuxHost

UNROLL = 64
ROUNDS = (1000, 5000)
TRIES = 9  # the fewest counts are those that no interrupt fell into
EVENTS = ("instructions:u", "cycles:u")


def main() -> None:
    """Print for each length of the loop and each try: [enabled, running, values...] of a group of this thread."""
    host = LinuxHost()
    encoder = EventEncoder(host)
    attrs = [encoder.encode(name)[0].attr for name in EVENTS]
    leader = -1
    descriptors = []
    for attr in attrs:
        descriptors.append(host.perf_event_open(replace(attr, flags=attr.flags & ~1), 0, -1, leader))
        leader = descriptors[0]
    kernel = a64.clock(LoopShape(1, UNROLL))
    counted: dict[int, list[list[int]]] = {rounds: [] for rounds in ROUNDS}
    with CodePage(kernel.code) as page:
        page.run(1, 0, 0)
        for rounds in ROUNDS * TRIES:
            before = struct.unpack("<5Q", host.read_counter(leader, 40))
            page.run(rounds, 0, 0)
            after = struct.unpack("<5Q", host.read_counter(leader, 40))
            counted[rounds].append([new - old for new, old in zip(after[1:], before[1:], strict=True)])
    json.dump(counted, sys.stdout)


main()
