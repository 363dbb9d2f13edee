"""`turbotui mcp`: the verbs that only look, as tools of the Model Context Protocol."""

from turbotui.feature import Command, Feature

FEATURE = Feature(
    "mcp",
    commands=(
        Command("mcp", "turbotui.features.mcp.verb", "answer the questions of an assistant's program, which starts "
                "this and asks by the Model Context Protocol", group="know", examples=(
                    ("turbotui mcp", "what such a program starts; it asks on stdin, and reads on stdout"),
                    ("turbotui mcp run.ttj", "with a recording that may be asked about too"))),
    ),
)
