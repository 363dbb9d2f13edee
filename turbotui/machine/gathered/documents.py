"""The files in a gathered machine's archive: the machine's files, and JSON (docs/specs/gather.md 1 to 5)."""

from __future__ import annotations

import errno
import posixpath
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Final, TypeVar

from turbotui.errors import MachineError
from turbotui.machine.cpulist import format_cpulist, parse_cpulist
from turbotui.machine.gathered.archive import LARGEST, GatheredError, unpack
from turbotui.machine.gathered.model import Answer, Gathered, OpenAttempt
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.host import NAMESPACES, HostKind, PerfAttr, Privileges
from turbotui.quantities.documents import DocumentError, parse_json
from turbotui.quantities.plain_numbers import hexadecimal, integer
from turbotui.untrusted import in_cell, json_text

FORMAT: Final = 1
ROOT: Final = "root"
"""The directory of the machine's files, which `--sysroot` accepts after unpacking."""
_ABOUT, _FOLDERS, _DEVICES, _COUNTERS = "about.json", "folders.json", "devices.json", "counters.json"
_CPU_DEVICE = re.compile(r"/dev/cpu/(\d{1,9})/(\w+)\Z", re.ASCII)
_CPUS_OF = re.compile(r"/dev/cpu/\*/(\w+)\Z", re.ASCII)
_ERRNO = re.compile(r"E[A-Z0-9]+\Z")
_MOST = 1_000_000  # most words or counters of all CPUs; 1,024 CPUs with 200 registers have a fifth
_MOST_BESIDE = 64  # events of a group, which the kernel limits by the size of a reading (perf_event_validate_size)
_LONGEST_PATH = 4096  # characters (PATH_MAX, include/uapi/linux/limits.h)
_MOST_FOLDERS = 4_000_000  # parts of all paths, each of which may be a folder; 1,024 CPUs have a ninth
_MOST_LINES: Final = 1 << 18
"""Lines of a file, each of which may become objects: /proc/cpuinfo has 28 a CPU, of which Linux has 8,192 on x86."""
_LONGEST_LINE: Final = 1 << 20
"""Bytes of a line, each word of which may become objects: 8,192 CPUs have 90 kB in a row of /proc/interrupts."""
_NUMBERS: Final = {name: number for number, name in errno.errorcode.items()}
_WORDS_OF_ATTR: Final = tuple(field.name for field in fields(PerfAttr))
_OPENED = "opened"
T = TypeVar("T")


def documents_of(machine: Gathered, changed: Mapping[str, int] = MappingProxyType({})) -> dict[str, bytes]:
    """Return the files of an archive; `about.json` names what cannot be a file under its own path.

    Args:
        changed: the number of removals in each file.
    """
    left_out = dict(machine.left_out)
    files = {}
    for path, data in machine.files.items():
        if path.startswith("/") and posixpath.normpath(path) == path:
            files[ROOT + path] = data
        else:
            left_out[path] = "its path is no plain one"
    rights = machine.rights
    about = {
        "format": FORMAT, "turbotui": machine.version, "time": machine.time, "kind": machine.origin.value,
        "rights": {"uid": rights.uid, "capabilities": hex(rights.capabilities), "perf_paranoid": rights.perf_paranoid,
                   "descriptors": None if rights.descriptors is None else list(rights.descriptors),
                   "namespaces": dict(rights.namespaces), "outer_uid": rights.outer_uid,
                   "seccomp": rights.seccomp, "no_new_privs": rights.no_new_privs,
                   "renumbered": rights.renumbered},
        "usable_cpus": None if machine.usable is None else format_cpulist(machine.usable),
        "left_out": left_out, "scrubbed": {path: count for path, count in sorted(changed.items()) if count},
    }
    folders = {"folders": {path: list(names) for path, names in sorted(machine.folders.items())},
               "present": sorted(machine.present), "absent": sorted(machine.absent),
               "errors": {path: _name(number) for path, number in sorted(machine.errors.items())}}
    for name, value in ((_ABOUT, about), (_FOLDERS, folders), (_DEVICES, _device_rows(machine.words)),
                        (_COUNTERS, _counter_rows(machine.counters))):
        files[name] = (json_text(value, indent=1) + "\n").encode()
    return files


def removals_in(documents: Mapping[str, bytes]) -> Mapping[str, int]:
    """The number of removals in each file of an archive, by its path; files of turbotui 0.4 do not tell.

    Raises:
        GatheredError: the document holds something else.
    """
    about = _Json(_ABOUT, _parsed(documents, _ABOUT))
    if not about.has("scrubbed"):
        return {}
    scrubbed = about.inner("scrubbed")
    return {in_cell(path): scrubbed.of(path, int) for path in scrubbed.table}


