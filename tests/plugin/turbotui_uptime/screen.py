"""The screen `U`."""

from typing import ClassVar

from turbotui.app.actions import bindings_for
from turbotui.app.row_table import RowTableScreen
from turbotui.widgets.row_content import Naming, RowContent
from turbotui_uptime.rows import Clock, uptime_table


class UptimeScreen(RowTableScreen[Clock]):
    """The rows of `turbotui uptime`."""

    where: ClassVar[str] = "uptime"
    number = "U"
    word = "uptime"
    BINDINGS = bindings_for("uptime")
    per = 1.0

    def show_columns(self) -> None:
        table = uptime_table(self.watch_state.session.machine.host, self.per)
        self.show_content(RowContent(table, Naming(lambda row: row.name, lambda row: row.name, lambda row: row.name)))

    def action_days(self) -> None:
        self.per = 86400.0 if self.per == 1 else 1.0
        self.show_columns()
