"""Passwords of clients (RFC 7617), which are kept as hashes of bcrypt: slow to try, so what was right is remembered."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Final

import bcrypt

from turbotui.features.export.live.requests import RefusedError

_HASH: Final = re.compile(r"\$2[aby]\$(0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}")
_NOBODY: Final = "$2b$10$c0SuML1dwvl4Ssh0qJXDFeTvwAjgJ4YEnQySV/iJMZxABe6pI9R1y"
"""A hash for those who are not known, so that they wait as long as others."""
_BETWEEN: Final = 1.0
"""Seconds between two passwords of one client that have to be tried: a hash takes a tenth of a second of CPU time."""
_MOST_CLIENTS: Final = 1024
_MOST_BYTES: Final = 72  # of a password: bcrypt takes no more


def is_hash(text: str) -> bool:
    """Whether a text is a hash of bcrypt that is tried in a second or two."""
    return _HASH.fullmatch(text) is not None


class Passwords:
    """The passwords of users.

    Args:
        users: name -> hash.
        now: gives seconds.
    """

    def __init__(self, users: Mapping[str, str], now: Callable[[], float] = time.monotonic) -> None:
        self._users = users
        self._now = now
        self._key = secrets.token_bytes(32)
        self._known: set[bytes] = set()
        self._tried: dict[str, float] = {}
        self._one = asyncio.Lock()

    async def check(self, field: str, client: str) -> None:
        """Let a client pass that gives a user's password.

        Args:
            field: what its Authorization says; "" for nothing.
            client: its address.

        Raises:
            RefusedError: it gives none, or a wrong one, or tries too often.
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
