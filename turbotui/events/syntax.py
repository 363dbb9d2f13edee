"""Parses perf's event strings (perf-list(1), perf-record(1) "-e") to a tree, without any machine."""

from __future__ import annotations

import re

from turbotui.dataclass import dataclass
from turbotui.events.errors import EventSyntaxError
from turbotui.events.modifiers import LETTERS

_TERM_NAME = re.compile(r"[A-Za-z_*][A-Za-z0-9_.*?\-:]*|@[^,/=]+|[0-9][A-Za-z0-9_.\-]*")
_BARE_VALUE = re.compile(r"[^,/'{}\s]+")
_WORD = re.compile(r"[^,/{}:\s]+")
_NUMERIC = re.compile(r"(0[xX][0-9a-fA-F]+|\d+):(0[xX][0-9a-fA-F]+|\d+)(?=[:,/}]|\s|$)", re.ASCII)
_MEMORY = re.compile(r"mem:")
_BEFORE_TERMS = re.compile(r"mem:([^/:,}\s]+(?:/(?:0[xX][0-9a-fA-F]+|\d+))?(?::[rwx]+)?)(?=/[A-Za-z][^/]*/)", re.ASCII)
_GROUP = re.compile(r"([A-Za-z_][\w.\-]*)?\s*\{")
_MODIFIERS = re.compile(r"[^,/{}:\s]*")
_BLANK = " \t\n"


@dataclass(frozen=True, slots=True)
class EventTerm:
    """A term between slashes: `name` or `name=value`."""

    name: str
    value: str | None  # None where there is no equals sign
    position: int


@dataclass(frozen=True, slots=True)
class Written:
    """One event as written."""

    text: str  # all of it, with its modifiers
    position: int  # index of its first character in the whole string
    head: str  # the PMU, or the event's name; of a breakpoint everything after "mem:"
    terms: tuple[EventTerm, ...] | None = None  # what stands between slashes; None where there are no slashes
    # what follows a colon after the head, where no slashes are: modifiers or a tracepoint's name
    tail: str | None = None
    modifiers: str = ""  # letters after the slashes, or after a second colon
    kind: str = "name"  # "name", "numeric" (type:config) or "memory"


@dataclass(frozen=True, slots=True)
class WrittenGroup:
    """A group: events in braces."""

    text: str
    name: str
    members: tuple[Written, ...]
    modifiers: str


def parse(text: str) -> tuple[Written | WrittenGroup, ...]:
    """Parse a whole string: events and groups, separated by commas.

    Raises:
        EventSyntaxError: with the position of what does not fit.
    """
    return _Parser(text).whole()


