"""Marks of regions: how a program writes them, how they are parsed, and how time is divided among regions."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turbotui
from turbotui.errors import MachineError
from turbotui.machine.observing import observe
from turbotui.machine.region_pipes import GivenPipe, RegionPipe
from turbotui.machine.regions import OTHERS, RegionMark, RegionTimes, parse_mark
from turbotui.region_marks import VARIABLE

_SHARE = Path(turbotui.__file__).parent.parent / "share" / "turbotui"
_THREAD = (7, 7)


def _run(words: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> None:
    subprocess.run(words, env=environment, check=True)  # noqa: S603 - this interpreter, and the compilers of PATH


def _mark(kind: str, ns: int, name: str = "solve", thread: tuple[int, int] = _THREAD, lost: int = 0) -> RegionMark:
    return RegionMark(kind == "B", ns, thread, lost, name)


@pytest.mark.parametrize("line", [
    b"", b"B", b"B 1 2 3 0", b"B 1 2 3 0 ", b"X 1 2 3 0 name", b"B -1 2 3 0 name", b"B 1 2 3 x name",
    b"B 1 2 3 0 " + b"n" * 300, b"B 99999999999999999999 2 3 0 name", b"B 1 2 3 0 \t", b" B 1 2 3 0 name",
])
def test_what_is_no_mark_is_none(line: bytes) -> None:
    assert parse_mark(line) is None


def test_a_mark_is_read_and_its_name_made_visible() -> None:
    mark = parse_mark(b"E 12 34 56 7 a \x1b[31mred")
    assert mark is not None
    assert (mark.begins, mark.ns, mark.thread, mark.lost) == (False, 12, (34, 56), 7)
    assert mark.name == "a ␛[31mred"


@given(st.binary(max_size=300))
def test_any_line_is_a_mark_of_visible_text_or_none(line: bytes) -> None:
    for data in (line, b"B 1 2 3 0 " + line):
        mark = parse_mark(data)
        assert mark is None or (mark.name and not any(ord(letter) < 32 or ord(letter) == 127 for letter in mark.name))


def test_time_is_shared_out_by_marks() -> None:
    times = RegionTimes(0)
    times.take(_mark("B", 250_000_000))
    times.take(_mark("E", 750_000_000))
    (share,) = times.until(1_000_000_000)
    assert (share.name, share.seconds, share.share) == ("solve", 0.5, 0.5)
    assert times.until(2_000_000_000) == ()
    assert (times.entries["solve"], times.still_open) == (1, 0)


def test_regions_in_each_other_and_of_several_threads_overlap() -> None:
    times = RegionTimes(0)
    for mark in (_mark("B", 0, "run"), _mark("B", 200, "solve"), _mark("B", 400, "solve", (7, 8)),
                 _mark("E", 600, "solve"), _mark("E", 800, "solve", (7, 8)), _mark("B", 900, "solve"),
                 _mark("B", 950, "solve")):
        times.take(mark)
    result = {share.name: share.share for share in times.until(1000)}
    assert result == {"run": 1.0, "solve": pytest.approx(0.7)}
    times.take(_mark("E", 1100, "solve"))
    assert [share.name for share in times.until(1200)] == ["run", "solve"]  # entered twice, left once
    assert times.entries == {"run": 1, "solve": 4}


def test_marks_that_come_late_count_from_the_last_reading() -> None:
    times = RegionTimes(0)
    assert times.until(1000) == ()
    times.take(_mark("B", 500))
    times.take(_mark("E", 3000))
    assert [(share.share, share.name) for share in times.until(2000)] == [(1.0, "solve")]
    assert [share.share for share in times.until(4000)] == [0.5]


def test_ends_without_a_beginning_lost_marks_and_a_thousand_names_are_reported() -> None:
    times = RegionTimes(0)
    times.take(_mark("E", 1))
    times.take(_mark("B", 2, lost=3))
    for number in range(1000):
        times.take(_mark("B", 3 + number, f"r{number}"))
    shares = times.until(10_000)
    assert (times.unmatched, times.lost) == (1, 3)
    assert len(shares) == 1001
    extents = times.extents()
    assert len(extents) == 201
    assert extents[-1].name == OTHERS


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2000), st.sampled_from("ab"), st.integers(1, 3))))
def test_no_region_is_open_for_longer_than_the_time(marks: list[tuple[bool, int, str, int]]) -> None:
    times, total = RegionTimes(0), 0.0
    for begins, ns, name, tid in marks:
        times.take(RegionMark(begins, ns, (1, tid), 0, name))
    for now in (500, 1000, 1500):
        for share in times.until(now):
            assert 0 < share.share <= 1
            total += share.seconds if share.name == "a" else 0.0
    assert total <= 1500e-9 * (1 + 1e-9)


_PROGRAM = """
import threading, turbotui
def work():
    with turbotui.region("thread\\n2"):
        pass
