"""`turbotui stat` on the machine that runs the tests, compared with /proc."""

# ruff: noqa: S603 - the program under test is run with words of these tests
from __future__ import annotations

import ctypes
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from forked import run_forked
from patience import PATIENCE, but_for_missed_deadlines

PROGRAM = (sys.executable, "-m", "turbotui")


def stat(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return run_forked("stat", "-q", *words, env={**os.environ, **more})


def table(lines: list[str]) -> list[dict[str, str]]:
    """Rows of the first block: the summary, then one for each CPU. Short rows lack what they do not have."""
    header = lines[0].split("\t")
    rows: list[dict[str, str]] = []
    for line in lines[1:]:
        if line.split("\t") == header:
            break
        rows.append(dict(zip(header, line.split("\t"), strict=False)))
    return rows


class Running:
    """A `turbotui stat` that is under way."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def type(self, text: str) -> None:
        """Type on its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def block(self, rows: int) -> list[str]:
        """The next header and its rows, as they come."""
        assert self.process.stdout is not None
        lines: list[str] = []
        while len(lines) < rows + 1:
            line = self.process.stdout.readline()
            assert line, f"turbotui stat ended after {lines}"
            lines.append(line.rstrip("\n"))
        return lines

    def end(self) -> tuple[str, str, int]:
        """What is still printed on stdout and stderr until the end, and the exit status."""
        out, errors = self.process.communicate(timeout=PATIENCE)
        return out, errors, self.process.returncode


@contextmanager
def running(*words: str) -> Iterator[Running]:
    process = subprocess.Popen([*PROGRAM, "stat", "-q", *words], text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = threading.Timer(PATIENCE, process.kill)  # a hang shows as an end that came too soon
    deadline.start()
    try:
        yield Running(process)
    finally:
        deadline.cancel()
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        process.wait()


def cpus() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def interrupts() -> dict[int, int]:
    """Sum of every per-CPU row of /proc/interrupts."""
    with open("/proc/interrupts", encoding="ascii", errors="replace") as file:
        columns = [int(word.removeprefix("CPU")) for word in file.readline().split()]
        sums = dict.fromkeys(columns, 0)
        for line in file:
            words = line.split()[1:]
            numbers = words[: len(columns)]
            if len(numbers) == len(columns) and all(word.isdecimal() for word in numbers):
                for cpu, word in zip(columns, numbers, strict=True):
                    sums[cpu] += int(word)
    return sums


def idle_and_total() -> dict[int, tuple[int, int]]:
    """Idle and all ticks of each CPU by /proc/stat; guest time is part of user time."""
    result: dict[int, tuple[int, int]] = {}
    with open("/proc/stat", encoding="ascii") as file:
        for line in file:
            word, *fields = line.split()
            if word.startswith("cpu") and word != "cpu":
                ticks = [int(field) for field in fields[:8]]
                result[int(word[3:])] = (ticks[3] + ticks[4], sum(ticks))
    return result


@pytest.mark.real
def test_two_intervals_are_two_blocks_of_a_header_a_summary_and_a_row_for_each_cpu() -> None:
    done = stat("-i", "0.1", "-n", "2")
    assert done.returncode == 0, done.stderr
    assert but_for_missed_deadlines(done.stderr) == []
    lines = done.stdout.splitlines()
    size = 2 + len(cpus())
    assert len(lines) == 2 * size
    assert lines[0] == lines[size]
    assert lines[0].split("\t")[:2] != []
    assert "CPU" in lines[0].split("\t")
    assert "IRQ" in lines[0].split("\t")
    for block in (lines[:size], lines[size:]):
        rows = table(block)
        assert rows[0]["CPU"] == "-"
        assert sorted(int(row["CPU"]) for row in rows[1:]) == cpus()


# rdtsc; shl rdx, 32; or rax, rdx; ret
RDTSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")


@pytest.mark.real
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="only x86 has a TSC")
def test_the_tsc_runs_at_the_rate_that_reading_it_gives() -> None:
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(RDTSC)
        place = ctypes.c_char.from_buffer(page)
        read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(place))
        begin = read(), time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        done = stat("-i", "0.5", "-n", "1", "--show", "CPU,TSC_MHz")
        end = read(), time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        del place, read
    rows = table(done.stdout.splitlines())
    if "TSC_MHz" not in rows[0]:
        pytest.skip("perf msr/tsc/ cannot be read here")
    megahertz = (end[0] - begin[0]) / (end[1] - begin[1]) * 1e3
    for row in rows:
        assert float(row["TSC_MHz"]) == pytest.approx(megahertz, rel=0.01)


@pytest.mark.real
def test_interrupts_are_those_of_proc_interrupts() -> None:
    outside = interrupts()
    with running("-i", "3600", "--show", "CPU,IRQ") as program:
        program.type("\n")
        program.block(1 + len(cpus()))
        begin = end = interrupts()
        while sum(end.values()) - sum(begin.values()) < 200:
            end = interrupts()
        os.kill(program.process.pid, signal.SIGUSR1)
        rows = table(program.block(1 + len(cpus())))
        after = interrupts()
    for row in rows[1:]:
        cpu = int(row["CPU"])
        # the interval holds all between begin and end, and lies between outside and after
        assert end[cpu] - begin[cpu] <= int(row["IRQ"]) <= after[cpu] - outside[cpu]
    assert int(rows[0]["IRQ"]) == sum(int(row["IRQ"]) for row in rows[1:])


