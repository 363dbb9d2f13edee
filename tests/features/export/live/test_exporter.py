"""The exporter with a sampling session: scrapes follow frames, even while CPUs come and go."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest
from scraped import counters, text_of, values

from turbotui.errors import InternalError
from turbotui.features.export.live.exporter import Exporter
from turbotui.features.export.live.machine_metrics import ExportRequest
from turbotui.features.export.live.rendering import PLAIN, RenderedScrape
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.sampling.session import Session
from turbotui.simulated import SimulatedHost, simulated_host
from turbotui.sources import SOURCES


def exporter_of(host: SimulatedHost, request: ExportRequest | None = None) -> Exporter:
    session = Session(read_machine(host), SOURCES, 0.05, LinuxHost())
    return Exporter(session, request or ExportRequest())


def scrapes_until(exporter: Exporter, holds: Callable[[str], bool]) -> list[str]:
    """Every scrape up to the first of which this holds."""
    result: list[str] = []
    last: RenderedScrape | None = None
    while not result or not holds(result[-1]):
        last = exporter.wait(last)
        assert last is not None, "sampling ended"
        result.append(text_of(last))
    return result


def has_cpus(count: int, text: str) -> bool:
    return values(text, "turbotui_machine_cpus")[""] == count and "turbotui_cpu_busy_seconds_total" in text


def test_scrapes_continue_while_cpus_go_offline_and_come_back() -> None:
    host = simulated_host("laptop-old")
    exporter = exporter_of(host, ExportRequest(per="cpu"))
    exporter.start()
    try:
        result = scrapes_until(exporter, functools.partial(has_cpus, 8))
        for cpus, online, left in (((1, 3, 5), False, 5), ((1, 3), True, 7), ((7,), False, 6), ((5, 7), True, 8)):
            for cpu in cpus:
                host.set_online(cpu, online)
            result += scrapes_until(exporter, functools.partial(has_cpus, left))
    finally:
        exporter.stop()
    highest: dict[object, float] = {}
    for text in result:
        for key, value in counters(text).items():
            assert value >= highest.get(key, 0.0), key
            highest[key] = value


def test_who_asks_again_gets_the_same_bytes_and_nothing_is_read_for_it() -> None:
    exporter = exporter_of(simulated_host("guest"))
    before = exporter.newest
    assert before.body(PLAIN, packed=False) is before.body(PLAIN, packed=False)
    text = text_of(before)
    assert "turbotui_machine_info" in text, "facts are told before the first reading"
    assert "_cycles_total" not in text
    assert exporter.newest is before


def test_what_ends_sampling_ends_waiting_and_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    exporter = exporter_of(simulated_host("guest"))

    def broken(*_frame: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(exporter, "_take", broken)
    exporter.start()
    assert exporter.wait() is None
    with pytest.raises(InternalError, match="ZeroDivisionError"):
        exporter.stop()
