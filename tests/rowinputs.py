"""`columns.Inputs` of a few numbers, for formulas computed by hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from turbotui.quantities.scope import Scope


@dataclass
class Row:
    """Inputs with given values; everything else is None.

    Attributes:
        deltas: signal to increase.
        seconds: elapsed time of every signal.
        values: signal to gauge or constant.
        anything: what signals give that `deltas` and `values` do not name.
    """

    deltas: dict[str, float | None] = field(default_factory=dict)
    seconds: float | None = 1.0
    values: dict[str, float | None] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    anything: float | None = None

    def offers(self, signal: str) -> bool:
        return signal in self.deltas or signal in self.values or self.anything is not None

    def delta(self, signal: str) -> float | None:
        return self.deltas.get(signal, self.anything)

    def total(self, signal: str) -> float | None:
        return self.delta(signal)

    def rate(self, signal: str) -> float | None:
        delta = self.delta(signal)
        return None if delta is None or not self.seconds else delta / self.seconds

    def total_rate(self, signal: str) -> float | None:
        return self.rate(signal)

    def together(self, *signals: str) -> bool:
        return True

    def value(self, signal: str) -> float | None:
        return self.values.get(signal, self.anything)

    def text(self, signal: str) -> str | None:
        return self.texts.get(signal)

    def elapsed(self, signal: str) -> float | None:
        return self.seconds

    def place(self, scope: Scope) -> int | None:
        return None

    def each(self, scope: Scope) -> Iterable[Row]:
        return (self,)

    def core_type(self) -> str | None:
        return None
