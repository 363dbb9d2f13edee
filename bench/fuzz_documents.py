"""Fuzzes what else comes from outside as a whole: archives, answers, event tables, web configs, terminals, requests.

`python -m bench.fuzz_documents --count 100000 --seed 1 [KIND ...]` takes well-formed documents of each kind and changes
them: a value of their JSON, or bytes; the checksums and frames around are right. The rules are those of bench.fuzz,
whose inputs are recordings.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.fuzz import MEMORY, change_value, changed_bytes, run
from turbotui.app.settings import parse_settings
from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError
from turbotui.events.event_tables.pmu_events import document_of, rows_of
from turbotui.features.export.live.requests import RefusedError, parse_request
from turbotui.features.export.live.web_config import read_access
from turbotui.features.fleet.server import parse_answer
from turbotui.machine.gathered.archive import GatheredError, pack, unpack
from turbotui.machine.gathered.documents import parse_gathered
from turbotui.machine.gathered.host import GatheredHost
from turbotui.machine.machine import read_machine
from turbotui.terminal.sequences import InputSequences

ROOT: Final = Path(__file__).parents[1]
_OK: Final = 200
_BOMBS: Final = 0.002
"""The share of documents of JSON with millions of values, or levels without end."""
_VECTOR: Final = {
    "status": "success", "warnings": ["one"], "data": {"resultType": "vector", "result": [
        {"metric": {"instance": "node7:9177", "cpu": "3"}, "value": [1_700_000_000.5, "12.5"]},
        {"metric": {}, "value": [1_700_000_000, "NaN"]}]},
}
_MATRIX: Final = {
    "status": "success", "isPartial": True, "data": {"resultType": "matrix", "result": [
        {"metric": {"instance": "a"}, "values": [[1_700_000_000 + at, str(at)] for at in range(5)]}]},
}
_REFUSAL: Final = {"status": "error", "errorType": "bad_data", "error": "invalid parameter"}
_EVENTS: Final = [
    {"EventName": "A.B", "EventCode": "0x3c", "UMask": "0x1", "BriefDescription": "one", "SampleAfterValue": "1"},
    {"MetricName": "IPC", "MetricExpr": "A / B", "MetricGroup": "x;y", "ScaleUnit": "1per_cycle"},
]
_WEB: Final = (
    b"basic_auth_users:\n  ann: $2b$04$c0SuML1dwvl4Ssh0qJXDFeTvwAjgJ4YEnQySV/iJMZxABe6pI9R1y\n",
    b"tls_server_config:\n  cert_file: a\n  key_file: b\n  client_auth_type: RequireAndVerifyClientCert\n",
    b"http_server_config:\n  http2: true\n  headers:\n    X-Frame-Options: deny\n",
)
_YAML: Final = (b"&a", b"*a", b"<<: ", b"!!python/object:os.system ", b"{", b"[", b"- ", b": ", b"? ", b"|\n", b"0x",
                b"~", b"null", b"false", b"2001-01-01", b"\n", b"  ", b"'", b'"', b"#", b'"\\U0011FFFF"', b'"\\x41"',
                b"%YAML 1.2\n---\n")
_INPUT: Final = (b"\x1b[A", b"\x1bOP", b"\x1b[1;5C", b"\x1b[200~text\x1b[201~", b"\x1b[<0;10;10M", b"\x1b[?62;22c",
                 b"\x1bP>|xterm(390)\x1b\\", b"\x1b]10;rgb:ff/ff/ff\x07", b"\x1b_Gi=1;OK\x1b\\", b"\x9b5n", b"q",
                 "é".encode())
_REQUEST: Final = (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain;q=0.5\r\n"
                   b"Authorization: Basic YTpi\r\n\r\n")


@dataclass(frozen=True, slots=True)
class DocumentKind:
    """A kind of document.

    Attributes:
        make: a changed document, by chance.
        read: everything that is read of it.
        refusals: how it is refused.
    """

    make: Callable[[random.Random], bytes]
    read: Callable[[bytes], object]
    refusals: tuple[type[Exception], ...] = (TurbotuiError,)


def _json(*documents: object) -> Callable[[random.Random], bytes]:
    texts = [json.dumps(document) for document in documents]

    def make(chance: random.Random) -> bytes:
        text = chance.choice(texts)
        if chance.random() < _BOMBS:
            return _bomb(chance, text).encode()
        if chance.random() < 0.4:
            return changed_bytes(chance, text.encode())
        document = json.loads(text)
        for _ in range(chance.randrange(1, 4)):
            change_value(chance, document)
        return json.dumps(document).encode()

    return make


def _bomb(chance: random.Random, text: str) -> str:
    """A document with a part that is very wide or very deep, and small when it is compressed."""
    wide, deep = chance.choice(("[],", "{},", '"",', "0,")) * 3_000_000, chance.choice((60, 70, 2_000, 100_000))
    part = f"[{wide}0]" if chance.random() < 0.5 else "[" * deep + "]" * deep
    at = chance.choice([at for at, letter in enumerate(text) if letter in "[:"])
    joined = "," if text[at] == "[" else ',"a":'
    return f"{text[: at + 1]}{part}{joined}{text[at + 1 :]}"


def _archive(chance: random.Random) -> bytes:
    """The files of a gathered machine, of which some are changed."""
    files = dict(_gathered())
    for _ in range(chance.randrange(1, 4)):
        names = [name for name in files if name.endswith(".json")] if chance.random() < 0.7 else list(files)
        name = chance.choice(names)
        files[name] = _json(json.loads(files[name]))(chance) if name.endswith(".json") and (
            _is_json(files[name])) else changed_bytes(chance, files[name])
    packed = pack(files)[0]
    return changed_bytes(chance, packed) if chance.random() < 0.1 else packed


def _is_json(data: bytes) -> bool:
    """Tell whether a document is one, and no bomb of an earlier change, whose objects would count as the reader's."""
    try:
        return len(data) < _LARGE and json.loads(data) is not None
    except (ValueError, RecursionError):
        return False


