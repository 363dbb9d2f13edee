"""TLS and passwords (RFC 7617) by the web config file of Prometheus and its exporters: --web-config.

The format: https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md. Settings that are
unknown here, empty, or beyond OpenSSL, are refused by name, so that nobody believes in a protection that is absent.
YAML is read without its types (`yaml.BaseLoader`): a value is text, a list or a table, and means what the file's format
says of it.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import bcrypt
import yaml

from turbotui.errors import TurbotuiError
from turbotui.features.export.live.clients import Clients
from turbotui.features.export.live.fair_queue import FairQueue
from turbotui.features.export.live.requests import HttpRequest, RefusedError
from turbotui.features.export.live.scrape_server import Access
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.linux import LinuxHost
from turbotui.quantities.plain_numbers import integer
from turbotui.untrusted import in_cell, visible

_HASH: Final = re.compile(r"\$2[aby]\$(0[4-9]|1[0-2])\$[./A-Za-z0-9]{53}")
"""Hashes of bcrypt that take at most 0.2 s of CPU time (of a Xeon of 2023; one of cost 15 takes 1.6 s)."""
_NOBODY: Final = "$2b${:02}$c0SuML1dwvl4Ssh0qJXDFeTvwAjgJ4YEnQySV/iJMZxABe6pI9R1y"
"""A hash that is tried for unknown users, so that they wait as long as known ones."""
_PENALTY: Final = 1.0  # seconds that the answer to a wrong password takes
_MOST_WAITING: Final = 1024  # passwords that wait for their hash: 400 s at the greatest cost
_MOST_WRONG: Final = 1024  # wrong passwords that are known as such without a hash
_MOST_BYTES: Final = 72  # the most bytes of a password for bcrypt


class Passwords:
    """The passwords of users.

    A right password waits for its hash, and is known from then on: behind at most one of each other client that
    guesses, and by lot with the guesses of its own client. A wrong one is answered late, which costs nobody else
    anything. Hashes are computed one at a time, for at most half of one CPU's time.

    Args:
        users: name -> hash.
    """

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self._nobody = _NOBODY.format(max(integer(hashed[4:6]) for hashed in users.values()))
        self._key = secrets.token_bytes(32)
        self._right: set[bytes] = set()
        self._wrong: dict[bytes, None] = {}  # the oldest first
        self._queue = FairQueue(_MOST_WAITING, lambda: RefusedError(
            503, "too many passwords wait for being checked: ask again", {"Retry-After": "1"}, _PENALTY))

    def remember(self, before: Passwords) -> None:
        """Take over the queue of hashes and the accepted passwords, of which those to changed hashes never match."""
        self._key, self._right, self._queue = before._key, before._right, before._queue

    async def check(self, field: str, client: Callable[[], Awaitable[str]]) -> None:
        """Refuse a client whose Authorization field ("" for none) does not give a user's password.

        Args:
            client: returns who the client is, which is asked for a password that has to be learned.

        Raises:
            RefusedError: the password is missing or wrong.
        """
        user, password = _credentials(field)
        hashed = self._users.get(user, self._nobody)
        mark = hmac.digest(self._key, f"{hashed}{len(user)}:{user}".encode() + password, hashlib.sha256)
        if mark not in self._right and mark not in self._wrong:
            await self._learn(mark, password, hashed, await client(), known=user in self._users)
        if mark in self._right:
            return
        self._wrong[mark] = None
        if len(self._wrong) > _MOST_WRONG:
            del self._wrong[next(iter(self._wrong))]
        raise _unauthorized("this user and password are not known", _PENALTY)

    async def _learn(self, mark: bytes, password: bytes, hashed: str, client: str, *, known: bool) -> None:
        """Find out whether a password is right, at its client's turn."""
        async with self._queue.of(client):
            if mark in self._right or mark in self._wrong:  # the same came before
                return
            fits, seconds = await asyncio.to_thread(_fits, password, hashed.encode())
            if fits and known:
                self._right.add(mark)
            else:
                await asyncio.sleep(seconds)


def _credentials(field: str) -> tuple[str, bytes]:
    scheme, _, encoded = field.partition(" ")
    if scheme.lower() != "basic":
        raise _unauthorized("a user and a password are wanted")
    try:
        user, colon, password = base64.b64decode(encoded, validate=True).partition(b":")
        name = user.decode()
    except (binascii.Error, UnicodeDecodeError):
        colon = b""
    if not colon or len(password) > _MOST_BYTES:
        raise _unauthorized("a user and a password are wanted, as RFC 7617 has them")
    return name, password


def _fits(password: bytes, hashed: bytes) -> tuple[bool, float]:
    """Return whether a password has a hash, and the CPU seconds that this took to find out."""
    start = time.thread_time()
    try:
        fits = bool(bcrypt.checkpw(password, hashed))
    except ValueError:  # a NUL in it
        fits = False
    return fits, time.thread_time() - start


