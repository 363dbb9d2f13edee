"""What can be asked: each question is a command line of a verb that only looks, with parameters that are checked here.

The value of a parameter stands behind its option in the same word, never in a word by itself: no value can be taken for
an option, a file or a command.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError

Asked: TypeAlias = Mapping[str, object]
"""Values by the names of parameters, as a client sent them."""

_MOST_SECONDS: Final = 120.0
"""Longest time that a question may watch the machine."""
_NOW: Final = "the machine as it is now"
_PAST: Final = "a recording"
RECORDING: Final = "recording"
"""The parameter that names a recording."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A named value that a question takes: a number within bounds, or a text of a form."""

    name: str
    about: str
    option: str = ""  # what precedes the value in its word; "" for a parameter of the answer
    least: float = 0.0
    most: float = 0.0  # 0 for a text
    form: str = ""  # the regular expression that the whole text matches
    default: float | str | None = None
    of: str = ""  # `_NOW` or `_PAST` for a parameter of one of them only
    is_whole: bool = False  # whether a number is whole

    def schema(self) -> dict[str, Any]:
        """The parameter in JSON Schema."""
        about = f"{self.about} (of {self.of} only)" if self.of else self.about
        schema: dict[str, Any] = {"type": self._type, "description": about}
        schema |= {"minimum": self.least, "maximum": self.most} if self.most else {"pattern": f"^{self.form}$"}
        return schema if self.default is None or not self.most else schema | {"default": self.default}

    @property
    def _type(self) -> str:
        return ("integer" if self.is_whole else "number") if self.most else "string"

    def word(self, value: object) -> str:
        """The value as a word behind its option.

        Raises:
            UsageError: it has another type or form, or is not within the bounds.
        """
        if self.most:
            return f"{self.option}{self.number(value)}"
        if not isinstance(value, str) or not re.fullmatch(self.form, value, re.ASCII):
            raise UsageError(f"{self.name} is a text of the form {self.form}")
        return f"{self.option}{value}"

    def number(self, value: object) -> float:
        """The value as a number; raises UsageError as `word`."""
        types = int if self.is_whole else (int, float)
        if isinstance(value, types) and not isinstance(value, bool) and self.least <= value <= self.most:
            return value
        raise UsageError(f"{self.name} is a number ({self._type}) from {self.least:g} to {self.most:g}")


_TIME: Final = r"[-+0-9:. TZsmhd]{1,40}"
_NAME: Final = r"[A-Za-z][\w%./+-]{0,60}"
_INTERVALS: Final = Parameter("intervals", "number of intervals to watch", "-n", 1, 60, default=1, of=_NOW,
                              is_whole=True)
_SECONDS: Final = Parameter("seconds", "length of an interval in seconds", "-i", 0.1, 60, default=1, of=_NOW)
_FROM: Final = Parameter("from", "start: 14:03, 2026-11-22 14:03, +5m after the beginning, -5m before the end",
                         "--from=", form=_TIME, of=_PAST)
_TO: Final = Parameter("to", "end, as from", "--to=", form=_TIME, of=_PAST)
_EVERY: Final = Parameter("every", "length of intervals, such as 10s or 5m; without it the whole time is one interval",
                          "--every=", form=r"[0-9.]{1,12}(ms|s|m|h|d)?", default="10000h", of=_PAST)
_WATCHED: Final = (_INTERVALS, _SECONDS, _FROM, _TO, _EVERY)
ROWS: Final = Parameter("rows", "at most this many rows of each table", "", 1, 500, default=40, is_whole=True)
NAME: Final = Parameter("name", "name of a column, such as Bzy_MHz", form=_NAME)


