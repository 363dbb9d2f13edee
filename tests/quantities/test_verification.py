"""What is known of the comparisons behind each number."""

from __future__ import annotations

from turbotui.quantities.catalog import STATIC_COLUMNS
from turbotui.quantities.uncore.kinds import INTEL, PMUS
from turbotui.quantities.verification import METHODS, figures, held_against, subjects
from turbotui.sources import SOURCES


def test_everything_that_gives_numbers_is_listed() -> None:
    assert set(subjects("column")) == {column.id for column in STATIC_COLUMNS}
    assert set(subjects("source")) == {source.id for source in SOURCES}
    assert set(subjects("pmu")) == {*PMUS.names(), *INTEL.names()}


def test_figures_are_counts_by_known_methods() -> None:
    counted = {method for kind in ("column", "source", "pmu", "events", "tables") for name in subjects(kind)
               for method, count in (figures(kind, name) or {}).items() if count > 0}
    assert {"hardware", "turbostat-new", "turbostat-old", "guest", "kernel", "model"} <= counted <= set(METHODS)


def test_a_sentence_says_whether_anything_but_a_model_was_compared() -> None:
    assert "turbostat 2026.09.28" in held_against("column", "Busy%")
    assert "drivers in a guest" in held_against("column", "Busy%")
    models = [name for name in subjects("column") if set(figures("column", name) or ()) == {"model"}]
    assert models
    assert all("a simulated model only" in held_against("column", name) for name in models)
    nothing = [name for name in subjects("column") if figures("column", name) == {}]
    assert all("made-up readings only" in held_against("column", name) for name in nothing)
    assert held_against("column", "added by --add") == ""
