"""The server of the Model Context Protocol on stdin and stdout (https://modelcontextprotocol.io/specification)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio
import mcp_types as protocol
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import turbotui
from turbotui.errors import TurbotuiError, UsageError
from turbotui.features.mcp.answers import ToolAnswer, Verbs, answer
from turbotui.features.mcp.questions import EXPLAIN, NAME, QUESTIONS, ROWS, Asked, Question
from turbotui.machine.signal_guard import ending_signals
from turbotui.quantities.moments import local_time
from turbotui.recording.kept_runs import RecordedRun, run_facts

_INSTRUCTIONS: Final = (
    "What this machine's CPUs and uncore do: ask why first. Each answer is a sentence and then tables as JSON, a table "
    "on a line. A value of null was not read, and its reason stands under why; a value named under partial is a sum "
    "from which a part is missing. Numbers of a machine that is not REAL were not measured here.")
_LIST: Final = Question("recordings", "the recordings that can be asked about, from when to when", (), replays=False)


def make_server(verbs: Verbs, machine: Sequence[str], recordings: Mapping[str, str]) -> Server[Any]:
    """Make the server.

    Args:
        machine: words that choose the machine in every command line.
        recordings: paths of recordings by the names under which they are asked.
    """
    questions = {question.name: question for question in (*QUESTIONS, _LIST)}

    async def tools(_context: object, _params: object) -> protocol.ListToolsResult:
        return protocol.ListToolsResult(tools=[
            protocol.Tool(name=question.name, description=question.about,
                          input_schema=question.schema(list(recordings)),
                          annotations=protocol.ToolAnnotations(read_only_hint=True, open_world_hint=False))
            for question in questions.values()])

    async def call(_context: object, params: protocol.CallToolRequestParams) -> protocol.CallToolResult:
        try:
            if (question := questions.get(params.name)) is None:
                raise UsageError(f"there is no tool {params.name[:60]!r}, but {', '.join(questions)}")
            tool_answer = await _answered(verbs, question, params.arguments or {}, machine, recordings)
        except TurbotuiError as error:
            return _result(ToolAnswer(str(error)), failed=True)
        return _result(tool_answer)

    return Server("turbotui", version=turbotui.__version__, instructions=_INSTRUCTIONS, on_list_tools=tools,
                  on_call_tool=call)


def _result(tool_answer: ToolAnswer, *, failed: bool = False) -> protocol.CallToolResult:
    content: list[Any] = [protocol.TextContent(type="text", text=line) for line in tool_answer.lines]
    return protocol.CallToolResult(content=content, is_error=failed)


async def _answered(verbs: Verbs, question: Question, asked: Asked, machine: Sequence[str],
                    recordings: Mapping[str, str]) -> ToolAnswer:
    command = question.command(asked, machine, recordings)
    if question is _LIST:
        return ToolAnswer("\n".join(_span(name, path) for name, path in recordings.items())
                          or "no recording was named when turbotui mcp was started")
    if question is EXPLAIN and NAME.name not in asked:
        raise UsageError(f"{question.name} needs {NAME.name}: {NAME.about}")
    name = str(asked[NAME.name]) if question is EXPLAIN else ""
    tool_answer = await answer(verbs, command, int(ROWS.number(asked.get(ROWS.name, ROWS.default))), name)
    if not name:
        return tool_answer
    for table in tool_answer.tables:
        for row in table["rows"]:
            values = row["values"]
            here = "it is here" if values["available"] == "yes" else f"not here: {values['reason']}"
            return ToolAnswer(f"{row['id']}: {values['help']} {values['formula']}; {here}", tool_answer.tables)
    raise UsageError(f"there is no column {name}: the tool columns lists them")


def _span(name: str, path: str) -> str:
    facts = run_facts(RecordedRun(name, path))
    if facts.why:
        return f"{name}: {facts.why}"
    first, last = (f"{local_time(moment):%Y-%m-%d %H:%M:%S}" for moment in (facts.first_ns, facts.last_ns))
    beside = f", beside {' '.join(facts.command)}" if facts.command else ""
    return f"{name}: {facts.machine}, from {first} to {last}{beside}"


def serve(machine: Sequence[str], recordings: Mapping[str, str]) -> int:
    """ToolAnswer until stdin ends, and return the exit status; a signal ends the process at once.

    The protocol's library waits for a line in a thread that nothing but a line ends.
    """
    verbs = Verbs()
    server = make_server(verbs, machine, recordings)

    def end() -> None:
        verbs.kill()
        os._exit(ended.status)

    async def run() -> None:
        async with stdio_server() as (asked, answers):
            await server.run(asked, answers, server.create_initialization_options())

    with ending_signals(end) as ended:
        anyio.run(run)
    return 0
