"""The temperature from which the processor's readouts count down (turbostat's --TCC), as the user gives it."""

from __future__ import annotations

from collections.abc import Callable

from turbotui.app.prompt import Prompt
from turbotui.app.sessions import WatchedSession
from turbotui.errors import UsageError
from turbotui.quantities.columns import ShownAs
from turbotui.quantities.plain_numbers import decimal
from turbotui.quantities.units import Unit, parse_celsius


def tcc_prompt(session: WatchedSession, changed: Callable[[str], None]) -> tuple[Prompt, Callable[[str | None], None]]:
    """The prompt for the temperature, and the function that takes its answer."""
    def typed(text: str) -> str:
        try:
            if text.strip():
                _parsed(session, text)
        except UsageError as error:
            return str(error)
        return ""

    def done(text: str | None) -> None:
        if text is None:
            return
        try:
            sentence = _set_tcc(session, text)
        except UsageError as error:
            sentence = str(error)
        changed(sentence)

    now, shown = session.machine.tcc, _shown(session)
    word = f"{_unit(shown)} at which the processor slows down (TCC target), empty for its own"
    before = "" if now is None else f"{now if shown is None else shown.of(now):.0f}"
    return Prompt(word, before, typed, replaces=True), done


def tcc_flag(session: WatchedSession) -> str:
    """The flag for temperatures that are computed with a target given by the user."""
    if (degrees := session.machine.tcc) is None:
        return ""
    return f"SLOWS DOWN AT {_in_words(session, degrees)} (TCC) {'BY HAND' if _counts_down(session) else 'NOT USED'}"


def _set_tcc(session: WatchedSession, text: str) -> str:
    """Count temperatures down from whole °C, or from the machine's own value for an empty text; returns a sentence.

    Raises:
        UsageError: the text is not a temperature.
    """
    degrees = _parsed(session, text) if text.strip() else None
    session.set_tcc(degrees)
    if degrees is None:
        return "Temperatures count down from the target that the machine tells"
    if not _counts_down(session):
        return "No temperature here counts down from a target: sensors tell degrees themselves; yours is not used"
    return f"Temperatures count down from {_in_words(session, degrees)}, as you told"


def _shown(session: WatchedSession) -> ShownAs | None:
    """Return the unit in which the user reads temperatures; None for °C."""
    column = session.catalog.get("TjMax")
    return None if column is None else column.shown


def _unit(shown: ShownAs | None) -> str:
    return Unit.CELSIUS.value if shown is None else shown.unit


def _in_words(session: WatchedSession, celsius: int) -> str:
    shown = _shown(session)
    return f"{celsius if shown is None else shown.of(celsius):.0f} {_unit(shown)}"


def _parsed(session: WatchedSession, text: str) -> int:
    """Whole °C, typed in the unit in which the user reads temperatures.

    Raises:
        UsageError: the text is not a temperature.
    """
    if (shown := _shown(session)) is None:
        return parse_celsius(text)
    try:
        celsius = round(shown.back(decimal(text)))
    except (ValueError, OverflowError):
        celsius = 0
    if celsius <= 0:
        raise UsageError(f'"{text}" is not a temperature in {shown.unit}, such as {shown.of(95.0):.0f}')
    return celsius


def _counts_down(session: WatchedSession) -> bool:
    signals = session.capabilities.signals
    return any(signals[name].scale < 0 for name in ("temp.core", "temp.pkg") if name in signals)
