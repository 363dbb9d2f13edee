"""Queries a server by the HTTP API of Prometheus, which VictoriaMetrics, Mimir and Thanos have, too.

https://prometheus.io/docs/prometheus/latest/querying/api/ (stable, version 1). Every error is one sentence that names
the server, its answer, and what to do.
"""

from __future__ import annotations

import base64
import http.client
import socket
import ssl
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from turbotui import __version__
from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError, UsageError
from turbotui.features.fleet.timed_connection import Deadline, TimedConnection
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.quantities.documents import DocumentError, parse_json
from turbotui.quantities.plain_numbers import decimal_number, whole_number
from turbotui.untrusted import in_cell, one_line, visible

LARGEST: Final = 64 << 20
"""The most bytes of an unpacked answer."""
_PIECE: Final = 1 << 16
_SAID: Final = 200
_LAST_SECOND: Final = 1e11  # since 1970, in the year 5138; NaN and integers too large for a float are beyond it, too
"""The most characters that are quoted of a server's message."""


class ServerError(TurbotuiError):
    """The server did not answer, or gave an invalid answer; the message is one sentence."""

    exit_status = 3


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """A server's address and credentials."""

    url: str  # "https://prometheus:9090", with the path before /api/v1 where there is one ("/prometheus" of Mimir)
    authorization: str = ""  # the value of the header; "" for none
    tenant: str = ""  # the value of Mimir's X-Scope-OrgID; "" for none
    authority: str = ""  # file of certificates (PEM) to trust instead of the system's; "" for the system's
    timeout: float = 10.0  # the most seconds for each answer, from the name's look-up to the last byte


@dataclass(frozen=True, slots=True)
class AnsweredSeries:
    """A series of an answer."""

    labels: Mapping[str, str]  # the labels, with control characters made visible
    values: Sequence[tuple[float, float]]  # pairs of seconds since 1970 and value, without values that are not finite


@dataclass(frozen=True, slots=True)
class SeriesAnswer:
    """An answer of a server."""

    result: Sequence[AnsweredSeries]
    notes: tuple[str, ...]  # the server's warnings, and whether results are partial
    sent: int  # bytes received over the network
    unpacked: int  # bytes of JSON


def bearer(path: str) -> str:
    """Return the Authorization header for a token in a file. Raises UsageError if it cannot be read."""
    return f"Bearer {_secret(path)}"


def basic(user: str, path: str) -> str:
    """Return the Authorization header for a user and a password in a file (RFC 7617).

    Raises:
        UsageError: it cannot be read.
    """
    return f"Basic {base64.b64encode(f'{user}:{_secret(path)}'.encode()).decode('ascii')}"


def _secret(path: str) -> str:
    try:
        text = read_given(path).text().strip()
    except GivenFileError as error:
        raise UsageError(f"{path}: {error.why}") from error
    if not text or any(ord(letter) < 0x21 or ord(letter) > 0x7E for letter in text):
        raise UsageError(f"{path}: one line of printable ASCII without blanks is expected there")
    return text


