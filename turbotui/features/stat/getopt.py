"""Parses options as GNU getopt_long_only does (getopt(3)), on which scripts that call turbostat rely.

A long option may be written with one or two dashes and shortened to any unambiguous prefix. One dash and a letter that
is a short option is that short option; letters after it are more of them, or its argument. The first word that is no
option ends the options, and so does `--`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError, nearest


@dataclass(frozen=True, slots=True)
class Option:
    """One option of the command line."""

    name: str  # long name, without dashes; "" for an option with a letter only
    help: str  # its line in the help text
    letter: str = ""  # short form, "" where there is none
    argument: str = ""  # the placeholder of its argument in the help text; "" for an option without one
    # one letter that means the option because no other begins with it: shown in the help like a short form, though
    # letters or an argument cannot follow at once
    prefix: str = ""
    own: bool = False  # whether the option is turbotui's own, which never makes turbostat's prefixes ambiguous
    refused: bool = False  # whether it only ends the program with its help
    # makes the options that follow from those before it and its argument; None: the field of its name becomes the
    # argument, or True where it takes none
    change: Callable[[Any, str], Any] | None = None

    @property
    def spelling(self) -> str:
        """The option as messages spell it: "--interval", or "-C"."""
        return f"--{self.name}" if self.name else f"-{self.letter}"


@dataclass(frozen=True, slots=True)
class GivenOption:
    """An option given on a command line, with its argument ("" if the option takes none)."""

    option: Option
    argument: str = ""


_PERF: Final = (
    (("p", "pid", "t", "tid"), "turbotui tasks --pid N counts a process"),
    (("x", "field-separator"), "--format csv writes comma-separated values"),
    (("A", "no-aggr", "per-core", "per-socket"), "each CPU has a row already, and -c core or -c package chooses fewer"),
    (("r", "repeat"), "turbotui score run --runs N repeats a command"),
    (("G", "for-each-cgroup"), "turbotui groups --add EVENT counts each control group"),
)


class OptionError(UsageError):
    """A word is no option, or lacks its argument; turbostat's exit status is 1 (docs/specs/turbostat.md 1.12)."""

    exit_status = 1


def read_options(words: Sequence[str], options: Sequence[Option]) -> Iterator[GivenOption | tuple[str, ...]]:
    """Yield the options of a command line in order, and at the end the words that are not options.

    Raises:
        OptionError: at the first invalid word, after the options before it were yielded.
    """
    position = 0
    letters = {option.letter: option for option in options if option.letter}
    while position < len(words):
        word = words[position]
        if word == "--":
            position += 1
            break
        if word == "-" or not word.startswith("-"):
            break
        position += 1
        following = words[position] if position < len(words) else None
        for given, took_next in _one_word(word, following, options, letters):
            position += took_next
            yield given
    yield tuple(words[position:])


def _one_word(word: str, following: str | None, options: Sequence[Option],
              letters: dict[str, Option]) -> Iterator[tuple[GivenOption, bool]]:
    """Yield the options of one word, with True for the one that took the next word as its argument."""
    two_dashes = word.startswith("--")
    body = word[2:] if two_dashes else word[1:]
    if two_dashes or len(body) > 1 or body not in letters:
        name, equals, value = body.partition("=")
        if (option := _long(name, word, options, sure=two_dashes or body[0] not in letters)) is not None:
            if equals and not option.argument:
                raise OptionError(f"option '{option.spelling}' takes no argument")
            if not option.argument:
                yield GivenOption(option), False
                return
            argument = value if equals else _argument(option.spelling, following)
            if option.own and not argument:  # an empty variable of a script must not choose another machine or file
                raise OptionError(f"option '{option.spelling}' has an empty argument that names nothing: leave it out")
            yield GivenOption(option, argument), not equals
            return
    rest = body
    while rest:
        letter, rest = rest[0], rest[1:]
        if (letter_option := letters.get(letter)) is None:
            raise OptionError(f"invalid option '-{letter}' in '{word}'{_of_perf(letter)}")
        if not letter_option.argument:
            yield GivenOption(letter_option), False
        elif rest:
            yield GivenOption(letter_option, rest), False
            return
        else:
            yield GivenOption(letter_option, _argument(f"-{letter}", following)), True


def _argument(spelling: str, following: str | None) -> str:
    if following is None:
        raise OptionError(f"option '{spelling}' needs an argument")
    return following


def _long(name: str, word: str, options: Sequence[Option], *, sure: bool) -> Option | None:
    """Return the option of a long name or prefix; None if it may be short options instead.

    Raises:
        OptionError: the name is ambiguous, or unknown and no short option.
    """
    exact = next((option for option in options if option.name == name and name), None)
    if exact is not None:
        return exact
    for own in (False, True):
        matches = [option for option in options if option.own is own and name and option.name.startswith(name)]
        if len(matches) > 1:
            listed = " ".join(option.spelling for option in matches)
            raise OptionError(f"option '{word}' is ambiguous; it may be: {listed}")
        if matches:
            return matches[0]
    if sure:
        names = [f"--{option.name}" for option in options if option.name]
        hint = _of_perf(name) or nearest(word.partition("=")[0], names, 1)
        raise OptionError(f"unrecognized option '{word}'{hint}")
    return None


def _of_perf(name: str) -> str:
    """What stands here for an option of perf-stat(1)."""
    return next((f": {ours}" for names, ours in _PERF if name in names), "")
