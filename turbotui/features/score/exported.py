"""What scrapes have of the stored baselines, with which a machine's present ratio can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.features.score import baselines
from turbotui.features.score.model import differences
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine

NAME: Final = "turbotui_machine_baseline_performance_ratio"
HELP: Final = "Lowest APERF/MPERF of a busy CPU while a benchmark's baseline was measured (turbotui score)"


def facts(machine: Machine, environment: Mapping[str, str]) -> Sequence[
        tuple[str, str, Sequence[tuple[Mapping[str, str], float]]]]:
    """Return the lowest performance ratio at the time of each baseline of this configuration and kind of machine.

    Raises:
        TurbotuiError: the file of baselines cannot be read.
    """
    configuration = baselines.configuration(machine)
    kind = "" if machine.host.kind is HostKind.REAL else f"{machine.host.kind.value} machine {machine.host.name}"
    fitting = [baseline for baseline in baselines.load(baselines.path_of(environment)).values()
               if baseline.simulated == kind and not differences(baseline, configuration)]
    return [(NAME, HELP, [({"benchmark": baseline.name}, baseline.ratio) for baseline in fitting])]
