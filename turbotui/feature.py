"""Registration of features: verbs and screens by names of modules that are imported on first use."""

from __future__ import annotations

from turbotui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A verb of the command line.

    Its module has `add_arguments(parser)` and `run(arguments) -> exit status`; one that reads its words itself has
    `main(words) -> exit status` instead.

    Attributes:
        name: the word; "" is what runs without a word.
        module: the verb's module.
        summary: the verb's line in --help.
        reads_words: whether the module has `main`.
        behind: what the words after -- are, as "command", whose words its arguments have as `command`; "" where it
            takes none.
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
        name: the class, made with the `Watch` of the dashboard.
        keys: name of the place whose keys work there, in lower case; "" where it is the id.
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
        background: tables that can be read in the background, and the module whose `make_background(machine)` gives
            what does it.
        memory: module of the class `MemoryWatch`, which says what memory moves of what it can; "" for none.
    """

    name: str
    commands: tuple[Command, ...] = ()
    screens: tuple[ScreenSpec, ...] = ()
    background: tuple[tuple[str, str], ...] = ()
    memory: str = ""
