"""Interrupts by source and CPU: how many, on which CPUs, from which device, and where they may go."""

from turbotui.feature import ARROWS, PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "interrupts",
    commands=(
        Command("interrupts", "turbotui.features.interrupts.verb",
                "interrupts by source and CPU: a second, device, affinity",
            group="now", examples=(
                ("turbotui interrupts -n 1", "interrupts a second by source"),
                ("turbotui interrupts --cpus -n 1", "and by CPU"),
            )),
    ),
    screens=(ScreenSpec("interrupts", "Z", "interrupts", rows="turbotui.features.interrupts.rows:INTERRUPTS"),),
    places=(KeyPlace("interrupts", "Interrupts", (*ROWS, *ARROWS, *PAST, "folded")),),
    rows="turbotui.features.interrupts.rows:KINDS",
)
