"""Counts what tests compare turbotui's numbers with: the summary of a run, and the figures of docs/verification.md.

A plugin of pytest. `.ci/verification` runs the tests that count and keeps the figures; other runs only print a summary.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from turbotui.quantities.verification import METHODS

KEPT: Final = "TURBOTUI_COMPARISONS"
"""Names the file to which a run writes its figures."""
_FOUND: Final = pytest.StashKey["Comparisons"]()


class Comparisons:
    """Numbers that agreed with something, by what they were compared with and what they are of."""

    def __init__(self) -> None:
        self._agreed: Counter[tuple[str, str]] = Counter()
        self._listed: Counter[str] = Counter()
        self._missed: Counter[str] = Counter()

    def agreed(self, method: str, subject: str, count: int = 1) -> None:
        """Note that numbers of a subject, such as "column Busy%", agreed with what the method compares with."""
        if method not in METHODS:
            raise KeyError(f"{method} is no method of turbotui.quantities.verification")
        self._agreed[method, subject] += count

    def missed(self, method: str) -> None:
        """Note a number that was compared and does not agree within the test's own bound of agreement."""
        self._missed[method] += 1

    def listed(self, method: str, count: int = 1) -> None:
        """Note numbers that differ as a document says."""
        self._listed[method] += count

    def dump(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        result: dict[str, dict[str, int]] = {}
        for (method, subject), count in sorted(self._agreed.items()):
            result.setdefault(subject, {})[method] = count
        return {"agreed": result, "listed": dict(self._listed), "missed": dict(self._missed)}

    def load(self, dumped: dict[str, Any]) -> None:
        """Add the figures of another process."""
        for subject, counts in dumped["agreed"].items():
            for method, count in counts.items():
                self._agreed[method, subject] += count
        self._listed.update(dumped["listed"])
        self._missed.update(dumped["missed"])

    def sentences(self) -> list[str]:
        """A line for each method."""
        total: Counter[str] = Counter()
        for (method, subject), count in self._agreed.items():
            if not subject.startswith("source "):  # whose numbers are those of columns
                total[method] += count
        return [f"{count:,} {METHODS[method].unit} agree with {METHODS[method].words}"
                + (f", {self._listed[method]:,} differ as listed" if self._listed[method] else "")
                + (f", {self._missed[method]:,} are further off" if self._missed[method] else "")
                for method, count in total.items()]


def keep(method: str, counts: Mapping[str, int]) -> None:
    """Keep the figures of a script that is no test, if a file is asked for."""
    if KEPT in os.environ:
        result = Comparisons()
        for subject, count in counts.items():
            if count:
                result.agreed(method, subject, count)
        Path(os.environ[KEPT]).write_text(json.dumps(result.dump()), encoding="utf-8")


@pytest.fixture(scope="session")
def comparisons(request: pytest.FixtureRequest) -> Comparisons:
    """The counts of this run."""
    return request.config.stash[_FOUND]


def pytest_configure(config: pytest.Config) -> None:
    """Begin with nothing."""
    config.stash[_FOUND] = Comparisons()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take the counts of one of xdist's processes."""
    del error
    node.config.stash[_FOUND].load(getattr(node, "workeroutput", {}).get(KEPT, Comparisons().dump()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the counts on: to xdist's main process, or into the file that is asked for."""
    dumped = session.config.stash[_FOUND].dump()
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[KEPT] = dumped
    elif KEPT in os.environ:
        Path(os.environ[KEPT]).write_text(json.dumps(dumped), encoding="utf-8")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print a line for each method."""
    for line in config.stash[_FOUND].sentences():
        terminalreporter.write_line(line)