class Server:
    """A server that answers one query at a time, each over a new connection.

    Raises:
        UsageError: the URL is invalid, or the file of certificates cannot be used.
    """

    def __init__(self, access: ServerAccess) -> None:
        try:
            parts = urllib.parse.urlsplit(access.url)
            self._port = parts.port
        except ValueError as error:
            raise UsageError(f'"{one_line(visible(access.url))}" is no URL: {error}') from error
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError(f'"{one_line(visible(access.url))}" is no URL of a server: http://HOST:9090 is one')
        if parts.username is not None or parts.password is not None:
            raise UsageError("the URL holds a password, which every process list would show: leave it out, and give "
                             "--user and --password-file")
        self._host, self._path = parts.hostname, parts.path.rstrip("/").removesuffix("/api/v1")
        self._access = access
        self._context = _context(access.authority) if parts.scheme == "https" else None
        self._method = "POST"
        self.name = f"{parts.scheme}://{parts.netloc}{self._path}"

    def instant(self, query: str, at: float | None = None) -> SeriesAnswer:
        """Return the value of every series of a PromQL query at a moment (seconds since 1970; None for now).

        Raises:
            ServerError: there is no answer.
        """
        return self._ask("query", {"query": query, **({} if at is None else {"time": f"{at:.0f}"})}, "vector")

    def over(self, query: str, start: float, end: float, step: float) -> SeriesAnswer:
        """Return the values of every series of a query over a time.

        Args:
            start: seconds since 1970.
            end: likewise, included.
            step: seconds between two values.

        Raises:
            ServerError: there is no answer.
        """
        words = {"query": query, "start": f"{start:.0f}", "end": f"{end:.0f}", "step": f"{max(1.0, step):.0f}"}
        return self._ask("query_range", words, "matrix")

    def _ask(self, what: str, words: Mapping[str, str], kind: str) -> SeriesAnswer:
        deadline = Deadline(self._access.timeout)
        status, data, sent = self._fetch(what, words, deadline)
        if status in {404, 405, 501} and self._method == "POST":  # a proxy that allows no POST
            self._method = "GET"
            status, data, sent = self._fetch(what, words, deadline)
        return parse_answer(self.name, status, data, sent, kind)

    def _fetch(self, what: str, words: Mapping[str, str], deadline: Deadline) -> tuple[int, bytes, int]:
        """Return the status, the unpacked content, and its bytes on the network."""
        path, form = f"{self._path}/api/v1/{what}", urllib.parse.urlencode(words)
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip", "User-Agent": f"turbotui/{__version__}"}
        if self._access.authorization:
            headers["Authorization"] = self._access.authorization
        if self._access.tenant:
            headers["X-Scope-OrgID"] = self._access.tenant
        connection = TimedConnection(self._host, self._port, self._context, deadline)
        try:
            if self._method == "GET":
                connection.request("GET", f"{path}?{form}", headers=headers)
            else:
                headers["Content-Type"] = "application/x-www-form-urlencoded"
                connection.request("POST", path, form, headers)
            with connection.getresponse() as response:
                data, sent = _content(response, self.name)
        except (OSError, http.client.HTTPException, zlib.error) as error:
            raise ServerError(f"{self.name} {_in_words(error, self._access.timeout)}") from error
        finally:
            connection.close()
        if 300 <= response.status < 400:
            where = one_line(visible(response.getheader("Location") or "elsewhere"))
            raise ServerError(f"{self.name} sends on to {where[:_SAID]}: give the URL that answers itself")
        return response.status, data, sent


def _context(authority: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authority or None)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"--ca {authority}: {getattr(error, 'strerror', None) or error}") from error


def _content(response: http.client.HTTPResponse, name: str) -> tuple[bytes, int]:
    """Return a server's unpacked content, and its bytes on the network.

    Raises:
        ServerError: the content is too long, or not as long as the server says.
    """
    packed = (response.getheader("Content-Encoding") or "").strip().lower() == "gzip"
    unpack = zlib.decompressobj(wbits=31)  # zlib(3): a gzip stream
    parts, sent, size = list[bytes](), 0, 0
    length = _length(response, name)
    while piece := response.read1(_PIECE):
        sent += len(piece)
        text = unpack.decompress(piece, LARGEST - size + 1) if packed else piece
        parts.append(text)
        size += len(text)
        if size > LARGEST:
            raise ServerError(f"{name} answers more than {LARGEST >> 20} MB: ask for fewer nodes (--select)")
    if length is not None and sent < length:  # read1 reports the end of the connection as the end of the content
        raise ServerError(f"{name} ends its answer after {sent:,} of {length:,} bytes (Content-Length)")
    return b"".join(parts), sent


def _length(response: http.client.HTTPResponse, name: str) -> int | None:
    """Return the number of bytes that a server is going to send; None if it does not say.

    Raises:
        ServerError: the number is none.
    """
    stated = None if response.chunked else response.getheader("Content-Length")
    if stated is None:
        return None
    length = whole_number(stated.strip())
    if length is None:
        shown = one_line(visible(stated))[:_SAID]
        raise ServerError(f'{name} answers without a valid length (Content-Length: "{shown}")')
    return length


