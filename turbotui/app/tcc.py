"""The prompt for the temperature that the processor's readouts count down from (turbostat's --TCC)."""

from __future__ import annotations

from collections.abc import Callable

from turbotui.app.base import WatchScreen
from turbotui.app.prompt import Prompt
from turbotui.app.watch import Watch
from turbotui.errors import UsageError
from turbotui.quantities.units import parse_celsius


def tcc_prompt(watch: Watch, base: WatchScreen) -> tuple[Prompt, Callable[[str | None], None]]:
    """The prompt over a screen, and what is done with its answer."""
    def typed(text: str) -> str:
        try:
            if text.strip():
                parse_celsius(text)
        except UsageError as error:
            return str(error)
        return ""

    def done(text: str | None) -> None:
        if text is None:
            return
        try:
            base.notice(watch.tell_tcc(text))
        except UsageError as error:
            base.notice(str(error))
        base.show_columns()

    now = watch.session.machine.tcc
    word = "TCC target in °C, empty for the machine's own"
    return Prompt(word, "" if now is None else f"{now}", typed), done
