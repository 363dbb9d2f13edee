"""The cache-aware roofline: a machine's peaks, the position of an application below them, and its bound.

Definitions: for a window of time, F floating-point operations, B bytes of the loads and stores that the core issued, T
seconds; arithmetic intensity AI = F / B, performance P = F / T. B is the same for every level of the memory, so an
application is one point (Ilic, Pratas, Sousa: Cache-aware Roofline model, IEEE CAL 13(1), 2014; Antao et al.,
Monitoring Performance and Power for Application Characterization with the Cache-aware Roofline Model, PPAM 2013).
"""

from turbotui.feature import PAST, ROWS, Command, Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "roofline",
    commands=(
        Command(
            "roofline",
            "turbotui.features.roofline.verb",
            "how close a command, or the machine, comes to its roofs, and what limits it",
            group="now", examples=(
                ("turbotui roofline --machine sapphire-2s -- calculix",
                 "how close a simulated program comes to its roofs"),
                ("turbotui roofline --machine laptop-old -n 1", "how close a whole machine comes to its roofs"),
            )),
        Command(
            "roofs",
            "turbotui.features.roofline.roofs_verb",
            "the peaks of cores and caches: the roofs of the roofline model",
            group="know", examples=(
                ("turbotui roofs --machine sapphire-2s", "the roofs of a simulated server, at once"),
                ("turbotui roofs --quick", "of this machine, in some seconds"),
                ("turbotui roofs --theory i7-3770K", "what a data sheet promises of a chip"),
            )),
    ),
    screens=(ScreenSpec("roofline", "6", "roofline", "turbotui.features.roofline.screen", "RooflineScreen"),),
    places=(KeyPlace("roofline", "Roofline", (*ROWS, *PAST, "pages", "ends")),),
    keys="turbotui.features.roofline.keys:KEYS",
    recorded="turbotui.features.roofline.traffic:RECORDED",
    memory="turbotui.features.roofline.memory_watch:MemoryWatch",
)
