"""One interface for three engines: turbotui's own over sysfs, the vendor's tables, and libpfm4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from typing import Protocol

from turbotui.errors import UsageError
from turbotui.events.devices import Devices
from turbotui.events.encoded import FLAGS, BareCodes, EncodedEvent
from turbotui.events.encoder import EventEncoder
from turbotui.events.errors import NoCodesError, UnknownEventError
from turbotui.events.libpfm.errors import (
    LibpfmAbsentError,
    PfmError,
    PfmInvalidError,
    PfmNotFoundError,
    PfmNotSupportedError,
)
from turbotui.events.libpfm.library import Libpfm, PmuKind, split_list
from turbotui.events.libpfm.structures import PLM
from turbotui.events.names import RAW
from turbotui.events.options import read_number
from turbotui.events.perf_encoder import PerfEncoder, table_encoder
from turbotui.events.terms import place
from turbotui.machine.host import Host, HostKind
from turbotui.machine.pmus import EventError, Pmu

_X86_CORES = ("cpu", "cpu_core", "cpu_atom", "cpu_lowpower")
_USR, _OS, _INT, _ENABLE = 1 << 16, 1 << 17, 1 << 20, 1 << 22  # IA32_PERFEVTSELx (Intel SDM vol. 3, 20.2.1.1)


class OsKind(Enum):
    """Target of an encoding: PFM_OS_NONE, PFM_OS_PERF_EVENT, PFM_OS_PERF_EVENT_EXT. The value is --os's word."""

    NONE = "none"
    PERF = "perf"
    PERF_EXT = "perf_ext"


class Engine(Protocol):
    """An engine that encodes event strings: libpfm, or turbotui's own."""

    def encode(self, text: str) -> tuple[EncodedEvent, ...]:
        """The counters that a string names. Raises a class of EventError or PfmError."""

    def codes(self, text: str) -> tuple[BareCodes, ...]:
        """Encode as bare words for the PMU's registers. Raises a class of EventError or PfmError."""


class OwnEngine:
    """perf's grammar over the PMUs that sysfs describes, or over the vendor's tables too (`table_encoder`)."""

    def __init__(self, encoder: EventEncoder) -> None:
        self.encoder = encoder

    def encode(self, text: str) -> tuple[EncodedEvent, ...]:
        """Encode as `EventEncoder.encode` does."""
        return self.encoder.encode(text)

    def codes(self, text: str) -> tuple[BareCodes, ...]:
        """The event select register of x86 cores, with the enable bits that libpfm sets too.

        Raises:
            EventError: as encode; NoCodesError for anything else than a raw event of an x86 core.
        """
        return tuple(_select_register(event) for event in self.encode(text))


def _select_register(event: EncodedEvent) -> BareCodes:
    attr = event.attr
    if event.pmu not in _X86_CORES or attr.type in (0, 3):
        raise NoCodesError(
            f"The event {event.string!r} has no register codes of its own: give a raw event of an x86 core, as "
            "cpu/event=0xc0/.")
    word = attr.config | _INT | _ENABLE
    word |= 0 if attr.flags >> FLAGS["exclude_user"] & 1 else _USR
    word |= 0 if attr.flags >> FLAGS["exclude_kernel"] & 1 else _OS
    return BareCodes(event.string, event.fstr, event.pmu, (word, attr.config1) if attr.config1 else (word,))


class LibpfmEngine:
    """libpfm's tables, checked against the PMUs that the kernel really has.

    Args:
        rings: letters of "ukh" for where a string says nothing.
        extended: whether perf's own modifiers (period, precise, pinned ...) are understood.
    """

    def __init__(self, host: Host, library: Libpfm, rings: str = "uk", *, extended: bool = True) -> None:
        self.library = library
        self._devices = Devices.of(host)
        self._plm = sum(PLM[letter] for letter in set(rings))
        self._extended = extended
        self._only = "" if library.only is None else library.only

    def _named(self, text: str) -> Iterator[str]:
        """Return the events of a comma list, each with its model's name if a model other than the machine's is set."""
        for string in split_list(text):
            yield string if not self._only or "::" in string else f"{self._only}::{string}"

    def encode(self, text: str) -> tuple[EncodedEvent, ...]:
        """Encode each event of a comma list.

        Raises:
            PfmError: one of its classes; PfmNotSupportedError also where the kernel lacks the uncore PMU.
        """
        try:
            return tuple(self._encode(part) for part in self._named(text))
        except PfmNotFoundError as error:
            if self.library.outdated:
                raise PfmNotFoundError(text, f"{error.text}; {self.library.outdated.rstrip('.')}") from error
            raise
        except PfmNotSupportedError as error:
            if not self._only:
                raise
            why = f"the kernel has no PMU for {self._only} here; --os none gives the words of its registers"
            raise PfmNotSupportedError(text, why) from error

    def _encode(self, string: str) -> EncodedEvent:
        encoding = self.library.perf_encoding(string, self._plm, extended=self._extended)
        model = self.library.pmu_of(encoding.idx)
        attr = encoding.attr
        if model.kind is PmuKind.UNCORE and attr.type == RAW:
            # The library answers "raw core event" for an uncore PMU that sysfs lacks: it would count something else.
            raise PfmNotSupportedError(string, f"the kernel has no PMU for {model.name} here")
        pmu = self._devices.of_type(attr.type)
        event = EncodedEvent(
            string=string,
            fstr=encoding.fstr,
            pmu=model.name if pmu is None else pmu.name,
            attr=attr,
            engine="libpfm",
            name=string,
            cpus=() if pmu is None else pmu.cpumask or pmu.cpus,
            covers=self._devices.covered(pmu) if pmu is not None and pmu.cpumask else (),
            uncore=pmu is not None and bool(pmu.cpumask),
            cpu=encoding.cpu,
            index=encoding.idx,
        )
        return event if pmu is None else _with_unit(event, pmu)

    def codes(self, text: str) -> tuple[BareCodes, ...]:
        """Return the register words (PFM_OS_NONE) of each event of a comma list.

        Raises:
            PfmError: one of its classes.
        """
        codes = []
        for string in self._named(text):
            raw = self.library.raw_encoding(string, self._plm)
            model = self.library.pmu_of(raw.idx)
            codes.append(BareCodes(string, raw.fstr, model.name, raw.codes, "libpfm", raw.idx))
        return tuple(codes)


