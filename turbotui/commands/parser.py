"""Parse the words of a command with argparse."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, Protocol

from turbotui import __version__
from turbotui.errors import UsageError, nearest
from turbotui.feature import VERB_GROUPS, Command, part

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

_ABOUT = """{examples}

{commands}

Each command has its own --help. Without a command the dashboard starts, with the options below."""
_EPILOG = """turbotui [OPTIONS] -- COMMAND runs a command beside the dashboard, ends with it, and reports on it; its
exit status is the command's, 127 if there is no such command, 126 if it cannot be run.

Exit status: 0 done, 1 failed, 2 wrong command line, 3 the machine, or what the verb counts, cannot be read
here, 4 no usable terminal, 70 a fault of turbotui itself."""


_PLAIN: Final = tuple((re.compile(form), plain) for form, plain in (
    (r"^argument (\S+): expected (?:one|at least one) argument$", r"\1 needs a value"),
    (r"^argument (\S+): not allowed with argument (\S+)$", r"\1 and \2 exclude each other: give one of them"),
    (r"^argument (\S+): ignored explicit argument '(.*)'$", r'\1 takes no value: leave "\2" out'),
    (r"^the following arguments are required: (.*)$", r"missing: \1"),
    (r"^one of the arguments (.*) is required$", r"missing: one of \1"),
    (r"^ambiguous option: (\S+) could match (.*)$", r"\1 is the beginning of several options: \2"),
    (r"^argument ", ""),
))
"""What argparse says, and the words for it."""
_OF_OTHERS: Final = (  # htop(1), top(1)
    (("-p", "--pid"), "the key w on screen 7 watches a process, and turbotui tasks --pid N prints it"),
    (("-u", "--user"), r"the key \ on screen 7 filters by user, as in User=root"),
    (("-d", "--delay"), "-i SECONDS is the interval"),
    (("-t", "--tree"), "the key t on screen 7 (--screen tasks) shows a tree"),
    (("-F", "--filter"), r"the key \ filters rows of every table"),
    (("-o", "--sort-key"), "the key o chooses the column to sort by"),
    (("-C", "--no-color"), "NO_COLOR=1 in the environment leaves colours out"),
    (("-b", "-n"), "turbotui stat -n N prints, and so does turbotui tasks --all -n N"),
)
"""Options of other dashboards, and what stands for them here."""
_HOST = "--host"
_RECORDINGS = ("A", "B")
"""Names of the files of `turbotui diff`."""


class ParagraphFormatter(argparse.HelpFormatter):
    """argparse's layout of help, with texts of several paragraphs; indented ones keep their lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        paragraphs = (part if "\n  " in part else super(ParagraphFormatter, self)._fill_text(part, width, indent)
                      for part in text.split("\n\n"))
        return "\n\n".join(paragraphs)


class Verb(Protocol):
    """The module of a command, or what stands for it."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's words."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Run the command and return its exit status."""


class Parser(argparse.ArgumentParser):
    """argparse whose errors are a `UsageError` in one sentence, and which refuses empty words."""

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        # an unset variable of a script would otherwise choose another machine or file than intended
        if "" in arg_strings and action.option_strings:
            self.error(f'{"/".join(action.option_strings)} "": an empty word names nothing; leave the option out')
        if "" in arg_strings and (str(action.metavar).startswith("FILE") or action.metavar in _RECORDINGS):
            self.error(f'{action.metavar} "": an empty word names no file')
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a word that is none of the choices, with the nearest one; argparse's own words are a programmer's."""
        if action.choices is not None and value not in action.choices:
            names = [str(choice) for choice in action.choices]
            option = f"{'/'.join(action.option_strings)} " if action.option_strings else ""
            what = f'is none of {", ".join(names)}' if len(names) > 1 else "is unknown"
            self.error(f'{option}"{value}" {what}{nearest(str(value), names, 1)}')

    def error(self, message: str) -> NoReturn:
        """Raise a UsageError instead of printing usage."""
        for form, plain in _PLAIN:
            message = form.sub(plain, message)
        raise UsageError(f"{message} (see {self.prog} --help)")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print help or version; argparse's own method loses text that cannot be written."""
        if message:
            (sys.stderr if file is None else file).write(message)


def verb_of(command: Command) -> Verb:
    """What a command has to say and to do; its module is imported now."""
    module: Any = importlib.import_module(command.module)
    verb: Verb = module.RowVerb(part(command.rows)) if command.rows else module
    return verb


