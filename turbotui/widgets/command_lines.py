"""Command lines that are shown to a user and copied, but never run. Nothing here knows Textual."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

from turbotui.dataclass import dataclass
from turbotui.machine.tasks.group_names import UNIT, GroupName
from turbotui.untrusted import one_line, original

T = TypeVar("T")
_USERS_MANAGER: Final = "/user@"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line and its effect."""

    heading: str
    words: str
    meaning: str


@dataclass(frozen=True, slots=True)
class CommandRow(Generic[T]):
    """A row of a table of command lines."""

    heading: str
    line: Callable[[T], str | None]
    meaning: str


def lines_for(acts: Iterable[CommandRow[T]], target: T) -> tuple[CommandLine, ...]:
    """The command lines that make sense for a task, a group or a unit."""
    made = ((act, act.line(target)) for act in acts)
    return tuple(CommandLine(act.heading, words, act.meaning) for act, words in made if words is not None)


def quoted(text: str) -> str | None:
    """A name or path quoted for a shell; None if a terminal would obey it, or if it would be an option."""
    plain = original(text) == text == one_line(text)
    return shlex.quote(text) if text and plain and not text.startswith("-") else None


def of_unit(text: str, unit: Callable[[T], GroupName | None]) -> Callable[[T], str | None]:
    """A systemctl line with {unit}, and --user if the user's own manager runs the unit; None if there is no unit."""

    def line(target: T) -> str | None:
        group = unit(target)
        name = None if group is None or group.kind != UNIT else quoted(group.name)
        if group is None or name is None:
            return None
        own = " --user" if _USERS_MANAGER in group.path and not group.name.startswith("user@") else ""
        return f"systemctl{own} {text.format(unit=name)}"

    return line


def unit_commands(unit: Callable[[T], GroupName | None], share: str, look: str) -> tuple[CommandRow[T], ...]:
    """Command lines for every unit of systemd.

    Args:
        share: heading of the lines that set a share of the CPUs.
        look: heading of the lines that only show something.
    """
    return (
        CommandRow(share, of_unit("set-property --runtime {unit} CPUQuota=50%", unit),
                   "Half a CPU for all of the unit together, until the next start of the machine."),
        CommandRow(share, of_unit("set-property --runtime {unit} CPUWeight=20", unit),
                   "The unit gets a fifth of what others get where they want the same CPU; until the next start of the "
                   "machine."),
        CommandRow(look, of_unit("status {unit}", unit),
                   "Prints what the unit is, its processes and its latest messages."),
    )
