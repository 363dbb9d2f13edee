"""Registration of features: verbs and screens by the names of modules that are imported on first use."""

from __future__ import annotations

import importlib

from turbotui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A verb of the command line.

    Its module has `add_arguments(parser)` and `run(arguments) -> exit status`, or, if it parses its words itself,
    `main(words) -> exit status`. A verb that prints the rows of a kind has `turbotui.commands.row_verb`.
    """

    name: str  # the word; "" for the command that runs without a word
    module: str  # the verb's module
    summary: str  # the verb's line in --help
    reads_words: bool = False  # whether the module has `main`
    # the meaning of the words after --, such as "command", under which its arguments have the words as `command`; "" if
    # it takes none
    behind: str = ""
    group: str = ""  # of `VERB_GROUPS`, under which --help lists it; "" for the last one
    examples: tuple[tuple[str, str], ...] = ()  # command lines that work on any machine, and what each is for
    rows: str = ""  # "module:name" of the `KindDefinition` whose rows it prints

    @property
    def examples_text(self) -> str:
        """The examples for help, each on a line with what it is for; "" if there are none."""
        from turbotui.cell_widths import flush_left  # noqa: PLC0415 - for help only

        wide = max((len(line) for line, _ in self.examples), default=0)
        lines = [f"  {flush_left(line, wide)}  {what}" for line, what in self.examples]
        return "\n".join(["examples:", *lines]) if lines else ""


VERB_GROUPS = {
    "now": "what happens now",
    "later": "recordings, to look at later",
    "many": "many machines",
    "know": "what can be known here",
    "": "more",
}
"""Headings of the verbs in --help, by `Command.group`."""
EVERYWHERE = "everywhere"
"""The place of keys that work on every screen."""
ROWS = ("table", "sorted", "tagged")
"""Sets of keys that every table of rows takes."""
ARROWS = ("steps", "sideways", "grid", "pages", "ends")
"""Sets of keys that move the cursor of a single table."""
PAST = ("compared", "graphed")
"""Sets of keys for numbers that change."""


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """A place in which keys work: a screen, or several that are alike."""

    id: str  # unique
    title: str  # its heading in the help
    takes: tuple[str, ...] = ()  # the sets of common keys that work in it; `app/actions.py` has the keys of each


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the user."""

    id: str  # unique; also the binding's id
    call: str  # Textual action of the app (APP) or of the screen
    keys: tuple[str, ...]  # Textual names of keys; the first is the one shown
    shown: str  # the keys as shown to people
    help: str  # a sentence for the help and the palette
    label: str = ""  # for the footer; "" keeps the action out of the footer
    # ids of places, and names of sets of keys that a place takes (`KeyPlace.takes`); in `ACTIONS`, ids alone
    where: tuple[str, ...] = (EVERYWHERE,)
    rank: int = 5  # 0 stays longest in a narrow footer
    priority: bool = False  # whether it works even while a text field is open
    # of a feature's key, the common action behind which it stands; "" for behind the feature's previous one
    after: str = ""


_NAMES = {
    "?": "question_mark", "/": "slash", "\\": "backslash", ">": "greater_than_sign", "<": "less_than_sign",
    "*": "asterisk", "!": "exclamation_mark", ",": "comma", ".": "full_stop", "{": "left_curly_bracket",
    "}": "right_curly_bracket", "@": "at", "(": "left_parenthesis", ")": "right_parenthesis",
    "[": "left_square_bracket", "]": "right_square_bracket", "|": "vertical_line", "+": "plus equals_sign",
    "-": "minus underscore", "PgUp": "pageup ctrl+b", "PgDn": "pagedown ctrl+f", "Esc": "escape",
}
"""Textual's names of keys, by what people see; of two, the second is not shown."""
_ARROW_NAMES = str.maketrans({"←": "left", "→": "right", "↑": "up", "↓": "down"})


def key(id: str, shown: str, help: str, label: str = "", where: tuple[str, ...] = (), *,  # noqa: A002 - as in `Action`
        call: str = "", rank: int = 5, priority: bool = False, after: str = "") -> Action:
    """An action by its keys as people see them, between spaces.

    Args:
        id: also the Textual action, unless `call` names it.
        shown: "t F5", "Shift+← H".
        help: see `Action`, as for what follows.
        label: for the footer.
        where: empty for the first place of the feature; of a key that no feature owns, for everywhere.
        call: the Textual action.
        rank: in the footer.
        priority: whether it works even while a text field is open.
        after: the common action behind which it stands.
    """
    names = (_NAMES.get(word, word if len(word) == 1 else word.lower()) for word in shown.split())
    keys = " ".join(names).translate(_ARROW_NAMES).split()
    return Action(id, call or id, tuple(keys), shown, help, label, where, rank, priority, after)


