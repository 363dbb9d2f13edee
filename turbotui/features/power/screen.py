"""The power screen: a sentence on what holds the machine back, a panel of its watts, a panel for each package."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Sequence

from textual.widget import Widget

from turbotui.app.actions import bindings_for
from turbotui.app.cell_cursor import CellCursorScreen
from turbotui.app.frame_charts import FrameCharts
from turbotui.app.one_cell import number_in_words
from turbotui.app.watch import Watch
from turbotui.diagnosis import limits
from turbotui.diagnosis.limit_history import LimitVerdict
from turbotui.diagnosis.limit_sentences import headline, how_known
from turbotui.diagnosis.limits import LimitState
from turbotui.features.power.balance import Balance, balance_of
from turbotui.features.power.domains import PowerSource
from turbotui.features.power.machine_panel import machine_panel
from turbotui.features.power.panel import package_panel
from turbotui.quantities.catalog.meters import power_columns
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.sentences import as_sentence
from turbotui.sampling.frame import Frame
from turbotui.tables.row_names import row_name
from turbotui.widgets.cells import MARK_AMBER, StyleRole
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.panel import Panel, Target, inner_width, plan
from turbotui.widgets.panel_grid import PanelGrid
from turbotui.widgets.row_charts import LEAST
from turbotui.widgets.segment_lines import ClickableSegment, SegmentLines
from turbotui.widgets.slots import HISTORY
from turbotui.widgets.table_view import next_match

_LEAST = 58
"""The least characters of a panel with useful bars."""
_SENTENCES = 3
"""Lines of the sentences above the panels."""
_FLATTEST, _TALLEST = 4, 10
"""Lines of the picture of the past; a taller one leaves the panels beside it empty, and charts below too little."""
_ROLES = {LimitState.HELD: StyleRole.AMBER, LimitState.UNKNOWN: StyleRole.TITLE}


class PowerScreen(CellCursorScreen):
    """The screen that shows what holds each package back, how sure that is, and where the power goes."""

    where = "power"
    number = "4"
    word = "power"
    BINDINGS = bindings_for("power")

    DEFAULT_CSS = "PowerScreen #headline { height: 3; }"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._headline = SegmentLines(id="headline")
        self.grid = PanelGrid(_LEAST, self._below, id="panels")
        self._charts = FrameCharts(watch)
        self._charted: tuple[tuple[CounterColumn, ...], tuple[RowId, ...]] = (), ()
        model = watch.session.machine.model
        self._model = model.family, model.model

    def body(self) -> Iterable[Widget]:
        """Lay out the sentence and the panels."""
        yield self._headline
        yield self.grid

    @property
    def wanted(self) -> Sequence[CounterColumn]:
        """Return the columns of verdicts and panels that the machine has."""
        watch = self.watch_state
        columns: list[CounterColumn] = []
        meters = (column.id for column in power_columns(watch.session.catalog.columns))
        for name in dict.fromkeys((*limits.COLUMNS, *meters)):
            for column_name in (name, limits.STAND_INS.get(name, name)):
                column = watch.session.catalog.get(column_name)
                if column is not None and watch.why_absent(column) is None:
                    columns.append(column)
                    break
        return (*columns, *watch.judge.wanted())

    def take(self, frame: Frame) -> None:
        """Update verdicts and the past of every bar, also while paused."""
        self.watch_state.judge.push(frame)
        rows = (*frame.rows(Scope.PACKAGE), SYSTEM_ROW)
        watch = self.watch_state
        watch.record_shown(frame, power_columns(watch.session.catalog.columns), rows)
        drawn = (target for panel in self.grid.panels for target in panel.targets)
        for column, row in (target for target in drawn if watch.session.catalog.get(target[0].id) is None):
            watch.record_shown(frame, (column,), (row,))
        watch.record_shown(frame, *self._charted)

    def let_go(self) -> None:
        """Release the frame of the charts, too."""
        super().let_go()
        self._charts.let_go()

    def show_frame(self) -> None:
        """Show the newest verdicts."""
        if (frame := self.watch_state.frame) is not None:
            if not self.watch_state.in_past:
                self.watch_state.judge.push(frame)
            self._show(frame, self.watch_state.judge.limits())
        super().show_frame()
        self.show_status()

    def show_columns(self) -> None:
        """Lay out the panels for the screen's size, and request their columns."""
        self.watch_state.want(self.wanted)
        if self.composed and self.watch_state.frame is not None:
            self._show(self.watch_state.frame, self.watch_state.judge.limits())

    def _show(self, frame: Frame, verdicts: Sequence[LimitVerdict]) -> None:
        watch = self.watch_state
        source = PowerSource(frame, watch.session.catalog, watch.history, watch.levels)
        alone = len(verdicts) == 1
        balance = balance_of(frame, source.catalog, self._model)
        flat = machine_panel(source, balance, self._width(len(verdicts) + 1), tall=0)
        width = self._width(len(verdicts) + (flat is not None))
        packages = [package_panel(source, verdict, width, alone=alone) for verdict in verdicts]
        self.grid.show(packages if flat is None else [self._with_past(source, balance, flat, packages), *packages])
        lines = self._sentence(verdicts)
        self._headline.show(lines, [ClickableSegment(y, 0, self.size.width, "app.why") for y in range(len(lines))])

    def _below(self, width: int, height: int) -> Sequence[list[TextSegment]]:
        """Charts of the row under the cursor: of all numbers that its panel has of it."""
        target = self.grid.target
        if height < LEAST or target is None or target[0].decimals < 0:
            self._charted = (), ()
            return ()
        if all(math.isnan(value) for value in self.watch_state.recent(*target, HISTORY)):
            self._charted = (), ()
            return self._charts.machine_lines(width, height)
        columns = {column.id: column for column, row in self.grid.panels[self.grid.at].targets
                   if row == target[1] and column.decimals >= 0}
        self._charted = tuple(columns.values()), (target[1],)
        return self._charts.lines(target, self._charted[0], width, height)

    def _width(self, panels: int) -> int:
        return inner_width(panels, self.grid.room, _LEAST)

    def _with_past(self, source: PowerSource, balance: Balance, flat: Panel, packages: Sequence[Panel]) -> Panel:
        """Draw the machine's panel, with a picture of the past if room is left."""
        positions = plan([flat, *packages], self.grid.room, _LEAST)
        spare = self.grid.size.height - max(position.y + position.height for position in positions)
        room = positions[0].height - 2 - len(flat.lines) + spare
        if room < _FLATTEST:
            return flat
        return machine_panel(source, balance, self._width(len(packages) + 1), tall=min(_TALLEST, room)) or flat

    def _sentence(self, packages: Sequence[LimitVerdict]) -> list[list[TextSegment]]:
        """Return the machine's verdict, what holds the packages back if that is something else, and its basis."""
        if not packages:
            return []
        verdict = self.watch_state.judge.verdict()
        worst = max(packages, key=lambda package: package.weight)
        width = max(20, self.size.width - 2)
        mark = f"{MARK_AMBER} " if verdict.is_loss else ""
        role = StyleRole.AMBER if verdict.is_loss else StyleRole.SUMMARY
        own = verdict.screen == self.number  # the verdict is about packages, and may take both lines
        wrapped = textwrap.wrap(mark + verdict.fitted((2 * width if own else width) - len(mark)), width, max_lines=2)
        lines: list[list[TextSegment]] = [[(f" {line}", role)] for line in wrapped]
        is_unknown = worst.state is LimitState.UNKNOWN
        how = "" if own and is_unknown else textwrap.shorten(as_sentence(how_known(worst)), width, placeholder=" …")
        if not own or is_unknown:
            role = StyleRole.DIM if own else _ROLES.get(worst.state, StyleRole.PLAIN)
            most = max(1, _SENTENCES - len(lines) - bool(how))
            lines += [[(f" {line}", role)] for line in textwrap.wrap(as_sentence(headline(packages)), width,
                                                                     max_lines=most, placeholder=" …")]
        return [*lines, [(f" {how}", StyleRole.DIM)]] if how else lines

    def readout(self) -> str:
        """Describe the number under the cursor."""
        frame, target = self.watch_state.frame, self.grid.target
        if frame is None:
            return self.waiting_for("the first reading")
        if target is None:
            return ""
        column, row = target
        why = frame.why(column, row) or frame.lacking(column, row)
        words = column.help if why is None else why.sentence()
        return f"{column.id}  {row_name(frame.topology, row)}  {number_in_words(frame, column, row)}  {words}"

    @property
    def pointed(self) -> Target | None:
        return self.grid.target

    def find(self, text: str, *, after: bool = False) -> bool:
        """Find a number by its name, its package, or the words on its line."""
        places = self.grid.places
        here = next((at for at, place in enumerate(places) if (place.panel, place.target) == self.grid.place), 0)
        place_number = next_match([place.words for place in places], text, here + after, after=after)
        if place_number is not None:
            self.grid.choose(places[place_number].panel, places[place_number].target)
        return place_number is not None

    def way_back(self) -> Callable[[], None]:
        panel, target = self.grid.place
        return lambda: self.grid.choose(panel, target)

    # Actions

    def action_move(self, by: int) -> None:
        """Move the cursor to another package."""
        self._tell_unmoved(by, moved=self.grid.move(by))

    def action_sideways(self, by: int) -> None:
        """Move the cursor to another number of the package."""
        self.grid.step(by)

    def action_page(self, by: int) -> None:
        """Move by a page of packages."""
        self._tell_unmoved(by, moved=self.grid.page(by))

    def action_end(self, by: int) -> None:
        """Move to the first or last package."""
        self._tell_unmoved(by, moved=self.grid.end(by))

    def _tell_unmoved(self, by: int, *, moved: bool) -> None:
        """Say why a key changed nothing."""
        if not moved:
            self.notice(f"This is the {'last' if by > 0 else 'first'} package")

    def on_panel_grid_moved(self) -> None:
        """Read out where the cursor is now."""
        self.show_status()

    def on_panel_grid_chosen(self) -> None:
        """Explain on a double click, as on the tables."""
        self.action_explain()
