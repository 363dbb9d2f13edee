"""Files that the documents name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/flows.md", "docs/costs.md")
_PATH = re.compile(r"(?<![\w/.*<{-])((?:[\w.]+/)+[\w-]+\.(?:py|md|json|toml))(?![\w/*])")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_that_a_document_names_is_there(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    homes = (ROOT, ROOT / "turbotui", (ROOT / document).parent)
    named = {name for name in _PATH.findall(text) if not name.startswith("../")}
    assert [name for name in sorted(named) if not any((home / name).exists() for home in homes)] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_of_a_document_leads_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    links = re.findall(r"\]\(((?!https?:)[^)#]+)\)", text)
    assert [link for link in links if not ((ROOT / document).parent / link).exists()] == []
