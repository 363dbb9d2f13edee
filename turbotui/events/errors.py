"""Why a string is not an event here: one class for each kind of fault, each message one sentence."""

from __future__ import annotations

from collections.abc import Iterable

from turbotui.errors import UsageError
from turbotui.machine.pmus import EventError

_NEAREST = 5
"""Names that a message lists."""


class EventSyntaxError(EventError):
    """The string does not follow the grammar.

    Attributes:
        text: the whole string.
        position: index of the first character that does not fit.
    """

    def __init__(self, text: str, position: int, what: str) -> None:
        super().__init__(f"The event {text!r} is not well formed at position {position + 1}: {what}.")
        self.text = text
        self.position = position


class UnknownPmuError(EventError):
    """No PMU of the machine has that name."""


class UnknownEventError(EventError):
    """No PMU of the machine has an event of that name."""


class UnknownTermError(EventError):
    """The PMU has neither an event nor a format field of that name."""


class TermRangeError(EventError):
    """The value needs more bits than the field has."""


class TermValueError(EventError):
    """A term has no value and needs one, or one that is no number."""


class MissingParameterError(EventError):
    """An event leaves a field to the user, who has not given it."""


class ModifierError(EventError):
    """The letters after the event are no modifiers, or not these together."""


class BreakpointError(EventError):
    """An address, a length or an access of a breakpoint that cannot be."""


class TracepointError(EventError):
    """The kernel's tracepoints cannot be read, or have none of that name."""


class GroupError(EventError):
    """Events that the kernel cannot schedule as one group."""


class ConflictError(EventError):
    """Terms of one event that say the same thing twice: two names, two values of one field or of the same bits."""


class DescriptionError(EventError):
    """The PMU's own description of the event cannot be read, so its numbers would be wrong."""


class NoCounterError(EventError):
    """A name that perf works out by itself: the kernel has no counter for it."""


class NoTablesError(UsageError):
    """Nobody named tables of a vendor, and perf has none of this CPU, or is not there."""


class NoCodesError(EventError):
    """Bare register codes were asked of an event that is not one of an x86 core."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The most alike names as the end of a sentence, "" when there are none."""
    import difflib  # noqa: PLC0415 - where a word is wrong

    lower = {item.lower(): item for item in known}
    found = difflib.get_close_matches(name.lower(), lower, n=_NEAREST)
    return f"; did you mean {', '.join(lower[item] for item in found)}?" if found else ""
