"""Times of a recording on command lines: a time before the end begins with a minus, and is no option."""

from __future__ import annotations

from pathlib import Path

import pytest

from turbotui.cli import main

FILE = str(Path(__file__).parents[1] / "machines" / "laptop-simulated.tar.gz")
SPANS = ("-2.5s", "-1s")


@pytest.mark.parametrize("words", [
    ("stat", "-q", "--replay", FILE, "--show", "Busy%,TSC_MHz"), ("why", "--replay", FILE),
    ("roofline", "--replay", FILE, "--json"),
], ids=lambda words: words[0])
def test_steps_back_are_written_as_they_are_spoken(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    begin, end = SPANS
    for times in (("--from", begin, "--to", end), (f"--from={begin}", f"--to={end}"), ()):
        status = main([*words, *times])
        said.append((status, capsys.readouterr().out))
    assert said[0] == said[1]
    assert said[0][0] in (0, 7)
    assert said[0] != said[2], "a part of it is not all of it"


def test_a_time_behind_no_option_is_a_wrong_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["why", "-5m"]) == 2
    assert "-5m" in capsys.readouterr().err


def test_export_and_replay_take_them_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["export", "--from", FILE, "--output", str(tmp_path / "a.csv"), "--from-time", "-2s"]) == 0
    assert (tmp_path / "a.csv").stat().st_size
    assert main(["replay", FILE, "--from", "-2s"]) == 4, "only the terminal is missing"
    assert "terminal" in capsys.readouterr().err
