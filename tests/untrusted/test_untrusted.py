"""Text from outside: control characters are marked, nothing is lost, and programs get the original."""

from __future__ import annotations

import base64
import json
import os
import tomllib
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turbotui.quantities.documents import parse_json
from turbotui.untrusted import (
    bytes_in_base64,
    decoded,
    guarded,
    in_cell,
    is_plain_json,
    json_text,
    one_line,
    original,
    toml_text,
    visible,
    visible_in,
)

ANY = st.text(st.characters(exclude_categories=()))
MARKS = st.text(st.sampled_from("\x00\x1b\x7f\x9b\t\n\u202e\u200b\udcff␛␀␡⟪⟫x1bf9 a"))
TEXTS = st.one_of(ANY, MARKS)
# what a machine can give: bytes, decoded as Python decodes file names; half of another surrogate pair is refused
FROM_BYTES = st.one_of(st.text(st.characters(codec="utf-8")), MARKS,
                       st.binary().map(lambda data: data.decode("utf-8", "surrogateescape")))


def unsafe(text: str, *, also: str = "") -> list[str]:
    """Characters of a text that a terminal obeys or hides, by Python's own tables of Unicode."""
    return [item for item in text
            if item in also or (item not in "\t\n" and unicodedata.category(item) in ("Cc", "Cf", "Cs", "Zl", "Zp"))
            or item in "\u115f\u1160\u3164\uffa0\u034f\u17b4\u17b5\ufe0f\ufffe\uffff"]


@given(TEXTS)
def test_what_a_terminal_obeys_is_marked(text: str) -> None:
    assert unsafe(visible(text)) == []
    assert unsafe(one_line(text), also="\t\n") == []
    assert unsafe(in_cell(text), also="\t\n") == []


@given(TEXTS)
@example("⟪1b⟫ ␛ ⟪x9b⟫")
def test_the_original_comes_back_and_no_two_texts_look_the_same(text: str) -> None:
    assert original(visible(text)) == text


@given(st.binary())
def test_every_byte_comes_back(data: bytes) -> None:
    assert os.fsencode(original(decoded(data))) == data
    assert unsafe(decoded(data)) == []


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)) | st.just("Größe 漢字 e\u0301 – ✓"))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    assert decoded(text.encode()) == text


@given(TEXTS)
def test_what_is_visible_stays_as_it_is_further_up(text: str) -> None:
    once = one_line(visible(text))
    assert one_line(once) == once
    assert guarded(once) == once
    assert original(once) == text.strip(" \t\n\x00") or "␀" in text or "\x00" in text


@given(TEXTS)
def test_what_is_printed_without_having_been_made_visible_is_marked(text: str) -> None:
    assert unsafe(guarded(text)) == [] or "\x1b[" in text
    assert "\x1b]" not in guarded(text)


def test_the_guard_lets_colours_pass_and_nothing_else() -> None:
    assert guarded("\x1b[1;38;5;7mx\x1b[0m\t\n") == "\x1b[1;38;5;7mx\x1b[0m\t\n"
    assert guarded("\x1b[2J\x1b]0;t\x07\x1b[?25l\x1bc") == "␛[2J␛]0;t␇␛[?25l␛c"


@given(FROM_BYTES, FROM_BYTES)
@example("⟪xff⟫", "\udcff⟪27ea⟫")  # who writes such a mark means the letters
def test_json_comes_back_and_holds_no_unsafe_character(key: str, text: str) -> None:
    written = json_text({visible(key): [visible(text), 1.5, None]})
    assert unsafe(written, also="\n") == []
    assert parse_json(written) == {visible(key): [visible(text), 1.5, None]}
    (read, (result, *_)), = json.loads(written).items()
    read.encode(), result.encode()  # no lone surrogate, in any spelling
    if text.isprintable() and "\u27ea" not in text:
        assert result == text


@given(FROM_BYTES)
def test_what_is_no_text_has_its_bytes(text: str) -> None:
    for item in (text, visible(text)):
        in_base64 = bytes_in_base64(item)
        assert (in_base64 is None) is _is_utf8(original(item))
        if in_base64 is not None:
            assert base64.b64decode(in_base64) == original(item).encode("utf-8", "surrogateescape")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@given(st.recursive(TEXTS | st.sampled_from('"/\n\t\\'), st.lists))
def test_json_that_is_plain_holds_nothing_unsafe(value: object) -> None:
    """Whatever is taken for plain is not looked at text by text."""
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False)):
        if is_plain_json(text):
            assert visible_in(json.loads(text)) == value
    assert is_plain_json(r'{"a": "b \"c\" /d\n", "pattern": "alloc\\w*", "unit": "µs", "escaped": "\u00b5s \u00b0C"}')
    unsafe_ones: tuple[str | bytes, ...] = (r'"\u001b"', r'"\b"', '"\x1b"', '"\u202e"', '"\x7f"', b'"\x9b"',
                                            r'"\\\u001b"', '"\u27ea1b\u27eb"', r'"\u202e"', r'"\u27ea1b\u27eb"',
                                            r'"\ud83d"', r'"\u009b"', r'"\u00b5\u200b"')
    assert not any(is_plain_json(unsafe_one) for unsafe_one in unsafe_ones)


def test_json_has_no_word_for_what_is_not_finite() -> None:
    assert json_text({"a": float("nan"), "b": (1.0, float("inf"))}) == '{"a": null, "b": [1.0, null]}'


@given(FROM_BYTES)
@example("⟪xff⟫")
def test_toml_comes_back(text: str) -> None:
    written = toml_text(visible(text))
    assert unsafe(written, also="\t\n") == []
    assert visible_in(tomllib.loads(f"a = {written}")) == {"a": visible(text)}
    if "\u27ea" not in text and _is_utf8(text):
        assert tomllib.loads(f"a = {written}") == {"a": text}


@pytest.mark.parametrize(("data", "seen"), [
    (b"\x1b[2J", "␛[2J"), (b"\x1b]0;t\x07", "␛]0;t␇"), ("\u202eexe".encode(), "⟪202e⟫exe"), (b"\xff", "⟪xff⟫"),
    ("\x9b".encode(), "⟪9b⟫"), ("␛".encode(), "⟪241b⟫"), (b"a\tb\n", "a\tb\n"), ("\U000e0041".encode(), "⟪e0041⟫"),
])
def test_marks_say_what_stood_there(data: bytes, seen: str) -> None:
    assert decoded(data) == seen


def test_a_name_of_a_device_tree_ends_before_its_nul() -> None:
    assert one_line(decoded(b"Acme UncoreCounters\x00")) == "Acme UncoreCounters"


def test_every_character_of_python_s_own_tables_is_marked() -> None:
    everything = "".join(map(chr, range(0x110000)))
    assert unsafe(visible(everything)) == []