@dataclass(frozen=True, slots=True)
class Question:
    """A tool: a verb, the words that it always has, and the parameters that it takes."""

    name: str
    about: str  # what it answers
    words: tuple[str, ...]  # of the command line
    parameters: tuple[Parameter, ...] = ()
    replays: bool = True  # whether a recording can be asked
    live: tuple[str, ...] = ()  # words for the machine as it is now

    def schema(self, recordings: Sequence[str]) -> dict[str, Any]:
        """The parameters in JSON Schema; `recordings` are the names by which recordings can be asked."""
        properties = {item.name: item.schema() for item in (*self.parameters, ROWS) if item.of != _PAST or recordings}
        if self.replays and recordings:
            properties[RECORDING] = {"type": "string", "enum": list(recordings),
                                     "description": "ask this recording instead of the machine as it is now"}
        required = [item.name for item in self.parameters if item is NAME]
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}

    def command(self, asked: Asked, machine: Sequence[str], recordings: Mapping[str, str]) -> list[str]:
        """The words of the command line that answers.

        Args:
            machine: the words that choose the machine.
            recordings: paths of recordings by name.

        Raises:
            UsageError: a parameter is unknown, or its value is not within its bounds.
        """
        other = _NOW if RECORDING in asked else _PAST
        taken = {item.name: item for item in (*self.parameters, ROWS) if item.of != other}
        values = {name: value for name, value in asked.items() if name != RECORDING}
        for name in values.keys() - taken.keys():
            raise UsageError(f"{self.name} of {_PAST if other == _NOW else _NOW} does not take {name[:60]!r}, but "
                             f"{', '.join(taken)}")
        values = {name: item.default for name, item in taken.items() if item.default is not None} | values
        words = {name: taken[name].word(value) for name, value in values.items()}
        watched = [item.number(values[item.name]) for item in (_INTERVALS, _SECONDS) if item.name in values]
        if math.prod(watched) > _MOST_SECONDS:
            raise UsageError(f"a question watches for at most {_MOST_SECONDS:g} s: ask for fewer or shorter intervals")
        return [*self.words, *self._place(asked, machine, recordings),
                *(word for name, word in words.items() if taken[name].option)]

    def _place(self, asked: Asked, machine: Sequence[str], recordings: Mapping[str, str]) -> Sequence[str]:
        if RECORDING not in asked:
            return [*self.live, *machine]
        path = recordings.get(str(asked[RECORDING])) if self.replays else None
        if path is None:
            raise UsageError(f"{self.name} knows no recording {str(asked[RECORDING])[:60]!r}; the named ones are: "
                             f"{', '.join(recordings) or 'none'}")
        return [f"--replay={path}"]


EXPLAIN: Final = Question("explain", "what a column means: its formula, sources, document, and whether it is here",
                          ("columns", "--json"), (NAME,), replays=False)

QUESTIONS: Final = (
    Question("why", "why the machine is slow: causes, worst first, with the tasks behind them, evidence and remedies. "
             "Ask this first", ("why", "--json"), (_INTERVALS, _SECONDS, _FROM, _TO)),
    Question("stat", "clock, load, idle states, temperature and watts of every CPU, the whole machine first",
             ("stat", "--format=json"),
             (*_WATCHED, Parameter("columns", "only these columns, by their names, comma separated", "--show=",
                                   form=rf"{_NAME}(,{_NAME}){{0,31}}"))),
    Question("tasks", "CPU time, waits and counters of each thread, process, command or unit, the busiest first",
             ("tasks", "--json", "--table=tasks"),
             (*_WATCHED, Parameter("by", "what a row is", "--by=", form="(thread|process|command|unit)")),
             live=("--all",)),
    Question("topdown", "where pipeline slots go: retiring, bad speculation, front end, back end, and deeper",
             ("topdown", "--json", "--table=topdown"),
             (*_WATCHED, Parameter("per", "what a row is", "--per=", form="(machine|package|kind|core|cpu)"))),
    Question("power", "where the watts go: packages, memory, graphics, the rest", ("power", "--json", "--table=power"),
             _WATCHED),
    Question("info", "the machine's configuration: topology, caches, memory, clocks, limits, idle states",
             ("info", "--json")),
    Question("doctor", "which sources of numbers work here, and for the others why not and what helps",
             ("doctor", "--json", "--table=sources")),
    Question("columns", "every column that there is, and whether it can be read here", ("columns", "--json"),
             replays=False),
    EXPLAIN,
)
"""Every tool but the list of recordings, which no verb gives."""
