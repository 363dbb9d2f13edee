"""Slots of simulated cores add up to all slots, and none is negative."""

from __future__ import annotations

import pytest

from turbotui.simulated.applications import APPLICATIONS, running
from turbotui.simulated.basis import CPU_CYCLES, CPU_POLL_CYCLES, CPU_WORK, KINDS, Form, sum_of
from turbotui.simulated.pipeline import pipeline_counts, waiting
from turbotui.simulated.pmus_core import core_events
from turbotui.simulated.shape_table import SHAPES
from turbotui.simulated.shapes import CoreType, Isa
from turbotui.simulated.tables import SMT_SHARE
from turbotui.simulated.workloads import WORKLOADS

CORES = [(shape.isa, kind) for name in SHAPES for application in ("", *APPLICATIONS)
         for shape in [running(SHAPES[name], application) if application else SHAPES[name]]
         for kind in shape.core_types if kind.pmu]


def contended(isa: Isa, kind: CoreType) -> bool:
    return isa is Isa.AMD or bool(core_events(kind.events).core_wide)


def at(form: Form, work: int, share: float) -> float:
    """The count in one cycle of one kind of work, of which a thread has a share."""
    held = {CPU_CYCLES + work: 1.0, CPU_WORK + work: share}
    return sum(weight * held.get(index, 0.0) for index, weight in form)


@pytest.mark.parametrize("share", [1.0, 1.0 - SMT_SHARE])
def test_no_event_counts_less_than_nothing(share: float) -> None:
    for isa, kind in CORES:
        result = pipeline_counts(kind, core_events(kind.events).slots, contended=contended(isa, kind))
        for name, form in result.items():
            for work in range(KINDS):
                assert at(form, work, share) >= -1e-12, (kind.events, kind.works[work].name, name)


def test_level_one_is_all_slots_and_deeper_levels_divide_it() -> None:
    for isa, kind in CORES:
        apart = contended(isa, kind)
        result = pipeline_counts(kind, core_events(kind.events).slots, contended=apart)
        for whole, parts in (
            ("slots", ("slots-retiring", "slots-bad", "slots-front", "slots-back", *(["slots-sibling"] * apart))),
            ("slots-front", ("slots-latency", "slots-bandwidth")),
            ("slots-bad", ("slots-mispredicted", "slots-clears")),
            ("slots-back", ("slots-memory", "slots-core")),
            ("memory-cycles", ("l1-cycles", "l2-cycles", "l3-cycles", "dram-cycles", "store-cycles")),
            ("slots-latency", ("slots-icache", "slots-itlb", "slots-resteers", "slots-switches")),
        ):
            made, known = dict(sum_of(*(result[part] for part in parts))), dict(result[whole])
            assert made.keys() | known.keys() <= {*range(CPU_CYCLES, CPU_WORK + KINDS), CPU_POLL_CYCLES}
            for index in made.keys() | known.keys():
                assert made.get(index, 0.0) == pytest.approx(known.get(index, 0.0), abs=1e-9), (kind.events, whole)


def test_where_work_waits_is_all_of_its_waiting() -> None:
    for work in WORKLOADS:
        assert sum(waiting(work).values()) == pytest.approx(1.0)
    assert waiting(WORKLOADS[1])["dram"] > 0.5  # streaming
