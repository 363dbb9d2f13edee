"""Hardware breakpoints as events: mem:ADDRESS[/LENGTH][:ACCESS][:MODIFIERS] (perf-record(1), "-e")."""

from __future__ import annotations

import re

from turbotui.dataclass import dataclass
from turbotui.events.errors import BreakpointError
from turbotui.events.modifiers import LETTERS
from turbotui.events.names import BREAKPOINT
from turbotui.events.options import read_number
from turbotui.machine.host import PerfAttr

_ACCESS = {"r": 1, "w": 2, "x": 4}  # HW_BREAKPOINT_R, _W, _X (uapi linux/hw_breakpoint.h)
_LENGTHS = (1, 2, 4, 8)  # HW_BREAKPOINT_LEN_*
_EXECUTE_LENGTH = 8  # sizeof(long): the length that x86 wants of an execution breakpoint
_DATA_LENGTH = 4  # HW_BREAKPOINT_LEN_4, as perf where no length is written (tools/perf/util/parse-events.c)
_BODY = re.compile(r"([^/:]+)(?:/([^:]*))?(?::([^:]*))?(?::([^:]*))?")
_LETTERS = frozenset(LETTERS)


@dataclass(frozen=True, slots=True)
class Breakpoint:
    """A breakpoint event and the modifiers written with it."""

    attr: PerfAttr
    shown: str
    modifiers: str


def breakpoint_of(body: str) -> Breakpoint:
    """Parse what follows "mem:".

    Raises:
        BreakpointError: there is no address, or the length or access does not exist.
        TermValueError, TermRangeError: the address is not a number, or too large.
    """
    if (match := _BODY.fullmatch(body)) is None:
        raise BreakpointError(f"mem:{body} is no breakpoint: write mem:ADDRESS[/LENGTH][:ACCESS][:MODIFIERS].")
    address = read_number(match[1], "the address of the breakpoint")
    access, modifiers = match[3], match[4] or ""
    if access and match[4] is None and not set(access) <= set(_ACCESS) and set(access) <= _LETTERS:
        access, modifiers = None, access
    letters = "rw" if access is None else access
    if not letters or len(set(letters)) != len(letters) or not set(letters) <= set(_ACCESS):
        raise BreakpointError(f"{letters!r} is no access of a breakpoint: it is made of r, w and x, each once.")
    if match[2] is None:
        length = _EXECUTE_LENGTH if letters == "x" else _DATA_LENGTH
    else:
        length = read_number(match[2], "the length of the breakpoint")
        if length not in _LENGTHS:
            raise BreakpointError(f"A breakpoint is 1, 2, 4 or 8 bytes long, not {length}.")
    kind = sum(_ACCESS[letter] for letter in letters)
    ordered = "".join(letter for letter in _ACCESS if letter in letters)
    return Breakpoint(
        PerfAttr(BREAKPOINT, 0, config1=address, config2=length, bp_type=kind),
        f"mem:{address:#x}/{length}:{ordered}",
        modifiers)
