"""Registration of features: verbs and screens by the names of modules that are imported on first use."""

from __future__ import annotations

import importlib

from turbotui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A verb of the command line.

    Its module has `add_arguments(parser)` and `run(arguments) -> exit status`, or, if it parses its words itself,
    `main(words) -> exit status`.

    Attributes:
        name: the word; "" for the command that runs without a word.
        module: the verb's module.
        summary: the verb's line in --help.
        reads_words: whether the module has `main`.
        behind: the meaning of the words after --, such as "command", under which its arguments have the words as
            `command`; "" if it takes none.
    """

    name: str
    module: str
    summary: str
    reads_words: bool = False
    behind: str = ""


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
    """A place in which keys work: a screen, or several that are alike.

    Attributes:
        id: unique.
        title: its heading in the help.
        takes: the sets of common keys that work in it; `app/actions.py` has the keys of each.
    """

    id: str
    title: str
    takes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """An action of the user.

    Attributes:
        id: unique; also the binding's id.
        call: Textual action of the app (APP) or of the screen.
        keys: Textual names of keys; the first is the one shown.
        shown: the keys as shown to people.
        label: for the footer; "" keeps the action out of the footer.
        help: a sentence for the help and the palette.
        where: ids of places, and names of sets of keys that a place takes (`KeyPlace.takes`); in `ACTIONS`, ids alone.
        rank: 0 stays longest in a narrow footer.
        priority: whether it works even while a text field is open.
        after: of a feature's key, the common action behind which it stands; "" for behind the feature's previous one.
    """

    id: str
    call: str
    keys: tuple[str, ...]
    shown: str
    help: str
    label: str = ""
    where: tuple[str, ...] = (EVERYWHERE,)
    rank: int = 5
    priority: bool = False
    after: str = ""


@dataclass(frozen=True, slots=True)
class ScreenSpec:
    """A screen of the dashboard.

    Attributes:
        id: the screen's mode, unique.
        number: the key that shows the screen; screens are in the order of their keys.
        word: the screen's name in tabs, help and palette.
        module: the module of the screen's class.
        name: the class, which is created with the dashboard's `Watch`.
        keys: id of the place whose keys work on the screen; "" for the screen's own id.
    """

    id: str
    number: str
    word: str
    module: str
    name: str
    keys: str = ""

    @property
    def place(self) -> str:
        """Id of the place whose keys work on the screen."""
        return self.keys or self.id


@dataclass(frozen=True, slots=True)
class Feature:
    """A folder of `turbotui.features`.

    Attributes:
        name: the folder's name.
        commands: the feature's verbs, in the order of --help.
        screens: the feature's screens.
        places: what the feature adds to the places in which keys work, in the order of the help.
        keys: "module:name" of the feature's `Action`s.
        sources, columns, exported: "module:name" of what a package beside turbotui adds: sources of signals, columns
            of the CPU table, and families of metrics (`features/export/live/families.py`).
        kept: "module:name" of a function of the catalog and the columns that a machine has, which returns the columns
            that every recording holds.
        gathers: "module:name" of a function of the machine, which reads the files that a recording has to keep.
        background: tables that can be read in the background, and the module whose `make_background(machine)` returns
            the reader.
        memory: module of the class `MemoryWatch`, which compares memory traffic with its peak; "" for none.
    """

    name: str
    commands: tuple[Command, ...] = ()
    screens: tuple[ScreenSpec, ...] = ()
    places: tuple[KeyPlace, ...] = ()
    keys: str = ""
    sources: str = ""
    columns: str = ""
    exported: str = ""
    kept: str = ""
    gathers: str = ""
    background: tuple[tuple[str, str], ...] = ()
    memory: str = ""


def part(reference: str) -> object:
    """What "module:name" names; the module is imported now."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)
