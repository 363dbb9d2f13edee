"""Parses the HTTP/1.1 requests (RFC 9112) that a page of metrics needs: GET and HEAD, no body, one answer."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.dataclass import dataclass

MOST_HEAD: Final = 16_384
"""The most bytes of a request; Prometheus sends 400."""
_MOST_FIELDS: Final = 64
_LINE: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}) (/[\x21-\x7e]*) HTTP/1\.([01])")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}):[ \t]*([\x21-\x7e\x80-\xff \t]*)")
_METHODS: Final = frozenset({"GET", "HEAD"})


class RefusedError(Exception):
    """A request was refused.

    Args:
        penalty: seconds after which the answer is sent.
    """

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None,
                 penalty: float = 0.0) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = headers or {}
        self.penalty = penalty


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A parsed request."""

    method: str  # GET or HEAD
    path: str  # the path without the query
    fields: Mapping[str, str]  # header fields, in lower case
    # the ends of its connection, addresses and ports
    peer: tuple[str, int] = ("", 0)
    own: tuple[str, int] = ("", 0)

    @property
    def host(self) -> str:
        """The Host field in lower case without the port; "" if there is none."""
        value = self.fields.get("host", "").lower()
        return value[1:].partition("]")[0] if value.startswith("[") else value.partition(":")[0]

    def takes(self, content_type: str) -> bool:
        """Tell whether Accept names a type (RFC 9110, 12.5.1) with a weight other than 0."""
        return content_type in _listed(self.fields.get("accept", ""))

    @property
    def takes_gzip(self) -> bool:
        """Whether the answer may be compressed by gzip."""
        return "gzip" in _listed(self.fields.get("accept-encoding", ""))


def _listed(text: str) -> Sequence[str]:
    listed = []
    for item in text.lower().split(","):
        name, *parameters = (part.strip() for part in item.split(";"))
        if not any(parameter.replace(" ", "") in {"q=0", "q=0.0", "q=0.00", "q=0.000"} for parameter in parameters):
            listed.append(name)
    return listed


def parse_request(head: bytes) -> HttpRequest:
    """Parse a request from its bytes up to the empty line.

    Raises:
        RefusedError: the bytes are no request, or the request has another method or a body.
    """
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    if (match := _LINE.fullmatch(first)) is None:
        raise RefusedError(400, "this is no request of HTTP/1.1")
    method, target, minor = match[1].decode(), match[2].decode(), match[3]
    if method not in _METHODS:
        raise RefusedError(405, "metrics can be read, and nothing else: GET or HEAD", {"Allow": "GET, HEAD"})
    fields: dict[str, str] = {}
    if len(lines) > _MOST_FIELDS:
        raise RefusedError(431, f"more than {_MOST_FIELDS} header fields")
    for line in lines:
        if (field := _FIELD.fullmatch(line)) is None:
            raise RefusedError(400, "a header field is not written as RFC 9112 has it")
        name = field[1].decode().lower()
        if name in fields and name in {"host", "authorization", "content-length"}:
            raise RefusedError(400, f"the header field {name} is there twice")
        fields[name] = field[2].decode("latin-1").strip()
    if "transfer-encoding" in fields or fields.get("content-length", "0") != "0":
        raise RefusedError(400, "a request for metrics has no body")
    if minor == b"1" and not fields.get("host"):
        raise RefusedError(400, "the header field Host is missing")
    return HttpRequest(method, target.partition("?")[0], fields)


def check_host(name: str, known: frozenset[str]) -> None:
    """Refuse a request whose Host field is neither an address nor one of this server's names.

    A page in a browser can have its own name point to this machine (DNS rebinding), but not an address.

    Args:
        name: the Host field's name; "" if an HTTP/1.0 client sent none.
        known: this server's names, in lower case.

    Raises:
        RefusedError: the request has another name.
    """
    if not name or name.rstrip(".") in known:
        return
    try:
        ipaddress.ip_address(name)
    except ValueError:
        raise RefusedError(421, f"the name {name} is not known here: --allow-host makes it known") from None
