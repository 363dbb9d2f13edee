"""Themes: a calm one, one of high contrast, and one in the terminal's own sixteen colours."""

from __future__ import annotations

from textual.theme import BUILTIN_THEMES, Theme

TUI_DEFAULTS = {
    "tui-dim": "#6b7681",
    "tui-rule": "#38414a",
    "tui-title": "#8c99a5",
    "tui-strong": "#e6ebf0",
    "tui-accent": "#7fb8d8",
    "tui-on-accent": "#0d1117",
    "tui-cursor": "#22303c",
    "tui-spark": "#6f9fb8",
    "tui-amber": "#e3a94f",
    "tui-red": "#f0706a",
    "tui-banner": "#8a4fb3",
    "tui-on-banner": "#ffffff",
    "tui-on-lane": "#0d1117",
    "tui-lane-0": "#5fa8d3",
    "tui-lane-1": "#e0a458",
    "tui-lane-2": "#7fb069",
    "tui-lane-3": "#c77dba",
    "tui-lane-4": "#d9635b",
    "tui-lane-5": "#58c4b8",
    "tui-lane-6": "#b7b35e",
    "tui-lane-7": "#9a8fd8",
}
"""The variables that widgets use, for themes that are not ours."""

CALM = Theme(
    name="calm",
    primary="#7fb8d8",
    secondary="#8c99a5",
    accent="#7fb8d8",
    warning="#e3a94f",
    error="#f0706a",
    success="#8fbf7f",
    foreground="#b9c3cc",
    background="#10151a",
    surface="#161c22",
    panel="#1d252d",
    variables=TUI_DEFAULTS,
)

CONTRAST = Theme(
    name="contrast",
    primary="#00d7ff",
    secondary="#ffffff",
    accent="#00d7ff",
    warning="#ffd700",
    error="#ff5f5f",
    success="#5fff5f",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#000000",
    variables={
        "tui-dim": "#b2b2b2",
        "tui-rule": "#8a8a8a",
        "tui-title": "#ffffff",
        "tui-strong": "#ffffff",
        "tui-accent": "#00d7ff",
        "tui-on-accent": "#000000",
        "tui-cursor": "#003a5f",
        "tui-spark": "#5fd7ff",
        "tui-amber": "#ffd700",
        "tui-red": "#ff5f5f",
        "tui-banner": "#ff00ff",
        "tui-on-banner": "#000000",
    },
)

SIXTEEN = Theme(
    name="ansi",
    ansi=True,
    primary="ansi_cyan",
    secondary="ansi_blue",
    accent="ansi_cyan",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={
        **BUILTIN_THEMES["ansi-dark"].variables,
        "tui-dim": "ansi_bright_black",
        "tui-rule": "ansi_bright_black",
        "tui-title": "ansi_default",
        "tui-strong": "ansi_default",
        "tui-accent": "ansi_cyan",
        "tui-on-accent": "ansi_black",
        "tui-cursor": "ansi_blue",
        "tui-spark": "ansi_cyan",
        "tui-amber": "ansi_yellow",
        "tui-red": "ansi_red",
        "tui-banner": "ansi_magenta",
        "tui-on-banner": "ansi_white",
        "tui-on-lane": "ansi_black",
        "tui-lane-0": "ansi_cyan",
        "tui-lane-1": "ansi_yellow",
        "tui-lane-2": "ansi_green",
        "tui-lane-3": "ansi_magenta",
        "tui-lane-4": "ansi_blue",
        "tui-lane-5": "ansi_red",
        "tui-lane-6": "ansi_bright_cyan",
        "tui-lane-7": "ansi_bright_yellow",
    },
)

THEMES = (CALM, CONTRAST, SIXTEEN)
"""The first is the default; `T` steps through them."""
