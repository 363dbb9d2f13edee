"""Terms that every event of every PMU accepts: config words, names, periods, CPUs (perf-record(1), "-e")."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.events.encoded import FLAGS
from turbotui.events.errors import TermRangeError, TermValueError
from turbotui.events.syntax import EventTerm
from turbotui.machine.cpulist import parse_cpulist

WORDS = ("config", "config1", "config2", "config3", "config4")
WORD_BITS = 64
NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|\d+", re.ASCII)
RATIO = "ratio-to-prev"
"""Auto counter reload: how many of this event for one of the event before it (tools/perf/Documentation/intel-acr.txt).
"""
_RATIO = r"(?a)\d{1,9}(?:\.\d{1,9})?"
_PMU = r"(?a)[A-Za-z_][\w.-]*"
_AUX_ACTIONS = ("start-paused", "pause", "resume")  # perf-record(1), "aux-action"
_LONGEST_PERIOD = 63  # bits: the kernel refuses bit 63 (perf_event_open(2))
_BRANCHES = (
    # bit number = place: uapi linux/perf_event.h, enum perf_branch_sample_type_shift; names: perf-record(1) -j
    "u", "k", "hv", "any", "any_call", "any_ret", "ind_call", "abort_tx", "in_tx", "no_tx", "cond", "stack", "ind_jmp",
    "call", "no_flags", "no_cycles", "save_type", "hw_index", "priv", "counter",
)


@dataclass(slots=True)
class Settings:
    """Settings collected from the terms of an event, before its attribute is made."""

    kind: int | None = None  # perf_event_attr.type, None for the PMU's own
    words: list[int] = field(default_factory=lambda: [0] * len(WORDS))  # config to config4
    flags: int = 0  # bits of the flag word to set
    fields: dict[str, int] = field(default_factory=dict)  # other members of the attribute
    name: str = ""
    options: list[tuple[str, str]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)  # the terms in full, for the canonical string
    unit: str = ""
    scale: float = 1.0
    snapshot: bool = False
    per_package: bool = False
    cpus: tuple[int, ...] = ()  # the CPUs that `cpu=` asks for; empty where it names a PMU, or is not there
    cpus_of: str = ""  # the PMU whose CPUs `cpu=` asks for
    event: str = ""  # the one event that is named, by the PMU's name or the kernel's
    whole_config: bool = False  # whether `config=` says which event it is
    table: str = ""  # the vendor's table that the named event is of, "" for one of sysfs
    description: str = ""  # what the table says of it


def read_number(text: str, what: str, bits: int = WORD_BITS) -> int:
    """Parse a decimal or 0x hexadecimal number of at most `bits` bits.

    Raises:
        TermValueError: the text is no such number.
        TermRangeError: the number has more bits.
    """
    if NUMBER.fullmatch(text) is None:
        raise TermValueError(f"The value {text!r} of {what} is neither decimal nor 0x hexadecimal.")
    digits = text[2:].lstrip("0") if text[:2] in ("0x", "0X") else text.lstrip("0")
    # int() of thousands of digits is slow, and refused; no value of 64 bits has more than 20.
    number = int(digits or "0", 16 if text[:2] in ("0x", "0X") else 10) if len(digits) <= WORD_BITS else 1 << bits
    if number >> bits:
        raise TermRangeError(f"The value {text[:80]} does not fit {what}, which has {bits} bits.")
    return number


def set_option(settings: Settings, term: EventTerm) -> bool:
    """Apply a term that every event accepts; return False if the term is not one of them.

    Raises:
        TermValueError, TermRangeError: its value.
    """
    if term.name.startswith("@"):
        settings.options.append((term.name, term.value or ""))
        return True
    if (take := OPTIONS.get(term.name)) is None:
        return False
    take(settings, term)
    return True


OptionTaker = Callable[[Settings, EventTerm], None]


def needed(term: EventTerm, bits: int = WORD_BITS) -> int:
    """Return the number that a term must have as its value.

    Raises:
        TermValueError, TermRangeError: the term has no number, or one with too many bits.
    """
    if not term.value:
        raise TermValueError(f"A value is missing for the term {term.name!r}: write {term.name}=NUMBER.")
    return read_number(term.value, f"the term {term.name!r}", bits)


def _word(settings: Settings, term: EventTerm) -> None:
    number = 1 if term.value is None else needed(term)  # perf reads a term without a value as 1
    settings.words[WORDS.index(term.name)] |= number
    settings.whole_config |= term.name == WORDS[0]
    settings.shown.append(f"{term.name}={number:#x}")


def _name(settings: Settings, term: EventTerm) -> None:
    if not term.value:
        raise TermValueError("A value is missing for the term 'name': write name=WORD.")
    settings.name = term.value


def _period(settings: Settings, term: EventTerm) -> None:
    number = needed(term, _LONGEST_PERIOD)
    settings.fields["sample_period"] = number
    if term.name == "freq":
        settings.flags |= 1 << FLAGS["freq"]
    settings.shown.append(f"{term.name}={number}")


def _branches(settings: Settings, term: EventTerm) -> None:
    word = 0
    for part in re.split(r"[|;,]", term.value or ""):
        if part not in _BRANCHES:
            raise TermValueError(f"{part!r} is no kind of branch; there are {', '.join(_BRANCHES)}.")
        word |= 1 << _BRANCHES.index(part)
    settings.fields["branch_sample_type"] = word
    settings.options.append((term.name, term.value or ""))


def _switch(flag: str, on: bool) -> OptionTaker:
    def take(settings: Settings, term: EventTerm) -> None:
        given = True if term.value is None else bool(needed(term, 1))
        bit = 1 << FLAGS[flag]
        settings.flags = settings.flags | bit if given == on else settings.flags & ~bit

    return take


def _field(name: str, bits: int) -> OptionTaker:
    def take(settings: Settings, term: EventTerm) -> None:
        settings.fields[name] = needed(term, bits)

    return take


def _cpu(settings: Settings, term: EventTerm) -> None:
    text = term.value or ""
    try:
        cpus = tuple(sorted(parse_cpulist(text)))
    except ValueError:
        cpus = ()
    if not cpus and re.fullmatch(_PMU, text) is None:
        raise TermValueError(f"The value {text[:80]!r} of the term 'cpu' is neither a list of CPUs nor the name of a "
                             "PMU: write cpu=0-3 or cpu=cpu_core.")
    settings.cpus, settings.cpus_of = cpus, "" if cpus else text


def _aux_action(settings: Settings, term: EventTerm) -> None:
    if term.value not in _AUX_ACTIONS:
        raise TermValueError(f"{(term.value or '')[:80]!r} is nothing that an event does to a trace; there are "
                             f"{', '.join(_AUX_ACTIONS)}.")
    _keep(settings, term)


def _ratio(settings: Settings, term: EventTerm) -> None:
    if (match := re.fullmatch(_RATIO, term.value or "")) is None or float(match[0]) <= 0:
        raise TermValueError(f"The value {(term.value or '')[:80]!r} of the term {term.name!r} is no ratio above 0.")
    _keep(settings, term)


def _keep(settings: Settings, term: EventTerm) -> None:
    settings.options.append((term.name, term.value or ""))


OPTIONS: dict[str, OptionTaker] = {
    # perf-record(1) "-e"; what only sampling or perf's own output uses is kept as written
    **dict.fromkeys(WORDS, _word),
    "name": _name,
    "period": _period,
    "freq": _period,
    "branch_type": _branches,
    "inherit": _switch("inherit", True),
    "no-inherit": _switch("inherit", False),
    "overwrite": _switch("write_backward", True),
    "no-overwrite": _switch("write_backward", False),
    "aux-output": _switch("aux_output", True),
    "max-stack": _field("sample_max_stack", 16),
    "aux-sample-size": _field("aux_sample_size", 32),
    "cpu": _cpu,
    "aux-action": _aux_action,
    RATIO: _ratio,
    **dict.fromkeys(("time", "call-graph", "stack-size", "nr", "percore", "metric-id"), _keep),
}
