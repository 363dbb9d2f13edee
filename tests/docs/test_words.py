"""The glossary is sorted, and words that it replaced are not used as names."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "words.md"

RETIRED = frozenset({
    "band", "bank", "banks", "beat", "beats", "bell", "board", "boards",
    "census", "crew", "feeds", "homes", "judging", "kin", "ledger",
    "ledgers", "pace", "paces", "patient", "recipe", "recipes", "rival", "rivals", "sparing", "spot", "spots",
    "telling", "tone", "toned", "tones", "turns", "turnstile", "wish", "wished", "wishes",
})  # fmt: skip

EXCEPTIONS = {
    **{(f"turbotui/{name}.py", "bell"): "the bell of a terminal, which an alert rings"
       for name in ("app/alerting", "app/frames", "quantities/alerts")},
    **{(f"turbotui/terminal/{name}.py", "band"): "in-band resize reports of terminals, and Textual's name for them"
       for name in ("driver", "keys")},
}


def words_of(name: str) -> Iterator[str]:
    """The words of an identifier: `take_census`, `SparingHost`."""
    for part in name.split("_"):
        yield from (word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", part))


def test_retired_words_are_no_names() -> None:
    result: dict[tuple[str, str], str] = {}
    for path in sorted((ROOT / "turbotui").rglob("*.py")):
        where, text = str(path.relative_to(ROOT)), path.read_text("utf-8")
        # tokens are asked for only where a retired word stands at all: it may be one of a text or a comment
        suspect = any(word in RETIRED for name in set(re.findall(r"\w+", text)) for word in words_of(name))
        for token in tokenize.generate_tokens(io.StringIO(text if suspect else "").readline):
            if token.type == tokenize.NAME:
                result.update({(where, word): token.string for word in words_of(token.string) if word in RETIRED})
        result.update({(where, word): path.name for word in words_of(path.stem) if word in RETIRED})
    assert {key: name for key, name in result.items() if key not in EXCEPTIONS} == {}


def test_the_glossary_is_alphabetical_and_says_each_word_once() -> None:
    entries = re.findall(r"^- \*\*(.+?)\*\*: \S", GLOSSARY.read_text("utf-8"), re.MULTILINE)
    assert len(entries) > 40
    folded = [entry.casefold() for entry in entries]
    assert folded == sorted(set(folded))


def test_the_glossary_names_what_replaced_each_retired_word() -> None:
    gone = GLOSSARY.read_text("utf-8").partition("## Words that are gone")[2]
    named = {word for words in re.findall(r"^\| ([^|]+) \|", gone, re.MULTILINE) for word in words.split(", ")}
    assert named - {"gone", "---"} == RETIRED
