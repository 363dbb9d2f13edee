"""Every output of a recorded machine whose texts are hostile, without the guard in front of stdout."""

from __future__ import annotations

import base64
import csv
import io
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from hostile import HOSTILE, SHOWN, UNSAFE, record
from jsontables import tables

from turbotui import cli
from turbotui.errors import TurbotuiError
from turbotui.machine.linux import LinuxHost


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("hostile")
    record("laptop-old", root)
    return str(root)


def said(words: tuple[str, ...], tree: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the output of a command line, without the guard in front of stdout."""
    try:
        cli._run([*words, "--sysroot", tree])
    except TurbotuiError as error:
        print(error)
    shown = capsys.readouterr()
    return shown.out + shown.err


UNCORE = ("uncore", "-n", "1", "-i", "0.1")
STAT = ("stat", "-q", "-n", "1", "-i", "0.1")


@pytest.mark.parametrize("words", [
    ("stat", "-n", "1", "-i", "0.1"), (*STAT, "--format", "table"), (*STAT, "--format", "csv"),
    (*STAT, "--format", "openmetrics"), (*STAT, "--format", "json"), (*STAT, "--enable", "all"),
    ("stat", "-n", "1", "-i", "0.1", "--debug"), ("doctor",), ("doctor", "--json"), ("doctor", "-v"), ("info", "-v"),
    ("info", "--json"), ("columns",), ("columns", "--json"), UNCORE,
    (*UNCORE, "--json"), (*UNCORE, "--format", "csv"), (*UNCORE, "--format", "table"),
    (*UNCORE, "--format", "openmetrics"), ("events", "list"), ("events", "list", "--json"), ("events", "sets"),
    ("events", "sets", "--json"), ("roofs",), ("roofs", "--json"), ("roofline",), ("score", "show"),
    ("score", "history"), ("spy", "--on", "all", "--events", "cycles", "-n", "1"),
], ids=" ".join)
def test_no_output_holds_a_byte_that_a_terminal_obeys(
        words: tuple[str, ...], tree: str, capsys: pytest.CaptureFixture[str], tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    text = said(words, tree, capsys)
    assert text
    assert [text[max(0, match.start() - 30) : match.end() + 10] for match in UNSAFE.finditer(text)] == []
    for line in text.splitlines() if "json" in " ".join(words) else ():
        if line.startswith("{"):
            json.dumps(json.loads(line), ensure_ascii=False).encode()  # no lone surrogate behind an escape


def test_what_programs_read_holds_the_original(tree: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = said((*STAT, "--format", "json"), tree, capsys).splitlines()[0]
    table = tables(line)[0]
    assert table["machine"] == f"host{HOSTILE}⟪xff⟫⟪xfe⟫"
    assert base64.b64decode(table["bytes"]["machine"]) == b"host" + HOSTILE.encode() + b"\xff\xfe"


def test_rows_and_cells_stay_in_their_places(tree: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in said((*STAT, "--format", "csv"), tree, capsys).splitlines() if "Guessing" not in line]
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert len(rows) == 1 + 1 + 8
    text = [line for line in said(STAT, tree, capsys).splitlines() if "Guessing" not in line]
    assert len(text) == 1 + 1 + 1 + 8  # the machine, the titles, the summary, eight CPUs
    assert max(line.count("\t") for line in text[2:]) <= text[1].count("\t")


def test_names_of_directories_are_shown_as_marks_and_still_lead_there(tree: str) -> None:
    host = LinuxHost(tree)
    folder = "/sys/bus/event_source/devices"
    evil = [name for name in host.list_dir(folder) if SHOWN in name]
    assert evil
    assert host.exists(f"{folder}/{evil[0]}")
    assert host.read_text(f"{folder}/{evil[0]}/type").strip().isdecimal()
    with_events = next(name for name in evil if host.exists(f"{folder}/{name}/events"))
    event = next(name for name in host.list_dir(f"{folder}/{with_events}/events") if name.startswith("evil"))
    assert host.read_text(f"{folder}/{with_events}/events/{event}") == "event=0x3c\n"
    host.close(host.open_file(f"{folder}/{with_events}/events/{event}"))
