"""Errors of event strings: one class for each kind of fault, whose message is one sentence."""

from __future__ import annotations

from turbotui.errors import UsageError
from turbotui.machine.pmus import EventError


class EventSyntaxError(EventError):
    """The string does not follow the grammar.

    Attributes:
        text: the whole string.
        position: index of the first character that breaks the grammar.
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
    """Two terms of one event contradict or repeat each other: two names, or two values for one field or bit."""


class DescriptionError(EventError):
    """The PMU's own description of the event cannot be read, so its numbers would be wrong."""


class NoCounterError(EventError):
    """The name is a value that perf computes itself; the kernel has no counter for it."""


class NoTablesError(UsageError):
    """No directory of a vendor's tables was named, and perf has no tables of this CPU or is not installed."""


class NoCodesError(EventError):
    """Register codes were requested for an event that is not an event of an x86 core."""