def _device_rows(words: Mapping[str, Mapping[int, Answer]]) -> list[dict[str, object]]:
    """Return a row for each offset of a device; CPUs with equal answers share an answer."""
    rows: dict[tuple[str, str], defaultdict[str, set[int]]] = {}
    for path, answers in words.items():
        match = _CPU_DEVICE.match(path)
        group, cpu = (path, 0) if match is None else (f"/dev/cpu/*/{match[2]}", integer(match[1]))
        rows.setdefault((group, _OPENED), defaultdict(set))[""].add(cpu)
        for offset, answer in answers.items():
            text = _name(answer) if isinstance(answer, int) else answer.hex()
            rows.setdefault((group, hex(offset)), defaultdict(set))[text].add(cpu)
    return [{"path": path, "at": at, "answers": {text: format_cpulist(cpus) for text, cpus in answers.items()}}
            for (path, at), answers in rows.items()]


def _counter_rows(counters: Mapping[OpenAttempt, int]) -> dict[str, object]:
    """Return the tried events, and for each, with the events before it in its group, the CPUs by answer."""
    events: dict[PerfAttr, int] = {}
    rows: dict[tuple[int, ...], defaultdict[str, set[int]]] = {}
    for (attr, beside, cpu), number in counters.items():
        key = tuple(events.setdefault(member, len(events)) for member in (*beside, attr))
        rows.setdefault(key, defaultdict(set))[_name(number)].add(cpu)
    return {
        "events": [{name: hex(getattr(event, name)) for name in _WORDS_OF_ATTR if getattr(event, name)}
                   for event in events],
        "tried": [{"event": key[-1], "beside": list(key[:-1]),
                   "answers": {text: "any" if -1 in cpus else format_cpulist(cpus) for text, cpus in answers.items()}}
                  for key, answers in rows.items()],
    }


def _name(number: int) -> str:
    return errno.errorcode.get(number, f"E{number}") if number else "OK"


def read_gathered(path: str) -> tuple[Gathered, Mapping[str, bytes]]:
    """Read a gathered machine, and the other documents in its file by name.

    Raises:
        MachineError: the file cannot be read, or is no gathered machine; the sentence names the file.
    """
    try:
        return parse_gathered(read_given(path, LARGEST).data)
    except GivenFileError as error:
        raise MachineError(f"the gathered machine {path} cannot be read: {error.why}") from error
    except GatheredError as error:
        raise MachineError(f"{path} is not a machine that turbotui gather wrote: {error}") from error


def parse_gathered(packed: bytes) -> tuple[Gathered, Mapping[str, bytes]]:
    """Parse a gathered machine, and the other documents, from the bytes of its file.

    Raises:
        GatheredError: the bytes are no gathered machine.
    """
    files = unpack(packed)
    about = _Json(_ABOUT, _parsed(files, _ABOUT))
    if (number := about.of("format", int)) != FORMAT:
        raise GatheredError(f"its format is {number}, and this turbotui reads format {FORMAT}")
    folders, counters = (_Json(name, _parsed(files, name)) for name in (_FOLDERS, _COUNTERS))
    rights = about.inner("rights")
    try:
        machine = Gathered(
            origin=HostKind(about.of("kind", str)),
            time=about.of("time", str),
            version=about.of("turbotui", str),
            rights=_rights(rights),
            usable=None if about.value("usable_cpus") is None else parse_cpulist(about.of("usable_cpus", str)),
            files={name.removeprefix(ROOT): data for name, data in files.items()
                   if name.startswith(f"{ROOT}/")},
            folders={in_cell(path): _names(names) for path, names in folders.inner("folders").table.items()},
            present=frozenset(_names(folders.value("present"))),
            absent=frozenset(_names(folders.value("absent"))),
            errors={in_cell(path): _number(_word(word)) for path, word in folders.inner("errors").table.items()},
            words=_words(_parsed(files, _DEVICES)),
            counters=_attempts(counters),
            left_out={path: _word(why) for path, why in about.inner("left_out").table.items()},
        )
    except (ValueError, KeyError, IndexError) as error:
        raise GatheredError(f"what it says of the machine cannot be read ({error})") from error
    paths = (*machine.files, *machine.folders, *machine.present, *machine.words)
    if max(map(len, paths), default=0) > _LONGEST_PATH:
        raise GatheredError(f"it names a path of more than {_LONGEST_PATH} characters")
    if sum(path.count("/") for path in paths) > _MOST_FOLDERS:
        raise GatheredError(f"its paths have more than {_MOST_FOLDERS} parts")
    for path, data in machine.files.items():
        if data.count(b"\n") > _MOST_LINES:
            raise GatheredError(f"{path} in it has more than {_MOST_LINES:,} lines")
        if len(data) > _LONGEST_LINE and max(map(len, data.split(b"\n"))) > _LONGEST_LINE:
            raise GatheredError(f"{path} in it has a line of more than {_LONGEST_LINE:,} bytes")
    return machine, {name: data for name, data in files.items() if not name.startswith(f"{ROOT}/")}


