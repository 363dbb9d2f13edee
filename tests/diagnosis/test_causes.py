"""Every cause of a simulated machine is found, alone and in pairs, and none is found on a calm machine."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import pytest
from knownmachines import known_machine
from smallmachines import small_host
from watched_machines import frames_of_machine

from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.rule_table import RULES
from turbotui.diagnosis.rules import NoFinding
from turbotui.errors import UsageError
from turbotui.machine.machine import Machine
from turbotui.quantities.catalog import catalog_for
from turbotui.sampling.frame import Frame
from turbotui.simulated import SHAPES, ManualClock, SimulatedHost, simulated_host
from turbotui.simulated.causes import CALM, CAUSES

COLUMNS = tuple(dict.fromkeys(name for rule in RULES for name in rule.columns))
SMALL = ("laptop-old", "laptop", "forest-1s", "icelake-2s", "grace-2s", "guest")
"""Machines, those that cost least first."""
BESIDE = frozenset({"bandwidth", "host-clock"})
"""What is counted beside the columns of frames, as `turbotui why` has it, or has a past: other tests find it."""
PAIRS = tuple((cause, other) for cause, other in combinations(CAUSES.values(), 2)
              if not cause.at_odds(other) and not BESIDE & {cause.name, other.name})


@functools.cache
def _without_causes(machine: str) -> Machine:
    return known_machine(small_host(machine, ManualClock()))


def facts_without_causes(host: SimulatedHost, _cpus: frozenset[int] | None = None) -> Machine:
    """What a machine's files say of it when it is calm; reading them anew for each pair of causes takes long."""
    calm = _without_causes(host.shape.name.partition("+")[0])
    return replace(calm, host=host, privileges=host.privileges())


def diagnosed(machine: str, facts: Callable[[SimulatedHost, frozenset[int] | None], Machine] = known_machine,
              ) -> MachineDiagnosis:
    _, frames = frames_of_machine(machine, 2, columns=COLUMNS, small=True, facts=facts)
    diagnosis = MachineDiagnosis(catalog_for(frames[0].capabilities.signals))
    for frame in frames:
        diagnosis.push(frame)
    return diagnosis


def machine_for(*names: str) -> str:
    """Return the smallest machine that can have these causes; the test fails if there is none."""
    return next(name for name in SMALL if all(CAUSES[item].where(SHAPES[name]) for item in names))


def test_each_rule_has_a_cause_and_each_cause_a_rule() -> None:
    assert {rule.id for rule in RULES} == CAUSES.keys()


@pytest.mark.parametrize("name", [name for name in CAUSES if name not in BESIDE])
def test_a_cause_alone_is_the_only_finding(name: str) -> None:
    findings = diagnosed(f"{machine_for(name)}+{name}").findings()
    assert [finding.rule.id for finding in findings] == [name]


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_changes_nothing_that_is_read_but_the_clock_of_the_moment(name: str) -> None:
    host = small_host(f"{machine_for(name)}+{name}", ManualClock())
    machine, calm = known_machine(host), facts_without_causes(host)
    assert replace(machine, model=replace(machine.model, mhz=calm.model.mhz)) == calm


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "+".join(item.name for item in pair))
def test_two_causes_are_the_two_worst_findings(pair: tuple[object, object]) -> None:
    simulated_cause, other = (cause for cause in CAUSES.values() if cause in pair)
    names = {simulated_cause.name, other.name}
    findings = diagnosed(f"{machine_for(*names)}+{simulated_cause.name}+{other.name}", facts_without_causes).findings()
    assert {finding.rule.id for finding in findings[:2]} == names
    assert findings[0].score >= findings[1].score


def test_what_costs_more_goes_first() -> None:
    findings = diagnosed("laptop-old+overload+storage+steal").findings()
    assert [finding.rule.id for finding in findings] == ["overload", "storage", "steal"]


@pytest.mark.parametrize("word", CALM)
@pytest.mark.parametrize("machine", [name for name in SHAPES if name != "big-8s"])
def test_nothing_is_found_where_nothing_is(machine: str, word: str) -> None:
    diagnosis = diagnosed(f"{machine}+{word}")
    assert diagnosis.findings() == ()
    assert diagnosis.verdict().sentence.startswith("No bottleneck found")


@pytest.mark.parametrize(("name", "words"), [
    ("guest+steal+thirst", "cannot run 'thirst'; there are .* joined by [+]: "),
    ("guest+one-group", "guest cannot be made to have one-group"),
    ("laptop+heat+governor", "heat and governor cannot both be made: each decides on the clock"),
    ("laptop+overload+one-cpu", "all CPUs are busy and one CPU is busy"),
])  # fmt: skip
def test_a_machine_that_cannot_be_is_refused(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        simulated_host(name)


def test_a_clock_below_the_base_of_several_packages_is_lost_on_each() -> None:
    below = diagnosed("icelake-2s+below-base").findings()[0]
    assert below.observed.lost == pytest.approx(0.4, abs=0.01)  # both packages run at 60 % of their base clock
    assert below.sentence.endswith("nothing readable says why; 1 more package is as slow")


def all_late(frame: Frame) -> Frame:
    """The frame if no CPU had answered in time; files that hold every CPU were read."""
    newer, provider = frame.newer, frame.capabilities.provider
    values = {name: result if provider[name].shared else [None] * len(result) for name, result in newer.values.items()}
    return Frame(frame.older, replace(newer, values=values, late=frozenset(frame.topology.cpus)), frame.capabilities)


def test_the_verdict_stands_over_an_interval_in_which_no_cpu_answered() -> None:
    _, frames = frames_of_machine("laptop-old+heat", 3, columns=COLUMNS, small=True)
    diagnosis = MachineDiagnosis(catalog_for(frames[0].capabilities.signals))
    for frame in frames[:3]:
        diagnosis.push(frame)
    before = diagnosis.verdict()
    diagnosis.push(all_late(frames[3]))
    after = diagnosis.verdict()
    assert "by heat" in before.sentence
    assert after.sentence == before.sentence
    assert after.findings[0].since.endswith("s ago")
    assert {"heat", "power-limit"} <= {item.rule.id for item in after.unjudged if item.answer is NoFinding.LATE}


def test_a_machine_whose_cpus_have_never_answered_is_not_called_free_of_bottlenecks() -> None:
    _, frames = frames_of_machine("laptop-old+heat", 1, columns=COLUMNS, small=True)
    diagnosis = MachineDiagnosis(catalog_for(frames[0].capabilities.signals))
    diagnosis.push(all_late(frames[1]))
    verdict = diagnosis.verdict()
    assert not verdict.sure
    assert verdict.sentence.startswith("Nothing found; CPU times, clock and limits, ")
    assert "unknown in this interval" in verdict.sentence


def test_a_busy_guest_whose_clock_cannot_be_read_is_not_called_free_of_bottlenecks() -> None:
    verdict = diagnosed("guest+core-bound").verdict()
    assert not verdict.sure
    assert verdict.sentence.startswith("Nothing found; clock and limits, ")
    assert {unjudged.rule.id for unjudged in verdict.unjudged if unjudged.answer is NoFinding.BLIND} >= {
        "power-limit", "heat", "current-limit", "firmware-limit", "governor", "below-base"}
