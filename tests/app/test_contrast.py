"""Readability: the contrast of every role on every kind of line, in every theme, as drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from contrast import READABLE, SIXTEEN_COLOURS, contrast
from dashboard_driver import dashboard, until
from rich.color import Color, ColorType
from rich.segment import Segment
from scripted_machine import FakeSession
from textual.command import CommandInput, CommandList, SearchIcon

from turbotui.app.themes import THEMES
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.role_styles import Palette
from turbotui.widgets.segment_lines import SegmentLines

LINES = (StyleRole.PLAIN, StyleRole.SUMMARY, StyleRole.TITLE, StyleRole.CURSOR)
"""The roles that lines have; a banner has only its own."""
NO_TEXT = {StyleRole.RULE}
"""What only frames and tracks are drawn in."""

WORDS = {"input--placeholder", "input--selection", "input--suggestion", "input--cursor", "option-list--option",
         "option-list--option-highlighted", "option-list--option-hover", "command-palette--help-text",
         "command-palette--highlight"}
"""Parts of Textual's widgets that have words here; no option is disabled or separated."""


WINDOW_KEYS = ("question_mark", "C", "e", "g", "exclamation_mark", "W", "o", "a", "c", "backslash x", "slash x", "at x",
               "D x")
"""Keys that open windows and fields on the table of CPUs, with a text in fields."""


def _shown(colour: Color | None, usual: str, palette: str) -> str:
    """A colour as a terminal with these sixteen colours shows it."""
    if colour is None or colour.type is ColorType.DEFAULT:
        return usual
    if colour.type is ColorType.STANDARD:
        assert colour.number is not None
        return SIXTEEN_COLOURS[palette][colour.number]
    return colour.get_truecolor().hex


def _poor(palette: Palette, colours: str) -> Iterator[str]:
    usual = SIXTEEN_COLOURS[colours][7], SIXTEEN_COLOURS[colours][0]
    pairs = [(line, role) for line in LINES for role in StyleRole if role not in NO_TEXT]
    for line, role in [*pairs, (StyleRole.BANNER, StyleRole.BANNER)]:
        style = palette.style(line, role)
        ink, ground = _shown(style.color, usual[0], colours), _shown(style.bgcolor, usual[1], colours)
        if contrast(ink, ground) < READABLE:
            yield f"{role.name} on a line of {line.name}: {ink} on {ground}, {contrast(ink, ground):.1f} to 1"


@pytest.mark.parametrize("colours", SIXTEEN_COLOURS)
async def test_every_role_can_be_read_on_every_line(colours: str) -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        for theme in THEMES:
            app.theme = theme.name
            await pilot.pause()
            palette = Palette(app.screen.query_one("#keys", SegmentLines), final=True)
            assert list(_poor(palette, colours)) == [], theme.name


@pytest.mark.parametrize("colours", SIXTEEN_COLOURS)
async def test_no_colour_depends_on_the_ground_of_the_terminal(colours: str) -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        for theme in THEMES:
            app.theme = theme.name
            await pilot.pause()
            palette = Palette(app.screen.query_one("#keys", SegmentLines), final=True)
            for role in StyleRole:
                style = palette.style(StyleRole.PLAIN, role)
                for colour in (style.color, style.bgcolor):
                    assert colour is not None, (theme.name, role)
                    assert colour.type is not ColorType.DEFAULT, (theme.name, role, colours)


@pytest.mark.parametrize("key", ["C", "ctrl+p"])
async def test_the_words_in_fields_and_lists_of_windows_can_be_read(key: str) -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        for theme in THEMES:
            app.theme = theme.name
            await pilot.press(key)
            await pilot.pause()
            parts = {part for widget in app.screen.query() for part in type(widget).COMPONENT_CLASSES} & WORDS
            assert {"input--placeholder", "input--selection"} <= parts
            for colours in SIXTEEN_COLOURS:
                for widget in app.screen.query():
                    for part in parts & type(widget).COMPONENT_CLASSES:
                        style = widget.get_component_rich_style(part)
                        usual = SIXTEEN_COLOURS[colours]
                        ink = _shown(style.color, usual[7], colours)
                        ground = _shown(style.bgcolor, usual[0], colours)
                        assert contrast(ink, ground) >= READABLE, (theme.name, part, ink, ground)
            await pilot.press("escape")
            await pilot.pause()


async def test_the_cell_under_the_cursor_stands_out_of_its_line() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        for theme in THEMES:
            app.theme = theme.name
            await pilot.pause()
            palette = Palette(app.screen.query_one("#keys", SegmentLines), final=True)
            grounds = {palette.style(StyleRole.CURSOR, role).bgcolor for role in (StyleRole.PLAIN, StyleRole.CELL)}
            assert len(grounds) == 2, theme.name


def _poor_words(segments: Iterable[Segment], colours: str) -> Iterator[str]:
    """Words that are hard to read as they are drawn, or whose colours are the terminal's own."""
    for text, style, _ in segments:
        if style is None or not any(map(str.isalnum, text)):
            continue
        ink, ground = (style.bgcolor, style.color) if style.reverse else (style.color, style.bgcolor)
        is_own = ColorType.DEFAULT not in {ink and ink.type, ground and ground.type}
        if style.dim or not is_own or contrast(_shown(ink, "", colours), _shown(ground, "", colours)) < READABLE:
            yield f"{text!r}: {style}"


@pytest.mark.parametrize("keys", WINDOW_KEYS)
async def test_the_words_of_windows_and_of_the_screen_below_can_be_read_as_they_are_drawn(keys: str) -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        await pilot.press("right", *keys.split())
        await pilot.pause()
        window, = app.screen.children
        region = window.region
        for theme in THEMES:
            app.theme = theme.name
            await pilot.pause()
            strips = app.screen._compositor.render_strips()
            inside = [segment for y in region.line_range for segment in strips[y].crop(region.x, region.right)]
            drawn = [segment for strip in strips for segment in strip]
            for segments in (inside, drawn):
                assert sum(any(map(str.isalnum, segment.text)) for segment in segments) > 1
            for colours in SIXTEEN_COLOURS:
                assert list(_poor_words(drawn, colours)) == [], theme.name


async def test_the_palette_can_be_read_as_it_is_drawn() -> None:
    async with dashboard(FakeSession()) as (app, pilot):
        for theme in THEMES:
            app.theme = theme.name
            await pilot.press("ctrl+p")
            await until(pilot, lambda: app.screen.query_one(CommandList).option_count)
            await pilot.pause()
            lists = [app.screen.query_one(kind).region for kind in (CommandList, CommandInput, SearchIcon)]
            strips = app.screen._compositor.render_strips()
            drawn = [segment for region in lists for y in region.line_range
                     for segment in strips[y].crop(region.x, region.right) if any(map(str.isalnum, segment.text))]
            assert len(drawn) > 10
            for colours in SIXTEEN_COLOURS:
                assert list(_poor_words(drawn, colours)) == [], theme.name
            await pilot.press("escape")
            await pilot.pause()
