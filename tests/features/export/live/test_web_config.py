"""TLS and passwords by Prometheus' own file: accepted and refused clients, and a changed file."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import selectors
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE

pytest.importorskip("yaml", reason="pyyaml is not installed: pip install 'turbotui[export]'")
pytest.importorskip("bcrypt", reason="bcrypt is not installed: pip install 'turbotui[export]'")

import bcrypt
from serving import exported, received
from test_prometheus import needs_prometheus, prometheus

from turbotui.commands.addresses import MOST_CONNECTIONS
from turbotui.errors import TurbotuiError
from turbotui.features.export.live.requests import RefusedError
from turbotui.features.export.live.web_config import Passwords, read_access

CERTIFICATE = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
               "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost")


def hashed(password: str, cost: int = 4) -> str:
    result: bytes = bcrypt.hashpw(password.encode(), bcrypt.gensalt(cost))
    return result.decode().replace("$2b$", "$2y$")  # as htpasswd writes it


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    if not shutil.which("openssl"):
        pytest.skip("package openssl is missing")
    where = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run([*CERTIFICATE, *where], check=True, capture_output=True)  # noqa: S603 - ours
    return tmp_path


def written(folder: Path, *, users: dict[str, str] | None = None, more: str = "") -> Path:
    lines = ["tls_server_config:", "  cert_file: cert.pem", "  key_file: key.pem", "  min_version: TLS12"]
    if users:
        lines += ["basic_auth_users:", *(f"  {name}: {json.dumps(value)}" for name, value in users.items())]
    path = folder / "web.yml"
    path.write_text("\n".join([*lines, more, ""]))
    return path


@needs_prometheus
def test_prometheus_scrapes_by_tls_and_a_password_and_nobody_else_does(keys: Path) -> None:
    config = written(keys, users={"prometheus": hashed("right")}, more="http_server_config: {http2: true}")
    with exported("--machine", "guest", "-i", "1", "--web-config", str(config)) as server:
        assert "https://" in server.said
        server.trusted = ssl.create_default_context(cafile=str(keys / "cert.pem"))
        assert server.status() == 401
        assert server.status(basic("prometheus", "right")) == 200
        assert server.status(basic("prometheus", "wrong")) == 401
        scheme = {"scheme": "https", "tls_config": {"ca_file": str(keys / "cert.pem")},
                  "basic_auth": {"username": "prometheus", "password": "right"}}
        (keys / "run").mkdir()
        with prometheus(keys / "run", [server.place], json.dumps(scheme)) as result:
            assert result.until("turbotui_machine_cpus", 1) == {server.place: 4.0}


def test_a_new_file_counts_after_sighup_and_a_bad_one_does_not(keys: Path) -> None:
    config = written(keys, users={"one": hashed("first")})
    with exported("--machine", "guest", "-i", "1", "--web-config", str(config)) as server:
        server.trusted = ssl.create_default_context(cafile=str(keys / "cert.pem"))
        assert server.status(basic("one", "first")) == 200
        written(keys, users={"two": hashed("second")})
        server.process.send_signal(signal.SIGHUP)
        until(lambda: server.status(basic("two", "second")) == 200)
        assert server.status(basic("one", "first")) == 401
        for said, text in WEAKER.items():
            before = len(server.errors)
            config.write_text(text)
            server.process.send_signal(signal.SIGHUP)
            until(lambda before=before, said=said: any(
                said in line and "stays in force" in line for line in server.errors[before:]))
            assert server.status() == 401
            assert server.status(basic("two", "second")) == 200


_TLS = "tls_server_config: {cert_file: cert.pem, key_file: key.pem"


@pytest.mark.parametrize("text", [
    "http_server_config: {headers: {X-Frame-Options: deny}}", f"{_TLS}}}",
    f"{_TLS}, client_ca_file: cert.pem, client_auth_type: VerifyClientCertIfGiven}}"])
def test_a_file_that_lets_everybody_in_is_said_to(keys: Path, text: str) -> None:
    config = keys / "web.yml"
    config.write_text(text)
    with exported("--machine", "guest", "-i", "1", "--web-config", str(config)) as server:
        until(lambda: any(f"{config} asks for no password" in line for line in server.errors))


WEAKER = {
    "basic_auth_users is no table": "basic_auth_users: [1, 2]\n",
    "the file has nothing in it": "",
    "basic_auth_users has nothing in it": "basic_auth_users:\n",
    "no longer asks for TLS": "basic_auth_users: {two: " + "$2b$04$" + "a" * 53 + "}\n",
    "no longer asks for passwords": "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n",
    "no YAML": "basic_auth_users: \x01\n",
}
"""What is said of a file that would protect less after SIGHUP."""


def until(holds: object) -> None:
    waiting = threading.Event()
    for _ in range(int(PATIENCE) * 10):
        if holds():  # type: ignore[operator]
            return
        waiting.wait(0.1)
    raise AssertionError("it never came")


@pytest.mark.parametrize(("text", "said"), [
    ("basic_auth_users: {one: plain}", "no hash of bcrypt"),
    ("basic_auth_users: {one: $2y$31$" + "a" * 53 + "}", "no hash of bcrypt"),
    ("tls_server_config: {cert_file: cert.pem}", "wants cert_file and key_file"),
    ("tls_server_config: {cert_file: none.pem, key_file: none.pem}", "cannot be used: No such file"),
    ("tls_server_config: {cert_file: cert.pem, key_file: key.pem, curve_preferences: [X25519]}", "curve_preferences"),
    ("tls_server_config: {cert_file: cert.pem, key_file: key.pem, min_version: TLS10}", "min_version TLS10"),
    ("tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_auth_type: RequireAnyClientCert}",
     "client_auth_type RequireAnyClientCert"),
    ("tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_auth_type: RequireAndVerifyClientCert}",
     "client_auth_type wants client_ca_file"),
    ("tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_ca_file: cert.pem}",
     "client_ca_file wants a client_auth_type"),
    ("tls_server_config: {cert_file: cert.pem, key_file: key.pem, min_version: }", "min_version is no text"),
    ("tls_server_config: {cert_file: cert.pem, key_file: key.pem, min_version: TLS13, max_version: TLS12}", "is above"),
    ("tls_server_config: {cert_file: cert.pem, key_file: key.pem, cipher_suites: []}", "no list of names"),
    ("tls_server_config: {cert_file: cert.pem, key_file: key.pem, cipher_suites: TLS_X}", "no list of names"),
    (("tls_server_config: {cert_file: cert.pem, key_file: key.pem, cipher_suites: "
      "[TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_NONE]}"), "suite TLS_NONE is not possible"),
    ("tls_server_config: {cert_file: cert.pem, key_file: key.pem, prefer_server_cipher_suites: maybe}", "maybe"),
    ("tls_server_config: {cert_file: [cert.pem], key_file: key.pem}", "cert_file is no text"),
    ('tls_server_config: {cert_file: "a\\0b", key_file: key.pem}', "cannot be used"),
    (("tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_auth_type: VerifyClientCertIfGiven, "
      "client_ca_file: none.pem}"), "none.pem cannot be used"),
    ("tls_server_config:", "tls_server_config has nothing in it"),
    ("http_server_config: {}", "http_server_config has nothing in it"),
    ("http_server_config: {http2: 7}", "http2 7"),
    ("http_server_config: {headers: }", "headers has nothing in it"),
    ("", "the file has nothing in it"), ("# nothing\n   \n", "the file has nothing in it"), ("{}", "has nothing in it"),
    ("basic_auth_users:", "basic_auth_users has nothing in it"), ("basic_auth_users: {}", "has nothing in it"),
    ("basic_auth_users: []", "has nothing in it"), ("basic_auth_users: ''", "has nothing in it"),
    ("basic_auth_users: false", "is no table"), ("basic_auth_users: 0", "is no table"),
    ("basic_auth_users: ~", "is no table"), ("basic_auth_users: [one]", "is no table"),
    ("basic_auth_users: {one: $2y$04$" + "a" * 53 + "}\nbasic_auth_users: {}", "basic_auth_users is there twice"),
    ("basic_auth_users: {one: $2y$04$" + "a" * 53 + ", one: $2y$04$" + "b" * 53 + "}", "line 1 .* one is there twice"),
    ("basic_auth_users: {one: }", "no hash of bcrypt"),
    ("basic_auth_users: {one: $2y$13$" + "a" * 53 + "}", "a cost of 4 to 12"),
    ("basic_auth_users: &a {<<: *a}", "no YAML"), ("basic_auth_users: &a [*a]", "no YAML"),
    ("basic_auth_users: {[a]: b}", "no YAML"), ("[" * 5000, "no YAML"), ("basic_auth_users: \x01", "no YAML"),
    ("--- {}\n--- {}", "no YAML"), ("basic_auth_users: *none", "no YAML"),
    ("basic_auth_users: 2001-02-30", "is no table"),
    ("basic_auth_users: {one: 2001-02-30}", "no hash of bcrypt"), ("0x" + "f" * 5000, "is no table"),
    ("!!binary a", "is no table"), ("!!int a", "is no table"), ("!!timestamp a: b", "is not known here"),
    ("!!python/object/apply:os.getpid []", "has nothing in it"), ("1:60: 5", "1:60 in the file is not known"),
    ("http_server_config: {headers: {X-Evil: 1}}", "X-Evil"),
    ('http_server_config: {headers: {X-Frame-Options: "a\\r\\nb"}}', "no line of text"),
    ("basic_auth_user: {}", "basic_auth_user in the file is not known"),
    ("a: b: c", "line 1 is no YAML"), ('"\\U0011FFFF": a', "no YAML"), ('"\\UFFFFFFFF": a', "no YAML"),
    (f"%YAML {'1' * 5000}.1\n--- a", "no YAML"),
])
def test_what_does_not_protect_is_refused_by_name(keys: Path, text: str, said: str) -> None:
    path = keys / "web.yml"
    path.write_text(text)
    with pytest.raises(TurbotuiError, match=said.replace("(", r"\(")):
        read_access(str(path))


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(TurbotuiError, match="cannot be read"):
        read_access(str(tmp_path / "none.yml"))


def test_go_names_of_cipher_suites_are_taken(keys: Path) -> None:
    config = written(keys, more="  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "
                                "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256]")
    tls = read_access(str(config)).tls
    assert tls is not None
    names = {get_cipher["name"] for get_cipher in tls.get_ciphers()}
    assert {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"} <= names
    config = written(keys, more="  cipher_suites: [TLS_AES_256_GCM_SHA384]")  # which is always on, beside no other
    tls = read_access(str(config)).tls
    assert tls is not None
    assert tls.minimum_version is ssl.TLSVersion.TLSv1_3


async def refusal(passwords: Passwords, user: str, password: str, address: str = "") -> tuple[int, float]:
    """The status of an answer, and the seconds after which it is sent."""
    async def client() -> str:
        return address

    try:
        await passwords.check(basic(user, password)["Authorization"], client)
    except RefusedError as error:
        return error.status, error.penalty
    return 200, 0


def test_a_guess_is_answered_late_and_a_right_password_at_once_whoever_guesses() -> None:
    passwords = Passwords({"one": hashed("right")})

    async def among_guesses() -> list[tuple[int, float]]:
        guesses = [refusal(passwords, user, f"wrong{at}") for at in range(20) for user in ("one", "nobody")]
        return await asyncio.gather(*guesses[:20], refusal(passwords, "one", "right"), *guesses[20:],
                                    refusal(passwords, "nobody", "right"))

    result = asyncio.run(among_guesses())
    assert result.pop(20) == (200, 0)
    assert set(result) == {(401, 1.0)}


def test_what_is_known_of_a_password_costs_no_hash() -> None:
    passwords = Passwords({"one": hashed("right")})

    async def ask() -> list[int]:
        return [(await refusal(passwords, "one", password))[0] for password in ("right", "wrong", "right", "wrong")]

    assert asyncio.run(ask()) == [200, 401, 200, 401]
    passwords._queue = None  # type: ignore[assignment]  # no hash can be computed any more
    assert asyncio.run(ask()) == [200, 401, 200, 401]
    with pytest.raises(AttributeError):
        asyncio.run(refusal(passwords, "one", "another"))


def test_guesses_that_wait_are_bounded_and_a_known_password_does_not_wait() -> None:
    passwords = Passwords({"one": hashed("right")})

    async def guess() -> list[int]:
        assert (await refusal(passwords, "one", "right"))[0] == 200
        async with passwords._queue.of("one"):
            waiting = [asyncio.create_task(refusal(passwords, "one", f"{at}\0")) for at in range(1025)]
            await asyncio.sleep(0)
            assert (await refusal(passwords, "one", "right"))[0] == 200
        return sorted(status for status, *_rest in await asyncio.gather(*waiting))

    assert asyncio.run(guess()) == [*[401] * 1024, 503]


def test_guesses_of_one_address_do_not_keep_a_password_of_another_from_being_learned() -> None:
    passwords = Passwords({"one": hashed("right")})

    async def guess() -> tuple[list[int], int, list[int]]:
        async with passwords._queue.of("another"):
            first = [asyncio.create_task(refusal(passwords, "one", f"{at}\0", "192.0.2.1")) for at in range(1024)]
            await asyncio.sleep(0)
            right = asyncio.create_task(refusal(passwords, "one", "right", "192.0.2.2"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)  # one of the others is refused
            refused = [task.result()[0] for task in first if task.done()]
        status, _ = await right
        return refused, status, [task.result()[0] for task in first if task.done()]

    refused, status, before = asyncio.run(guess())
    assert refused == [503]
    assert status == 200
    assert len(before) < 9  # of 1,024 that were there before


class _HashTime(ThreadPoolExecutor):
    """A clock that only hashes and sleeps move on: a hash by its CPU time, while nothing else runs."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.hashing = 0.0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **names: Any) -> Future[Any]:
        start, future = time.thread_time(), Future[Any]()
        future.set_result(fn(*args, **names))
        self.hashing += (seconds := time.thread_time() - start)
        self.now += seconds
        return future


