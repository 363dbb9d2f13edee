"""`turbotui mcp`: what a client of the protocol is offered, what it is answered, and what it cannot ask."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from patience import PATIENCE

from turbotui.cli import main
from turbotui.errors import UsageError
from turbotui.features.mcp.answers import ToolAnswer, Verbs, answer
from turbotui.features.mcp.questions import QUESTIONS

if TYPE_CHECKING:
    from mcp import Client, StdioServerParameters
    from mcp_types import CallToolResult

pytestmark = pytest.mark.skipif(
    find_spec("mcp_types") is None,
    reason="the protocol's library is not installed: pip install 'turbotui[mcp]'")
_LAPTOP = ("--machine", "laptop")
_SCHEMA = json.loads((Path(__file__).parents[3] / "docs/table.schema.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mcp") / "run.ttj"
    assert main(["record", "--machine", "laptop", "-i", "0.1", "-n", "4", str(path)]) == 0
    return path


def client_of(server: StdioServerParameters | tuple[Verbs, Sequence[str], Mapping[str, str]]) -> Client:
    """A client of a program, or of a server in this process; the library, 0.5 s, is imported where it is asked for."""
    from mcp import Client  # noqa: PLC0415 - each worker collects all tests

    from turbotui.features.mcp.server import make_server  # noqa: PLC0415 - as above

    return Client(make_server(*server) if isinstance(server, tuple) else server)


def texts(result: CallToolResult) -> list[str]:
    return [part.text for part in result.content]


async def asked(name: str, arguments: Mapping[str, Any] | None = None, recordings: Mapping[str, str] | None = None,
                ) -> CallToolResult:
    async with client_of((Verbs(), _LAPTOP, recordings or {})) as client:
        return await client.call_tool(name, dict(arguments or {}))


async def test_a_program_that_starts_it_is_offered_tools_that_only_look() -> None:
    words = ["-m", "turbotui", "mcp", *_LAPTOP]
    from mcp import StdioServerParameters  # noqa: PLC0415 - as above

    started = StdioServerParameters(command=sys.executable, args=words, env={**os.environ})
    async with client_of(started) as client:
        tools = (await client.list_tools()).tools
        answered = await client.call_tool("why", {"seconds": 0.2})
    assert {tool.name for tool in tools} == {question.name for question in QUESTIONS} | {"recordings"}
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
    assert not answered.is_error, texts(answered)
    sentence, findings = texts(answered)
    assert sentence.startswith("SIMULATED machine laptop: ")
    assert sentence.endswith(json.loads(findings)["facts"]["verdict"])


@pytest.mark.parametrize("name", [question.name for question in QUESTIONS if question.name != "explain"])
async def test_each_question_is_answered_by_a_sentence_and_tables_with_at_most_the_rows_asked_for(name: str) -> None:
    watched = {"seconds": 0.2} if name in {"why", "stat", "tasks", "topdown", "power"} else {}
    answered = await asked(name, {"rows": 2, **watched})
    sentence, *tables = texts(answered)
    if answered.is_error:
        assert name == "tasks"  # a simulated machine has none, and it says so
        assert "laptop" in sentence
        return
    assert "SIMULATED" in sentence
    for table in map(json.loads, tables):
        left = table.pop("rows_left_out", 0)
        jsonschema.validate(table, _SCHEMA)
        assert len(table["rows"]) == 2 or (not left and len(table["rows"]) < 2)


async def test_a_recording_that_was_named_is_one_interval_unless_others_are_asked_for(recording: Path) -> None:
    recordings = {"run.ttj": str(recording)}
    listed = texts(await asked("recordings", recordings=recordings))
    assert len(listed) == 1
    assert listed[0].startswith("run.ttj: ")
    whole = texts(await asked("stat", {"recording": "run.ttj", "columns": "Busy%,CPU"}, recordings))
    assert len(whole) == 2
    parts = texts(await asked("stat", {"recording": "run.ttj", "every": "0.1s"}, recordings))
    assert len(parts) > 2
    assert json.loads(whole[1])["seconds"] > json.loads(parts[1])["seconds"]


async def test_a_column_is_explained_in_a_sentence_whatever_its_case() -> None:
    sentence, table = texts(await asked("explain", {"name": "bzy_mhz"}))
    assert sentence.startswith("Bzy_MHz: ")
    assert [row["id"] for row in json.loads(table)["rows"]] == ["Bzy_MHz"]
    for arguments in ({"name": "Fnord"}, {}):
        unknown = await asked("explain", arguments)
        assert unknown.is_error
        assert "column" in texts(unknown)[0]


async def test_a_refusal_is_a_sentence_and_no_failure_of_the_protocol() -> None:
    for name, arguments in (("stat", {"columns": "--add=/x"}), ("record", {}), ("explain", {"name": "no such"})):
        refused = await asked(name, arguments)
        assert refused.is_error
        assert len(texts(refused)) == 1


def test_a_name_that_is_no_text_reaches_the_client_with_its_mark() -> None:
    # half of a surrogate pair, which no UTF-8 has, and a character that a terminal would obey
    table = {"rows": [{"command": "a\ud800b\x1bc"}]}
    _sentence, line = ToolAnswer("", (table,)).lines
    assert "\x1b" not in line
    assert json.loads(line.encode("utf-8")) == {"rows": [{"command": "a⟪d800⟫b\x1bc"}]}


async def test_a_table_without_rows_says_why_in_the_sentence() -> None:
    said = await answer(Verbs(), ("batteries", "--machine", "guest", "-n", "1", "-i", "0.1", "--json"), 5)
    assert [table["rows"] for table in said.tables] == [[]]
    assert "0 rows; virtual machine: " in said.sentence


async def test_what_this_machine_cannot_count_is_an_error_that_says_why() -> None:
    async with client_of((Verbs(), ("--machine", "guest"), {})) as client:
        result = await client.call_tool("topdown", {"seconds": 0.2})
    assert result.is_error
    assert texts(result)[0].startswith("virtual machine: there is no PMU of the cores")


def test_a_recording_that_cannot_be_read_is_refused_at_the_start(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", str(tmp_path / "none.ttj")]) == UsageError("").exit_status
    assert "none.ttj" in capsys.readouterr().err


def test_it_ends_with_its_input_and_by_a_signal() -> None:
    command = [sys.executable, "-m", "turbotui", "mcp"]
    ended = subprocess.run(command, input=b"", capture_output=True, timeout=PATIENCE,  # noqa: S603 - ourselves
                           check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,  # noqa: S603 - ourselves
                          stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
                            b'"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}\n')
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "turbotui"
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
        assert process.stderr is not None
        assert process.stderr.read() == b""
