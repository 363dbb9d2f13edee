from __future__ import annotations

from dataclasses import replace

import pytest
from knownmachines import known_machine

from turbotui.errors import UsageError
from turbotui.features.tasks.applications import Application
from turbotui.features.tasks.choosing import choose_sets
from turbotui.features.tasks.columns import TASK_COLUMNS, TaskInputs
from turbotui.features.tasks.numerics import Numerics, definition_counters, in_order, needed, numerics_of
from turbotui.features.tasks.screen_rows import amount_columns
from turbotui.features.tasks.tables import TaskRow
from turbotui.features.tasks.thread_totals import RUN
from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.host import PerfAttr
from turbotui.machine.machine import Machine, read_machine
from turbotui.machine.tasks.sets import TaskCounter
from turbotui.quantities import metric_table
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.simulated import ManualClock, simulated_host

BROADWELL_ON = metric_table.definition("broadwell")
NEOVERSE = metric_table.definition("neoverse")


@pytest.fixture(scope="module")
def server() -> Machine:
    return known_machine(simulated_host("sapphire-2s"))


def counters(machine: Machine) -> tuple[TaskCounter, ...]:
    result = definition_counters(machine)
    assert not isinstance(result, Unavailable)
    return result


def names(*keys: str) -> frozenset[str]:
    return frozenset(("run", "switches", *keys))


ALL = tuple(term.event for term in BROADWELL_ON.flops)
DOUBLES = tuple(key for key in ALL if "double" in key)


def test_flops_are_weighted_by_width_and_bytes_by_the_mean_width(server: Machine) -> None:
    numerics = numerics_of(server, counters(server), names(*ALL, "loads", "stores"))
    counts = dict.fromkeys(ALL, 0) | {"scalar double": 10, "avx512 double": 10, "loads": 300, "stores": 100}
    assert numerics.flops(counts) == 10 * 1 + 10 * 8
    assert numerics.bytes(counts) == 400 * (8 + 64) / 2
    assert (numerics.why, numerics.double_only) == (None, False)


def test_amounts_of_bytes_are_in_gigabytes(server: Machine) -> None:
    columns = {column.id: column for column in amount_columns(TASK_COLUMNS)}
    assert "Bytes" not in columns
    counts = {RUN: 1, **dict.fromkeys(DOUBLES, 0), "avx double": 5, "loads": 10**9, "stores": 10**9}
    row = TaskRow(1, 1, "a", 1, (0,), 0, counts, 0, {}, 1, incomplete=False)
    inputs = TaskInputs(row, 1.0, numerics_of(server, counters(server), names("loads", "stores", *DOUBLES)))
    assert columns["GB"].compute(inputs) == 64.0
    assert columns["GB"].compute(replace(inputs, numerics=Numerics())) is None


def test_half_of_the_events_give_double_precision_and_say_so(server: Machine) -> None:
    numerics = numerics_of(server, counters(server), names(*DOUBLES, "loads", "stores"))
    assert numerics.double_only
    assert "double precision only" in numerics.note
    assert numerics.flops(dict.fromkeys(DOUBLES, 1) | {"loads": 1, "stores": 1}) == 1 + 2 + 4 + 8
    assert numerics.bytes(dict.fromkeys(DOUBLES, 0) | {"avx double": 5, "loads": 1, "stores": 1}) == 2 * 32


def test_too_few_events_give_nothing_and_the_reason(server: Machine) -> None:
    numerics = numerics_of(server, counters(server), names("scalar double", "loads", "stores"))
    assert (numerics.has_flops, numerics.has_bytes) == (False, False)
    assert numerics.flops({"scalar double": 9}) is None
    assert numerics.why is not None
    assert numerics.why.reason is Reason.IN_USE
    assert "double" in numerics.why.remedy


def test_the_order_decides_what_a_small_pmu_counts(server: Machine) -> None:
    known = counters(server)
    assert [counter.name for counter in in_order(BROADWELL_ON, known, double=False)][:8] == list(ALL)
    assert [counter.name for counter in in_order(BROADWELL_ON, known, double=True)] == [*DOUBLES, "loads", "stores"]
    arm = tuple(TaskCounter(event.key, PerfAttr(4, event.config)) for event in NEOVERSE.events)
    assert [counter.name for counter in in_order(NEOVERSE, arm, double=True)][:4] == [
        "scale flops", "fixed flops", "scale bytes", "fixed bytes"]


@pytest.mark.parametrize(("machine", "reason", "says"), [
    ("guest", Reason.VIRTUALISED, "no core PMU"),
    ("laptop", Reason.NO_HARDWARE, "several kinds of core"),
])
def test_why_there_is_no_metric_definition(machine: str, reason: Reason, says: str) -> None:
    result = definition_counters(known_machine(simulated_host(machine)))
    assert isinstance(result, Unavailable)
    assert result.reason is reason
    assert says in result.detail


def test_bytes_need_every_width_that_the_core_counts() -> None:
    arm = known_machine(simulated_host("grace-2s"))
    has = tuple(counter for counter in counters(arm) if counter.name not in {"scale bytes", "fixed bytes"})
    flops = ("scale flops", "fixed flops")
    some = numerics_of(arm, has, names(*flops, "loads", "stores", "scalar instructions"))
    assert (some.has_flops, some.has_bytes) == (True, False)
    assert some.why is not None
    assert "ASE_INST_SPEC" in some.why.detail
    every = numerics_of(arm, has, names(*flops, "loads", "stores", "scalar instructions", "vector instructions",
                                        "sve instructions"))
    assert (every.has_bytes, every.why) == (True, None)
    assert needed(NEOVERSE, frozenset(counter.name for counter in has)) >= {"loads", "stores", "sve instructions"}


def test_where_the_core_counts_bytes_no_width_is_needed() -> None:
    keys = frozenset(event.key for event in NEOVERSE.events)
    assert needed(NEOVERSE, keys) == {"scale flops", "fixed flops", "scale bytes", "fixed bytes"}


def test_what_was_asked_for_is_not_called_a_lack(server: Machine) -> None:
    numerics = numerics_of(server, counters(server), names(*DOUBLES, "loads", "stores"), asked_double=True)
    assert "as asked for" in numerics.note
    assert "found no counter" not in numerics.note


class Scaled(DelegatingHost):
    """A core PMU that says a scale of one event, as of topdown-total-slots before Ice Lake, and that one is a level."""

    def list_dir(self, path: str) -> tuple[str, ...]:
        more = ["branch-misses.scale", "bus-cycles.snapshot"] if path.endswith("/cpu/events") else []
        return (*super().list_dir(path), *more)

    def read_text(self, path: str) -> str:
        return "4\n" if path.endswith("/branch-misses.scale") else super().read_text(path)


@pytest.mark.parametrize(("event", "what"), [("branch-misses", "the scale 4"), ("bus-cycles", "a level")])
def test_an_event_that_is_no_plain_count_is_refused(event: str, what: str) -> None:
    machine = read_machine(Scaled(simulated_host("laptop-old", ManualClock())))
    with pytest.raises(UsageError, match=what):
        choose_sets(machine, Application("all", everything=True, events=f"cpu/{event}/"), ())