class _SleepTime(selectors.DefaultSelector):
    def __init__(self, clock: _HashTime) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._clock.now += timeout or 0.0
        return super().select(0)


def test_hashes_take_at_most_half_of_one_cpus_time_also_while_the_file_is_read_again() -> None:
    users, clock = {"one": hashed("right", 8)}, _HashTime()
    before, after = Passwords(users), Passwords(users)
    after.remember(before)
    loop = asyncio.SelectorEventLoop(_SleepTime(clock))
    loop.time = lambda: clock.now  # type: ignore[method-assign]
    loop.set_default_executor(clock)

    async def guess() -> None:
        await asyncio.gather(*(refusal(passwords, user, f"{at}")
                               for at in range(4) for user in ("one", "nobody") for passwords in (before, after)))

    with contextlib.closing(loop):
        loop.run_until_complete(guess())
    assert clock.hashing > 0
    assert clock.hashing < 0.55 * clock.now


def test_wrong_passwords_are_kept_up_to_a_number() -> None:
    passwords = Passwords({"one": hashed("right")})

    async def guess() -> None:
        for at in range(1100):
            await refusal(passwords, "one", f"{at}\0")  # bcrypt refuses a NUL at once

    asyncio.run(guess())
    assert len(passwords._wrong) == 1024


