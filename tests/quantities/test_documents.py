"""TOML and JSON written by people: a usable value, or one sentence about the error."""

from __future__ import annotations

import contextlib
import json
import math
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turbotui.quantities.documents import DocumentError, parse_json, parse_toml
from turbotui.untrusted import visible_in

_SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text() | st.floats(
    allow_nan=False, allow_infinity=False)


@given(st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))
def test_json_without_extremes_is_what_it_says(value: object) -> None:
    try:
        text = json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return
    assert parse_json(text) == visible_in(value)


@given(st.text(alphabet="[]{}\"'=.,aeE19-+#\\\n tfnu") | st.binary().map(lambda data: data.decode("latin-1")))
@pytest.mark.parametrize("parse", [parse_toml, parse_json])
def test_any_text_is_a_document_or_a_sentence(parse: Callable[[str], object], text: str) -> None:
    with contextlib.suppress(DocumentError):  # any other exception fails
        _finite(parse(text))


def _finite(value: object) -> None:
    if isinstance(value, float):
        assert math.isfinite(value)
    if isinstance(value, int):
        assert value.bit_length() < 65
    for inner in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()):
        _finite(inner)


@pytest.mark.parametrize("text", [
    "1e999", "-1e999", "NaN", "Infinity", "-Infinity", "9" * 30, "9" * 5000, "1" * 100_000, "[" * 100_000,
    '{"a":' * 100_000, r'"\ud800"', r'{"\udfff": 1}', "[1e999]", '"a', "", "\x00",
])  # fmt: skip
def test_json_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(DocumentError):
        parse_json(f'{{"format": {text}}}')


@given(st.recursive(st.just("") | st.text('[]{},:"\\ab'), lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.text('[]{},:"\\ab', max_size=3), inner, max_size=3), max_leaves=40))
def test_values_and_levels_are_counted_outside_of_texts(value: object) -> None:
    many, depth = _shape(value)
    text = json.dumps(value)
    assert parse_json(text, most_values=many + 1) == value
    if many:
        with pytest.raises(DocumentError, match="it holds more than"):
            parse_json(text, most_values=many)
    for wrapped, right in ((64 - depth, True), (65 - depth, False)):
        deep = "[" * wrapped + text + "]" * wrapped
        if right:
            assert parse_json(deep)
        else:
            with pytest.raises(DocumentError, match="it is nested too deeply"):
                parse_json(deep)


def _shape(value: object) -> tuple[int, int]:
    """Commas and colons of a value, and its levels."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    shapes = [_shape(item) for item in inner]
    own = max(0, len(inner) - 1) + (len(inner) if isinstance(value, dict) else 0)
    return own + sum(many for many, _depth in shapes), (isinstance(value, dict | list)
                                                        + max((depth for _many, depth in shapes), default=0))


def test_a_document_of_objects_without_end_is_refused_before_they_are_made() -> None:
    tracemalloc.start()
    try:
        for text in ("[" + "[]," * 5_000_000 + "[]]", '{"a":[' + '"",' * 5_000_000 + '""]}', "[" * 5_000_000,
                     '["' + "\u202e" * 1_000_001 + '"]', '["' + "\\u0000" * 1_000_001 + '"]',
                     b'["' + b"\xff" * 1_000_001 + b'"]'):
            with pytest.raises(DocumentError):
                parse_json(text)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100 << 20


@pytest.mark.parametrize("text", [
    "a = 1e999", "a = inf", "a = -inf", "a = nan", f"a = {'9' * 30}", f"a = {'9' * 5000}", f"a = 0x{'f' * 500}",
    f"a = {'[' * 100_000}", "a = " + "{b = " * 5000, "a." * 300_000 + "b = 1", f"[{'a . ' * 300_000}b]",
    f'[{chr(34)}a{chr(34)}{".b" * 300_000}]', "x = {" + "a." * 300_000 + "b = 1}", "a = 'b", "\x00",
])  # fmt: skip
def test_toml_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(DocumentError):
        parse_toml(text)


def test_an_integer_of_64_bits_is_taken_whatever_its_sign() -> None:
    """TOML 1.0, "Integer": arbitrary 64-bit signed integers are to be accepted."""
    ends = [-(2**63), -1, 2**63 - 1]
    assert parse_toml(f"ends = {ends}") == {"ends": ends}
    for beyond in (-(2**63) - 1, 2**63):
        with pytest.raises(DocumentError, match="63"):
            parse_toml(f"end = {beyond}")


def test_toml_with_dots_in_its_texts_is_taken() -> None:
    path = "/".join(["..."] * 40) + ", " + "a.b, " * 100
    assert parse_toml(f'a.b.c.d = "{path}"') == {"a": {"b": {"c": {"d": path}}}}
