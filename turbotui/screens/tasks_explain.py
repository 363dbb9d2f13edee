"""e on the tasks screen: every number of one row, how it was sampled, and what cannot be had and why."""

from __future__ import annotations

from turbotui.screens.text_window import TextWindow


class ExplainTask(TextWindow):
    """Explains a row."""
