"""`turbotui serve`: who gets an answer, what a tab shows, and how the server ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from patience import PATIENCE, is_gone, until_gone
from terminal_picture import TerminalPicture

pytest.importorskip("textual_serve", reason="textual-serve is not installed: pip install 'turbotui[serve]'")

import aiohttp
from browser import CHROMIUM, opened

from turbotui.cli import main
from turbotui.commands.addresses import MOST_CONNECTIONS, parse_address
from turbotui.errors import UsageError
from turbotui.features.serve.verb import check_options
from turbotui.machine.own_program import install_command

_DASHBOARD = ("--", "--machine", "laptop", "-i", "0.2")
_ODD = "no;such'screen $(touch made) "


class Served:
    """A server of its own process.

    Attributes:
        address: with the key.
        place: without.
        socket: the address of a tab's web socket, with the key.
    """

    def __init__(self, process: asyncio.subprocess.Process, address: str) -> None:
        self.process = process
        self.address = address
        self.place, _, query = address.partition("/?")
        self.socket = f"{self.place}/ws?{query}"

    def children(self) -> list[int]:
        """The dashboards that run."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [pid for pid in map(int, path.read_text().split()) if not is_gone(pid)]


@contextlib.asynccontextmanager
async def served(*words: str, folder: Path | None = None) -> AsyncIterator[Served]:
    """A server at any port, until the block ends; it ends by SIGTERM, and has complained of nothing."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "turbotui", "serve", "--listen", "127.0.0.1:0", *words, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE, cwd=folder)
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
        match = re.search(rb"http://127\.0\.0\.1:\d+/\?key=\S+", line)
        assert match, line
        yield Served(process, match[0].decode())
        process.terminate()
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 128 + signal.SIGTERM
        assert process.stderr is not None
        assert (await process.stderr.read()).decode() == ""
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_only_who_has_the_key_and_comes_by_the_right_name_is_answered() -> None:
    async with served(*_DASHBOARD) as server, aiohttp.ClientSession() as stranger:
        key = server.address.partition("key=")[2]
        for path, status in (("/", 200), ("/?key=wrong", 403), ("/?key=", 403), ("/ws", 403), ("/ws?key=wrong", 403),
                             ("/ws?key=", 403), ("/download/x", 404), ("/static/", 403), ("/static/js", 403),
                             ("/static/js/../../server.py", 404)):
            async with stranger.get(server.place + path, headers={"Cookie": f"key={key}; turbotui={key}"}) as answer:
                assert (path, answer.status) == (path, status)
                assert key not in await answer.text()
        for headers in ({"Host": "evil.example:80"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
            for address in (server.address, server.socket):
                async with stranger.get(address, headers=headers) as answer:
                    assert answer.status == 403
        assert not server.children()


async def test_a_page_loads_nothing_from_elsewhere_and_sets_no_cookie() -> None:
    async with served(*_DASHBOARD) as server, aiohttp.ClientSession() as client, client.get(server.address) as answer:
        assert answer.status == 200
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "Set-Cookie" not in answer.headers
        text = await answer.text()
        assert re.findall(r'(?:src|href)="([^"]*)"', text) == [
            "data:,", "/static/css/xterm.css", "/static/js/textual.js"]


class Shown:
    """What a tab of the browser shows."""

    def __init__(self, tab: aiohttp.ClientWebSocketResponse) -> None:
        self._tab = tab
        self._picture = TerminalPicture()

    async def until(self, pattern: str) -> None:
        """Receive output until a line that it draws on matches."""
        lines = ""
        async with asyncio.timeout(PATIENCE):
            while not re.search(pattern, lines, re.DOTALL):
                message = await self._tab.receive()
                assert message.type == aiohttp.WSMsgType.BINARY, (message, lines[-500:])
                lines += self._picture.feed(message.data) + "\n"


async def test_a_tab_has_a_dashboard_of_its_own_that_takes_keys_and_sizes_and_ends_with_it() -> None:
    async with served(*_DASHBOARD) as server, aiohttp.ClientSession() as client:
        async with client.ws_connect(f"{server.socket}&width=100&height=30") as tab:
            shown = Shown(tab)
            await shown.until(r"SIMULATED machine laptop.*over \d")
            [child] = server.children()
            await tab.send_json(["resize", {"width": 30, "height": 9}])
            await shown.until(r"30x9 is too")
            await tab.send_json(["nonsense"])
            await tab.send_json(["resize", {"width": 100, "height": 30}])
            await tab.send_json(["stdin", "?"])
            await shown.until(r"keys and columns")
        until_gone(child)
        async with client.ws_connect(server.socket) as tab:
            shown = Shown(tab)
            await shown.until(r"over \d")
            await tab.send_json(["stdin", "q"])
            while (await asyncio.wait_for(tab.receive(), PATIENCE)).type is aiohttp.WSMsgType.BINARY:
                pass
            assert tab.closed


async def _answered(place: str, request: bytes) -> int:
    """The status that the server answers to the bytes of a request."""
    host, port = place.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(request.replace(b"HOST", f"{host}:{port}".encode()))
    status = (await asyncio.wait_for(reader.readline(), PATIENCE)).split()[1]
    writer.close()
    return int(status)


async def test_requests_that_are_none_are_refused_and_complained_of_nowhere() -> None:
    async with served(*_DASHBOARD) as server:
        for request, status in (
            (b"garbage\r\n\r\n", 400), (b"\0" * 5000, 400), (b"GET / HTTP/9.9\r\nHost: HOST\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: HOST\r\n: none\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: -1\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: HOST\r\nCookie: \xff\xfe\r\n\r\n", 200),
            (b"GET /?key=%ff HTTP/1.1\r\nHost: HOST\r\n\r\n", 403),
            (b"GET /static/" + b"a" * 300 + b" HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
        ):
            assert (request[:40], await _answered(server.place, request)) == (request[:40], status)


async def test_the_oldest_of_too_many_connections_that_ask_nothing_is_cut_and_a_browser_is_answered() -> None:
    async with (served(*_DASHBOARD) as server, aiohttp.ClientSession() as client,
                client.ws_connect(f"{server.socket}&width=100&height=30") as tab):
        shown = Shown(tab)
        await shown.until(r"over \d")
        host, port = server.place.removeprefix("http://").split(":")
        slow = [await asyncio.open_connection(host, int(port)) for _ in range(MOST_CONNECTIONS + 8)]
        for _reader, writer in slow:
            writer.write(b"GET / HTTP/1.1\r\nHost:")
        for reader, _writer in slow[:8]:
            with contextlib.suppress(ConnectionResetError):  # what it has sent was not read yet
                assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
        async with client.get(server.place + "/") as answer:
            assert answer.status == 200
        await tab.send_json(["stdin", "?"])
        await shown.until(r"keys and columns")
        for _reader, writer in slow:
            writer.close()


async def test_an_open_tab_does_not_keep_the_server_from_ending() -> None:
    async with aiohttp.ClientSession() as client, served(*_DASHBOARD) as server:
        tab = await client.ws_connect(server.socket)
        shown = Shown(tab)
        await shown.until(r"over \d")
        [child] = server.children()
    until_gone(child)


async def test_what_a_page_does_not_say_is_passed_over() -> None:
    async with served(*_DASHBOARD) as server, aiohttp.ClientSession() as client:
        width = "9" * 5000  # more digits than Python's int takes
        async with client.ws_connect(f"{server.socket}&width={width}&height=30") as tab:
            for text in ("{", "null", "[" * 100_000, '["stdin","\\ud800"]', '["stdin",5]', '["resize",[]]',
                         f'["resize",{{"width":{width}}}]', '["resize",{"width":1e999}]'):
                await tab.send_str(text)
            shown = Shown(tab)
            await shown.until(r"over \d")
            await tab.send_json(["stdin", "?"])
            await shown.until(r"keys and columns")


async def test_words_of_the_command_line_reach_the_dashboard_as_they_are(tmp_path: Path) -> None:
    async with (served("--", "--screen", _ODD, "--machine", "guest", folder=tmp_path) as server,
                aiohttp.ClientSession() as client, client.ws_connect(f"{server.socket}&width=200&height=30") as tab):
        await Shown(tab).until(re.escape(_ODD))
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(CHROMIUM is None, reason="the package chromium is not installed")
async def test_a_browser_shows_numbers_that_change_takes_keys_and_ends_the_dashboard_with_its_tab(
        tmp_path: Path) -> None:
    async with served(*_DASHBOARD) as server:
        async with opened(server.address, tmp_path) as page, asyncio.timeout(PATIENCE):
            await page.until("document.body.className.includes('-first-byte')")
            assert await page.value("location.search") == ""
            assert await page.value("document.cookie") == ""
            bar = "(view => view.offsetWidth - view.clientWidth)(document.querySelector('.xterm-viewport'))"
            assert await page.value(bar) == 0  # a dashboard is never scrolled as a whole
            first = await page.picture()
            while await page.picture() == first:
                pass
            [child] = server.children()
            await page.type("q")  # no click before: the dashboard ends, and the page says so
            await page.until("document.body.className.includes('-closed')")
            until_gone(child)
            assert await page.value("document.getElementById('why').checkVisibility()")
            await page.click(90, 90)  # somewhere, and then the button
            await page.value("document.getElementById('again').click()")
            # of the page that this one loads, and not of this one
            await page.until("/-first-byte/.test(document.body.className) && !/-closed/.test(document.body.className)")
            [child] = server.children()
        until_gone(child)


@pytest.mark.skipif(CHROMIUM is None, reason="the package chromium is not installed")
async def test_a_server_at_another_port_learns_no_key_from_the_browser(tmp_path: Path) -> None:
    asked: list[str] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        body = (b"<script>document.title = JSON.stringify({...sessionStorage, ...localStorage}) + document.cookie"
                b"</script>")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n"
                     b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    other = await asyncio.start_server(listen, "127.0.0.1", 0)
    async with (other, served(*_DASHBOARD) as server, opened(server.address, tmp_path) as page,
                asyncio.timeout(PATIENCE)):
        key = server.address.partition("key=")[2]
        await page.until("document.body.className.includes('-first-byte')")
        assert await page.value("sessionStorage.getItem('turbotui')") == key
        await page.call("Page.navigate", url=f"http://127.0.0.1:{other.sockets[0].getsockname()[1]}/")
        await page.until("document.title.startsWith('{')")
        assert await page.value("document.title") == "{}"
        assert asked
        assert not [request for request in asked if key in request]


@pytest.mark.skipif(CHROMIUM is None, reason="the package chromium is not installed")
async def test_a_page_without_the_key_opens_nothing_and_says_what_it_lacks(tmp_path: Path) -> None:
    async with served(*_DASHBOARD) as server, opened(server.place, tmp_path) as page, asyncio.timeout(PATIENCE):
        await page.until("document.body && document.body.className.includes('-closed')")
        assert "with the key" in await page.value("document.body.innerText")
        assert not server.children()


@pytest.mark.parametrize(("text", "found"), [
    ("127.0.0.1:8000", ("127.0.0.1", 8000)), ("localhost:1", ("127.0.0.1", 1)), ("[::1]:0", ("::1", 0))])
def test_addresses_are_read(text: str, found: tuple[str, int]) -> None:
    address, port = parse_address(text)
    assert (str(address), port) == found
    assert address.is_loopback


@pytest.mark.parametrize("text", ["8000", "127.0.0.1", "node:80", "127.0.0.1:70000", "127.0.0.1:x", "::"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="an address and a port are wanted"):
        parse_address(text)


@pytest.mark.parametrize(("words", "sentence"), [
    (["stat"], "serve shows the dashboard"), (["-i", "1", "--", "make"], "run anew for every tab")])
def test_verbs_and_commands_are_not_served(words: list[str], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        check_options(words)


def test_other_machines_are_let_in_only_when_that_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--listen", "192.0.2.1:8000"]) == 2
    assert "give --allow-remote too" in capsys.readouterr().err


def test_what_is_not_installed_is_named_with_the_line_that_installs_it(
        monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delitem(sys.modules, "turbotui.features.serve.server", raising=False)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert main(["serve"]) == 1
    assert capsys.readouterr().err == (
        "turbotui: turbotui serve needs the Python package aiohttp, which is not installed: "
        f"{install_command('textual-serve')}\n")


def test_a_port_that_is_taken_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    import socket  # noqa: PLC0415 - one test

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--listen", f"127.0.0.1:{port}"]) == 1
    assert capsys.readouterr().err == (
        f"turbotui: 127.0.0.1, port {port} cannot be listened at: Address already in use\n")