def _with_unit(event: EncodedEvent, pmu: Pmu) -> EncodedEvent:
    """Add the unit and scale of the sysfs event with the same encoding, which libpfm does not know."""
    words = [event.attr.config, event.attr.config1, event.attr.config2, event.attr.config3]
    for known in pmu.events.values():
        if (known.unit or known.scale != 1.0) and _words(pmu, known.text) == words:
            return replace(event, unit=known.unit, scale=known.scale, snapshot=known.snapshot,
                           per_package=known.per_package)
    return event


def _words(pmu: Pmu, text: str) -> list[int] | None:
    words = [0, 0, 0, 0]
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        where = pmu.formats.get(name)
        if where is None or where.word >= len(words) or value == "?":
            return None
        try:
            words[where.word] |= place(pmu.name, where, read_number(value, name) if equals else 1)
        except EventError:
            return None
    return words


class AutoEngine:
    """Our own engine first; the vendor's tables where sysfs does not know the name; then libpfm.

    Strings with "::" are libpfm's, and so are bare codes wherever it is there.

    Args:
        perf: encodes by perf's grammar, over sysfs and the vendor's tables.
        libpfm: libpfm's engine, or why it is not available.
    """

    def __init__(self, perf: PerfEncoder, libpfm: LibpfmEngine | UsageError) -> None:
        self._perf = perf
        self._libpfm = libpfm

    def encode(self, text: str) -> tuple[EncodedEvent, ...]:
        """Encode by the engine that knows the string.

        Raises:
            EventError, PfmError: the refusal of the engine that came nearest to an event.
            UsageError: tables named by the user cannot be used.
            LibpfmAbsentError: the string is in libpfm's grammar, and the library is not there.
        """
        libpfm = self._libpfm
        if "::" in text:
            if isinstance(libpfm, UsageError):
                raise libpfm.with_traceback(None)  # with it, the frames of every earlier time
            return libpfm.encode(text)
        try:
            return self._perf.encode(text)
        except EventError as error:
            if isinstance(libpfm, UsageError):
                raise
            try:
                return libpfm.encode(text)
            except (PfmNotFoundError, PfmInvalidError, PfmNotSupportedError):
                if libpfm.library.outdated and isinstance(error, UnknownEventError):
                    raise error.followed_by(libpfm.library.outdated) from None
                raise error from None

    def codes(self, text: str) -> tuple[BareCodes, ...]:
        """Return libpfm's register words, or those of turbotui's own engine if libpfm has none.

        Raises:
            EventError, PfmError: libpfm's refusal if libpfm is installed.
        """
        if isinstance(self._libpfm, UsageError):
            return OwnEngine(self._perf.own).codes(text)
        try:
            return self._libpfm.codes(text)
        except PfmError as error:
            try:
                return OwnEngine(self._perf.own).codes(text)
            except EventError as other:
                raise (other if "/" in text else error) from None


def open_engine(host: Host, kind: str = "auto", rings: str | None = None, os_kind: OsKind = OsKind.PERF_EXT,
                force: str | None = None) -> Engine:
    """Open the engine of that name.

    Args:
        kind: "own", "tables", "libpfm" or "auto".
        rings: letters of "ukh" for where a string says nothing.
        os_kind: PERF hides perf's own modifiers from libpfm.
        force: the PMU model that libpfm treats as this machine's, for the whole process.

    Raises:
        LibpfmAbsentError: libpfm was asked for and is not there, or the machine is not this one and no model is forced.
        UsageError: the vendor's tables were asked for, and there are none.
    """
    if kind in ("own", "tables"):
        return OwnEngine(EventEncoder(host, rings) if kind == "own" else table_encoder(host, rings))
    perf = PerfEncoder(host, rings)
    try:
        library = open_library(host, force)
    except (LibpfmAbsentError, PfmError) as error:
        if kind == "libpfm" or force is not None:
            raise
        return AutoEngine(perf, error)
    libpfm = LibpfmEngine(host, library, rings or "uk", extended=os_kind is not OsKind.PERF)
    return libpfm if kind == "libpfm" else AutoEngine(perf, libpfm)


def open_library(host: Host, force: str | None = None) -> Libpfm:
    """Load libpfm for a machine.

    Raises:
        LibpfmAbsentError: it is not installed, it knows no such model, or it would look at another machine's CPU.
    """
    if force is None and host.kind is not HostKind.REAL:
        raise LibpfmAbsentError(
            f"libpfm looks at the CPU it runs on, not at the {host.kind.value} machine {host.name}: "
            "name a model with --force-pmu.")
    library = Libpfm(force=force)
    if force is None or any(pmu.name == force for pmu in library.pmus()):
        return library
    if not any(pmu.name == force and pmu.kind is PmuKind.UNCORE for pmu in library.pmus(present=False)):
        raise LibpfmAbsentError(f"libpfm {library.release} has no PMU model {force!r}.")
    library.terminate()
    return Libpfm(only=force)  # an uncore model is not taken by force
