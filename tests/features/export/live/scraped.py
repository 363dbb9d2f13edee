"""What a scrape of a simulated machine tells, by name and labels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from prometheus_client.parser import text_string_to_metric_families
from watched_machines import frames_of_machine

from turbotui.features.export.live.machine_metrics import ExportRequest, MachineMetrics
from turbotui.features.export.live.rendering import PLAIN, RenderedScrape
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import catalog_for
from turbotui.sampling.frame import Frame
from turbotui.sampling.own_cost import OwnCost
from turbotui.simulated import SimulatedHost

COST = OwnCost(None, 40 << 20, 1.0, 0, 0)
Series = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def watched(shape: str, intervals: int = 2, *, small: bool = False) -> tuple[Machine, list[Frame]]:
    """A machine and its frames, made once however a test writes the arguments."""
    return _watched(shape, intervals, small)


@functools.cache
def _watched(shape: str, intervals: int, small: bool) -> tuple[Machine, list[Frame]]:
    return frames_of_machine(shape, intervals, small=small)


def scrapes(shape: str, request: ExportRequest | None = None, *, intervals: int = 2, small: bool = False,
            between: Callable[[SimulatedHost, int], None] | None = None) -> list[RenderedScrape]:
    """A scrape after each frame, of a machine of few cores where only names are looked at."""
    if between is None:
        return list(_scraped(shape, request or ExportRequest(), intervals, small))
    return _scrapes_of(*frames_of_machine(shape, intervals, between=between, small=small), request or ExportRequest())


@functools.cache
def _scraped(shape: str, request: ExportRequest, intervals: int, small: bool) -> list[RenderedScrape]:
    return _scrapes_of(*watched(shape, intervals, small=small), request)


def _scrapes_of(machine: Machine, frames: list[Frame], request: ExportRequest) -> list[RenderedScrape]:
    capabilities = frames[0].capabilities
    metrics = MachineMetrics(machine, capabilities, catalog_for(capabilities.signals), request)
    result = []
    for frame in frames:
        metrics.feed(frame)
        result.append(RenderedScrape(metrics.metrics(frame, COST)))
    return result


def text_of(scrape: RenderedScrape) -> str:
    return scrape.body(PLAIN, packed=False).decode()


@functools.lru_cache(maxsize=8)
def series_of(text: str) -> Series:
    """Every series of a scrape."""
    return {(sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text) for sample in family.samples}


def values(text: str, name: str, label: str = "") -> dict[str, float]:
    """The values of a metric by one of its labels; "" for its one value."""
    result = {dict(labels).get(label, ""): value for (known, labels), value in series_of(text).items() if known == name}
    assert result, f"no series {name}"
    return result


def counters(text: str) -> Series:
    return {key: value for key, value in series_of(text).items() if key[0].endswith("_total")}


def names(text: str) -> Sequence[str]:
    return [name for name, _labels in series_of(text)]
