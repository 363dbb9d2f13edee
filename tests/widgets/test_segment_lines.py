"""Fixed lines of text: a line that is too long is cut after a word, never within a number."""

from __future__ import annotations

from textual.app import App, ComposeResult

from turbotui.app.themes import TUI_DEFAULTS
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.segment_lines import SegmentLines

LINE = [(" watching ", StyleRole.KEY), ("everything", StyleRole.SUMMARY),
        (" · 22 threads ran 0.08 s in 0.99 s", StyleRole.DIM)]


class OneLine(App[None]):
    """An application with one such line."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The colours of roles."""
        return TUI_DEFAULTS

    def compose(self) -> ComposeResult:
        """The line."""
        yield SegmentLines()


async def test_a_line_that_is_too_wide_ends_before_the_number_that_does_not_fit() -> None:
    whole = "".join(text for text, _ in LINE)
    for width in (24, 33, 41, len(whole) - 1, len(whole)):
        app = OneLine()
        async with app.run_test(size=(width, 3)) as pilot:
            lines = app.query_one(SegmentLines)
            for _ in range(2):  # as the first picture, and as a change of it
                lines.show([[("", StyleRole.PLAIN)]])
                lines.show([LINE])
                await pilot.pause()
                drawn = lines.render_line(0).text.rstrip()
                assert drawn == whole or drawn.endswith("…")
                assert {word for word in drawn.removesuffix("…").split() if word[0].isdigit()} <= set(whole.split())
