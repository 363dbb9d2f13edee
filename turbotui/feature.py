"""Registration of features: verbs and screens by the names of modules that are imported on first use."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class ScreenSpec:
    """A screen of the dashboard.

    Attributes:
        id: the screen's mode, unique.
        number: the key that shows the screen; screens are in the order of their keys.
        word: the screen's name in tabs, help and palette.
        module: the module of the screen's class.
        name: the class, which is created with the dashboard's `Watch`.
        keys: name of the place whose keys work on the screen, in lower case; "" for the id.
    """

    id: str
    number: str
    word: str
    module: str
    name: str
    keys: str = ""


@dataclass(frozen=True, slots=True)
class Feature:
    """A folder of `turbotui.features`.

    Attributes:
        name: the folder's name.
        commands: the feature's verbs, in the order of --help.
        screens: the feature's screens.
        background: tables that can be read in the background, and the module whose `make_background(machine)` returns
            the reader.
        memory: module of the class `MemoryWatch`, which compares memory traffic with its peak; "" for none.
    """

    name: str
    commands: tuple[Command, ...] = ()
    screens: tuple[ScreenSpec, ...] = ()
    background: tuple[tuple[str, str], ...] = ()
    memory: str = ""
