"""`turbotui export --listen`: its answers, its clients, and the effect of bad clients on others."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest
from patience import PATIENCE
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families
from serving import Exported, exported, received

from turbotui.cli import main
from turbotui.commands.addresses import MOST_CONNECTIONS
from turbotui.errors import TurbotuiError
from turbotui.features.export.live.requests import MOST_HEAD, RefusedError, check_host, parse_request
from turbotui.features.export.live.textfile import TextFile

GOOD = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
BAD = {
    b"GET /metrics HTTP/1.1\r\n\r\n": 400,  # no Host
    b"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc": 405,
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc": 400,
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n": 400,
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n": 400,
    b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n": 421,
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: a\nb\r\n\r\n": 400,
    b"GET /metrics HTTP/2.0\r\nHost: localhost\r\n\r\n": 400,
    b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n": 400,  # TLS where there is none
    b"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n": 404,
    b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n": 400,
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n" + b"".join(b"X-%d: y\r\n" % at for at in range(70)) + b"\r\n": 431,
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 2 * MOST_HEAD + b"\r\n\r\n": 431,
    b"\r\n\r\n": 400,
}


@pytest.fixture(scope="module")
def server() -> Iterator[Exported]:
    with exported("--machine", "guest", "-i", "1") as result:
        result.until_counted()
        yield result


def status(answer: bytes) -> int:
    return int(answer.split()[1])


def test_text_or_openmetrics_plain_or_packed_by_what_the_client_takes(server: Exported) -> None:
    text, headers = server.get()
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert {metric.name for metric in text_families(text)} > {"turbotui_machine_cpus"}
    wanted = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"}
    text, headers = server.get(headers=wanted)
    assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    value = {item.name for item in openmetrics_families(text)}  # type: ignore[no-untyped-call]
    assert value > {"turbotui_machine_cpus", "turbotui_machine_busy_seconds"}
    packed = server.raw(GOOD.replace(b"\r\n\r\n", b"\r\nAccept-Encoding: gzip\r\n\r\n"))
    head, _, body = packed.partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip" in head
    assert b"turbotui_machine_cpus" in gzip.decompress(body)
    assert b"Content-Encoding" not in server.raw(GOOD.replace(b"\r\n\r\n", b"\r\nAccept-Encoding: gzip;q=0\r\n\r\n"))


def test_head_has_the_header_alone(server: Exported) -> None:
    answer = server.raw(GOOD.replace(b"GET", b"HEAD"))
    assert status(answer) == 200
    assert answer.endswith(b"\r\n\r\n")
    assert b"Content-Length: " in answer


@pytest.mark.parametrize("request_bytes", BAD, ids=range(len(BAD)))
def test_a_bad_request_is_answered_with_a_sentence(server: Exported, request_bytes: bytes) -> None:
    answer = server.raw(request_bytes)
    assert status(answer) == BAD[request_bytes]
    assert answer.splitlines()[0].decode().endswith(f" {HTTPStatus(BAD[request_bytes]).phrase}")
    assert answer.partition(b"\r\n\r\n")[2].strip()


def test_a_good_scrape_comes_through_slow_and_bad_clients(server: Exported) -> None:
    slow = [socket.create_connection(("127.0.0.1", server.port), PATIENCE) for _ in range(MOST_CONNECTIONS + 8)]
    try:
        for at, client in enumerate(slow):
            client.sendall(GOOD[:at % len(GOOD)] or b"G")
        chance = random.Random(4)
        for _ in range(50):
            server.raw(bytes(chance.randrange(256) for _ in range(chance.randrange(1, 400))))
        assert "turbotui_machine_cpus" in server.get()[0]
        assert received(slow[0]) == b"", "the oldest is cut without a word"
    finally:
        for client in slow:
            client.close()
    assert "turbotui_machine_cpus" in server.get()[0]


def test_who_does_not_end_a_request_is_cut(server: Exported) -> None:
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client:
        client.sendall(GOOD[:-2])
        assert received(client) == b""


def test_names_that_a_browser_could_be_made_to_use_are_refused() -> None:
    known = frozenset({"localhost", "node7"})
    for name in ("", "localhost", "node7", "node7.", "127.0.0.1", "10.0.0.7", "::1"):
        check_host(name, known)
    for name in ("evil.example", "localhost.evil.example", "node8", "127.0.0.1.evil.example",
                 "printer.local", "node7.local"):
        with pytest.raises(RefusedError) as refused:
            check_host(name, known)
        assert refused.value.status == 421
    assert parse_request(b"GET / HTTP/1.1\r\nHost: [::1]:9177\r\n\r\n").host == "::1"
    assert parse_request(b"GET / HTTP/1.1\r\nHost: Node7:9177\r\n\r\n").host == "node7"


def test_no_simulated_number_leaves_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--listen", "0.0.0.0:0", "--machine", "guest"]) == 2
    assert "SIMULATED" in capsys.readouterr().err


def test_an_address_that_is_taken_is_reported(server: Exported, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--listen", server.place, "--machine", "guest"]) == 1
    assert "cannot be listened at: Address already in use" in capsys.readouterr().err


def test_once_prints_one_scrape(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--once", "--machine", "guest", "-i", "0.2"]) == 0
    result = {metric.name for metric in text_families(capsys.readouterr().out)}
    assert {"turbotui_machine_busy_seconds", "turbotui_sampled_seconds"} <= result


def test_what_to_export_has_to_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export"]) == 2
    assert "--listen" in capsys.readouterr().err


def test_a_textfile_is_whole_readable_for_all_and_gone_at_the_end(tmp_path: Path) -> None:
    words = ["export", "--textfile", str(tmp_path), "--machine", "guest", "-i", "0.2"]
    path = tmp_path / "turbotui.prom"
    with subprocess.Popen([sys.executable, "-m", "turbotui", *words], umask=0o077) as process:  # noqa: S603 - ours
        seen: set[int] = set()
        while len(seen) < 3:  # another file each time: the name goes over from one to the next
            with contextlib.suppress(FileNotFoundError):
                status, text = path.stat(), path.read_text()
                assert text.endswith("\n")
                assert "turbotui_machine_busy_seconds_total" in {sample.name for family in text_families(text)
                                                                 for sample in family.samples}
                assert status.st_mode & 0o777 == 0o644
                seen.add(status.st_mtime_ns)
            assert process.poll() is None
        process.terminate()
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_a_textfile_once_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--textfile", str(tmp_path), "--once", "--machine", "guest", "-i", "0.2"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["turbotui.prom"]
    assert main(["export", "--textfile", str(tmp_path / "none"), "--once", "--machine", "guest", "-i", "0.2"]) == 1
    assert "cannot be written: No such file or directory" in capsys.readouterr().err


def test_a_disk_that_is_full_for_a_time_ends_no_daemon(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "turbotui", "export", "--textfile", str(tmp_path), "--machine", "guest", "-i", "0.2"]
    path = tmp_path / "turbotui.prom"
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        assert process.stderr is not None
        while not path.exists():
            assert process.poll() is None
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
        assert "turbotui.prom cannot be written: File too large; it is tried again" in process.stderr.readline()
        assert not path.exists()  # the numbers in it would be taken for present ones
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert "turbotui.prom is written again" in process.stderr.readline()
        process.terminate()
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
        assert process.stderr.read() == ""


def test_a_file_that_cannot_be_written_is_reported_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "folder"
    with pytest.raises(TurbotuiError, match="No such file"):  # it never was there
        TextFile(str(folder / "x.prom")).publish(b"1\n", again=True)
    folder.mkdir()
    file = TextFile(str(folder / "x.prom"))
    file.publish(b"1\n", again=True)
    folder.rename(tmp_path / "away")
    for _ in range(3):
        file.publish(b"2\n", again=True)
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(TurbotuiError):
        file.publish(b"3\n", again=False)
    (tmp_path / "away").rename(folder)
    for _ in range(2):
        file.publish(b"4\n", again=True)
    assert capsys.readouterr().err.count("\n") == 1
    assert (folder / "x.prom").read_bytes() == b"4\n"


@pytest.mark.parametrize("number", [errno.EIO, errno.EDQUOT, errno.ENOSPC, errno.EROFS, errno.ESTALE])
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes the calls fail")
def test_a_disk_that_fails_at_first_is_reported_once_and_written_when_it_works(tmp_path: Path, number: int) -> None:
    failing = f"inject=rename,renameat,renameat2:error={errno.errorcode[number]}:when=1..5"
    script = ("import sys; from turbotui.features.export.live.textfile import TextFile; one = TextFile(sys.argv[1])\n"
              "for at in range(7): one.publish(b'%d\\n' % at, again=True)")
    process = subprocess.run(  # noqa: S603 - ours
        ["strace", "-qq", "-f", "-o", "/dev/null", "-e", "trace=rename,renameat,renameat2", "-e", failing,  # noqa: S607 - found above
         sys.executable, "-B", "-c", script, str(tmp_path / "x.prom")],
        capture_output=True, text=True, check=False)
    if process.returncode and "strace:" in process.stderr:
        pytest.skip("strace may not trace here")
    assert process.returncode == 0, process.stderr
    assert [line.partition(" cannot be ")[2] or line.rpartition(" ")[2] for line in process.stderr.splitlines()] == [
        f"written: {os.strerror(number)}; it is tried again after each interval", "again"]
    assert (tmp_path / "x.prom").read_bytes() == b"6\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
def test_a_disk_that_is_full_from_the_start_is_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1", "none", str(tmp_path)],  # noqa: S603, S607 - ours
                             check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        TextFile(str(tmp_path / "x.prom")).publish(b"1\n", again=True)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)  # noqa: S603, S607 - ours
    assert "No space left on device; it is tried again" in capsys.readouterr().err


@pytest.mark.parametrize(("module", "package", "words"), [
    ("prometheus_client", "prometheus-client", ()), ("yaml", "pyyaml", ("--web-config", "none")),
    ("bcrypt", "bcrypt", ("--web-config", "none"))])
def test_a_package_that_is_missing_is_named(module: str, package: str, words: tuple[str, ...]) -> None:
    if module == "bcrypt":
        pytest.importorskip("yaml", reason="pyyaml is not installed, which is asked for first")
    script = f"import sys; sys.modules[{module!r}] = None; from turbotui.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "export", "--listen", "127.0.0.1:0", "--machine", "guest", *words]
    process = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert process.returncode == 1
    assert f"needs the Python package {package}, which is not installed" in process.stderr
