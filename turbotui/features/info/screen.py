"""The info screen: the machine's configuration, line by line, with the source of each line."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Final

from turbotui.app.actions import bindings_for
from turbotui.app.row_table import RowTableScreen
from turbotui.app.watch import Watch
from turbotui.features.info.model import COLUMNS, ConfigurationLine, configuration, configuration_table
from turbotui.machine.machine import Machine
from turbotui.quantities.tables import RowTable
from turbotui.widgets.cells import Slot, StyleRole
from turbotui.widgets.content import Line
from turbotui.widgets.geometry import RULE
from turbotui.widgets.painter import TextSegment
from turbotui.widgets.row_content import Naming, RowContent, RowPainter

_WIDE: Final = 110
"""The width from which sources stand beside the lines."""


class InfoPainter(RowPainter[ConfigurationLine]):
    """Paints the name of a section on its first line, and dimly on its other lines."""

    def ids(self, content: RowContent[ConfigurationLine], line: Line[Hashable]) -> list[TextSegment]:
        segments, row = super().ids(content, line), content.get(line.row)
        first = row is not None and row.number == 1
        return (segments if first else [(text, StyleRole.DIM if role is StyleRole.PLAIN else role)
                                        for text, role in segments])

    def segment(self, content: RowContent[ConfigurationLine], row: Hashable, slot: Slot) -> TextSegment:
        text, role = super().segment(content, row, slot)
        return text, StyleRole.DIM if slot.column.id == "source" else role


class InfoScreen(RowTableScreen[ConfigurationLine]):
    """The screen with the lines of `turbotui info`, and the source of the line under the cursor."""

    where = "info"
    number = "8"
    word = "info"
    painter_kind = InfoPainter
    BINDINGS = bindings_for("info")

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self._machine: Machine | None = None
        self._lines: RowTable[ConfigurationLine] = configuration_table(())

    def _read(self) -> None:
        """Read the configuration when the screen is first shown, and again when the user sets another TCC."""
        machine = self.watch_state.session.machine
        if machine is self._machine:
            return
        self._machine = machine
        whole = configuration_table(configuration(machine))
        parts = tuple(replace(line, text=part.expandtabs()) for line in whole.rows
                      for part in line.text.splitlines() or [""])
        self._lines = replace(whole, rows=parts)

    def show_columns(self) -> None:
        """Lay out the table for the width; the temperature target may have changed."""
        self._read()
        section = max((len(line.section) for line in self._lines.rows), default=7)
        source = max((len(line.source) for line in self._lines.rows), default=6)
        room = self.size.width - section - len(RULE) - 5
        text = max((len(line.text) for line in self._lines.rows), default=0)
        beside = min(source, max(self.size.width // 4, room - text)) if self.size.width >= _WIDE else 0
        widths = {"section": section, "text": max(12, room - beside), "source": beside or source}
        columns = tuple(replace(column, width=widths.get(column.id, column.width)) for column in COLUMNS)
        keys = {id(line): at for at, line in enumerate(self._lines.rows)}
        naming = Naming[ConfigurationLine](lambda line: keys[id(line)],
                                           lambda line: f"{line.section} {line.text} {line.source}",
                                           lambda line: f"{line.section} {line.number}")
        self.show_content(RowContent(replace(self._lines, columns=columns), naming))
        self.watch_state.want(self.wanted)

    def show_frame(self) -> None:
        """Draw the newest numbers of the charts below the lines, which stay."""
        super().show_frame()
        if self.composed:
            self.redraw_charts()

    def readout(self) -> str:
        """Describe the source of the line under the cursor."""
        cell, content = self._table.selected, self._table.content
        line = None if cell is None or content is None else content.get(cell[1])
        return super().readout() if cell is None or cell[0].id != "text" or line is None else f"from {line.source}"
