"""Applications to watch: processes, a control group or everything, each with a name and events of its own.

    all     1234     /user.slice     container=web     NAME:pid=1234     NAME:cgroup=/user.slice:events=cycles

An application is its name, then `:` and what it is, in any order; `events=` stands last and takes the rest of the
text, for event strings have colons and commas of their own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.quantities.plain_numbers import whole_number

_PART: Final = re.compile(r":(?=(?:pid|cgroup|container|run|events)=|all(?::|$))")
GRAMMAR: Final = ("NAME:pid=N[,N], NAME:cgroup=PATH, NAME:container=NAME, NAME:all or NAME:run=COMMAND, then "
                  ":events=EVENT,EVENT")


@dataclass(frozen=True, slots=True)
class Application:
    """An application to watch, by exactly one of pids, cgroup, container, everything and command."""

    name: str  # for people
    pids: tuple[int, ...] = ()  # processes, with all they make
    cgroup: str | None = None  # the path of a control group
    everything: bool = False  # whole CPUs
    command: tuple[str, ...] = ()  # to be run
    events: str = ""  # in perf's words, separated by commas; "" for the default ones
    # name or id of a container or pod, whose control group `WatchedApplications.add` finds; "" for none
    container: str = ""

    @property
    def whole_cpus(self) -> bool:
        """Whether the application is watched by watching CPUs."""
        return self.everything or self.cgroup is not None or bool(self.container)

    @property
    def text(self) -> str:
        """The application in the words of the command line."""
        if self.everything:
            what = "all"
        elif self.container:
            what = f"container={self.container}"
        elif self.cgroup is not None:
            what = f"cgroup={self.cgroup}"
        elif self.command:
            what = f"run={shlex.join(self.command)}"
        else:
            what = f"pid={','.join(map(str, self.pids))}"
        return f"{self.name}:{what}" + (f":events={self.events}" if self.events else "")


EVERYTHING: Final = (Application("all", everything=True),)
"""Every task of a machine."""


def parse_application(text: str) -> Application:
    """Parse an application as given to --app. Raises UsageError if it is not written as `GRAMMAR` says."""
    name, *parts = _PART.split(text)
    given: dict[str, str] = {}
    at = 0
    for at, part in enumerate(parts, 1):
        word, _, value = part.partition("=")
        if word == "events":
            value = ":".join((value, *parts[at:]))
        if word in given:
            raise UsageError(f'application "{text}": {word} is given twice')
        given[word] = value
        if word == "events":
            break
    if not name or ":" in name:
        raise UsageError(f'application "{text}" is not understood: {GRAMMAR}')
    if len(given.keys() & {"pid", "cgroup", "container", "run", "all"}) != 1:
        raise UsageError(f'application "{text}": say one of pid=, cgroup=, container=, run= or all ({GRAMMAR})')
    empty = next((word for word, value in given.items() if word != "all" and not value.strip()), None)
    if empty is not None:
        raise UsageError(f'application "{text}": {empty}= needs a value')
    return Application(
        name=name,
        pids=_pids(given.get("pid", ""), text),
        cgroup=given.get("cgroup"),
        everything="all" in given,
        command=_words(given.get("run", ""), text),
        events=given.get("events", ""),
        container=given.get("container", ""),
    )


def parse_targets(text: str) -> tuple[Application, ...]:
    """Parse targets separated by spaces, in the syntax shown in the module docstring.

    Raises:
        UsageError: a word is not understood, or two applications have one name.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f'"{text}" is not understood: {error}') from None
    applications = []
    for word in words:
        if word == "all":
            applications.append(Application("all", everything=True))
        elif whole_number(word) is not None:
            applications.append(Application(word, pids=_pids(word, word)))
        elif word.startswith("/"):
            applications.append(Application(word, cgroup=word))
        elif word.startswith("container=") and word != "container=":
            name = word.partition("=")[2]
            applications.append(Application(name, container=name))
        else:
            applications.append(parse_application(word))
    if not applications:
        raise UsageError(f"say what to watch: all, a process id, a control group's path, container=NAME, or {GRAMMAR}")
    refuse_duplicates(applications)
    if any(application.command for application in applications):
        raise UsageError("run= is for the command line: the screen watches what runs already")
    return tuple(applications)


def refuse_duplicates(applications: Sequence[Application]) -> None:
    """Refuse two applications of one name. Raises UsageError if two have one name."""
    names = [application.name for application in applications]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f'two applications are called "{twice}": give each a name of its own')


def _pids(text: str, whole: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")] if text else []
    numbers = dict.fromkeys(whole_number(word) or 0 for word in words)
    wrong = next((word for word in words if not 0 < (whole_number(word) or 0) < 1 << 31), None)
    if wrong is not None:
        raise UsageError(f'"{whole}": "{wrong}" is not a process id')
    return tuple(numbers)


def _words(text: str, whole: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f'application "{whole}": run= is not understood: {error}') from None
