"""One tab of a browser: a dashboard in a pseudo-terminal of its own, from the tab's opening to its close."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

_READ: Final = 1 << 16
_PATIENCE: Final = 5.0  # seconds in which a dashboard whose terminal is gone ends by itself
_MOST: Final = 1000  # columns or lines


class Tab:
    """A dashboard whose terminal is a tab; has what textual-serve asks of its `AppService`.

    No shell has a part in it: the words of the command line are handed to exec(2) as they are.

    Args:
        options: of the dashboard.
        show: sends bytes to the tab.
        close: closes the tab's connection.
    """

    def __init__(self, options: Sequence[str], show: Callable[[bytes], Awaitable[None]],
                 close: Callable[[], Awaitable[object]]) -> None:
        self._options = tuple(options)
        self._show = show
        self._close = close
        self._process: asyncio.subprocess.Process | None = None
        self._terminal = -1
        self._task: asyncio.Task[None] | None = None

    async def start(self, width: int, height: int) -> None:
        """Open the terminal, and start the dashboard in it."""
        self._terminal, slave = pty.openpty()
        self._resize(width, height)
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        for name in ("COLUMNS", "LINES"):  # of the terminal that serve was started in
            environment.pop(name, None)
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "turbotui", *self._options, stdin=slave, stdout=slave, stderr=slave,
                env=environment, start_new_session=True)
        finally:
            os.close(slave)
        os.set_blocking(self._terminal, False)
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Close the terminal, by which the dashboard ends, and wait for that."""
        process, self._process = self._process, None
        if self._task is not None:
            self._task.cancel()
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1
        if process is None:
            return
        for number in (signal.SIGHUP, signal.SIGKILL):
            if process.returncode is None:
                process.send_signal(number)
                try:
                    await asyncio.wait_for(process.wait(), _PATIENCE)
                except TimeoutError:
                    continue
            return

    async def type(self, data: bytes) -> None:
        """Hand on what was typed, or what the terminal of the tab answers."""
        while data and self._terminal >= 0:
            try:
                data = data[os.write(self._terminal, data):]
            except BlockingIOError:
                await asyncio.sleep(0.01)
            except OSError:  # the dashboard has ended
                return

    def resize(self, width: int, height: int) -> None:
        """The tab has another size, in characters and lines."""
        if self._terminal >= 0 and self._process is not None and self._process.returncode is None:
            self._resize(width, height)
            self._process.send_signal(signal.SIGWINCH)  # the kernel tells it to who has a controlling terminal

    def _resize(self, width: int, height: int) -> None:
        lines, columns = (min(_MOST, max(1, size)) for size in (height, width))
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    async def _run(self) -> None:
        """Show what the dashboard writes until it ends, then close the tab's connection."""
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        terminal = self._terminal
        loop.add_reader(terminal, readable.set)
        try:
            while True:
                await readable.wait()
                readable.clear()
                try:
                    data = os.read(terminal, _READ)
                except BlockingIOError:
                    continue
                except OSError:  # EIO: nobody has the other end open any more
                    break
                if not data:
                    break
                await self._show(data)
        except ConnectionError:  # the tab is gone
            return
        finally:
            loop.remove_reader(terminal)
        await self._close()
