"""TLS and passwords, by the file that Prometheus and its exporters take: --web-config.

The format: https://github.com/prometheus/exporter-toolkit/blob/master/docs/web-configuration.md. What of it is
not known here, or cannot be done by OpenSSL, is refused by its name: nobody shall believe to be protected who is not.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from typing import Any, Final

import yaml

from turbotui.errors import TurbotuiError
from turbotui.features.export.live.passwords import Passwords, is_hash
from turbotui.features.export.live.requests import HttpRequest
from turbotui.features.export.live.scrape_server import Access
from turbotui.machine.given_files import GivenFileError, read_given

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
    """Who may read, by a web config.

    Args:
        tls: for connections; None for none.
        headers: that every answer has.
        passwords: None where none is asked for.
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
    """Who may read, by a file; anybody where its name is empty.

    Raises:
        TurbotuiError: the file, or one that it names, cannot be read, or says what is not known here.
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
    """The reading of one file, whose name is in every sentence.

    Args:
        path: of the file; paths in it begin at its folder.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def access(self, found: object) -> Access:
        """What the whole file says."""
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
            context.load_cert_chain(certificate, key, password=lambda: b"")  # a terminal is asked otherwise
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
    """OpenSSL's name of a cipher suite of TLS 1.2; those of TLS 1.3 are always on, in Go as in OpenSSL."""
    name = suite.removeprefix("TLS_").replace("_WITH_", "-").replace("_", "-")
    name = name.replace("AES-128", "AES128").replace("AES-256", "AES256").removesuffix("-CBC-SHA")
    return name.replace("CHACHA20-POLY1305-SHA256", "CHACHA20-POLY1305")
