"""Themes: a calm one, one of high contrast, a light one, and one in the terminal's own sixteen colours."""

from __future__ import annotations

from typing import Final

from textual.theme import BUILTIN_THEMES, Theme

_COLOURS: Final = (
    #              calm       contrast   light      sixteen
    ("primary",   "#7fb8d8", "#00d7ff", "#0b5c8f", "ansi_cyan"),
    ("secondary", "#a9b4be", "#ffffff", "#3c4955", "ansi_blue"),
    ("accent",    "#7fb8d8", "#00d7ff", "#0b5c8f", "ansi_cyan"),
    ("warning",   "#e3a94f", "#ffd700", "#7a4a00", "ansi_bright_yellow"),
    ("error",     "#f0706a", "#ff5f5f", "#c4001d", "ansi_bright_red"),
    ("success",   "#8fbf7f", "#5fff5f", "#3d6b1f", "ansi_green"),
    ("foreground", "#b9c3cc", "#ffffff", "#24313c", "ansi_white"),
    ("background", "#10151a", "#000000", "#fbfcfd", "ansi_black"),
    ("surface",   "#161c22", "#000000", "#f2f5f8", "ansi_black"),
    ("panel",     "#1d252d", "#000000", "#e8edf2", "ansi_black"),
    ("boost",     "",        "",        "",        "ansi_black"),
)
"""Textual's colours of each theme; "" for those that Textual derives."""
_VARIABLES: Final = (
    #              calm       contrast   light      sixteen
    ("dim",       "#8f9aa4", "#b2b2b2", "#4d5863", "ansi_white"),
    ("rule",      "#38414a", "#8a8a8a", "#b4bec8", "ansi_bright_black"),
    ("title",     "#a9b4be", "#ffffff", "#3c4955", "ansi_white"),
    ("strong",    "#e6ebf0", "#ffffff", "#0d1720", "ansi_white"),
    ("accent",    "#7fb8d8", "#00d7ff", "#0b5c8f", "ansi_cyan"),
    ("on-accent", "#0d1117", "#000000", "#ffffff", "ansi_black"),
    ("cell",      "#7fb8d8", "#00d7ff", "#0b5c8f", "ansi_white"),
    ("on-cell",   "#0d1117", "#000000", "#ffffff", "ansi_black"),
    ("cursor",    "#22303c", "#00304f", "#d6e6f4", "ansi_cyan"),
    ("prompt",    "#22303c", "#00304f", "#d6e6f4", "ansi_black"),
    ("on-cursor", "#e6ebf0", "#ffffff", "#0d1720", "ansi_black"),
    ("spark",     "#6f9fb8", "#5fd7ff", "#2f6685", "ansi_cyan"),
    ("amber",     "#e3a94f", "#ffd700", "#7a4a00", "ansi_bright_yellow"),
    ("red",       "#f0706a", "#ff5f5f", "#c4001d", "ansi_bright_red"),
    ("banner",    "#8a4fb3", "#ff00ff", "#7a3aa6", "ansi_magenta"),
    ("on-banner", "#ffffff", "#000000", "#ffffff", "ansi_bright_white"),
    ("level-0",   "#659ad6", "#6da5e4", "#2765a5", "ansi_green"),
    ("level-1",   "#4daed6", "#53b8e3", "#026589", "ansi_green"),
    ("level-2",   "#41bfcc", "#46c9d7", "#00616b", "ansi_cyan"),
    ("level-3",   "#53ccbc", "#59d6c4", "#015a4c", "ansi_cyan"),
    ("level-4",   "#79d6a7", "#80dfad", "#01542b", "ansi_bright_cyan"),
    ("level-5",   "#a4dc92", "#ade397", "#2e4700", "ansi_bright_cyan"),
    ("level-6",   "#d0de82", "#d9e487", "#3d3900", "ansi_bright_yellow"),
    ("level-7",   "#f7dd7e", "#ffe38d", "#412900", "ansi_bright_yellow"),
    ("level-8",   "#ffe0ad", "#ffe6bd", "#431700", "ansi_bright_white"),
    ("on-lane",   "#0d1117", "",        "#ffffff", "ansi_black"),
    ("lane-0",    "#5fa8d3", "",        "#1a6698", "ansi_cyan"),
    ("lane-1",    "#e0a458", "",        "#8a5200", "ansi_bright_yellow"),
    ("lane-2",    "#7fb069", "",        "#3d6b1f", "ansi_green"),
    ("lane-3",    "#c77dba", "",        "#8c3f7e", "ansi_bright_magenta"),
    ("lane-4",    "#e3776e", "",        "#a8352c", "ansi_white"),
    ("lane-5",    "#58c4b8", "",        "#0f6b61", "ansi_bright_red"),
    ("lane-6",    "#b7b35e", "",        "#66600c", "ansi_bright_cyan"),
    ("lane-7",    "#9a8fd8", "",        "#5a4eae", "ansi_bright_green"),
)
"""The widgets' variables of each theme; "" for that of `TUI_DEFAULTS`.

Levels go from cool and dim to warm and bright in perceptually equal steps (https://bottosson.github.io/posts/oklab),
each at least 4.5 : 1 against the background and the cursor's line; on a light ground they grow darker.
tests/widgets/test_level_colours.py derives them. Sixteen colours: texts and lanes have at least 4.5 : 1 against black
on the console, where red, brown, blue and dark grey do not. No ground but black is far enough from every colour, so the
cursor's line has one colour of text, and the ground is black whatever the terminal's own is: bright levels were white
on white where that is white.
"""


def _theme(name: str, place: int, *, dark: bool = True, ansi: bool = False) -> Theme:
    """Make a theme of its column in the tables."""
    variables = dict(BUILTIN_THEMES["ansi-dark"].variables) if ansi else {}
    variables |= {f"tui-{row[0]}": row[place] for row in _VARIABLES if row[place]}
    primary, *others = (row[place] for row in _COLOURS)
    colours = {row[0]: colour for row, colour in zip(_COLOURS[1:], others, strict=True) if colour}
    return Theme(name, primary, dark=dark, ansi=ansi, variables=variables, **colours)  # type: ignore[arg-type]  # of texts


CALM, CONTRAST = _theme("calm", 1), _theme("contrast", 2)
LIGHT, SIXTEEN = _theme("light", 3, dark=False), _theme("ansi", 4, ansi=True)
TUI_DEFAULTS = CALM.variables
"""Values of the widgets' variables for themes other than turbotui's."""
THEMES = (CALM, CONTRAST, LIGHT, SIXTEEN)
"""The first theme is the default; `T` steps through them."""
