"""The lines of the opening fit every terminal, and the colours are those of the themes."""

from __future__ import annotations

import pytest

from turbotui.app.plain_help import plain_help
from turbotui.app.themes import THEMES
from turbotui.opening.picture import BAR, DIM, PLAIN, STRONG, OpeningView, help_lines, opening_lines
from turbotui.opening.readings import OpeningReading, busy, read_opening
from turbotui.opening.terminal import GROUNDS, styles

SIZES = [(1, 1), (10, 3), (40, 10), (80, 24), (120, 36), (200, 60), (300, 90)]


def _known(cpus: int) -> OpeningReading:
    return OpeningReading("a" * 30, "6.12.1-amd64", "AMD EPYC 9654 96-Core Processor", (900.25, 3.0, 1.0), "900/12345",
                          (1 << 20, 1 << 30), {cpu: (cpu, 1000) for cpu in range(cpus)})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("cpus", [0, 1, 2, 22, 384, 1024])
def test_it_fits(size: tuple[int, int], cpus: int) -> None:
    width, height = size
    rows = {cpu: cpu * 100.0 / 1024 if cpu % 7 else None for cpu in range(cpus)}
    for moment in (OpeningView(_known(cpus), rows, "Looking", 12.0, keys_wait=True), OpeningView(None, {}, "Looking")):
        lines = opening_lines(moment, width, height)
        assert len(lines) == height
        for line in lines:
            text = "".join(piece for piece, _ in line)
            assert len(text) <= width
            assert text.isascii()
    assert len(help_lines(plain_help(), 5, width, height)) <= max(1, height)


@pytest.mark.parametrize(("cpus", "size", "words"), [
    (2, (80, 24), " 1 [||||"), (22, (80, 24), "21 ["), (384, (300, 90), "383 ["),
    (1024, (80, 24), "1024 CPUs: 50.0 % busy, 0 of them above 90 %"),
])
def test_every_cpu_has_a_bar_where_there_is_room_and_a_sentence_stands_for_them_where_not(
        cpus: int, size: tuple[int, int], words: str) -> None:
    lines = opening_lines(OpeningView(_known(cpus), dict.fromkeys(range(cpus), 50.0), "Looking"), *size)
    assert words in "\n".join("".join(piece for piece, _ in line) for line in lines)


def test_what_is_not_known_is_no_zero() -> None:
    older, newer = OpeningReading("n", "k", ticks={0: (5, 10)}), OpeningReading("n", "k", ticks={0: (5, 10), 1: (1, 2)})
    assert busy(older, newer) == {0: None, 1: None}
    lines = opening_lines(OpeningView(newer, busy(older, newer), "Looking"), 80, 24)
    shown = "\n".join("".join(piece for piece, _ in line) for line in lines)
    assert "- %" in shown
    assert "0.0 %" not in shown


def test_readings_come_from_proc(tmp_path_factory: pytest.TempPathFactory) -> None:
    proc = tmp_path_factory.mktemp("proc")
    (proc / "loadavg").write_text("1.50 0.50 0.25 3/412 999\n")
    (proc / "meminfo").write_text("MemTotal:  4194304 kB\nMemFree: 1 kB\nMemAvailable:  1048576 kB\n")
    (proc / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Some\x1b[2JCPU\n")
    (proc / "stat").write_text("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 0 10 70 10 0 0 0 5 5\n"
                               "cpu3 1 2 3 4 5 6 7 8 0 0\nintr 5\n")
    known = read_opening(str(proc))
    assert known.loads == (1.5, 0.5, 0.25)
    assert known.tasks == "3/412"
    assert known.memory_kib == (1048576, 4194304)
    assert known.model == "Some␛[2JCPU"
    assert known.ticks == {0: (20, 100), 3: (27, 36)}


def test_a_proc_that_tells_nothing_leaves_its_parts_empty(tmp_path_factory: pytest.TempPathFactory) -> None:
    known = read_opening(str(tmp_path_factory.mktemp("empty")))
    assert (known.model, known.loads, known.tasks, known.memory_kib, known.ticks) == ("", (), "", None, {})
    assert opening_lines(OpeningView(known, {}, "Looking"), 80, 24)


def test_the_ground_is_the_one_that_textual_paints() -> None:
    for theme in THEMES:
        colours = GROUNDS.get(theme.name)
        if colours is None:
            assert theme.ansi
        else:
            variables = theme.variables
            result = {"ground": theme.background, PLAIN: theme.foreground, DIM: variables["tui-dim"],
                      STRONG: variables["tui-strong"], BAR: variables["tui-spark"]}
            assert {name: f"#{colour}" for name, colour in colours.items()} == result


def test_colours_are_for_terminals_that_show_them() -> None:
    full = styles(None, {"COLORTERM": "truecolor"})
    assert full[PLAIN] == "\x1b[0;38;2;185;195;204;48;2;16;21;26m"
    for environment in ({}, {"COLORTERM": "truecolor", "NO_COLOR": "1"}):
        assert "2;16;21;26" not in styles(None, environment)[PLAIN]
    assert "48;2" not in styles("ansi", {"COLORTERM": "truecolor"})[PLAIN]


def test_every_screen_and_key_is_in_the_help() -> None:
    text = "\n".join("".join(piece for piece, _ in line) for line in plain_help())
    for words in ("? F1", "Up k", "Screen: topology", "Quit."):
        assert words in text


def test_nothing_is_drawn_of_a_machine_that_is_not_this_one() -> None:
    lines = opening_lines(OpeningView(None, {}, "Looking", 0.0), 80, 24)
    assert "%" not in "".join(piece for line in lines for piece, _ in line)
