"""The verb `why`: findings of the diagnosis as text and as a table."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "why",
    commands=(
        Command("why", "turbotui.features.why.verb", "why the machine is slow: causes by the work they cost, the "
                "tasks behind them, and remedies", group="now", examples=(
                    ("turbotui why", "look for 3 s, and name the causes, the worst first"),
                    ("turbotui why -n 1 --json", "one look for a script; the exit status is 7 where a cause is found"),
                    ("turbotui why --replay run.ttj", "the same of a recording"))),
    ),
)
