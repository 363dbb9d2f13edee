"""A headless Chromium that is driven by the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import shutil
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
from patience import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page:
    """One tab of the browser."""

    def __init__(self, connection: aiohttp.ClientWebSocketResponse) -> None:
        self._connection = connection
        self._number = 0

    async def _answer(self, method: str, **parameters: Any) -> Any:
        """The answer to a command; events meanwhile are passed over."""
        self._number += 1
        await self._connection.send_json({"id": self._number, "method": method, "params": parameters})
        while True:
            answer = await asyncio.wait_for(self._connection.receive_json(), PATIENCE)
            if answer.get("id") == self._number:
                return answer

    async def call(self, method: str, **parameters: Any) -> Any:
        """The result of a command."""
        answer = await self._answer(method, **parameters)
        assert "error" not in answer, answer
        return answer["result"]

    async def value(self, script: str) -> Any:
        """Return the result of a script of the page; None if the page makes room for another one meanwhile."""
        answer = await self._answer("Runtime.evaluate", expression=script, returnByValue=True)
        if "error" in answer:
            assert "navigated" in answer["error"]["message"], answer
            return None
        return answer["result"]["result"].get("value")

    async def until(self, script: str) -> None:
        """Wait until a script of the page comes to something."""
        while not await self.value(script):
            pass

    async def click(self, x: int, y: int) -> None:
        """Click with the left button, so that the page gets the keys."""
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def type(self, text: str) -> None:
        """Press keys that make these characters."""
        for character in text:
            await self.call("Input.dispatchKeyEvent", type="keyDown", text=character, key=character)
            await self.call("Input.dispatchKeyEvent", type="keyUp", key=character)

    async def picture(self) -> bytes:
        """A picture of the page, as bytes of a PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot", format="png"))["data"])


@contextlib.asynccontextmanager
async def opened(address: str, folder: Path) -> AsyncIterator[Page]:
    """A browser of its own with one tab at an address; both are gone behind the block."""
    assert CHROMIUM is not None
    browser = await asyncio.create_subprocess_exec(
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
        "--disable-dev-shm-usage",  # /dev/shm of a container has 64 MB
        "--window-size=1200,700", f"--user-data-dir={folder}", "about:blank",
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
    try:
        assert browser.stderr is not None
        said = ""
        while "DevTools listening on " not in said:
            line = await asyncio.wait_for(browser.stderr.readline(), PATIENCE)
            assert line, said
            said += line.decode(errors="replace")
        port = said.rpartition("ws://127.0.0.1:")[2].partition("/")[0]
        rest = asyncio.create_task(browser.stderr.read())  # a browser that nobody hears stops

        def tabs() -> Any:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json") as answer:
                return json.load(answer)

        tab = next(target for target in await asyncio.to_thread(tabs) if target["type"] == "page")
        async with (aiohttp.ClientSession() as client,
                    client.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=1 << 26) as connection):
            page = Page(connection)
            await page.call("Page.navigate", url=address)
            yield page
    finally:
        browser.kill()
        await browser.wait()
    await rest