def _unauthorized(sentence: str, penalty: float = 0.0) -> RefusedError:
    return RefusedError(401, sentence, {"WWW-Authenticate": 'Basic realm="turbotui", charset="UTF-8"'}, penalty)


_PARTS: Final = ("tls_server_config", "http_server_config", "basic_auth_users")
_TLS: Final = ("cert_file", "key_file", "client_auth_type", "client_ca_file", "min_version", "max_version",
               "cipher_suites", "prefer_server_cipher_suites")
_HTTP: Final = ("http2", "headers")
_HEADERS: Final = ("Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options", "X-XSS-Protection",
                   "Strict-Transport-Security", "Cache-Control")
_VERSIONS: Final = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CLIENTS: Final = {"NoClientCert": ssl.CERT_NONE, "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
                   "RequireAndVerifyClientCert": ssl.CERT_REQUIRED}
_TRUTH: Final = {"true": True, "false": False}
_ALWAYS_ON: Final = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
"""Cipher suites of TLS 1.3 (RFC 8446, B.4), which neither Go nor OpenSSL lets one choose from here."""
_VALUE: Final = re.compile(r"[\x21-\x7e][\x20-\x7e]*")


class ConfiguredAccess(Access):
    """The access rules of a web config."""

    def __init__(self, path: str, tls: ssl.SSLContext | None, headers: Mapping[str, str],
                 passwords: Passwords | None) -> None:
        self._path = path
        self.tls = tls
        self.headers = headers
        self._passwords = passwords
        self._clients = Clients(LinuxHost())

    @property
    def protections(self) -> Mapping[str, int]:
        """How strongly each kind of protection is asked for; 0 for not at all."""
        return {"passwords": int(self._passwords is not None), "TLS": int(self.tls is not None),
                "a client's certificate": 0 if self.tls is None else int(self.tls.verify_mode)}

    @property
    def admits_all(self) -> bool:
        return self._passwords is None and (self.tls is None or self.tls.verify_mode is not ssl.CERT_REQUIRED)

    async def check(self, request: HttpRequest) -> None:
        if self._passwords is not None:
            await self._passwords.check(request.fields.get("authorization", ""),
                                        partial(self._clients.of, request))

    def succeed(self, before: Access) -> None:
        if isinstance(before, ConfiguredAccess):
            lost = [name for name, level in before.protections.items() if self.protections[name] < level]
            if lost:
                raise TurbotuiError(f"the web config {self._path} no longer asks for {', '.join(lost)}, which only a "
                                    "new start of turbotui takes away")
            if self._passwords is not None and before._passwords is not None:  # noqa: SLF001 - of the same class
                self._passwords.remember(before._passwords)  # noqa: SLF001 - as above


def read_access(path: str) -> Access:
    """Read the access rules of a file.

    Raises:
        TurbotuiError: the file, or a file that it names, cannot be read, or has a setting that is not understood.
    """
    try:
        document = yaml.load(read_given(path).text(), _PlainLoader)  # noqa: S506 - a loader without types
    except GivenFileError as error:
        raise TurbotuiError(f"the web config {path} cannot be read: {error.why}") from error
    except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:  # the latter: "\UFFFFFFFF"
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f", line {mark.line + 1}"
        twice = f": {error.problem}" if isinstance(error, _TwiceError) else ""
        raise TurbotuiError(f"the web config {path}{place} is no YAML that is understood{twice}") from error
    return _Reading(path).access(document)


class _TwiceError(yaml.constructor.ConstructorError):  # type: ignore[misc]  # as below
    """A table has the same name twice, of which YAML's loaders take the last."""