@dataclass(frozen=True, slots=True)
class ScreenSpec:
    """A screen of the dashboard."""

    id: str  # the screen's mode, unique
    number: str  # the key that shows the screen
    word: str  # the screen's name in tabs, help and palette
    module: str = "turbotui.app.kind_screen"  # the module of the screen's class
    name: str = "KindScreen"  # the class, which is created with the dashboard's `Watch`
    keys: str = ""  # id of the place whose keys work on the screen; "" for the screen's own id
    rows: str = ""  # "module:name" of the `KindDefinition` of a `KindScreen` without keys of its own
    # "module:name" of a function of the session, which returns names of what the screen shows, by which / finds it from
    # other screens; the columns of a kind of rows need no such function
    finds: str = ""

    @property
    def order(self) -> tuple[bool, str]:
        """What screens are sorted by: digits, letters, other characters."""
        return not self.number.isalnum(), self.number

    @property
    def place(self) -> str:
        """Id of the place whose keys work on the screen."""
        return self.keys or self.id


@dataclass(frozen=True, slots=True)
class Feature:
    """A folder of `turbotui.features`."""

    name: str  # the folder's name
    commands: tuple[Command, ...] = ()  # the feature's verbs, in the order of --help
    screens: tuple[ScreenSpec, ...] = ()  # the feature's screens
    # what the feature adds to the places in which keys work, in the order of the help
    places: tuple[KeyPlace, ...] = ()
    keys: str = ""  # "module:name" of the feature's `Action`s
    # sources, columns, exported: "module:name" of what a package beside turbotui adds: sources of signals, columns of
    # the CPU table, and families of metrics (`features/export/live/families.py`)
    sources: str = ""
    columns: str = ""
    exported: str = ""
    # "module:name" of a function of the machine and the environment, which returns what scrapes have of a machine that
    # no counter gives, as a list: name and HELP of each gauge, and its samples, as labels and value
    facts: str = ""
    # "module:name" of a class of host, control group and the most groups, whose `read` returns what scrapes have of
    # groups (`features/export/live/group_metrics.py`)
    totals: str = ""
    # "module:name" of a function of the machine, and whether it is for debugging, which returns the lines that precede
    # turbostat's table: text, and whether --quiet keeps it
    preface: str = ""
    # "module:name" of a function of the catalog and the columns that a machine has, which returns the columns that
    # every recording holds
    kept: str = ""
    gathers: str = ""  # "module:name" of a function of the machine, which reads the files that a recording has to keep
    # "module:name" of a function of the machine and its capabilities; a gathered file has the report that it returns
    # (`tables.envelope.FeatureReport`)
    report: str = ""
    # "module:name" of a function of a recording, which returns what the feature adds to its trace
    # (`tables.trace_events.TracedRows`)
    traced: str = ""
    # "module:name" of a function of a recording, which returns the waits of its tasks
    # (`diagnosis.wait_tails.RecordedWaits`)
    waits: str = ""
    recorded: str = ""  # "module:name" of the tables that recordings can hold (`recording.recorded_tables`)
    rows: str = ""  # "module:name" of a kind of rows, or of a tuple of them (`sampling.row_tables.KindDefinition`)
    # tables that can be read in the background, and "module:name" of the class of a machine's reader
    background: tuple[tuple[str, str], ...] = ()
    memory: str = ""  # "module:name" of the class of a `diagnosis.memory_meter.MemoryTrafficMeter`; "" for none


def kind_feature(name: str, key: str, rows: str, summary: str, examples: tuple[tuple[str, str], ...], *,
                 nested: bool = False, gathers: str = "") -> Feature:
    """A kind of row as a feature: a verb and a screen of its name, and whatever else has rows.

    Args:
        name: also the id of the kind.
        key: shows the screen.
        rows: "module:name" of the `KindDefinition`.
        summary: see `Command`.
        examples: see `Command`.
        nested: whether rows have rows inside them, so that the screen has keys that fold them.
        gathers: see `Feature`; for rows that a copy of files has, because they need one reading.
    """
    return Feature(
        name,
        commands=(Command(name, "turbotui.commands.row_verb", summary, group="now", examples=examples, rows=rows),),
        screens=(ScreenSpec(name, key, name, rows=rows),),
        places=(KeyPlace(name, name.capitalize(), (*ROWS, *ARROWS, *PAST, *(("folded",) if nested else ()))),),
        rows=rows,
        gathers=gathers,
    )


def part(reference: str) -> object:
    """The object that "module:name" names; the module is imported now."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)
