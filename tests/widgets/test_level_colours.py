"""The colours of levels: perceptually even, and readable on every background and without hue."""

from __future__ import annotations

import itertools
import math

import pytest
from contrast import READABLE, SIXTEEN_COLOURS, Triple, contrast, linear, luminance
from textual.theme import Theme

from turbotui.app.themes import CALM, CONTRAST, LIGHT, SIXTEEN
from turbotui.widgets.levels import STEPS

GROUNDS = ("background", "surface", "panel", "tui-cursor")
TEXTS = ("dim", "title", "strong", "accent", "spark", "amber", "red")
DICHROMATS: dict[str, tuple[Triple, Triple, Triple]] = {
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision Deficiency (2009),
severity 1.0, for linear RGB."""

CURVES = {
    "calm": ((0.675, 252.0, 0.105), (0.92, 80.0, 0.12)),
    "contrast": ((0.71, 252.0, 0.11), (0.935, 80.0, 0.12)),
    "light": ((0.50, 252.0, 0.12), (0.27, 45.0, 0.12)),
}
"""Lightness, hue and chroma (Oklch) where the levels of a theme begin and end; between them all three are straight."""


def written(rgb: Triple) -> str:
    """Linear RGB as a colour."""
    parts = (min(1.0, max(0.0, part)) for part in rgb)
    bent = (12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055 for part in parts)
    return "#" + "".join(f"{round(part * 255):02x}" for part in bent)


def oklab(rgb: Triple) -> Triple:
    """Oklab of linear RGB (https://bottosson.github.io/posts/oklab/)."""
    red, green, blue = rgb
    long, middle, short = (math.cbrt(max(0.0, part)) for part in (
        0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue,
        0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue,
        0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue))
    return (0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
            1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
            0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short)


def from_oklab(lab: Triple) -> Triple:
    """The other way."""
    light, a, b = lab
    long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
            -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
            -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short)


def on_curve(theme: str, share: float) -> Triple:
    """A point of a theme's curve, with as much chroma as a screen can show."""
    start, end = CURVES[theme]
    light, hue, chroma = (low + (high - low) * share for low, high in zip(start, end, strict=True))
    while True:
        lab = light, chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
        if all(0.0 <= part <= 1.0 for part in from_oklab(lab)):
            return lab
        chroma -= 0.0005


def derived(theme: str) -> list[str]:
    """Nine points of the curve, each as far from the next."""
    points = [on_curve(theme, at / 4000) for at in range(4001)]

    def walked(step: float) -> list[Triple]:
        result = [points[0]]
        for point in points:
            if math.dist(point, result[-1]) >= step:
                result.append(point)
        return result

    low, high = 0.001, 0.3
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if len(walked(middle)) >= STEPS else (low, middle)
    return [written(from_oklab(point)) for point in [*walked(low)[: STEPS - 1], points[-1]]]


def levels(theme: Theme) -> list[str]:
    """The colours of a theme's levels, from little to much."""
    return [theme.variables[f"tui-level-{step}"] for step in range(STEPS)]


def seen_by(colour: str, matrix: tuple[Triple, Triple, Triple]) -> float:
    """The lightness that is left of a colour."""
    rgb = linear(colour)
    red, green, blue = (min(1.0, max(0.0, sum(a * b for a, b in zip(line, rgb, strict=True)))) for line in matrix)
    return oklab((red, green, blue))[0]


def rising(values: list[float], least: float) -> bool:
    """Whether each is so much more than the one before."""
    return all(later - item >= least for item, later in itertools.pairwise(values))


@pytest.mark.parametrize("theme", [CALM, CONTRAST, LIGHT], ids=lambda theme: theme.name)
def test_levels_are_what_the_curve_gives(theme: Theme) -> None:
    assert levels(theme) == derived(theme.name)


@pytest.mark.parametrize("theme", [CALM, CONTRAST, LIGHT], ids=lambda theme: theme.name)
def test_steps_are_even_to_the_eye(theme: Theme) -> None:
    points = [oklab(linear(colour)) for colour in levels(theme)]
    steps = [math.dist(item, later) for item, later in itertools.pairwise(points)]
    assert max(steps) / min(steps) < 1.12  # colours have 8 bits


@pytest.mark.parametrize("theme", [CALM, CONTRAST, LIGHT], ids=lambda theme: theme.name)
def test_every_level_can_be_read_on_every_ground(theme: Theme) -> None:
    known = {"background": theme.background, "surface": theme.surface, "panel": theme.panel, **theme.variables}
    for name in GROUNDS:
        ground = known[name]
        assert ground is not None
        assert min(contrast(colour, ground) for colour in levels(theme)) >= READABLE, (name, ground)


@pytest.mark.parametrize("theme", [CALM, CONTRAST, LIGHT], ids=lambda theme: theme.name)
def test_every_text_can_be_read_on_every_ground(theme: Theme) -> None:
    known = {"foreground": theme.foreground, "background": theme.background, "surface": theme.surface,
             "panel": theme.panel, **theme.variables}
    texts = ["foreground", *(f"tui-{name}" for name in TEXTS)]
    pairs = [(text, ground) for text in texts for ground in GROUNDS]
    pairs += [("tui-on-accent", "tui-accent"), ("tui-on-banner", "tui-banner")]
    for lane in range(8):
        pairs += [("tui-on-lane", f"tui-lane-{lane}"), (f"tui-lane-{lane}", "background")]
    pairs += [("tui-on-lane", f"tui-level-{step}") for step in range(STEPS)]
    for text, ground in pairs:
        colours = known.get(text, CALM.variables.get(text)), known.get(ground, CALM.variables.get(ground))
        assert colours[0] is not None
        assert colours[1] is not None
        assert contrast(colours[0], colours[1]) >= READABLE, (text, ground)


@pytest.mark.parametrize("theme", [CALM, CONTRAST, LIGHT], ids=lambda theme: theme.name)
@pytest.mark.parametrize("eyes", DICHROMATS)
def test_lightness_tells_the_order_without_hue(theme: Theme, eyes: str) -> None:
    way = 1 if theme.dark else -1  # away from the ground
    assert rising([way * seen_by(colour, DICHROMATS[eyes]) for colour in levels(theme)], 0.01)
    assert rising([way * oklab(linear(colour))[0] for colour in levels(theme)], 0.01)


@pytest.mark.parametrize("theme", [CALM, CONTRAST, LIGHT], ids=lambda theme: theme.name)
def test_no_level_is_taken_for_a_limit_that_is_reached(theme: Theme) -> None:
    red = oklab(linear(theme.variables["tui-red"]))
    assert min(math.dist(oklab(linear(colour)), red) for colour in levels(theme)) > 0.15


def in_palette(palette: str) -> dict[str, str]:
    """The colours of a terminal by Textual's names; a terminal's own text is white on black."""
    names = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
    named = (*(f"ansi_{name}" for name in names), *(f"ansi_bright_{name}" for name in names))
    result = dict(zip(named, SIXTEEN_COLOURS[palette], strict=True))
    return {**result, "ansi_default": result["ansi_white"]}


@pytest.mark.parametrize("palette", SIXTEEN_COLOURS)
def test_five_steps_in_sixteen_colours(palette: str) -> None:
    colours = in_palette(palette)
    steps = list(dict.fromkeys(levels(SIXTEEN)))
    assert len(steps) == 5
    assert rising([luminance(colours[name]) for name in steps], 0.02)
    assert min(contrast(colours[name], colours["ansi_black"]) for name in steps) >= READABLE


@pytest.mark.parametrize("palette", SIXTEEN_COLOURS)
def test_every_text_can_be_read_in_sixteen_colours(palette: str) -> None:
    colours, known = in_palette(palette), {**SIXTEEN.variables, "ground": "ansi_black"}
    pairs = [(f"tui-{text}", "ground") for text in TEXTS]
    pairs += [("tui-on-accent", "tui-accent"), ("tui-on-banner", "tui-banner"), ("tui-on-cursor", "tui-cursor"),
              ("tui-on-cell", "tui-cell"), *((f"tui-{text}", "tui-prompt") for text in ("accent", "amber", "strong"))]
    for lane in range(8):
        pairs += [("tui-on-lane", f"tui-lane-{lane}"), (f"tui-lane-{lane}", "ground")]
    pairs += [("tui-on-lane", f"tui-level-{step}") for step in range(STEPS)]
    for text, ground in pairs:
        assert contrast(colours[known[text]], colours[known[ground]]) >= READABLE, (text, ground)
    assert len({known[f"tui-lane-{lane}"] for lane in range(8)}) == 8
    assert known["tui-cell"] != known["tui-cursor"]  # the cell under the cursor stands out of its line