def _in_words(error: Exception, timeout: float) -> str:
    """Describe a failure of the connection, as the end of a sentence."""
    if isinstance(error, TimeoutError):
        return f"did not answer within {timeout:g} s: it is overloaded, or something on the way drops packets"
    if isinstance(error, ConnectionRefusedError):
        return "refuses the connection: no server listens there"
    if isinstance(error, socket.gaierror):
        return "has a name that is not known here: nothing was connected"
    if isinstance(error, ssl.SSLCertVerificationError):
        return (f"has a certificate that is not trusted ({one_line(visible(error.verify_message))}): "
                "--ca FILE names the authority that signed it")
    if isinstance(error, ssl.SSLError):
        return f"speaks no TLS that is understood ({one_line(visible(error.reason or str(error)))}): http:// perhaps?"
    if isinstance(error, ConnectionError | http.client.RemoteDisconnected | http.client.IncompleteRead):
        return "broke the connection off while it answered"
    if isinstance(error, http.client.HTTPException):
        return f"speaks no HTTP that is understood ({type(error).__name__}): https:// perhaps?"
    if isinstance(error, zlib.error):
        return "sent a damaged answer (gzip)"
    return f"cannot be reached: {one_line(visible(getattr(error, 'strerror', None) or str(error)))}"


_STATUS: Final[Mapping[int, str]] = {
    401: "wants to know who asks: --bearer-file FILE, or --user NAME with --password-file FILE",
    403: "does not let this user ask",
    404: "has no /api/v1/query: the URL lacks a path, as /prometheus or /select/0/prometheus",
    429: "was asked too often",
    502: "is a proxy whose server does not answer",
    503: "is not ready, or overloaded",
    504: "is a proxy whose server does not answer in time",
}


def parse_answer(name: str, status: int, data: bytes, sent: int, kind: str) -> SeriesAnswer:
    """Parse the bytes of a server's answer to a query of a kind, "vector" or "matrix".

    Raises:
        ServerError: the data is no valid answer.
    """
    try:
        document = parse_json(data)
    except DocumentError as error:
        if status != http.client.OK:
            raise ServerError(_refused(name, status, "")) from error
        raise ServerError(f"{name} answered no JSON that can be used ({error}): is it a server of Prometheus' API?"
                          ) from error
    if not isinstance(document, dict):
        raise ServerError(f"{name} answered JSON of another kind: is it a server of Prometheus' API?")
    if status != http.client.OK or document.get("status") != "success":
        reason = one_line(str(document.get("error") or document.get("message") or ""))[:_SAID]
        raise ServerError(_refused(name, status, reason))
    inner = document.get("data")
    if not isinstance(inner, dict) or inner.get("resultType") != kind or not isinstance(inner.get("result"), list):
        raise ServerError(f"{name} answered no {kind} of values: is it a server of Prometheus' API?")
    warnings = document.get("warnings")
    notes = tuple(one_line(str(text))[:_SAID] for text in warnings) if isinstance(warnings, list) else ()
    if document.get("isPartial") is True:  # VictoriaMetrics, docs/cluster-victoriametrics "isPartial"
        notes = (*notes, "the answer is partial: some of the server's storage did not answer")
    return SeriesAnswer(tuple(_series(inner["result"])), notes, sent, len(data))


def _series(result: Iterable[Any]) -> Iterator[AnsweredSeries]:
    for entry in result:
        metric = entry.get("metric") if isinstance(entry, dict) else None
        if isinstance(metric, dict):
            labels = {in_cell(key): in_cell(str(value)) for key, value in metric.items()}
            pairs = entry["values"] if isinstance(entry.get("values"), list) else [entry.get("value")]
            yield AnsweredSeries(labels, tuple(filter(None, map(_point, pairs))))


def _point(pair: object) -> tuple[float, float] | None:
    """Parse a time and a number, which the API writes as text; None if not a finite number."""
    if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], int | float):
        return None
    value = decimal_number(pair[1]) if isinstance(pair[1], str) else None
    return (float(pair[0]), value) if value is not None and abs(pair[0]) <= _LAST_SECOND else None


def _refused(name: str, status: int, reason: str) -> str:
    meaning = _STATUS.get(status, "" if reason else "did not do what was asked")
    words = " ".join(filter(None, (meaning, f"({reason})" if reason and meaning else reason and f"says: {reason}")))
    return f"{name} {words} (HTTP {status})" if status != http.client.OK else f"{name} {words}"


