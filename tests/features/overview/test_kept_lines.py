"""The lines of a moment are drawn once."""

from __future__ import annotations

import gc
import weakref
from functools import partial

import pytest

from turbotui.features.overview.kept_lines import KeptLines
from turbotui.widgets.panel import Line, Span


class Moment:
    """A replacement for a frame, of which lines ask nothing."""


def test_lines_are_drawn_again_of_another_moment_or_where_they_depend_on_something_else() -> None:
    kept, frame, other = KeptLines(), Moment(), Moment()
    drawn: list[str] = []

    def draw(word: str) -> list[Line]:
        drawn.append(word)
        return [(Span(word),)]

    def show(frame: Moment, width: int, *words: str) -> bool:
        new = kept.begin(frame, width)  # type: ignore[arg-type]  # see its class
        assert [kept.get(word, partial(draw, word))[0][0].text for word in words] == list(words)
        return new

    assert show(frame, 80, "a", "b")
    assert not show(frame, 80, "a", "c")
    assert drawn == ["a", "b", "c"]
    assert show(frame, 90, "a")
    assert show(other, 90, "a")
    assert drawn == ["a", "b", "c", "a", "a"]


@pytest.mark.usefixtures("objects_of_the_test_alone")
def test_a_frame_is_not_kept_alive() -> None:
    kept, frame = KeptLines(), Moment()
    kept.begin(frame)  # type: ignore[arg-type]  # as above
    gone = weakref.ref(frame)
    del frame
    gc.collect()
    assert gone() is None
    assert kept.begin(Moment())  # type: ignore[arg-type]  # as above
