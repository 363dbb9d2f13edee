"""libpfm4 through ctypes: encodes the event names of CPU models (pfm_get_os_event_encoding(3)).

libpfm identifies the CPU of the machine that it runs on, once, when it is initialised. LIBPFM_FORCE_PMU names another
model; it is read at that moment only, so a process works with one model: forcing a second one takes a second process.
libpfm is not thread-safe, so every call holds a lock.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from itertools import count
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.libpfm.errors import (
    ERRORS,
    LibpfmAbsentError,
    PfmError,
    PfmInvalidError,
    PfmNotSupportedError,
    PfmTooManyError,
)
from turbotui.events.libpfm.structures import (
    OS_NONE,
    OS_PERF_EVENT,
    OS_PERF_EVENT_EXT,
    PLM,
    AttributeInformation,
    EventInformation,
    PerfArgument,
    PmuInformation,
    RawArgument,
)
from turbotui.machine.host import PerfAttr
from turbotui.machine.perf_abi import PUBLISHED_SIZE, PerfEventAttr
from turbotui.untrusted import decoded, one_line

MOST: Final = 64
_DELIMITERS: Final = re.compile(r"[:.]")  # PFMLIB_ATTR_DELIM
_SURE: Final = 3  # always fit, whatever they stand for: 3 x 16, and as many defaults as any event has
_DEEPEST: Final = 8  # equivalents of equivalents


class AttributeLimit:
    """Computes an upper bound of the array places that a string takes, because libpfm does not check it.

    The array of an event has 64 places (PFMLIB_MAX_ATTRS, lib/pfmlib_priv.h). libpfm 4.13 checks that before it takes a
    modifier with a value, but neither for a unit mask nor for an event's default unit masks, and one attribute can
    stand for up to 16 others (`equiv`). The 65th ends the process with SIGSEGV, or damages its memory.

    Args:
        equivalents: (name, what it stands for) of each event and attribute of the models that are in use, and under the
            name "" as many words as an event has default unit masks. It is asked once, when a string needs it.
    """

    def __init__(self, equivalents: Callable[[], Iterable[tuple[str, str]]]) -> None:
        self._equivalents = equivalents
        self._known: Mapping[str, int] | None = None

    def exceeded(self, string: str) -> bool:
        """Whether the string may come to more attributes than there are places."""
        names = [word.partition("=")[0].lower() for word in _DELIMITERS.split(string)[1:] if word]
        if len(names) <= _SURE:
            return False
        if len(names) > MOST:
            return True
        if self._known is None:
            self._known = _places(self._equivalents())
        known = self._known
        return sum(known.get(name, 1) for name in names) + known.get("", 0) > MOST


def _places(equivalents: Iterable[tuple[str, str]]) -> Mapping[str, int]:
    """Return the most array places that each name takes in any event."""
    parts: dict[str, set[tuple[str, ...]]] = {}
    for name, text in equivalents:
        words = tuple(word.partition("=")[0].lower() for word in _DELIMITERS.split(text) if word)
        parts.setdefault(name.lower(), set()).add(words)

    def places(name: str, depth: int) -> int:
        if depth > _DEEPEST:
            return MOST
        return max((sum(places(word, depth + 1) for word in words) for words in parts.get(name, ())), default=1)

    return {name: places(name, 0) for name in parts}


SONAME: Final = "libpfm.so.4"
FORCE: Final = "LIBPFM_FORCE_PMU"
INACTIVE: Final = "LIBPFM_ENCODE_INACTIVE"
"""Makes libpfm encode events of models that this machine lacks, by their full name (pfm_initialize(3))."""
_ARCHITECTURAL: Final = frozenset({"ix86arch"})
"""Generic models (Intel SDM vol. 3, 20.2), which libpfm falls back to on a processor that it does not know."""
_INVALID: Final = -2
_UNIT_MASK: Final = 1  # PFM_ATTR_UMASK
_SHOWN: Final = 80  # characters of a refused string


class PmuKind(Enum):
    """pfm_pmu_type_t."""

    UNKNOWN = 0
    CORE = 1
    UNCORE = 2
    OS_GENERIC = 3


@dataclass(frozen=True, slots=True)
class RawEncoding:
    """The register words of an event, as PFM_OS_NONE returns them."""

    codes: tuple[int, ...]
    fstr: str
    idx: int


@dataclass(frozen=True, slots=True)
class PerfEncoding:
    """An attribute for perf_event_open(2). `cpu` is -1 unless the string says cpu=."""

    attr: PerfAttr
    fstr: str
    idx: int
    cpu: int
    flags: int


@dataclass(frozen=True, slots=True)
class PfmPmu:
    """A PMU model that the library knows."""

    name: str
    kind: PmuKind
    first_event: int
    present: bool  # whether the library found the model on this machine, or was forced to use it


@dataclass(frozen=True, slots=True)
class PfmAttribute:
    """A unit mask or a modifier of an event; `equivalent` is what it stands for, attributes by colons."""

    name: str
    description: str
    code: int
    unit_mask: bool
    default: bool
    equivalent: str = ""


@dataclass(frozen=True, slots=True)
class PfmEvent:
    """An event of a model, with every attribute that PFM_OS_PERF_EVENT_EXT offers."""

    name: str
    description: str
    pmu: int
    equivalent: str
    attributes: tuple[PfmAttribute, ...]


class Libpfm:
    """The initialised library.

    Args:
        force: a model's name for LIBPFM_FORCE_PMU; None leaves the environment as it is. It must come before the first
            initialisation of this process, or after `terminate`.
        only: a model that is not here and cannot be forced, as those of uncore PMUs: its events are encoded by their
            full names.

    Raises:
        LibpfmAbsentError: the library cannot be loaded.
        PfmError: it cannot be initialised.
    """

    def __init__(self, path: str = SONAME, force: str | None = None, *, only: str | None = None) -> None:
        try:
            library = ctypes.CDLL(path)
            library.pfm_get_os_event_encoding  # noqa: B018 - the symbol must be there
        except (OSError, AttributeError) as error:
            remedy = "Debian and Ubuntu: apt install libpfm4"
            raise LibpfmAbsentError(f"libpfm4 cannot be loaded ({error}); {remedy}") from None
        self._lock = threading.Lock()
        self._library = library
        self._free = ctypes.CDLL(None).free
        self._free.argtypes, self._free.restype = [ctypes.c_void_p], None
        library.pfm_strerror.restype = ctypes.c_char_p
        library.pfm_get_os_event_encoding.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
        library.pfm_get_event_attr_info.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p]
        if force is not None:
            os.environ[FORCE] = force
        self.only = only
        if only is not None:
            os.environ.pop(FORCE, None)
            os.environ[INACTIVE] = "1"
        self.forced = os.environ.get(FORCE, "")
        self._limit = AttributeLimit(self._equivalents)
        with self._lock:
            self._check(library.pfm_initialize(), "pfm_initialize")

    @property
    def outdated(self) -> str:
        """Return a sentence if libpfm has no model of this CPU; "" if it has one, or one was forced."""
        if self.forced or self.only or knows_cpu(self.pmus()):
            return ""
        return (f"libpfm {self.release} is older than this CPU: it has no model of it, at most the architectural "
                "events; a newer libpfm4, or --force-pmu with a model that is near, has more.")

    @property
    def release(self) -> str:
        """Return the version ("4.13.0") from the loaded file's name: pfm_get_version() is the same for every 4.x."""
        with open("/proc/self/maps", encoding="utf-8") as maps:
            match = re.search(r"/libpfm\.so\.(\d[\d.]*)", maps.read())
        return match[1] if match else ""

    def terminate(self) -> None:
        """Free the library's memory; every later call raises `PfmNotInitializedError`."""
        with self._lock:
            self._library.pfm_terminate()

    def error_text(self, code: int) -> str:
        """pfm_strerror(3)."""
        text: bytes | None = self._library.pfm_strerror(code)
        return one_line(decoded(text or b""))

    def _check(self, code: int, what: str) -> None:
        if code != 0:
            raise ERRORS.get(code, PfmError)(what, self.error_text(code), code)

    def raw_encoding(self, string: str, plm: int = PLM["u"] | PLM["k"]) -> RawEncoding:
        """Return the register words of one event.

        Args:
            string: one event; lists have to be split (`split_list`).
            plm: PFM_PLM* bits for where the string says nothing.

        Raises:
            PfmError: its class for the code.
        """
        argument = RawArgument(size=ctypes.sizeof(RawArgument))
        name = ctypes.c_void_p()
        argument.fstr = ctypes.pointer(name)
        self._refuse(string)
        with self._lock:
            self._encode(string, plm, OS_NONE, argument)
            codes = tuple(int(argument.codes[place]) for place in range(argument.count))
            self._free(ctypes.cast(argument.codes, ctypes.c_void_p))
            return RawEncoding(codes, self._taken(name), argument.idx)

    def perf_encoding(self, string: str, plm: int = PLM["u"] | PLM["k"], *, extended: bool = True) -> PerfEncoding:
        """Return the perf attribute of one event.

        Args:
            string: one event; lists have to be split (`split_list`).
            plm: PFM_PLM* bits for where the string says nothing.
            extended: PFM_OS_PERF_EVENT_EXT, with the modifiers period, freq, precise, excl, pinned, cpu ...

        Raises:
            PfmError: its class for the code.
        """
        attr = PerfEventAttr(size=PUBLISHED_SIZE)
        name = ctypes.c_void_p()
        argument = PerfArgument(attr=ctypes.pointer(attr), fstr=ctypes.pointer(name), size=ctypes.sizeof(PerfArgument),
                                cpu=-1)
        self._refuse(string)
        with self._lock:
            self._encode(string, plm, OS_PERF_EVENT_EXT if extended else OS_PERF_EVENT, argument)
            fstr = self._taken(name)
        encoding = PerfAttr(attr.type, attr.config, attr.config1, attr.config2, attr.config3, flags=attr.flags,
                            config4=attr.config4, sample_period=attr.sample_period, bp_type=attr.bp_type,
                            branch_sample_type=attr.branch_sample_type)
        return PerfEncoding(encoding, fstr, argument.idx, argument.cpu, argument.flags)

    def _refuse(self, string: str) -> None:
        """Refuse strings that libpfm would misread, or that would crash the process.

        Raises:
            PfmInvalidError: C would see only what is before a NUL.
            PfmTooManyError: the string has, or stands for, more attributes than the library has places for.
        """
        if "\0" in string:
            raise PfmInvalidError(string, self.error_text(_INVALID))
        if self._limit.exceeded(string):
            shown = string if len(string) <= _SHOWN else f"{string[:_SHOWN]}..."
            raise PfmTooManyError(shown, f"it stands for more than {MOST} attributes")

    def _equivalents(self) -> Iterator[tuple[str, str]]:
        for pmu in self.pmus():
            for event in self.events(pmu):
                defaults = sum(attribute.default for attribute in event.attributes)
                # what an event stands for is added to whatever the string has
                yield "", ":".join(["_"] * (defaults + len(event.equivalent.replace(".", ":").split(":"))))
                for attribute in event.attributes:
                    if attribute.equivalent:
                        yield attribute.name, attribute.equivalent

    def _encode(self, string: str, plm: int, system: int, argument: ctypes.Structure) -> None:
        self._check(self._library.pfm_get_os_event_encoding(string.encode("utf-8", "replace"), plm, system,
            ctypes.cast(ctypes.byref(argument), ctypes.c_void_p)), string)

    def _taken(self, name: ctypes.c_void_p) -> str:
        """Copy a string that the library allocated, and free the original."""
        if not name.value:
            return ""
        text = one_line(decoded(ctypes.string_at(name.value)))
        self._free(name)
        return text

    def pmus(self, *, present: bool = True) -> Iterator[PfmPmu]:
        """Return the models of this machine, or all models that the library was built with."""
        for number in count():
            code, pmu = self._pmu(number)
            if code == _INVALID:
                return  # beyond the last model; a hole is NOTSUPP
            if code == 0 and (pmu.present or not present):
                yield pmu

    def _pmu(self, number: int) -> tuple[int, PfmPmu]:
        """Return libpfm's result code and the model with that number."""
        information = PmuInformation(size=ctypes.sizeof(PmuInformation))
        with self._lock:
            code: int = self._library.pfm_get_pmu_info(number, ctypes.byref(information))
        return code, PfmPmu(_text(information.name), PmuKind(information.type), information.first_event,
                            present=bool(information.flags & 1))

    def events(self, pmu: PfmPmu) -> Iterator[PfmEvent]:
        """Yield the events of a model."""
        index = pmu.first_event
        while index >= 0 and (event := self.event(index)) is not None:
            yield event
            with self._lock:
                index = self._library.pfm_get_event_next(index)

    def event(self, index: int) -> PfmEvent | None:
        """Return the event with a number as in `RawEncoding.idx`; None if no event has that number."""
        information = EventInformation(size=ctypes.sizeof(EventInformation))
        with self._lock:
            if self._library.pfm_get_event_info(index, OS_PERF_EVENT_EXT, ctypes.byref(information)) != 0:
                return None
            attributes = []
            for place in range(information.nattrs):
                each = AttributeInformation(size=ctypes.sizeof(AttributeInformation))
                if self._library.pfm_get_event_attr_info(index, place, OS_PERF_EVENT_EXT, ctypes.byref(each)) == 0:
                    attributes.append(PfmAttribute(_text(each.name), _text(each.desc), each.code,
                                                   each.type == _UNIT_MASK, bool(each.flags & 1), _text(each.equiv)))
        return PfmEvent(name=_text(information.name), description=_text(information.desc), pmu=information.pmu,
                        equivalent=_text(information.equiv), attributes=tuple(attributes))

    def pmu_of(self, index: int) -> PfmPmu:
        """Return the model that an event's number belongs to.

        Raises:
            PfmNotSupportedError: the number belongs to no model.
        """
        event = self.event(index)
        code, pmu = (PfmNotSupportedError.code, None) if event is None else self._pmu(event.pmu)
        if pmu is None or code != 0:
            raise PfmNotSupportedError(f"event {index:#x}", self.error_text(code))
        return pmu


def knows_cpu(present: Iterable[PfmPmu]) -> bool:
    """Tell whether libpfm found a model of this very CPU, and not only the generic models."""
    return any(pmu.kind is PmuKind.CORE and pmu.name not in _ARCHITECTURAL for pmu in present)


def split_list(text: str) -> tuple[str, ...]:
    """Split a comma list into events, because libpfm refuses lists."""
    return tuple(part.strip() for part in text.split(","))


def _text(value: bytes | None) -> str:
    return one_line(decoded(value or b""))
