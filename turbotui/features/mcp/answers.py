"""Answers: the tables that a verb of this turbotui writes as JSON, cut to the rows asked for, behind a sentence."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final

from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError
from turbotui.machine.host import HostKind
from turbotui.machine.own_program import environment_of_children, own_command
from turbotui.untrusted import json_text, one_line

_MOST_BYTES: Final = 32 << 20
"""Bytes of a verb's output; the columns of 1,024 CPUs take 6 MB."""
_MOST_TABLES: Final = 24
_AT_ONCE: Final = 2
"""Number of verbs that run at a time: more would measure each other."""
_PATIENCE: Final = 300.0
"""Seconds after which a verb is ended."""


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A sentence, and the tables behind it."""

    sentence: str
    tables: tuple[dict[str, Any], ...] = ()  # as docs/table.schema.json describes them, and `rows_left_out`

    @property
    def lines(self) -> Iterator[str]:
        """The sentence, and each table on a line."""
        yield self.sentence
        yield from (json_text(table, compact=True) for table in self.tables)


class Verbs:
    """Runs command lines of this turbotui, each in a process of its own, a few at a time."""

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(_AT_ONCE)
        self._running: set[asyncio.subprocess.Process] = set()

    def kill(self) -> None:
        """Kill what runs."""
        for process in self._running:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                process.kill()

    async def run(self, command: Sequence[str]) -> tuple[int, bytes, str]:
        """Run a command line, and return its exit status, what it wrote, and the last line of its complaints.

        Raises:
            TurbotuiError: it took too long, or wrote too much.
        """
        async with self._free:
            process = await asyncio.create_subprocess_exec(
                *own_command(), *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, env=environment_of_children(os.environ))
            self._running.add(process)
            try:
                async with asyncio.timeout(_PATIENCE):
                    output, complaints = await asyncio.gather(_bounded(process.stdout), _bounded(process.stderr))
                    status = await process.wait()
            except TimeoutError as error:
                raise TurbotuiError(f"no answer within {_PATIENCE:g} s") from error
            finally:
                self._running.discard(process)
                with contextlib.suppress(ProcessLookupError):  # it has ended
                    process.kill()
        lines = complaints.decode("utf-8", "replace").strip().splitlines()
        return status, output, one_line(lines[-1]) if lines else ""


async def answer(verbs: Verbs, command: Sequence[str], rows: int, row_id: str = "") -> ToolAnswer:
    """Run a verb and return what it says.

    Args:
        command: the words of its command line.
        rows: maximum number of rows of each table.
        row_id: the `id` of the only rows wanted, in any case; "" for all.

    Raises:
        TurbotuiError: the verb failed, with what it says; or it took too long, or said too much.
    """
    status, output, complaint = await verbs.run(command)
    complaint = complaint.removeprefix("turbotui: ")
    tables = [json.loads(line) for line in output.splitlines() if line.startswith(b"{")]
    if not tables:
        raise TurbotuiError(complaint or f"the verb said nothing, and ended with status {status}")
    if row_id:
        tables = [table | {"rows": [row for row in table["rows"] if row["id"].casefold() == row_id.casefold()]}
                  for table in tables]
    left = max(0, len(tables) - _MOST_TABLES)
    cut = tuple(_cut(table, rows) for table in tables[left:])
    notes = [f"{left} earlier tables are left out"] if left else []
    if status and complaint:  # it failed after these tables
        notes.append(complaint)
    return ToolAnswer("; ".join([_sentence(cut[-1]), *notes]), cut)


def _cut(table: dict[str, Any], rows: int) -> dict[str, Any]:
    left = len(table["rows"]) - rows
    return table if left <= 0 else table | {"rows": table["rows"][:rows], "rows_left_out": left}


def _sentence(table: dict[str, Any]) -> str:
    """What a table says before its rows: the verdict, if it has one, and that nothing was measured, if so."""
    kind, facts = table["kind"], table.get("facts", {})
    over = "" if table["seconds"] is None else f" over {table['seconds']:.2f} s"
    count = len(table["rows"])
    left = table.get("rows_left_out", 0)
    rows = f"{count} of {count + left} rows" if left else f"{count} row{'s' * (count != 1)}"
    why = "; ".join(table.get("notes", ())) if not count else ""
    sentence = facts.get("verdict") or (f"{table['table']} of {table['machine']} at {table['time']}{over}: {rows}"
                                        f"{'; ' * bool(why)}{why}")
    if kind != HostKind.REAL.value:
        sentence = f"{kind} machine {table['machine']}: {sentence}"
    return one_line(sentence)


async def _bounded(stream: asyncio.StreamReader | None) -> bytes:
    """All that a stream has; nothing of one that is None, which a pipe never is.

    Raises:
        TurbotuiError: it is too much.
    """
    parts = bytearray()
    while stream is not None and (part := await stream.read(1 << 16)):
        parts += part
        if len(parts) > _MOST_BYTES:
            raise TurbotuiError(f"the answer is longer than {_MOST_BYTES >> 20} MiB: ask for fewer intervals or "
                                "columns")
    return bytes(parts)