def test_a_right_password_stays_known_when_the_file_is_read_again_unless_it_is_another() -> None:
    first, other = hashed("right"), hashed("right")
    before, same, changed = Passwords({"one": first}), Passwords({"one": first}), Passwords({"one": other})

    async def ask() -> None:
        await refusal(before, "one", "right")
        same.remember(before)
        changed.remember(before)
        same._queue = changed._queue = None  # type: ignore[assignment]  # as above
        assert await refusal(same, "one", "right") == (200, 0)
        with pytest.raises(AttributeError):
            await refusal(changed, "one", "right")

    asyncio.run(ask())


def test_the_right_password_comes_through_while_others_guess(tmp_path: Path) -> None:
    config = tmp_path / "web.yml"
    config.write_text(f"basic_auth_users: {{one: {hashed('right')}}}\n")
    over = threading.Event()
    with exported("--machine", "guest", "-i", "1", "--web-config", str(config)) as server:

        def guess(number: int) -> None:
            tries = 0
            while not over.is_set():
                tries += 1
                assert server.status(basic("one", f"wrong {number} {tries}")) == 401

        guessing = [threading.Thread(target=guess, args=(number,)) for number in range(8)]
        for thread in guessing:
            thread.start()
        assert [server.status(basic("one", "right")) for _ in range(3)] == [200, 200, 200]
        over.set()
        for thread in guessing:
            thread.join()


