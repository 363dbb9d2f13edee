"""Features: one folder each, which registers its verbs and screens by a `FEATURE`. `FEATURES` is the one list.

The list imports no verb and no screen: their modules are imported when they are used.
"""

from __future__ import annotations

from typing import Final

from turbotui.feature import Command, Feature
from turbotui.features import (
    collect,
    columns,
    cpus,
    dashboard,
    diff,
    doctor,
    events,
    export,
    fleet,
    gather,
    groups,
    info,
    machines,
    overview,
    power,
    record,
    replay,
    roofline,
    score,
    serve,
    spies,
    stat,
    tasks,
    topdown,
    uncore,
    why,
)

FEATURES: Final[tuple[Feature, ...]] = (
    dashboard.FEATURE,
    cpus.FEATURE,
    overview.FEATURE,
    stat.FEATURE,
    why.FEATURE,
    record.FEATURE,
    doctor.FEATURE,
    info.FEATURE,
    power.FEATURE,
    uncore.FEATURE,
    roofline.FEATURE,
    topdown.FEATURE,
    tasks.FEATURE,
    groups.FEATURE,
    spies.FEATURE,
    score.FEATURE,
    machines.FEATURE,
    diff.FEATURE,
    export.FEATURE,
    fleet.FEATURE,
    columns.FEATURE,
    events.FEATURE,
    replay.FEATURE,
    gather.FEATURE,
    collect.FEATURE,
    serve.FEATURE,
)
"""Every feature; verbs stand in --help in this order."""

COMMANDS: Final[tuple[Command, ...]] = tuple(command for feature in FEATURES for command in feature.commands)
"""Every verb."""