def run_parsed(command: Command, commands: Sequence[Command], words: list[str]) -> int:
    """Run a command by the words after its name, and return its exit status.

    Raises:
        UsageError: the command does not know a word.
    """
    summary, examples = command.summary[0].upper() + command.summary[1:] + ".", command.examples_text
    parser = Parser(prog=f"turbotui {command.name}".strip(), description="\n\n".join(filter(None, (summary, examples))),
        epilog=None if command.name else _EPILOG, formatter_class=ParagraphFormatter, allow_abbrev=bool(command.name))
    if not command.name:
        parser.usage = "turbotui [COMMAND] [OPTIONS] [-- command ...]"
        parser.description = _ABOUT.format(examples=examples, commands=_listing(commands))
        parser.add_argument("--version", action="version", version=f"turbotui {__version__}")
    verb = verb_of(command)
    verb.add_arguments(parser)
    _describe_verbs(parser)
    if command.behind and parser.usage is None:
        usage = parser.format_usage().removeprefix("usage: ").rstrip()
        below = " " * len(f"usage: {parser.prog} ")
        parser.usage = f"{usage}\n{below}[-- {command.behind} ...]".replace("%", "%%")
    behind = words.index("--") if command.behind and "--" in words else len(words)
    own, rest = words[:behind], words[behind + 1:]
    if _HOST not in parser._option_string_actions and any(word.partition("=")[0] == _HOST for word in own):  # noqa: SLF001 - nothing else names them
        parser.error(f"{command.name} has no {_HOST}, because readings of another machine do not answer it: run "
                     f"turbotui {command.name} there")
    try:
        arguments, foreign = parser.parse_known_args(_with_values(own))
    except SystemExit:  # --help and --version have been printed, and a failed write must still be reported
        return 0
    except UsageError:  # argparse tells of what is missing first; but an option that is unknown is why, more often
        if not (foreign := _foreign_options(parser, _with_values(own))):
            raise
    if foreign:
        parser.error(_about_foreign(foreign, command, [*parser._option_string_actions]))  # noqa: SLF001 - as above
    if command.behind:
        arguments.command = rest
    return verb.run(arguments)


def _foreign_options(parser: Parser, words: list[str]) -> list[str]:
    """The options among the words that the parser does not know; none where it finds something else wrong."""
    for action in parser._actions:  # noqa: SLF001 - nothing else names them
        action.required = False
    try:
        return [word for word in parser.parse_known_args(words)[1] if word.startswith("-")]
    except UsageError:
        return []


def _describe_verbs(parser: argparse.ArgumentParser) -> None:
    """Have the help of each verb of a verb begin with what the list of them says of it."""
    for action in parser._actions:  # noqa: SLF001 - nothing else names them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for choice in action._choices_actions:  # noqa: SLF001 - as above
                what = (choice.help or "").removesuffix("?")
                end = "." if what == choice.help else "?"
                action.choices[choice.dest].description = f"{what[:1].upper()}{what[1:]}{end}"


def _listing(commands: Sequence[Command]) -> str:
    """The commands in groups, each with its summary."""
    width = max(len(item.name) for item in commands)
    groups = [(heading, [item for item in commands if item.name and item.group == group])
              for group, heading in VERB_GROUPS.items()]
    return "\n\n".join("\n".join([f"{heading}:", *(f"  {item.name:<{width}}  {item.summary}" for item in members)])
                       for heading, members in groups if members)


def _about_foreign(foreign: list[str], command: Command, options: Sequence[str]) -> str:
    """Why words that no option takes are wrong; where they belong if they may be a command, else the nearest option."""
    text, word = " ".join(foreign), foreign[0].partition("=")[0]
    if not word.startswith("-"):
        behind = f": a command comes after --, as in -- {text}" if command.behind == "command" else ""
        return f'{command.name or "the dashboard"} does not take "{text}"{behind}'
    near = nearest(word, [option for option in options if option.startswith("--")], 1) if word.startswith("--") else ""
    if not command.name:
        near = next((f": {ours}" for names, ours in _OF_OTHERS if word in names), near)
    return f"unknown option {word}{near}"


def _with_values(words: list[str]) -> list[str]:
    """Join times that begin with a minus (`--from -30m`) to their options: `--from=-30m`."""
    values: list[str] = []
    for word in words:
        if len(word) > 1 and word[0] == "-" and word[1].isdecimal() and values and values[-1].startswith("--"):
            # argparse takes such a word for an option, although no option begins with a digit
            values[-1] = f"{values[-1]}={word}"
        else:
            values.append(word)
    return values