def test_who_guesses_is_cut_before_who_has_asked_nothing_yet(tmp_path: Path) -> None:
    config = tmp_path / "web.yml"
    config.write_text(f"basic_auth_users: {{one: {hashed('right')}}}\n")

    def request(password: str) -> bytes:
        field = basic("one", password)["Authorization"]
        return f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: {field}\r\n\r\n".encode()

    with (exported("--machine", "guest", "-i", "1", "--web-config", str(config)) as server,
          contextlib.ExitStack() as open_):
        def connected() -> socket.socket:
            return open_.enter_context(socket.create_connection(("127.0.0.1", server.port), PATIENCE))

        assert server.status(basic("one", "right")) == 200
        assert server.status(basic("one", "wrong")) == 401
        oldest = connected()
        for _ in range(MOST_CONNECTIONS + 8):
            connected().sendall(request("wrong"))
            assert server.status(basic("one", "right")) == 200  # the server has seen the guess
        oldest.sendall(request("right"))
        assert received(oldest).startswith(b"HTTP/1.1 200 ")


async def _nobody_asks() -> str:
    raise AssertionError


@pytest.mark.parametrize("field", ["", "Bearer x", "Basic !", "Basic bm9jb2xvbg==", "Basic " + "QQ==" * 3])
def test_what_is_no_password_is_none(field: str) -> None:
    with pytest.raises(RefusedError) as refused:
        asyncio.run(Passwords({"one": hashed("right")}).check(field, _nobody_asks))
    assert refused.value.status == 401
    assert "Basic" in refused.value.headers["WWW-Authenticate"]


def test_an_unknown_user_costs_a_hash_as_a_known_one_does() -> None:
    passwords = Passwords({"one": hashed("right")})

    async def ask() -> list[tuple[int, float]]:
        async with passwords._queue.of("one"):  # every hash waits
            guesses = [asyncio.create_task(refusal(passwords, user, "wrong")) for user in ("one", "nobody")]
            for _ in range(9):
                await asyncio.sleep(0)
            assert not any(guess.done() for guess in guesses)
        return list(await asyncio.gather(*guesses))

    assert asyncio.run(ask()) == [(401, 1.0)] * 2
    assert len(passwords._nobody) == len(hashed(""))
