"""The doctor: every source and signal of a machine, usable or not, why, and the remedy."""

from turbotui.feature import ARROWS, ROWS, Command, Feature, KeyPlace, ScreenSpec

FEATURE = Feature(
    "doctor",
    commands=(
        Command("doctor", "turbotui.features.doctor.verb", "which sources and signals work here, and for the others "
                "why not and what helps", group="know", examples=(
                    ("turbotui doctor", "what cannot be read here, why, and what would change that"),
                    ("turbotui doctor -v", "every signal"))),
    ),
    screens=(ScreenSpec("doctor", "9", "doctor", "turbotui.features.doctor.screen", "DoctorScreen"),),
    report="turbotui.features.doctor.tables:report",
    places=(KeyPlace("doctor", "Doctor", (*ROWS, *ARROWS)),),
)
