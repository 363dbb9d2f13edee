"""The screen below a window is what Textual would draw there, word by word."""

from __future__ import annotations

import pytest
from rich.console import RenderableType
from textual.app import App, ComposeResult
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.visual import RenderOptions, RichVisual
from textual.widgets import Static

from turbotui.app.modal import ScreenBelow


class _Window(ModalScreen[None]):
    """A window that says what Textual would draw around it."""

    below: BackgroundScreen | None = None

    def compose(self) -> ComposeResult:
        yield Static("window")

    def render(self) -> RenderableType:
        shown = super().render()
        if isinstance(shown, BackgroundScreen):
            self.below = shown
        return shown


class _Below(App[None]):
    """Words of all kinds, one of them a link, some two cells wide."""

    def compose(self) -> ComposeResult:
        yield Static("plain [b]bold[/b] [red on blue]coloured[/] [dim]faint[/]")
        yield Static("[@click=app.bell]link[/] [reverse]other[/]")
        yield Static("漢字 in a line\nand another")


def _drawn(strips: list[Strip]) -> list[list[tuple[str, object]]]:
    """The characters of lines with their styles, however they are cut into words."""
    return [[(letter, style) for text, style, _control in strip for letter in text] for strip in strips]


@pytest.mark.parametrize("width", [30, 9], ids=["whole", "cropped"])
async def test_it_is_what_textual_draws(width: int) -> None:
    app = _Below()
    async with app.run_test(size=(30, 6)) as pilot:
        window = _Window()
        window.styles.background = "transparent"
        await app.push_screen(window)
        await pilot.pause()
        assert window.below is not None
        options = RenderOptions(window._get_style, window.styles)  # type: ignore[arg-type]  # as Textual passes it
        given = width, 5, window.visual_style, options
        theirs = RichVisual(window, window.below).render_strips(*given)
        ours = ScreenBelow(window.below).render_strips(*given)
        assert _drawn(ours) == _drawn(theirs)
        assert len(ours) == 5
        assert "bold" in ours[0].text or width == 9
        assert {strip.cell_length for strip in ours} == {width}
