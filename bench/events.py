"""Measures the CPU time of parsing and encoding event strings, on the PMUs of a simulated machine."""

from __future__ import annotations

import time

from turbotui.events.encoder import EventEncoder
from turbotui.simulated import ManualClock, simulated_host

STRINGS = 10_000


def encoding_seconds() -> float:
    """Return the seconds for 10,000 different strings (names, terms, raw codes, cache events)."""
    encoder = EventEncoder(simulated_host("sapphire-2s", ManualClock()))
    texts = [_text(number) for number in range(STRINGS)]
    for text in texts[:4]:
        encoder.encode(text)
    started = time.thread_time()
    for text in texts:
        encoder.encode(text)
    return time.thread_time() - started


def _text(number: int) -> str:
    event, umask = number & 0xFF, number >> 8 & 0xFF
    kinds = (
        f"cpu/event={event:#x},umask={umask:#x},name=n{number}/u",
        f"cpu/mem-loads,ldlat={number}/pp",
        f"r{number:x}:k",
        f"L1-dcache-load-misses/name=n{number}/:u",
    )
    return kinds[number % len(kinds)]
