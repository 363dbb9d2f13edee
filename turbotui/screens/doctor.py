"""The doctor screen: every counter source, what it gives here, and what would make it give more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.widget import Widget

from turbotui.analysis.doctor import Diagnosis, SourceReport, State, diagnose
from turbotui.quantities.columns import CounterColumn
from turbotui.screens.actions import Where, bindings_for
from turbotui.screens.base import WatchScreen
from turbotui.screens.watch import Watch
from turbotui.widgets.cells import Tone
from turbotui.widgets.listing import Item, Listing
from turbotui.widgets.painter import Piece

_STATES: dict[State, Piece] = {
    State.READY: ("✓ ready  ", Tone.KEY),
    State.PARTIAL: ("▲ partial", Tone.AMBER),
    State.ABSENT: ("— absent ", Tone.DIM),
}

_FACTS = "the machine"


class DoctorScreen(WatchScreen):
    """Sources above, the one under the cursor in full below."""

    where: ClassVar[Where] = Where.LIST
    number = "9"
    word = "doctor"
    BINDINGS = bindings_for(Where.LIST)

    DEFAULT_CSS = """
    DoctorScreen #report { height: 45%; border-top: solid $tui-rule; background: $background; }
    """

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._diagnosis: Diagnosis = diagnose(watch.session.machine, watch.session.census)
        self._list = Listing(id="sources")
        self._report = Listing(id="report")

    def body(self) -> Iterable[Widget]:
        """List and report."""
        yield self._list
        yield self._report

    @property
    def listing(self) -> Listing:
        """The list of sources, for tests."""
        return self._list

    @property
    def report(self) -> Listing:
        """The report on the source under the cursor, for tests."""
        return self._report

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """The summary only: nothing else is visible."""
        return ()

    def show_columns(self) -> None:
        """Lay the list out for the width."""
        sources = self._diagnosis.sources
        wide = max([len(source.title) for source in sources], default=0) + 2
        gives = max([len(source.gives) for source in sources], default=0) + 2
        gives = min(gives, max(12, self.size.width // 3))
        titles = f" {'source':<{wide}}{'state':<11}{'what it gives':<{gives}}why / what to do"
        items = [Item(((titles, Tone.TITLE),)), Item(((f" {_FACTS:<{wide}}", Tone.PLAIN),), _FACTS)]
        for source in sources:
            given = source.gives if len(source.gives) < gives else source.gives[: gives - 2] + "…"
            why = "; ".join(text for text in (source.detail, source.remedy) if text)
            name, what = (f" {source.title:<{wide}}", Tone.PLAIN), (f"  {given:<{gives}}", Tone.PLAIN)
            items.append(Item((name, _STATES[source.state], what, (why, Tone.DIM)), source.id))
        self._list.show(items)
        self.watch_state.want(self.wanted)

    def on_listing_moved(self, message: Listing.Moved) -> None:
        """Report on the source under the cursor; the report is a listing too, and tells of itself."""
        if message.listing is not self._list:
            return
        key = self._list.key
        source = next((source for source in self._diagnosis.sources if source.id == key), None)
        lines = self._facts() if source is None else self._source(source)
        self._report.show([Item(line) for line in lines])
        self.show_status()

    def _facts(self) -> list[tuple[Piece, ...]]:
        found = self._diagnosis
        wide = max((len(what) for what, _ in found.facts), default=0) + 2
        lines: list[tuple[Piece, ...]] = [
            ((f" {what:<{wide}}", Tone.TITLE), (value, Tone.PLAIN)) for what, value in found.facts
        ]
        return [*lines, *(((f" {note}", Tone.DIM),) for note in found.notes)]

    def _source(self, source: SourceReport) -> list[tuple[Piece, ...]]:
        lines: list[tuple[Piece, ...]] = [((f" {source.title}: {source.gives}", Tone.SUMMARY),)]
        if source.detail:
            lines += [((f" {part}", Tone.PLAIN),) for part in self._wrapped(source.detail)]
        if source.remedy:
            lines += [((f" to do: {part}" if not at else f"        {part}", Tone.KEY),)
                      for at, part in enumerate(self._wrapped(source.remedy))]
        wide = max((len(signal.id) for signal in source.signals), default=0) + 2
        for signal in source.signals:
            if signal.usable:
                other = "" if signal.chosen else "   (read from another source)"
                lines.append(((f" ✓ {signal.id:<{wide}}", Tone.KEY), (signal.origin + other, Tone.DIM)))
            else:
                why = "; ".join(text for text in (f"{signal.reason}: {signal.detail}", signal.remedy) if text)
                lines.append(((f" — {signal.id:<{wide}}", Tone.DIM), (why, Tone.DIM)))
        return lines

    def _wrapped(self, text: str) -> list[str]:
        width = max(20, self.size.width - 10)
        lines: list[str] = [""]
        for word in text.split():
            if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
                lines.append("")
            lines[-1] += f" {word}" if lines[-1] else word
        return lines

    def readout(self) -> str:
        """How many sources work."""
        states = [source.state for source in self._diagnosis.sources]
        return " · ".join(f"{states.count(state)} {state.value}" for state in State)

    def action_move(self, by: int) -> None:
        """Up or down."""
        self._list.move(by)

    def action_page(self, by: int) -> None:
        """Scroll the report."""
        self._report.move(by * max(1, self._report.size.height - 1))

    def action_end(self, by: int) -> None:
        """First or last source."""
        self._list.move(by * 1000)
