"""Contrast of two colours, and the sixteen colours of terminals."""

from __future__ import annotations

Triple = tuple[float, float, float]

READABLE = 4.5
"""Web Content Accessibility Guidelines 2.1, success criterion 1.4.3."""

SIXTEEN_COLOURS = {
    "VGA": ("#000000", "#aa0000", "#00aa00", "#aa5500", "#0000aa", "#aa00aa", "#00aaaa", "#aaaaaa",
            "#555555", "#ff5555", "#55ff55", "#ffff55", "#5555ff", "#ff55ff", "#55ffff", "#ffffff"),
    "xterm": ("#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
              "#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"),
}
"""The console's (linux drivers/tty/vt/vt.c, default_red and so on) and xterm's (XTerm-col.ad)."""


def linear(colour: str) -> Triple:
    """Linear RGB of a colour (IEC 61966-2-1)."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return red, green, blue


def luminance(colour: str) -> float:
    """Relative luminance (Web Content Accessibility Guidelines 2.1)."""
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(item: str, other: str) -> float:
    """Contrast ratio, as there."""
    low, high = sorted((luminance(item), luminance(other)))
    return (high + 0.05) / (low + 0.05)