with turbotui.region("outer"):
    one = threading.Thread(target=work)
    one.start()
    one.join()
"""


@pytest.mark.real
def test_a_python_program_marks_its_regions() -> None:
    with RegionPipe() as pipe, observe([sys.executable, "-c", _PROGRAM], prepare=pipe.announce) as seen:
        before = time.monotonic_ns()
        seen.run()
        seen.wait()
        marks = pipe.take()
    assert [(mark.begins, mark.name) for mark in marks] == [
        (True, "outer"), (True, "thread?2"), (False, "thread?2"), (False, "outer")]
    assert marks[0].thread[0] == seen.commands[0].pid
    assert marks[0].thread != marks[1].thread
    assert before < marks[0].ns <= marks[1].ns <= marks[-1].ns < time.monotonic_ns()
    assert pipe.unread == 0


@pytest.mark.real
def test_what_the_fifo_has_no_room_for_is_counted_and_nothing_waits() -> None:
    """40,000 marks of 150 bytes are more than a FIFO holds."""
    code = ("import turbotui\nr = turbotui.region('n' * 120)\nfor _ in range(20_000):\n  with r: pass\n"
            "print('full', flush=True)\ninput()\nwith r: pass")
    with RegionPipe() as pipe, subprocess.Popen(  # noqa: S603 - this interpreter
            [sys.executable, "-c", code], env=os.environ | {VARIABLE: pipe.path}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"full\n"
        marks = [*pipe.take()]
        while more := pipe.take():
            marks += more
        program.communicate(b"\n")
        marks += pipe.take()
    assert marks[-1].lost == 0 < marks[-2].lost
    assert sum(mark.lost for mark in marks) + len(marks) == 40_002


@pytest.mark.real
def test_without_anybody_who_counts_a_region_is_nothing() -> None:
    code = ("import turbotui, sys, time; r = turbotui.region('x')\nwith r: pass\n"
            "assert r is turbotui.region('y')\n"
            "assert not [m for m in sys.modules if m.startswith('turbotui.') and m != 'turbotui.region_marks']")
    environment = {key: value for key, value in os.environ.items() if key != VARIABLE}
    _run([sys.executable, "-c", code], environment)
    gone = environment | {VARIABLE: "/nonexistent/marks"}
    _run([sys.executable, "-c", "import turbotui\nwith turbotui.region('x'): pass"], gone)


@pytest.mark.real
def test_a_c_program_marks_its_regions(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler (package gcc)")
    source = tmp_path / "marked.c"
    source.write_text('#include "turbotui_region.h"\nint main(void) { turbotui_region_begin("in\\ta"); '
                      'turbotui_region_end("in\\ta"); return 0; }\n')
    _run([compiler, "-std=gnu99", "-Wall", "-Wextra", "-Werror", f"-I{_SHARE}", "-o", tmp_path / "marked", source])
    with RegionPipe() as pipe, observe([str(tmp_path / "marked")], prepare=pipe.announce) as seen:
        seen.run()
        seen.wait()
        marks = pipe.take()
    assert seen.commands[0].status == 0
    assert [(mark.begins, mark.name, mark.lost) for mark in marks] == [(True, "in?a", 0), (False, "in?a", 0)]
    assert {mark.thread for mark in marks} == {(seen.commands[0].pid,) * 2}


@pytest.mark.real
def test_the_fortran_module_marks_regions(tmp_path: Path) -> None:
    fortran, compiler = shutil.which("gfortran"), shutil.which("cc")
    if fortran is None or compiler is None:
        pytest.skip("no Fortran compiler (package gfortran)")
    source = tmp_path / "marked.f90"
    source.write_text("program marked\nuse turbotui_region\ncall region_begin('solve')\n"
                      "call region_end('solve')\nend\n")
    _run([compiler, "-c", "-o", tmp_path / "c.o", _SHARE / "turbotui_region.c"])
    _run([fortran, "-J", tmp_path, "-o", tmp_path / "marked", _SHARE / "turbotui_region.f90", source,
          tmp_path / "c.o"])
    with RegionPipe() as pipe, observe([str(tmp_path / "marked")], prepare=pipe.announce) as seen:
        seen.run()
        seen.wait()
        assert [(mark.begins, mark.name) for mark in pipe.take()] == [(True, "solve"), (False, "solve")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_fifo_of_root_is_given_to_the_user_that_the_command_becomes() -> None:
    with RegionPipe() as pipe:
        pipe.give_to(65534, 65534)
        for path in (pipe.path, os.path.dirname(pipe.path)):
            assert (os.stat(path).st_uid, os.stat(path).st_gid) == (65534, 65534)
        words = ("import os; os.setgroups([]); os.setgid(65534); os.setuid(65534); "
                 f"open({pipe.path!r}, 'w').write('B 1 2 3 0 mine\\n')")
        subprocess.run([sys.executable, "-c", words], check=True)  # noqa: S603 - this Python
        assert [mark.name for mark in pipe.take()] == ["mine"]
    assert not os.path.exists(pipe.path)


def test_the_regions_with_the_most_time_have_rows_and_the_others_are_added_up() -> None:
    times, now = RegionTimes(0), 0
    for number in range(9_000):  # more than are counted apart; the one that takes most comes last
        times.take(_mark("B", now, f"step {number}"))
        now += 1_000
        times.take(_mark("E", now, f"step {number}"))
        times.until(now)
    times.take(_mark("B", now, "solve"))
    now += 5_000_000
    times.take(_mark("E", now, "solve"))
    times.take(_mark("B", now, "step 0"))  # was put to the others, and has no row that lacks what it had before
    now += 1_000
    times.take(_mark("E", now, "step 0"))
    times.until(now)
    first, *rest, others = times.extents()
    assert first.name == "solve"
    assert first.seconds == pytest.approx(5e-3)
    assert others.name == OTHERS
    assert len(rest) == 199
    assert "step 0" not in {extent.name for extent in rest}
    assert others.entries + len(rest) == 9_001
    assert others.seconds + sum(extent.seconds for extent in rest) == pytest.approx(9_001e-6)
    assert len(times.seconds) <= 4_000


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "marks"
    os.mkfifo(path)
    return path


def test_a_fifo_that_a_user_gives_takes_marks_of_its_writers_alone(fifo: Path) -> None:
    writer = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    me = os.getpid()
    os.write(writer, f"B 1 {me} {me} 0 stale\n".encode())  # of before anybody read: whether it is open nobody knows
    with GivenPipe(str(fifo)) as pipe:
        assert pipe.take() == []
        os.write(writer, f"B 2 {me} {me} 0 mine\nB 3 4194303 1 0 made up\n\xff\xfe no mark\nB 4 {me}".encode())
        os.write(writer, b"\x00" * 5_000 + b"\n")
        with open(fifo, "wb", buffering=0) as another:  # and its end is not the end of the FIFO
            another.write(f"E 5 {me} {me} 0 mine\n".encode())
        assert [(mark.begins, mark.name) for mark in pipe.take()] == [(True, "mine"), (False, "mine")]
        assert (pipe.strangers, pipe.unread) == (1, 2)
        with pytest.raises(MachineError, match="another turbotui reads"):
            GivenPipe(str(fifo))
    with GivenPipe(str(fifo)) as pipe:  # it is still there, and free again
        assert pipe.take() == []
    os.close(writer)


def test_nobody_else_reaches_the_fifo_of_a_command() -> None:
    with RegionPipe() as pipe:
        modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (os.path.dirname(pipe.path), pipe.path)]
        assert modes == [0o700, 0o600]
    assert not os.path.exists(os.path.dirname(pipe.path))


def test_what_is_no_fifo_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"there is no FIFO .*mkfifo .*TURBOTUI_REGIONS"):
        GivenPipe(str(tmp_path / "absent"))
    (tmp_path / "file").write_bytes(b"stays")
    for path in (tmp_path, tmp_path / "file", Path("/dev/null")):
        with pytest.raises(MachineError, match="is no FIFO"):
            GivenPipe(str(path))


_FLOOD = """
import turbotui
for number in range(50_000):
    with turbotui.region("flood"):
        pass
print("done")
"""


@pytest.mark.real
def test_a_program_never_blocks_nor_ends_by_its_marks(fifo: Path) -> None:
    def ran() -> str:
        return subprocess.run([sys.executable, "-c", _FLOOD], env={**os.environ, VARIABLE: str(fifo)},  # noqa: S603
                              check=True, capture_output=True, text=True).stdout

    assert ran() == "done\n"  # nobody reads
    with GivenPipe(str(fifo)) as pipe:
        assert ran() == "done\n"  # nobody reads as fast
        assert pipe.strangers == 0
    fifo.unlink()
    fifo.write_bytes(b"stays")
    assert ran() == "done\n"
    assert fifo.read_bytes() == b"stays"  # marks go into no file
