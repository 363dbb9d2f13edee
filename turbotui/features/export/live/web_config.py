"""TLS and passwords (RFC 7617) by the web config file of Prometheus and its exporters: --web-config.

The format: https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md. Settings that are
unknown here, or that OpenSSL cannot do, are refused by name, so that nobody believes in a protection that is absent.
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
from collections.abc import Callable, Mapping
from typing import Any, Final

import bcrypt
import yaml

from turbotui.errors import TurbotuiError
from turbotui.features.export.live.requests import HttpRequest, RefusedError
from turbotui.features.export.live.scrape_server import Access
from turbotui.machine.given_files import GivenFileError, read_given

_HASH: Final = re.compile(r"\$2[aby]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}")
_NOBODY: Final = "$2b$10$c0SuML1dwvl4Ssh0qJXDFeTvwAjgJ4YEnQySV/iJMZxABe6pI9R1y"
"""A hash that is tried for unknown users, so that they wait as long as known ones."""
_BETWEEN: Final = 1.0
"""Seconds between two new passwords of one client, because a hash takes a tenth of a second of CPU time."""
_MOST_CLIENTS: Final = 1024
_MOST_BYTES: Final = 72  # the most bytes of a password for bcrypt


def is_hash(text: str) -> bool:
    """Tell whether a text is a bcrypt hash that takes at most a second or two."""
    return _HASH.fullmatch(text) is not None


class Passwords:
    """The passwords of users.

    Args:
        users: name -> hash.
        now: returns seconds.
    """

    def __init__(self, users: Mapping[str, str], now: Callable[[], float] = time.monotonic) -> None:
        self._users = users
        self._now = now
        self._key = secrets.token_bytes(32)
        self._known: set[bytes] = set()
        self._tried: dict[str, float] = {}
        self._one = asyncio.Lock()

    async def check(self, field: str, client: str) -> None:
        """Refuse a client that does not give a user's password.

        Args:
            field: the Authorization field; "" for none.
            client: the client's address.

        Raises:
            RefusedError: the password is missing or wrong, or the client tries too often.
        """
        user, password = _credentials(field)
        mark = hmac.digest(self._key, f"{len(user)}:{user}".encode() + password, hashlib.sha256)
        if mark in self._known:
            return
        self._slow_down(client)
        hashed = self._users.get(user, _NOBODY).encode()
        async with self._one:
            right = await asyncio.to_thread(_fits, password, hashed)
        if not right or user not in self._users:
            raise _unauthorized("this user and password are not known")
        self._known.add(mark)
        self._tried.pop(client, None)

    def _slow_down(self, client: str) -> None:
        now = self._now()
        if now - self._tried.get(client, -_BETWEEN) < _BETWEEN:
            raise RefusedError(429, "one password a second", {"Retry-After": "1"})
        if len(self._tried) >= _MOST_CLIENTS:
            self._tried.clear()
        self._tried[client] = now


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


def _fits(password: bytes, hashed: bytes) -> bool:
    try:
        return bool(bcrypt.checkpw(password, hashed))
    except ValueError:  # a NUL in it
        return False


def _unauthorized(sentence: str) -> RefusedError:
    return RefusedError(401, sentence, {"WWW-Authenticate": 'Basic realm="turbotui", charset="UTF-8"'})


_PARTS: Final = ("tls_server_config", "http_server_config", "basic_auth_users")
_TLS: Final = ("cert_file", "key_file", "client_auth_type", "client_ca_file", "min_version", "max_version",
               "cipher_suites", "prefer_server_cipher_suites")
_HTTP: Final = ("http2", "headers")
_HEADERS: Final = ("Content-Security-Policy", "X-Frame-Options", "X-Content-Type-Options", "X-XSS-Protection",
                   "Strict-Transport-Security", "Cache-Control")
_VERSIONS: Final = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_CLIENTS: Final = {"NoClientCert": ssl.CERT_NONE, "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
                   "RequireAndVerifyClientCert": ssl.CERT_REQUIRED}
_VALUE: Final = re.compile(r"[\x21-\x7e][\x20-\x7e]*")


class ConfiguredAccess(Access):
    """The access rules of a web config.

    Args:
        tls: the TLS context; None for none.
        headers: headers of every answer.
        passwords: the passwords; None if none are required.
    """

    def __init__(self, tls: ssl.SSLContext | None, headers: Mapping[str, str], passwords: Passwords | None) -> None:
        self.tls = tls
        self.headers = headers
        self._passwords = passwords

    async def check(self, request: HttpRequest, client: str) -> None:
        """See `Access.check`."""
        if self._passwords is not None:
            await self._passwords.check(request.fields.get("authorization", ""), client)


def read_access(path: str) -> Access:
    """Read the access rules of a file; anybody may read if its name is empty.

    Raises:
        TurbotuiError: the file, or a file that it names, cannot be read, or has an unknown setting.
    """
    if not path:
        return Access()
    try:
        found = yaml.safe_load(read_given(path).text())
    except GivenFileError as error:
        raise TurbotuiError(f"the web config {path} cannot be read: {error.why}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f", line {mark.line + 1}"
        raise TurbotuiError(f"the web config {path}{place} is no YAML") from error
    return _Reading(path).access(found)


class _Reading:
    """Reads one web config, whose name is part of every error.

    Args:
        path: the file's path; paths in the file are relative to its directory.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def access(self, found: object) -> Access:
        """Return the access rules of the whole file."""
        parts = self._table({} if found is None else found, "the file", _PARTS)
        tls, http = parts.get("tls_server_config"), parts.get("http_server_config")
        users = parts.get("basic_auth_users")
        return ConfiguredAccess(self._context(tls) if tls else None, self._headers(http) if http else {},
                                self._passwords(users) if users else None)

    def _table(self, found: object, name: str, known: tuple[str, ...] = ()) -> Mapping[str, Any]:
        if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
            raise self._bad(f"{name} is no table of names")
        for key in found:
            if known and key not in known:
                raise self._bad(f"{key} in {name} is not known here ({', '.join(known)})")
        return found

    def _bad(self, why: str) -> TurbotuiError:
        return TurbotuiError(f"the web config {self._path}: {why}")

    def _file(self, name: object) -> str:
        return os.path.join(os.path.dirname(self._path), str(name))

    def _context(self, found: object) -> ssl.SSLContext:
        said = self._table(found, "tls_server_config", _TLS)
        if not said.get("cert_file") or not said.get("key_file"):
            raise self._bad("tls_server_config wants cert_file and key_file")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._one_of(said, "min_version", _VERSIONS, ssl.TLSVersion.TLSv1_2)
        context.maximum_version = self._one_of(said, "max_version", _VERSIONS, ssl.TLSVersion.TLSv1_3)
        certificate, key = self._file(said["cert_file"]), self._file(said["key_file"])
        try:
            context.load_cert_chain(certificate, key, password=lambda: b"")  # else OpenSSL would ask on the terminal
            context.verify_mode = self._one_of(said, "client_auth_type", _CLIENTS, ssl.CERT_NONE)
            if said.get("client_ca_file"):
                context.load_verify_locations(self._file(said["client_ca_file"]))
            elif context.verify_mode is not ssl.CERT_NONE:
                raise self._bad("client_auth_type wants client_ca_file")
            if said.get("cipher_suites"):
                context.set_ciphers(":".join(map(_openssl_name, said["cipher_suites"])))
        except (OSError, ValueError, TypeError) as error:  # ssl.SSLError is an OSError
            raise self._bad(f"{certificate} and {key} cannot be used: {_why(error)}") from error
        return context

    def _one_of(self, said: Mapping[str, Any], name: str, known: Mapping[str, Any], otherwise: Any) -> Any:
        word = said.get(name)
        if not word:
            return otherwise
        if word not in known:
            raise self._bad(f"{name} {word} is not possible here: {', '.join(known)}")
        return known[word]

    def _headers(self, found: object) -> Mapping[str, str]:
        said = self._table(self._table(found, "http_server_config", _HTTP).get("headers") or {}, "headers", _HEADERS)
        for name, value in said.items():
            if not isinstance(value, str) or not _VALUE.fullmatch(value):
                raise self._bad(f"the header {name} is no line of text")
        return said

    def _passwords(self, found: object) -> Passwords:
        users = self._table(found, "basic_auth_users")
        for user, hashed in users.items():
            if not isinstance(hashed, str) or not is_hash(hashed):
                raise self._bad(f"the password of {user} is no hash of bcrypt with a cost of 4 to 15: htpasswd -nBC 10 "
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
