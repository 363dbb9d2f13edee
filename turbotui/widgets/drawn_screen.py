"""Draw a screenful of characters as SVG 1.1, each character in its terminal cell and in its colours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Final

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme

from turbotui.dataclass import dataclass

_WIDE: Final = 8.4  # pixels of a cell; most monospaced fonts have this ratio
_HIGH: Final = 17.0
_SIZE: Final = 14
_DOWN: Final = 13.0  # from the top of a cell to its baseline
_FONTS: Final = "DejaVu Sans Mono,Menlo,Consolas,Liberation Mono,monospace"
_LOWER: Final = 0x2580  # U+2581 to U+2588: the lower eighths of a cell (The Unicode Standard, Block Elements)
_LEFT: Final = 0x2590  # U+258F to U+2589: its left eighths
_PLAIN: Final = 0x2000  # lower code points are in every font, and all equally wide


@dataclass(frozen=True, slots=True)
class _Piece:
    """Adjacent characters of one line that are drawn alike, from the cell `at` on."""

    at: int
    width: int
    text: str
    style: Style


def drawn_screen(lines: Sequence[Iterable[Segment]], width: int, theme: TerminalTheme, ground: str, title: str) -> str:
    """Draw a screen.

    Args:
        ground: background colour, as #rrggbb.
        title: text for people who cannot see the picture, and for the title of the window that shows it.
    """
    high, wide = len(lines) * _HIGH, width * _WIDE
    body = [piece for y, line in enumerate(lines) for piece in _line(y, line, theme, ground)]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" version="1.1" width="{wide:.0f}" height="{high:.0f}"',
        f'viewBox="0 0 {wide:.1f} {high:.1f}" font-family="{_FONTS}" font-size="{_SIZE}" xml:space="preserve">',
        f"<title>{escape(title, quote=False)}</title>", f'<rect width="100%" height="100%" fill="{ground}"/>', *body,
        "</svg>", ""])


def _line(y: int, line: Iterable[Segment], theme: TerminalTheme, ground: str) -> Iterator[str]:
    top = y * _HIGH
    for piece in _pieces(line):
        style = piece.style
        ink = _hex(style.color, theme) or theme.foreground_color.hex
        behind = _hex(style.bgcolor, theme) or ground
        ink, behind = (behind, ink) if style.reverse else (ink, behind)
        if behind != ground:
            yield _rectangle(piece.at, top, piece.width * _WIDE, _HIGH, behind)
        if piece.text.strip() or piece.style.underline:
            yield from _drawn(piece, top, ink)


def _pieces(line: Iterable[Segment]) -> Iterator[_Piece]:
    """The key of characters that are drawn together: plain letters share one, others have their own."""
    at = 0
    for segment in line:
        if segment.control:
            continue
        for _kind, letters in groupby(_clusters(segment.text), key=_kind_of):
            text = "".join(letters)
            width = cell_len(text)
            yield _Piece(at, width, text, segment.style or Style.null())
            at += width


def _clusters(text: str) -> list[str]:
    """Characters, each with the zero-width characters that follow it."""
    clusters: list[str] = []
    for letter in text:
        if clusters and not cell_len(letter):
            clusters[-1] += letter
        else:
            clusters.append(letter)
    return clusters


def _kind_of(cluster: str) -> str:
    return "" if len(cluster) == 1 and ord(cluster) < _PLAIN else cluster


def _drawn(piece: _Piece, top: float, ink: str) -> Iterator[str]:
    code, width = ord(piece.text[0]), piece.width * _WIDE
    if piece.text[0] == "─":
        yield _rectangle(piece.at, top + _HIGH / 2, width, 1, ink)
        return
    if _LOWER < code <= _LOWER + 8:
        part = (code - _LOWER) / 8
        yield _rectangle(piece.at, top + _HIGH * (1 - part), width, _HIGH * part, ink)
        return
    if _LEFT - 7 <= code < _LEFT:
        for at in range(piece.at, piece.at + piece.width):
            yield _rectangle(at, top, _WIDE * (_LEFT - code) / 8, _HIGH, ink)
        return
    blank = 0 if piece.style.underline else len(piece.text) - len(piece.text.lstrip(" "))
    text = piece.text if piece.style.underline else piece.text.strip(" ")
    words = [f'x="{(piece.at + blank) * _WIDE:.1f}"', f'y="{top + _DOWN:.1f}"', f'fill="{ink}"',
             f'textLength="{cell_len(text) * _WIDE:.1f}"', 'lengthAdjust="spacingAndGlyphs"']
    style = piece.style
    words += [word for has, word in ((style.bold, 'font-weight="bold"'), (style.italic, 'font-style="italic"'),
                                     (style.underline, 'text-decoration="underline"'),
                                     (style.dim, 'fill-opacity="0.6"')) if has]
    yield f"<text {' '.join(words)}>{escape(text, quote=False)}</text>"


def _rectangle(at: int, top: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{at * _WIDE:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{colour}"/>'


def _hex(colour: Color | None, theme: TerminalTheme) -> str:
    return "" if colour is None or colour.is_default else colour.get_truecolor(theme).hex
