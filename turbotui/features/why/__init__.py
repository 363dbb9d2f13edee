"""The verb `why`: findings of the diagnosis as text and as a table."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "why",
    commands=(
        Command("why", "turbotui.features.why.verb", "why the machine is slow: causes by the work they cost, the "
                "tasks behind them, and remedies"),
    ),
    memory="turbotui.features.why.memory",
)