class _PlainLoader(yaml.BaseLoader):  # type: ignore[misc]  # PyYAML has no types
    """Text, lists and tables; a name is in a table once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        known = set[str]()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in known:
                raise _TwiceError(None, None, f"{in_cell(visible(key.value))} is there twice", key.start_mark)
            known.add(str(key.value))
        return super().construct_mapping(node, deep)


class _Reading:
    """Reads one web config, whose name is part of every error.

    Args:
        path: the file's path; paths in the file are relative to its directory.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def access(self, value: object) -> Access:
        parts = self._table("" if value is None else value, "the file", _PARTS)
        return ConfiguredAccess(
            self._path,
            self._context(parts["tls_server_config"]) if "tls_server_config" in parts else None,
            self._headers(parts["http_server_config"]) if "http_server_config" in parts else {},
            self._passwords(parts["basic_auth_users"]) if "basic_auth_users" in parts else None)

    def _table(self, value: object, name: str, known: tuple[str, ...] = ()) -> Mapping[str, Any]:
        if not isinstance(value, dict) or not value or not all(isinstance(key, str) for key in value):
            raise self._bad(f"{name} has nothing in it" if not value else f"{name} is no table of names")
        for key in value:
            if known and key not in known:
                raise self._bad(f"{key} in {name} is not known here ({', '.join(known)})")
        return value

    def _bad(self, why: str) -> TurbotuiError:
        return TurbotuiError(f"the web config {self._path}: {why}")

    def _text(self, table: Mapping[str, Any], name: str) -> str:
        text = table.get(name)
        if not isinstance(text, str) or not text:
            raise self._bad(f"{name} is no text")
        return text

    def _file(self, table: Mapping[str, Any], name: str) -> str:
        return os.path.join(os.path.dirname(self._path), self._text(table, name))

    def _choice(self, table: Mapping[str, Any], name: str, known: Mapping[str, Any], otherwise: Any) -> Any:
        if name not in table:
            return otherwise
        word = self._text(table, name)
        if word not in known:
            raise self._bad(f"{name} {word} is not possible here: {', '.join(known)}")
        return known[word]

    def _context(self, value: object) -> ssl.SSLContext:
        table = self._table(value, "tls_server_config", _TLS)
        if "cert_file" not in table or "key_file" not in table:
            raise self._bad("tls_server_config wants cert_file and key_file")
        certificate, key = self._file(table, "cert_file"), self._file(table, "key_file")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._choice(table, "min_version", _VERSIONS, ssl.TLSVersion.TLSv1_2)
        context.maximum_version = self._choice(table, "max_version", _VERSIONS, ssl.TLSVersion.TLSv1_3)
        if context.minimum_version > context.maximum_version:
            raise self._bad("min_version is above max_version")
        if not self._choice(table, "prefer_server_cipher_suites", _TRUTH, otherwise=True):
            context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
        try:
            context.load_cert_chain(certificate, key, password=lambda: b"")  # else OpenSSL would ask on the terminal
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise self._bad(f"{certificate} and {key} cannot be used: {_why(error)}") from error
        self._clients(context, table)
        if "cipher_suites" in table:
            self._ciphers(context, table["cipher_suites"])
        return context

    def _clients(self, context: ssl.SSLContext, table: Mapping[str, Any]) -> None:
        context.verify_mode = self._choice(table, "client_auth_type", _CLIENTS, ssl.CERT_NONE)
        asked, given = context.verify_mode is not ssl.CERT_NONE, "client_ca_file" in table
        if asked != given:
            raise self._bad("client_auth_type wants client_ca_file" if asked else
                            "client_ca_file wants a client_auth_type that asks for certificates")
        if given:
            authority = self._file(table, "client_ca_file")
            try:
                context.load_verify_locations(authority)
            except (OSError, ValueError) as error:
                raise self._bad(f"{authority} cannot be used: {_why(error)}") from error

    def _ciphers(self, context: ssl.SSLContext, value: object) -> None:
        if not isinstance(value, list) or not value or not all(isinstance(name, str) and name for name in value):
            raise self._bad("cipher_suites is no list of names")
        chosen = [name for name in value if name not in _ALWAYS_ON]
        if not chosen:
            context.minimum_version = ssl.TLSVersion.TLSv1_3  # the only version that has these
            return
        for name in chosen:
            try:
                context.set_ciphers(_openssl_name(name))
            except (ssl.SSLError, ValueError) as error:
                raise self._bad(f"the cipher suite {name} is not possible here") from error
        context.set_ciphers(":".join(map(_openssl_name, chosen)))

    def _headers(self, written: object) -> Mapping[str, str]:
        parts = self._table(written, "http_server_config", _HTTP)
        self._choice(parts, "http2", _TRUTH, otherwise=False)  # HTTP/1.1 is what is spoken here, and clients fall back
        table = self._table(parts["headers"], "headers", _HEADERS) if "headers" in parts else {}
        for name, value in table.items():
            if not isinstance(value, str) or not _VALUE.fullmatch(value):
                raise self._bad(f"the header {name} is no line of text")
        return table

    def _passwords(self, value: object) -> Passwords:
        users = self._table(value, "basic_auth_users")
        for user, hashed in users.items():
            if ":" in user:
                raise self._bad(f"{user} has a colon, behind which clients have the password")
            if not isinstance(hashed, str) or not _HASH.fullmatch(hashed):
                raise self._bad(f"the password of {user} is no hash of bcrypt with a cost of 4 to 12: htpasswd -nBC 10 "
                                f"{user} makes one")
        return Passwords(users)


def _why(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "no certificate and key of each other").lower().replace("_", " ")
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)


def _openssl_name(suite: str) -> str:
    """Return OpenSSL's name of a TLS 1.2 cipher suite; TLS 1.3's are always on, in Go as in OpenSSL."""
    name = suite.removeprefix("TLS_").replace("_WITH_", "-").replace("_", "-")
    name = name.replace("AES-128", "AES128").replace("AES-256", "AES256").removesuffix("-CBC-SHA")
    return name.replace("CHACHA20-POLY1305-SHA256", "CHACHA20-POLY1305")
