"""Errors of the metrics of vendors' tables."""

from __future__ import annotations

from turbotui.errors import UsageError


class MetricError(UsageError):
    """A metric that cannot be used on this machine, with the reason."""


class MetricSyntaxError(MetricError):
    """An expression that does not follow the grammar of metrics.

    Attributes:
        position: index of the first character that breaks the grammar.
        what: what is wrong at that position.
    """

    def __init__(self, text: str, position: int, what: str) -> None:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} ..."
        super().__init__(f"The metric expression {shown!r} is wrong at position {position + 1}: {what}.")
        self.position = position
        self.what = what


_SHOWN = 120
"""Characters of an expression in a message: the longest have thousands."""