_LARGE: Final = 1 << 20
_KEPT: Final[dict[str, bytes]] = {}


def _gathered() -> Mapping[str, bytes]:
    if not _KEPT:
        _KEPT.update(unpack((ROOT / "tests/machines/guest-2cpu.tar.gz").read_bytes()))
    return _KEPT


def _read_gathered(data: bytes) -> None:
    machine, _files = parse_gathered(data)
    read_machine(GatheredHost(machine, "fuzzed"))


def _pieces(examples: Sequence[bytes], words: Sequence[bytes]) -> Callable[[random.Random], bytes]:
    """Examples in which words are put, or bytes are changed."""

    def make(chance: random.Random) -> bytes:
        text = chance.choice(examples)
        for _ in range(chance.randrange(1, 6)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(words) + text[at + chance.randrange(6):]
        return changed_bytes(chance, text) if chance.random() < 0.3 else text

    return make


def _by_file(read: Callable[[str], object]) -> Callable[[bytes], object]:
    def opened(data: bytes) -> object:
        memory = os.memfd_create("fuzz", os.MFD_CLOEXEC)
        try:
            os.write(memory, data)
            return read(f"/proc/self/fd/{memory}")
        finally:
            os.close(memory)

    return opened


def _typed(data: bytes) -> None:
    sequences = InputSequences()
    units = [unit for at in range(0, len(data), 7) for unit in sequences.feed(data[at:at + 7])] + sequences.expire()
    if sum(map(len, units)) > 2 * len(data) + 16:
        raise AssertionError("a terminal's input became longer")


def _settings() -> Callable[[random.Random], bytes]:
    example = (ROOT / "docs/settings.example.toml").read_bytes()
    return _pieces([example], (b"[", b"]", b"=", b'"', b"'", b"{", b"}", b"a.b", b"1e400", b"nan", b"0x", b"\n",
                               b"\xff", b"[[x]]"))


KINDS: Final[Mapping[str, DocumentKind]] = {
    "gathered": DocumentKind(_archive, _read_gathered, (TurbotuiError, GatheredError)),
    "answers": DocumentKind(_json(_VECTOR, _MATRIX, _REFUSAL), lambda data: [
        list(parse_answer("here", _OK, data, len(data), kind).result) for kind in ("vector", "matrix")]),
    "tables": DocumentKind(_json(_EVENTS), _by_file(lambda path: rows_of(document_of(path), path))),
    "web-config": DocumentKind(_pieces(_WEB, _YAML), _by_file(read_access)),
    "settings": DocumentKind(_settings(), lambda data: parse_settings(
        data.decode("utf-8", "replace"), "settings.toml")),
    "input": DocumentKind(_pieces([b"".join(_INPUT), b"abc"], (
        *_INPUT, b"\x1b", b"\x1b[", b"\x1bP", b"\x9c", b"\x18")), _typed),
    "requests": DocumentKind(_pieces([_REQUEST], (
        b"\r\n", b":", b" ", b"\0", b"HEAD", b"Host: a\r\n", b"\xff", b"HTTP/1.0")), parse_request, (RefusedError,)),
}


def faults(kind: str, count: int, seed: int) -> dict[str, tuple[int, str]]:
    """Read this many documents of a kind, as `bench.fuzz.run`."""
    document = KINDS[kind]
    return run(count, lambda number: document.make(random.Random(seed << 40 | number)),
               read=lambda data, _number: document.read(data), refusals=document.refusals)


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz_documents", description=__doc__)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all by default")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    total = 0
    for kind in arguments.kinds or KINDS:
        failures = faults(kind, arguments.count, arguments.seed)
        print(f"{kind}: {arguments.count:,} inputs: {len(failures)} faults", flush=True)
        total += len(failures)
    return min(total, 100)


if __name__ == "__main__":
    sys.exit(main())
