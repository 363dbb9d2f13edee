"""The screen `U`."""


from turbotui.app.actions import bindings_for
from turbotui.app.kind_screen import KindScreen
from turbotui_uptime.rows import CLOCKS, DAYS


class UptimeScreen(KindScreen):
    """The rows of `turbotui uptime`."""

    where = "uptime"
    number = "U"
    word = "uptime"
    definition = CLOCKS
    BINDINGS = bindings_for("uptime")

    def action_days(self) -> None:
        self.definition = DAYS if self.definition is CLOCKS else CLOCKS
        self.show_columns()
