"""The performance ratio APERF/MPERF under load, and the predicted benchmark score."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "score",
    commands=(
        Command("score", "turbotui.features.score.verb", "the ratio APERF/MPERF under load, and the score that it "
                "predicts", group="know", examples=(
                    ("turbotui score list", "the stored baselines"),
                    ("turbotui score history", "is this node slower than before?"))),
    ),
    facts="turbotui.features.score.exported:facts",
)