@pytest.mark.real
def test_a_busy_cpu_shows_as_load_as_proc_counts_it() -> None:
    cpu = cpus()[-1]
    code = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nprint('burning', flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as burner:
        try:
            assert burner.stdout is not None
            assert burner.stdout.readline() == "burning\n"
            with running("-i", "3600", "--show", "CPU,Load%") as program:
                program.type("\n")
                program.block(1 + len(cpus()))
                begin = end = idle_and_total()
                while end[cpu][1] - begin[cpu][1] < 150:  # ticks of 10 ms
                    end = idle_and_total()
                os.kill(program.process.pid, signal.SIGUSR1)
                rows = table(program.block(1 + len(cpus())))
        finally:
            burner.kill()
    for row in rows[1:]:
        number = int(row["CPU"])
        idle, total = (end[number][at] - begin[number][at] for at in (0, 1))
        assert float(row["Load%"]) == pytest.approx(100.0 * (total - idle) / total, abs=20.0)
        if number == cpu:
            assert float(row["Load%"]) > 95.0


@pytest.mark.real
def test_requested_idle_is_what_the_load_leaves() -> None:
    rows = table(stat("-i", "1", "-n", "1", "--show", "CPU,Load%,pct_idle").stdout.splitlines())
    states = [name for name in rows[0] if name.endswith("%") and name != "Load%"]
    if not states:
        pytest.skip("this machine has no cpuidle")
    for row in rows:
        shares = [float(row[name]) for name in states if row[name] != "-"]
        assert all(share >= 0.0 for share in shares)
    # cpuidle adds an idle period when it ends, /proc/stat while it lasts: only the whole machine can be compared
    assert sum(float(rows[0][name]) for name in states) == pytest.approx(100.0 - float(rows[0]["Load%"]), abs=25.0)


def test_a_newline_ends_an_interval_and_q_the_last() -> None:
    with running("-i", "3600", "--show", "CPU", "-c", str(cpus()[0])) as program:
        for _ in range(2):
            program.type("\n")
            assert program.block(2) == ["CPU", "-", str(cpus()[0])]
        program.type("q\n")
        out, errors, status = program.end()
        assert out.splitlines() == ["CPU", "-", str(cpus()[0])]
        assert (errors, status) == ("", 0)


@pytest.mark.parametrize(("number", "left"), [
    (signal.SIGINT, 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGUSR2, 140)])
def test_a_signal_ends_the_interval_prints_it_and_leaves(number: signal.Signals, left: int) -> None:
    with running("-i", "3600", "--show", "CPU", "-c", str(cpus()[0])) as program:
        program.type("\n")
        program.block(2)
        os.kill(program.process.pid, signal.SIGUSR1)
        program.block(2)
        os.kill(program.process.pid, number)
        out, errors, status = program.end()
        assert out.splitlines() == ["CPU", "-", str(cpus()[0])]
        assert (errors, status) == ("", left)


def test_end_of_stdin_changes_nothing() -> None:
    done = stat("-i", "0.05", "-n", "3", "-S", "--show", "IRQ")
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1 + 3  # the header of a summary comes once (docs/specs/turbostat.md 1.3)


def test_a_reader_of_stdout_that_leaves_is_no_traceback() -> None:
    with running("-i", "0.05", "--show", "CPU") as program:
        assert program.process.stdout is not None
        program.process.stdout.readline()
        program.process.stdout.close()
        assert program.process.wait(PATIENCE) == 128 + signal.SIGPIPE
        assert program.process.stderr is not None
        assert program.process.stderr.read() == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_and_no_stdout_are_one_sentence() -> None:
    for redirect in (">/dev/full", ">&-"):
        done = subprocess.run(["/bin/sh", "-c", f'"$@" {redirect}', "sh", *PROGRAM, "stat", "-q", "-i", "0.05", "-n",
                               "1"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 1
        assert done.stderr.startswith("turbotui: ")
        assert len(done.stderr.splitlines()) == 1


def test_columns_that_were_asked_for_and_cannot_be_had_are_named_on_one_line() -> None:
    done = stat("-i", "0.05", "-n", "1", "--machine", "guest", "--show", "CPU,IRQ,Pkg%pc6,SysWatt,GFXWatt")
    assert done.returncode == 0
    assert done.stderr == ("turbotui: not available here: Pkg%pc6, GFXWatt, SysWatt (turbotui columns says why)\n")
    assert done.stdout.splitlines()[1] == "CPU\tIRQ"


def test_every_block_of_a_simulated_machine_says_so() -> None:
    done = stat("-i", "0.05", "-n", "2", "-S", "--machine", "guest", "--show", "IRQ")
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    for block in (lines[:3], lines[3:]):
        assert block[0].startswith("# SIMULATED machine guest")
    assert lines[1] == "IRQ"


def test_columns_given_up_for_lack_of_descriptors_are_named_with_the_reason() -> None:
    if "CSW/s" not in stat("--list").stdout.strip().split(","):
        pytest.skip("this user may not count a whole CPU's switches (kernel.perf_event_paranoid, or no perf)")
    words = [sys.executable, "-m", "turbotui", "stat", "-q", "-i", "0.1", "-n", "1", "--show", "IRQ,CSW/s"]
    limit = (
        "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); "
        "os.execv(sys.argv[1], sys.argv[1:])"
    )
    done = subprocess.run([sys.executable, "-c", limit, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "IRQ\tCSW/s"
    assert done.stdout.splitlines()[1].endswith("\t-")
    assert "CSW/s cannot be read: no descriptors: perf software needs" in done.stderr
    assert "Traceback" not in done.stderr
