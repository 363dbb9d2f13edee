"""Randomly changed documents of every kind are read, or refused with a sentence; .ci/fuzz tries 100,000 of each."""

from __future__ import annotations

import pytest

from bench.fuzz_documents import KINDS, faults


@pytest.mark.parametrize("kind", KINDS)
def test_no_document_makes_its_reader_fall(kind: str) -> None:
    assert faults(kind, 60 if kind == "gathered" else 600, seed=3) == {}