def _words(devices: object) -> dict[str, dict[int, Answer]]:
    by_path: dict[str, dict[int, Answer]] = {}
    total = 0
    for row in _rows(devices, _DEVICES):
        path, at = in_cell(row.of("path", str)), row.of("at", str)
        several = _CPUS_OF.match(path)
        for text, cpus in row.inner("answers").table.items():
            numbers = sorted(parse_cpulist(_word(cpus)))
            total += len(numbers)
            if total > _MOST:
                raise GatheredError(f"it holds more than {_MOST} words of devices")
            answer: Answer = _number(text) if _ERRNO.match(text) else bytes.fromhex(text)
            for cpu in numbers:
                words = by_path.setdefault(path if several is None else f"/dev/cpu/{cpu}/{several[1]}", {})
                if at != _OPENED:
                    words[hexadecimal(at)] = answer
    return by_path


def _attempts(counters: _Json) -> dict[OpenAttempt, int]:
    events = [_attr(event) for event in _rows(counters.value("events"), _COUNTERS)]
    attempts: dict[OpenAttempt, int] = {}
    total = 0
    for row in _rows(counters.value("tried"), _COUNTERS):
        attr = _at(events, row.of("event", int))
        beside = tuple(_at(events, number) for number in row.numbers("beside"))
        if len(beside) > _MOST_BESIDE:
            raise GatheredError(f"it holds a group of more than {_MOST_BESIDE} events")
        for text, cpus in row.inner("answers").table.items():
            where = (-1,) if cpus == "any" else sorted(parse_cpulist(_word(cpus)))
            total += len(where)
            if total > _MOST:
                raise GatheredError(f"it holds more than {_MOST} counters")
            attempts.update(dict.fromkeys((OpenAttempt(attr, beside, cpu) for cpu in where), _number(text)))
    return attempts


def _at(events: list[PerfAttr], number: int) -> PerfAttr:
    if number < 0:
        raise IndexError(number)
    return events[number]


def _attr(event: _Json) -> PerfAttr:
    words = {name: hexadecimal(_word(value)) for name, value in event.table.items()}
    if words.keys() - set(_WORDS_OF_ATTR):
        raise ValueError("an event has a word that perf_event_attr has not")
    return PerfAttr(**{"type": 0, "config": 0, "read_format": 0, **words})


def _number(name: str) -> int:
    """Return the errno of a name, 0 for "OK"; "E" and a number stand for one without a name in Python.

    Raises:
        ValueError: the text is neither.
    """
    if name == "OK":
        return 0
    return _NUMBERS[name] if name in _NUMBERS else integer(name.removeprefix("E"))


def _word(value: object) -> str:
    return _of(str, value, "a value in it")


def _names(value: object) -> tuple[str, ...]:
    return tuple(in_cell(_word(word)) for word in _of(list, value, "a value in it"))


def _rights(rights: _Json) -> Privileges:
    """Parse the rights, the later ones of which files of earlier versions lack."""
    spaces = rights.inner("namespaces") if rights.has("namespaces") else None
    return Privileges(
        rights.of("uid", int), hexadecimal(rights.of("capabilities", str)), rights.optional_number("perf_paranoid"),
        rights.pair("descriptors") if rights.value("descriptors") is not None else None,
        {} if spaces is None else {kind: spaces.of(kind, int) for kind in NAMESPACES if spaces.has(kind)},
        rights.optional_number("outer_uid") if rights.has("outer_uid") else None,
        *(rights.has(name) and bool(rights.value(name)) for name in ("seccomp", "no_new_privs", "renumbered")),
    )


class _Json:
    """A table of a JSON file, whose parts are read by name and type; another type is a `GatheredError`."""

    def __init__(self, name: str, table: object) -> None:
        self._name = name
        self.table: Mapping[str, object] = _of(dict, table, name)

    def has(self, key: str) -> bool:
        return self.table.get(key) is not None

    def value(self, key: str) -> object:
        if key not in self.table:
            raise GatheredError(f'{self._name} does not say "{key}"')
        return self.table[key]

    def of(self, key: str, kind: type[T]) -> T:
        return _of(kind, self.value(key), f'"{key}" of {self._name}')

    def inner(self, key: str) -> _Json:
        return _Json(self._name, self.of(key, dict))

    def optional_number(self, key: str) -> int | None:
        return None if self.value(key) is None else self.of(key, int)

    def numbers(self, key: str) -> list[int]:
        return [_of(int, item, f'a value of "{key}" of {self._name}') for item in self.of(key, list)]

    def pair(self, key: str) -> tuple[int, int]:
        first, second = self.numbers(key)
        return first, second


def _rows(value: object, name: str) -> list[_Json]:
    return [_Json(name, row) for row in _of(list, value, name)]


def _parsed(files: Mapping[str, bytes], name: str) -> object:
    if name not in files:
        raise GatheredError(f"it has no {name}")
    try:
        return parse_json(files[name])
    except DocumentError as error:
        raise GatheredError(f"{name}: {error}") from error


def _of(kind: type[T], value: object, what: str) -> T:
    if not isinstance(value, kind):
        raise GatheredError(f"{what} is no {_KINDS[kind]}")
    return value


_KINDS: Final[Mapping[type, str]] = {dict: "table", list: "list", int: "number", str: "text"}
