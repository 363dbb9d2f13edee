"""Every fact that the code cites exists in docs/specs/, under the cited section, row and register."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
SPECS = ROOT / "docs" / "specs"
THIS = Path(__file__).resolve()
SUFFIXES = {".py", ".toml"}

_CITED = re.compile(
    r"docs/specs/(?P<file>\w+)\.md(?P<where>(?:[\s,;]|and\b|to\b|-|rows?\b|0x[0-9A-Fa-f]+\b|\d+(?:\.\d+)?)*)"
)
_WORD = re.compile(r"0x[0-9A-Fa-f]+|\d+\.\d+|\d+|[;\-]|to|rows?")
_HEADING = re.compile(r"^#{2,3} (\d+(?:\.\d+)?) ", re.MULTILINE)


class Citation(NamedTuple):
    """A citation of a file at one place in the code."""

    sections: tuple[str, ...]
    rows: tuple[int, ...]
    registers: tuple[str, ...]


def cited(where: str) -> Citation:
    """Sections, rows and registers of the words that follow a file's name: `5, rows 7 and 10, 11.1`."""
    sections: list[str] = []
    rows: list[int] = []
    registers: list[str] = []
    in_rows = to = False
    for word in _WORD.findall(where):
        if word in {"row", "rows"}:
            in_rows = True
        elif word == ";":
            in_rows = False
        elif word in {"to", "-"}:
            to = True
        elif word.startswith("0x"):
            registers.append(word)
        elif in_rows and "." not in word:
            rows += range(rows[-1] + 1, int(word) + 1) if to else [int(word)]
            to = False
        else:
            in_rows = to = False
            sections.append(word)
    return Citation(tuple(sections), tuple(rows), tuple(registers))


def section(file: str, number: str) -> str:
    """The text of one section, without those below it."""
    text = (SPECS / f"{file}.md").read_text("utf-8")
    heading = re.search(rf"^#{{2,3}} {re.escape(number)} .*$", text, re.MULTILINE)
    assert heading, f"docs/specs/{file}.md has no section {number}"
    return text[heading.end() :].partition("\n## ")[0].partition("\n### ")[0] or text[heading.end() :]


def citations() -> list[tuple[str, str, str]]:
    """Where, which file, what of it: every citation of the code, the tests and the benchmarks."""
    result = []
    for folder in ("turbotui", "tests", "bench"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SUFFIXES and path != THIS:
                text = path.read_text("utf-8")
                for match in _CITED.finditer(text):
                    line = text.count("\n", 0, match.start()) + 1
                    result.append((f"{path.relative_to(ROOT)}:{line}", match["file"], match["where"]))
    return result


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (" 1.4, 1.8, 1.9", Citation(("1.4", "1.8", "1.9"), (), ())),
        (" 2.3, row 29; 4, 0x3FD", Citation(("2.3", "4"), (29,), ("0x3FD",))),
        (" 5, rows 4-6, 45", Citation(("5",), (4, 5, 6, 45), ())),
        (" 5 rows 7 and 10, 11.1", Citation(("5", "11.1"), (7, 10), ())),
        (" 1 to 3, 6", Citation(("1", "3", "6"), (), ())),
    ],
)
def test_citations_are_read_as_people_read_them(where: str, expected: Citation) -> None:
    assert cited(where) == expected


def test_every_citation_is_there() -> None:
    result = citations()
    assert len(result) > 100
    missing = []
    for place, file, where in result:
        citation = cited(where)
        if not citation.sections:
            missing.append(f"{place}: no section of {file}")
            continue
        texts = "".join(section(file, number) for number in citation.sections)
        missing += [f"{place}: row {row}" for row in citation.rows if f"\n| {row} |" not in texts]
        missing += [f"{place}: register {name}" for name in citation.registers if f"| {name} |" not in texts]
    assert not missing


def test_nothing_cites_what_is_not_in_the_repository() -> None:
    old = re.compile(r"\b(?:turbostat|perf|libpfm|nvidia|carm)-spec\b")
    paths = [
        path
        for folder in ("turbotui", "tests", "bench")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in SUFFIXES and path != THIS
    ]
    assert not [path for path in paths if old.search(path.read_text("utf-8"))]


def test_files_that_specs_name_exist() -> None:
    named = {
        (path.name, name)
        for path in SPECS.glob("*.md")
        for name in re.findall(r"`((?:turbotui|tests)/[\w/]+\.(?:py|toml))`", path.read_text("utf-8"))
    }
    assert named
    assert not [(spec, name) for spec, name in named if not (ROOT / name).is_file()]


def test_sections_are_numbered_in_order() -> None:
    for path in SPECS.glob("*.md"):
        if path.name != "README.md":
            numbers = [tuple(map(int, number.split("."))) for number in _HEADING.findall(path.read_text("utf-8"))]
            assert numbers
            assert numbers == sorted(numbers), path.name
