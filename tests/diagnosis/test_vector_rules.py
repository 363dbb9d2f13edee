"""Turbo lost to dense vectors: by counted schedules, or by instructions if schedules are not counted."""

from __future__ import annotations

import pytest
from watched_machines import frames_of_machine

from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.findings import Finding
from turbotui.diagnosis.rule_table import RULES
from turbotui.diagnosis.rules import Certainty
from turbotui.diagnosis.vector_rules import VECTORS
from turbotui.quantities.catalog import catalog_for

pytestmark = pytest.mark.usefixtures("few_cores")

COLUMNS = tuple(dict.fromkeys(name for rule in RULES for name in rule.columns))


def found(machine: str) -> dict[str, Finding]:
    _, frames = frames_of_machine(machine, 2, columns=COLUMNS)
    diagnosis = MachineDiagnosis(catalog_for(frames[0].capabilities.signals))
    for frame in frames:
        diagnosis.push(frame)
    return {finding.rule.id: finding for finding in diagnosis.findings()}


@pytest.mark.usefixtures("all_cores")  # the turbo of so many
def test_cores_that_count_their_licences_are_believed() -> None:
    vectors = found("icelake-2s+vectors")[VECTORS.id]
    assert vectors.observed.sure is Certainty.LIKELY
    assert "2,550 of 3,000 MHz" in vectors.sentence
    assert "schedule for AVX-512; 1 more package is as slow" in vectors.sentence
    assert vectors.observed.lost == pytest.approx(0.15, abs=0.01)


def test_of_later_cores_it_is_a_guess() -> None:
    vectors = found("sapphire-2s+vectors")[VECTORS.id]
    assert vectors.observed.sure is Certainty.POSSIBLE
    assert "no limit is reported" in vectors.sentence


@pytest.mark.parametrize("machine", ["icelake-2s+power-limit", "icelake-2s+heat", "sapphire-2s+power-limit"])
def test_the_limit_that_is_known_to_hold_is_told_instead(machine: str) -> None:
    assert VECTORS.id not in found(machine)
