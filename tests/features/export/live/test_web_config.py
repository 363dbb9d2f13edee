"""TLS and passwords by Prometheus' own file: accepted and refused clients, and a changed file."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import signal
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from patience import PATIENCE

pytest.importorskip("yaml", reason="pyyaml is not installed: pip install 'turbotui[export]'")
pytest.importorskip("bcrypt", reason="bcrypt is not installed: pip install 'turbotui[export]'")

import bcrypt
from serving import exported
from test_prometheus import needs_prometheus, prometheus

from turbotui.errors import TurbotuiError
from turbotui.features.export.live.requests import RefusedError
from turbotui.features.export.live.web_config import Passwords, read_access

CERTIFICATE = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
               "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost")


def hashed(password: str) -> str:
    found: bytes = bcrypt.hashpw(password.encode(), bcrypt.gensalt(4))
    return found.decode().replace("$2b$", "$2y$")  # as htpasswd writes it


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
        with prometheus(keys / "run", [server.place], json.dumps(scheme)) as found:
            assert found.until("turbotui_machine_cpus", 1) == {server.place: 4.0}


def test_a_new_file_counts_after_sighup_and_a_bad_one_does_not(keys: Path) -> None:
    config = written(keys, users={"one": hashed("first")})
    with exported("--machine", "guest", "-i", "1", "--web-config", str(config)) as server:
        server.trusted = ssl.create_default_context(cafile=str(keys / "cert.pem"))
        assert server.status(basic("one", "first")) == 200
        written(keys, users={"two": hashed("second")})
        server.process.send_signal(signal.SIGHUP)
        until(lambda: server.status(basic("two", "second")) == 200)
        assert server.status(basic("one", "first")) in {401, 429}
        config.write_text("basic_auth_users: [1, 2]\n")
        server.process.send_signal(signal.SIGHUP)
        until(lambda: any("stays in force" in line for line in server.errors))
        assert server.status(basic("two", "second")) == 200


def until(holds: object) -> None:
    waiting = threading.Event()
    for _ in range(int(PATIENCE)):
        if holds():  # type: ignore[operator]
            return
        waiting.wait(1.0)  # a password a second
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
    ("http_server_config: {headers: {X-Evil: 1}}", "X-Evil"),
    ('http_server_config: {headers: {X-Frame-Options: "a\\r\\nb"}}', "no line of text"),
    ("basic_auth_user: {}", "basic_auth_user in the file is not known"),
    ("a: b: c", "line 1 is no YAML"),
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
    names = {one["name"] for one in tls.get_ciphers()}
    assert {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"} <= names


async def refusal(passwords: Passwords, user: str, password: str, client: str = "10.0.0.1") -> int:
    field = basic(user, password)["Authorization"]
    try:
        await passwords.check(field, client)
    except RefusedError as error:
        return error.status
    return 200


def test_a_guess_costs_a_second_and_who_was_right_waits_for_nobody() -> None:
    seconds = [0.0]
    passwords = Passwords({"one": hashed("right")}, lambda: seconds[0])

    async def guess() -> list[int]:
        found = [await refusal(passwords, "one", "right", "10.0.0.2")]
        found += [await refusal(passwords, "one", f"wrong{at}") for at in range(3)]
        seconds[0] += 1.5
        found += [await refusal(passwords, "nobody", "right"), await refusal(passwords, "one", "right", "10.0.0.2")]
        found.append(await refusal(passwords, "one", "right"))  # known already, whoever says it
        return found

    assert asyncio.run(guess()) == [200, 401, 429, 429, 401, 200, 200]


@pytest.mark.parametrize("field", ["", "Bearer x", "Basic !", "Basic bm9jb2xvbg==", "Basic " + "QQ==" * 3])
def test_what_is_no_password_is_none(field: str) -> None:
    with pytest.raises(RefusedError) as refused:
        asyncio.run(Passwords({"one": hashed("right")}).check(field, "10.0.0.1"))
    assert refused.value.status == 401
    assert "Basic" in refused.value.headers["WWW-Authenticate"]