def is_modifiers(text: str) -> bool:
    """Tell whether every letter is a modifier."""
    return bool(text) and all(letter in LETTERS for letter in text)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def whole(self) -> tuple[Written | WrittenGroup, ...]:
        items: list[Written | WrittenGroup] = []
        while True:
            self._skip()
            items.append(self._group() or self._event())
            self._skip()
            if self._at == len(self._text):
                return tuple(items)
            self._expect_comma("a comma or the end is expected here")

    def _fail(self, what: str, position: int | None = None) -> EventSyntaxError:
        return EventSyntaxError(self._text, self._at if position is None else position, what)

    def _skip(self) -> None:
        text, end = self._text, len(self._text)
        while self._at < end and text[self._at] in _BLANK:
            self._at += 1

    def _next(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _expect_comma(self, what: str) -> None:
        if self._next() != ",":
            raise self._fail(what)
        self._at += 1

    def _group(self) -> WrittenGroup | None:
        start = self._at
        if (match := _GROUP.match(self._text, start)) is None:
            return None
        self._at = match.end()
        members = []
        while True:
            self._skip()
            if self._next() == "{":
                raise self._fail("a group cannot be inside a group")
            members.append(self._event())
            self._skip()
            if self._next() == "}":
                break
            self._expect_comma("a comma or the closing brace is expected here")
        self._at += 1
        modifiers = self._after_colon()
        return WrittenGroup(self._text[start : self._at], match.group(1) or "", tuple(members), modifiers)

    def _letters(self) -> str:
        match = _MODIFIERS.match(self._text, self._at)
        letters = match.group() if match else ""
        self._at += len(letters)
        return letters

    def _event(self) -> Written:
        start = self._at
        if _MEMORY.match(self._text, start):
            return self._memory(start)
        if (numeric := _NUMERIC.match(self._text, start)) is not None:
            self._at = numeric.end()
            terms = self._terms() if self._next() == "/" else None
            modifiers = self._after_colon() if terms is None else self._after_terms()
            return Written(self._text[start : self._at], start, numeric.group(1), terms, tail=numeric.group(2),
                           modifiers=modifiers, kind="numeric")
        if (word := _WORD.match(self._text, start)) is None:
            raise self._fail("the name of an event or of a PMU is expected here")
        self._at = word.end()
        if self._next() == "/":
            terms = self._terms()
            modifiers = self._after_terms()
            return Written(self._text[start : self._at], start, word.group(), terms, modifiers=modifiers)
        tail: str | None = None
        modifiers = ""
        if self._next() == ":":
            self._at += 1
            if not (tail := self._letters()):
                raise self._fail("modifiers or the name of a tracepoint are expected after the colon")
            # libpfm's names have more colons than a tracepoint: all of them belong to the event's name.
            while self._next() == ":":
                self._at += 1
                if modifiers:
                    tail = f"{tail}:{modifiers}"
                modifiers = self._letters()
        return Written(self._text[start : self._at], start, word.group(), tail=tail, modifiers=modifiers)

    def _after_colon(self) -> str:
        if self._next() != ":":
            return ""
        self._at += 1
        if not (letters := self._letters()):
            raise self._fail("modifiers are expected after the colon")
        return letters

    def _after_terms(self) -> str:
        """Modifiers, which may follow the closing slash at once."""
        return self._after_colon() if self._next() == ":" else self._letters()

    def _memory(self, start: int) -> Written:
        if (before := _BEFORE_TERMS.match(self._text, start)) is not None:
            self._at = before.end()
            terms = self._terms()
            modifiers = self._after_terms()
            return Written(self._text[start : self._at], start, before[1], terms, modifiers=modifiers, kind="memory")
        self._at += len("mem:")
        end = self._at
        while end < len(self._text) and self._text[end] not in ",}" + _BLANK:
            end += 1
        if not (body := self._text[self._at : end]):
            raise self._fail("the address of the breakpoint is expected here")
        self._at = end
        return Written(self._text[start:end], start, body, kind="memory")

    def _terms(self) -> tuple[EventTerm, ...]:
        opening = self._at
        self._at += 1
        terms: list[EventTerm] = []
        self._skip()
        if self._next() == "/":
            self._at += 1
            return ()
        while True:
            self._skip()
            terms.append(self._term(opening))
            self._skip()
            if self._next() == "/":
                self._at += 1
                return tuple(terms)
            self._expect_comma("a comma or the closing slash is expected here")

    def _term(self, opening: int) -> EventTerm:
        start = self._at
        if start == len(self._text):
            raise self._fail("the slash has no closing slash", opening)
        if (match := _TERM_NAME.match(self._text, start)) is None:
            raise self._fail("a term, name or name=value, is expected here")
        self._at = match.end()
        self._skip()
        if self._next() != "=":
            return EventTerm(match.group(), None, start)
        self._at += 1
        self._skip()
        if self._next() == "'":
            end = self._text.find("'", self._at + 1)
            if end < 0:
                raise self._fail("the quotation mark has no closing one")
            value = self._text[self._at + 1 : end]
            self._at = end + 1
            return EventTerm(match.group(), value, start)
        if (number_match := _BARE_VALUE.match(self._text, self._at)) is None:
            raise self._fail(f"a value is expected after {match.group()}=")
        self._at = number_match.end()
        return EventTerm(match.group(), number_match.group(), start)
