"""Possible answers of a server of Prometheus' API, and the sentence about each failure."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest
from fleetbed import Reply, series, stub, success
from free_ports import free_port

from turbotui.errors import UsageError
from turbotui.features.fleet.server import Server, ServerAccess, ServerError, basic, bearer


def _sentence(reply: Reply) -> str:
    with stub(lambda _asked: reply) as server, pytest.raises(ServerError) as error:
        Server(ServerAccess(server.url)).instant("up")
    assert server.url in str(error.value)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(("reply", "words"), [
    (Reply(401), "--bearer-file"),
    (Reply(403), "does not let this user"),
    (Reply(404, b"404 page not found"), "lacks a path"),
    (Reply(500, b"oh"), "HTTP 500"),
    (Reply(503, b'{"status":"error","error":"query timed out"}'), "query timed out"),
    (Reply(400, b'{"status":"error","errorType":"bad_data","error":"parse \\u001b[31merror"}'), "parse ␛[31merror"),
    (Reply(200, b"<html>welcome</html>"), "no JSON"),
    (Reply(200, b"[1]"), "JSON of another kind"),
    (Reply(200, b'{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}'), "no vector"),
    (Reply(200, b'{"status":"success","data":7}'), "no vector"),
    (Reply(302, b"", {"Location": "http://elsewhere/\x1b]0;x"}), "sends on to http://elsewhere/␛]0;x"),
    (Reply(200, b"\x1f\x8bnot really", {"Content-Encoding": "gzip"}), "damaged"),
    (Reply(200, b"[" * 100_000), "no JSON"),
    (Reply(200, b'{"status":"error","error":' + b"[" * 980 + b"]" * 980 + b"}"), "nested too deeply"),
    (Reply(200, b'{"status":"success","data":[' + b"0," * 2_000_000 + b"0]}"), "more than 2,000,000 values"),
    (Reply(200, b"[NaN]"), "no finite number"), (Reply(200, b"[1" + b"0" * 400 + b"]"), "more than 63 bits"),
    (Reply(502, b"[" * 100_000), "whose server does not answer"),
    (Reply(500, b"oh", {"Content-Length": "9"}), "after 2 of 9 bytes (Content-Length)"),
    (Reply(200, b"{}", {"Content-Length": "-2"}), 'a valid length (Content-Length: "-2")'),
    (Reply(200, b"{}", {"Content-Length": "two\x1b"}), 'a valid length (Content-Length: "two␛")'),
])
def test_an_answer_that_is_none_is_one_sentence(reply: Reply, words: str) -> None:
    assert words in _sentence(reply)


@pytest.mark.parametrize(("pair", "values"), [
    ('[1.5,"2e3"]', ((1.5, 2000.0),)),
    ('[1.5,"NaN"]', ()), ('[1.5,"+Inf"]', ()), ('[1.5,"1e400"]', ()), ('[1.5,"1_000"]', ()), ('[1.5,"٣"]', ()),
    ("[1.5,true]", ()), ('["1.5","2"]', ()), ('[1e300,"2"]', ()),
])
def test_a_value_is_a_time_and_a_number_in_a_text(pair: str, values: tuple[tuple[float, float], ...]) -> None:
    body = f'{{"status":"success","data":{{"resultType":"vector","result":[{{"metric":{{}},"value":{pair}}}]}}}}'
    with stub(lambda _asked: Reply(200, body.encode())) as server:
        (answered_series,) = Server(ServerAccess(server.url)).instant("up").result
    assert answered_series.values == values


def test_nobody_listens() -> None:
    with pytest.raises(ServerError, match="refuses the connection"):
        Server(ServerAccess(f"http://127.0.0.1:{free_port()}")).instant("up")


def test_a_server_that_never_answers_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ServerError, match=r"within 0\.2 s"):
        Server(ServerAccess(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)).instant("up")


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(("begin", "more"), [
    (b"", b""), (b"HTTP/1.1 200", b"K"), (OK, b"X"), (OK, b"X: y\r\n"), (OK + b"\r\n", b" "), (CHUNKED, b"0"),
    (CHUNKED + b"2\r\n{}\r\n", b"1\r\n \r\n"), (CHUNKED + b"2\r\n{}\r\n0\r\n", b"X: a\r\n"),
    (b"", b"HTTP/1.1 100 Continue\r\n\r\n"), (OK + b"Content-Length: 900000\r\n\r\n", b" "),
    (b"HTTP/1.1 405 No\r\nContent-Length: 900000\r\n\r\n", b" ")])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_server_that_answers_a_byte_at_a_time_is_given_up(begin: bytes, more: bytes, scheme: str) -> None:
    over = threading.Event()

    def drip(listening: socket.socket) -> None:
        taken, _ = listening.accept()
        with taken, contextlib.suppress(OSError):
            # of a handshake of TLS: a record that never ends (RFC 8446, 5.1)
            taken.sendall(begin if scheme == "http" else b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
            while not over.wait(0.02):
                taken.sendall(more if scheme == "http" else b"\0")

    with socket.create_server(("127.0.0.1", 0)) as slow:
        thread = threading.Thread(target=drip, args=(slow,))
        thread.start()
        try:
            with pytest.raises(ServerError, match=r"within 0\.5 s"):
                Server(ServerAccess(f"{scheme}://127.0.0.1:{slow.getsockname()[1]}", timeout=0.5)).instant("up")
        finally:
            over.set()
            thread.join()


def test_what_speaks_no_tls_and_what_speaks_no_http() -> None:
    with stub(lambda _asked: Reply()) as server, pytest.raises(ServerError, match="TLS"):
        Server(ServerAccess(server.url.replace("http", "https"))).instant("up")

    def greet(listening: socket.socket) -> None:
        taken, _ = listening.accept()
        with taken:
            taken.recv(1000)
            taken.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

    with socket.create_server(("127.0.0.1", 0)) as other:
        thread = threading.Thread(target=greet, args=(other,))
        thread.start()
        with pytest.raises(ServerError, match="no HTTP"):
            Server(ServerAccess(f"http://127.0.0.1:{other.getsockname()[1]}")).instant("up")
        thread.join()


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turbotui.features.fleet.server.LARGEST", 1 << 20)
    bomb = Reply(body=gzip.compress(b" " * (8 << 20)), headers={"Content-Encoding": "gzip"})
    with stub(lambda _asked: bomb) as server, pytest.raises(ServerError, match="more than 1 MB"):
        Server(ServerAccess(server.url)).instant("up")


def test_what_the_server_receives(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret\n", encoding="utf-8")
    with stub(lambda _asked: success([series("n0", "Busy%", 1.0)], packed=True)) as server:
        access = ServerAccess(f"{server.url}/prometheus/", bearer(str(token)), tenant="team-a")
        answer = Server(access).instant("up", at=1000.0)
    first = server.asked[0]
    assert (first.method, first.path) == ("POST", "/prometheus/api/v1/query")
    assert first.words == {"query": "up", "time": "1000"}
    assert first.headers["Authorization"] == "Bearer s3cret"
    assert first.headers["X-Scope-OrgID"] == "team-a"
    assert first.headers["Accept-Encoding"] == "gzip"
    assert answer.result[0].labels["instance"] == "n0"
    assert answer.sent > 0
    assert answer.unpacked == len(json.dumps({"status": "success", "data": {
        "resultType": "vector", "result": [series("n0", "Busy%", 1.0)]}}))
    assert basic("ann", str(token)) == f"Basic {base64.b64encode(b'ann:s3cret').decode()}"


def test_a_server_that_takes_no_post_is_asked_by_get() -> None:
    with stub(lambda asked: success([]) if asked.method == "GET" else Reply(405)) as server:
        item = Server(ServerAccess(server.url))
        assert item.instant("up").result == ()
        item.instant("up")
    assert [asked.method for asked in server.asked] == ["POST", "GET", "GET"]
    assert server.asked[1].words == {"query": "up"}


def test_warnings_and_partial_answers_are_noted() -> None:
    with stub(lambda _asked: success([], warnings=["store gone \x1b[2J"], isPartial=True)) as server:
        answer = Server(ServerAccess(server.url)).instant("up")
    assert answer.notes == ("store gone ␛[2J", "the answer is partial: some of the server's storage did not answer")


@pytest.mark.parametrize("warnings", [5, "store gone", {"store": "gone"}, None, True])
def test_warnings_of_another_kind_are_none(warnings: object) -> None:
    with stub(lambda _asked: success([], warnings=warnings)) as server:
        assert Server(ServerAccess(server.url)).instant("up").notes == ()


@pytest.mark.parametrize("url", ["prometheus:9090", "ftp://host", "http://", "http://host:port", "http://u:p@host"])
def test_what_is_no_url_of_a_server(url: str) -> None:
    with pytest.raises(UsageError):
        Server(ServerAccess(url))


def test_a_password_on_two_lines_is_refused(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("a\nb\n", encoding="utf-8")
    with pytest.raises(UsageError, match="one line"):
        bearer(str(token))
    with pytest.raises(UsageError):
        bearer(str(tmp_path / "none"))


def test_secrets_follow_no_redirection(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("s3cret", encoding="utf-8")
    with stub(lambda _asked: success([])) as other:
        with stub(lambda _asked: Reply(307, b"", {"Location": f"{other.url}/api/v1/query"})) as server, (
                pytest.raises(ServerError, match="sends on to")):
            Server(ServerAccess(server.url, bearer(str(token)))).instant("up")
        assert other.asked == []


def test_a_certificate_is_trusted_by_its_authority_only(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is missing: apt-get install openssl")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
             "-days", "2", "-subj", "/CN=turbotui", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(words, check=True, capture_output=True)  # noqa: S603 - our own words
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with stub(lambda _asked: success([series("n0", "Busy%", 1.0)]), context) as server:
        trusting = Server(ServerAccess(server.url, authority=certificate))
        assert trusting.instant("up").result[0].labels["instance"] == "n0"
        with pytest.raises(ServerError, match=r"not trusted .* --ca FILE"):
            Server(ServerAccess(server.url)).instant("up")
        with pytest.raises(ServerError):  # a name that the certificate is not for
            Server(ServerAccess(server.url.replace("127.0.0.1", "localhost"), authority=certificate)).instant("up")
    with pytest.raises(UsageError, match="--ca"):
        Server(ServerAccess("https://x", authority=str(tmp_path / "none")))
