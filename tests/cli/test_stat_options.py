"""`turbotui stat` as turbostat's drop-in, as a process: options, streams, statuses, command mode, formats."""

# ruff: noqa: S603 - the program under test is run with words of these tests
from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from forked import run_forked
from jsontables import table
from patience import PATIENCE, but_for_missed_deadlines

PROGRAM = (sys.executable, "-m", "turbotui", "stat")


def stat(*words: str, stdin: int | None = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    return run_forked("stat", *words, stdin=stdin)


def guest(*words: str) -> subprocess.CompletedProcess[str]:
    """A simulated machine whose clock is the real one, one short interval unless told otherwise."""
    return stat("--machine", "guest", "-q", "-i", "0.05", "-n", "1", *words)


@pytest.mark.parametrize(
    ("words", "status", "part"),
    [
        (["--nonsense"], 1, "unrecognized option '--nonsense'"),
        (["--no"], 1, "ambiguous"),
        (["-i", "0"], 2, "interval 0.000000 seconds is too small"),
        (["-i", "0.0009"], 2, "interval 0.000900 seconds is too small"),
        (["-n", "0"], 255, "invalid iteration count: 0"),
        (["-N", "x"], 255, "invalid header iteration count: x"),
        (["-c", "1-0"], 255, '"--cpu 1-0" malformed'),
        (["-c", "0-4"], 1, "cpu4 not present"),
        (["--show", "Busy"], 234, "Counter 'Busy' can not be added"),
        (["--hide", "CPU,"], 234, "Counter '' can not be skipped"),
        (["--add", "name"], 1, "names no counter"),
        (["--add", "msr0x10", "--no-msr"], 1, "Requested MSR counter 0x10, but in --no-msr mode"),
        (["-M", "-a", "msr0x10"], 1, "Requested MSR counter 0x10, but in --no-msr mode"),
        (["--add", "/sys/absent"], 1, "/sys/absent"),
        (["--add", "pmt,name=x,domain=cpu0,offset=0,lsb=0,msb=7,guid=1"], 1, "no such region"),
        (["-o", "/absent/file"], 1, "/absent/file cannot be written"),
        (["-I"], 1, "IPC is a column"),
    ],
)
def test_what_turbostat_refuses_is_one_sentence_and_its_status(words: list[str], status: int, part: str) -> None:
    done = guest(*words)
    assert done.returncode == status
    assert done.stdout == ""
    assert part in done.stderr
    assert done.stderr.startswith("turbotui: ")
    assert len(done.stderr.splitlines()) == 1


def test_help_is_on_stdout_and_version_on_stderr() -> None:
    done = stat("-h")
    assert (done.returncode, done.stderr) == (0, "")
    assert "--header_iterations" in done.stdout
    done = stat("--vers")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("turbotui version ")


def test_the_header_goes_to_stderr_and_not_with_quiet() -> None:
    loud = stat("--machine", "sapphire-2s", "-i", "0.05", "-n", "1", "-S", "--show", "Busy%")
    assert loud.returncode == 0
    assert loud.stderr.splitlines()[0].startswith("# SIMULATED machine sapphire-2s")
    assert any("base frequency" in line for line in loud.stderr.splitlines())
    assert loud.stdout.splitlines()[1] == "Busy%"
    assert but_for_missed_deadlines(guest("--show", "CPU").stderr) == []


def test_out_takes_everything(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("what was there\n")
    done = stat("--machine", "guest", "-i", "0.05", "-n", "2", "--out", str(file), "--show", "CPU")
    assert (done.returncode, done.stdout) == (0, "")
    assert but_for_missed_deadlines(done.stderr) == []
    lines = file.read_text().splitlines()
    assert "what was there" not in lines
    assert any(line.startswith("turbotui version") for line in lines)
    assert lines.count("CPU") == 2
    done = stat("--machine", "guest", "-q", "--out", str(file), "--list")
    assert (done.returncode, done.stdout) == (0, "")
    assert "TSC_MHz" in file.read_text()


def test_list_is_one_line_of_names_that_show_accepts() -> None:
    done = guest("--list")
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    names = line.split(",")
    assert {"usec", "Core", "CPU", "TSC_MHz", "IRQ", "NMI"} <= set(names)
    assert guest("--show", line).stdout.splitlines()[1].split("\t") == names


def test_header_lines_of_a_summary() -> None:
    lines = guest("-n", "5", "-S", "--show", "CPU,IRQ", "-N", "2").stdout.splitlines()
    assert [line for line in lines if line == "IRQ"] == ["IRQ"] * 3
    assert len([line for line in lines if line.startswith("#")]) == 5
    assert len(lines) == 3 + 5 + 5


def test_rows_of_cores_and_packages() -> None:
    words = ("--machine", "sapphire-2s", "-q", "-i", "0.05", "-n", "1", "--show", "Package,CPU,Busy%,PkgWatt")
    packages = stat(*words, "--cpu", "package").stdout.splitlines()[1:]
    assert [line.split("\t")[:2] for line in packages] == [["Package", "CPU"], ["-", "-"], ["0", "0"], ["1", "56"]]
    cores = stat(*words, "--cpu", "core").stdout.splitlines()[1:]
    assert len(cores) == 2 + 112
    assert {line.split("\t")[0] for line in cores[2:]} == {"0", "1"}
    assert len(stat(*words, "--cpu", "0..3,112,").stdout.splitlines()) == 3 + 5


_CONFINED = "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); os.execv(sys.argv[2], sys.argv[2:])"


@pytest.mark.real
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one CPU only")
def test_cpus_outside_the_affinity_are_dropped_with_a_warning() -> None:
    inside, outside = sorted(os.sched_getaffinity(0))[:2]
    program = [sys.executable, "-c", _CONFINED, str(inside),
               *PROGRAM, "-q", "-i", "0.05", "-n", "1", "--show", "CPU", "-c"]
    done = subprocess.run([*program, f"{inside},{outside}"], capture_output=True, text=True, timeout=PATIENCE,
                          check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0
    assert done.stderr.startswith(f"turbotui: cpu{outside} not effective")
    assert done.stdout == f"CPU\n-\n{inside}\n"
    done = subprocess.run([*program, str(outside)], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 237
    assert done.stderr.splitlines()[-1].startswith("turbotui: No valid cpus found")


@pytest.mark.real
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one CPU only")
def test_cpus_taken_away_and_given_back_while_it_runs_lose_and_regain_their_rows() -> None:
    every = sorted(os.sched_getaffinity(0))
    seen: list[int] = []
    with subprocess.Popen([*PROGRAM, "-q", "-i", "0.1", "-n", "200", "--format", "json", "--show", "IRQ"], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            rows = sum(load.get("cpu") is not None for load in json.loads(line)["rows"])
            if rows not in seen[-1:]:
                seen.append(rows)
                if len(seen) == 3:
                    break
                # as taskset -p does: only the first thread; ours that read are pinned to the CPUs that they read
                os.sched_setaffinity(process.pid, every[:1] if len(seen) == 1 else every)
        process.terminate()
    assert seen == [len(every), 1, len(every)]


def test_clocks_and_apic_ids() -> None:
    done = guest("--show", "usec,Time_Of_Day_Seconds,CPU,APIC,X2APIC")
    header, summary, *rows = done.stdout.splitlines()[1:]
    names = header.split("\t")
    assert names[:3] == ["usec", "Time_Of_Day_Seconds", "CPU"]
    assert summary.split("\t")[2] == "-"
    for row in (summary, *rows):
        usec, day = row.split("\t")[:2]
        assert len(usec) >= 5
        assert int(usec) >= 0
        assert len(day) == 17
        assert len(day.partition(".")[2]) == 6
    if "APIC" in names:
        assert rows[1].split("\t")[names.index("APIC")].startswith("0x")


def test_joules_on_amd_have_a_header_for_every_cell() -> None:
    """DEFECT upstream: PkgWatt stays in the rows and Pkg_J in the header: shifted columns."""
    done = stat("--machine", "turin-2s", "-q", "-i", "0.05", "-n", "1", "-J", "--show", "CPU,power", "-c", "package")
    header, summary, first, second = (line.split("\t") for line in done.stdout.splitlines()[1:])
    assert "Pkg_J" in header
    assert not [name for name in header if name.endswith("Watt")]
    assert len(summary) == len(first) == len(second) == len(header)
    place = header.index("Pkg_J")
    assert float(summary[place]) == pytest.approx(float(first[place]) + float(second[place]), abs=0.02)


@pytest.mark.parametrize("machine", ["sapphire-2s", "turin-2s", "laptop"])
def test_rows_stop_where_their_data_stops_and_have_no_holes(machine: str) -> None:
    done = stat("--machine", machine, "-q", "-i", "0.05", "-n", "1", "-d")
    header, *rows = (line.split("\t") for line in done.stdout.splitlines()[1:])
    lengths = {len(row) for row in rows[1:]}
    assert len(rows[0]) == len(header)
    assert len(lengths) >= 2  # siblings, and cores or packages
    assert not [row for row in rows if "" in row]


def test_tcc_moves_temperatures() -> None:
    def hottest(*words: str) -> int:
        done = stat("--machine", "sapphire-2s", "-q", "-P", "-i", "0.05", "-n", "1", "-S", "--show", "PkgTmp", *words)
        return int(done.stdout.splitlines()[-1])

    assert hottest("-T", "200") - hottest() == pytest.approx(200 - 96, abs=30)


def test_dump_is_raw_and_opens_no_perf() -> None:
    done = stat("--machine", "sapphire-2s", "-q", "-D", "--format", "json")
    assert done.returncode == 0
    rows = table(done.stdout, "counters")["rows"]
    result = {(row["instance"], row["signal"]): row["values"] for row in rows}
    assert len(result) == len(rows)
    assert result["cpu 5", "aperf"]["source"] == "MSR 0xe8"
    assert int(result["cpu 5", "aperf"]["word"], 16) > 0
    assert not [row for row in rows if row["values"]["source"].startswith("perf ")]


def test_a_format_for_programs_has_the_file_of_out_for_itself(tmp_path: Path) -> None:
    watched, beside = tmp_path / "watched", tmp_path / "beside"
    done = stat("--machine", "guest", "-i", "0.05", "-n", "1", "--format", "json", "--out", str(watched))
    assert "turbotui version" in done.stderr
    assert table(watched.read_text(encoding="utf-8"), "cpus")["kind"] == "SIMULATED"
    assert stat("--format", "json", "--out", str(beside), "true").returncode == 0
    assert table(beside.read_text(encoding="utf-8"), "cpus")["seconds"] > 0


def test_a_list_of_names_is_text() -> None:
    done = guest("--list", "--format", "json")
    assert done.returncode == 1
    assert "turbotui columns --format json" in done.stderr
    assert not done.stdout


def test_dump_has_a_block_for_each_cpu_with_the_words_of_its_core_and_package() -> None:
    words = ("--machine", "sapphire-2s", "-q", "-D", "-a", "msr0x10,Mine", "-c", "0-1,112")
    label, *lines = stat(*words).stdout.split("\n")
    assert label.startswith("# SIMULATED")
    blocks = [block.split("\n") for block in "\n".join(lines).strip("\n").split("\n\n")]
    assert [block[0] for block in blocks] == ["CPU: 0 flags 0x6", "CPU: 112 flags 0x0", "CPU: 1 flags 0x2"]
    result = [dict(line.partition(": ")[::2] for line in block) for block in blocks]
    assert [int(entry["core"]) for entry in result] == [0, 0, 1]
    assert {entry["package"] for entry in result} == {"0"}
    for item in result:
        assert re.fullmatch("[0-9A-F]{16}", item["aperf"])
        assert re.fullmatch("[0-9]+C", item["DTS"])
        assert int(item["aperf"], 16) > 0
        selected = next(value for name, value in item.items() if name.startswith("tADDED") and "Mine" in name)
        assert abs(int(selected, 16) - int(item["TSC"], 16)) < 2e9, "the same register, read within a second"
        assert "c3" not in item, "what this model does not have is left out, not zero"
    assert result[0]["DTS"] == result[1]["DTS"], "siblings share their core's words"
    assert len({entry["Joules PKG"] for entry in result}) == 1


def test_debug_twice_says_where_each_number_is_read() -> None:
    once, twice = (stat("--machine", "sapphire-2s", "-q", "-i", "0.05", "-n", "1", "--show", "Busy%", *words)
                   for words in (("-d",), ("-dd",)))
    assert "Busy%: aperf by" not in once.stderr
    assert "Busy%: mperf by perf msr: perf msr/mperf/" in twice.stderr.splitlines()
    assert once.stdout.splitlines()[1] == twice.stdout.splitlines()[1]


def test_added_counters_print_beside_the_others() -> None:
    words = ("--machine", "sapphire-2s", "-q", "-i", "0.05", "-n", "1", "-c", "0-1", "--show", "CPU,TSC_MHz",
             "--add", "msr0x10,raw", "-a", "msr0x1a2,u32,raw,package,Target", "-a", "perf/msr/tsc,T", "-a",
             "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq,average,Max")
    done = stat(*words)
    assert done.returncode == 0
    _label, header, summary, first, second = done.stdout.splitlines()
    assert header.split("\t") == ["CPU", "TSC_MHz", "Max", "M0X10   ", "T", "Target"]
    cells = first.split("\t")
    assert (cells[0], len(cells[3]), cells[5]) == ("0", 16, "00600000")
    assert cells[2] == summary.split("\t")[2]
    assert len(second.split("\t")) == 5
    megahertz = int(cells[1])
    assert int(cells[4]) / (megahertz * 1e6) == pytest.approx(0.05, abs=0.5)


def test_a_register_that_cannot_be_had_is_warned_of_and_left_out() -> None:
    done = guest("--show", "CPU", "--add", "msr0x10,mine")
    assert done.returncode == 0
    assert done.stderr.startswith("turbotui: mine is not added: ")
    assert done.stdout.splitlines()[1] == "CPU"


@pytest.mark.parametrize("name", ["table", "csv", "json", "openmetrics"])
def test_other_formats(name: str) -> None:
    done = guest("--show", "CPU,IRQ,TSC_MHz", "--format", name)
    assert done.returncode == 0
    assert "SIMULATED" in done.stdout or 'simulated="true"' in done.stdout
    if name == "json":
        (line,) = done.stdout.splitlines()
        assert [row["values"]["IRQ"] >= 0 for row in json.loads(line)["rows"]] == [True] * 5
    if name == "openmetrics":
        assert done.stdout.endswith("# EOF\n")


@pytest.mark.parametrize(("script", "status"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 9), ("kill -15 $$", 15)])
def test_a_commands_status_is_returned_and_its_rows_are_on_stderr(script: str, status: int) -> None:
    done = stat("-q", "--show", "CPU,IRQ", "sh", "-c", f"echo out; {script}")
    assert done.returncode == status
    assert done.stdout == "out\n"
    first, header, summary, *rows = done.stderr.splitlines()
    seconds, word = first.split()
    assert word == "sec"
    assert len(seconds.partition(".")[2]) == 6
    assert header == "CPU\tIRQ"
    assert summary.startswith("-\t")
    assert len(rows) == len(os.sched_getaffinity(0))


def test_a_command_that_is_not_there_still_has_rows_and_its_errno() -> None:
    done = stat("-q", "--show", "CPU", "/absent/command", "-n", "1")
    assert done.returncode == 2  # ENOENT
    warning, seconds, header, *rows = done.stderr.splitlines()
    assert warning == "turbotui: /absent/command: No such file or directory"
    assert seconds.endswith(" sec")
    assert header == "CPU"
    assert rows[0] == "-"


def test_a_command_runs_on_every_cpu_and_its_interval_is_its_own() -> None:
    code = "import os, time; print(sorted(os.sched_getaffinity(0))); time.sleep(0.5)"
    done = stat("-q", "-i", "0.01", "--show", "TSC_MHz", sys.executable, "-c", code)
    assert done.stdout == f"{sorted(os.sched_getaffinity(0))}\n"
    lines = done.stderr.splitlines()
    assert 0.5 <= float(lines[0].split()[0]) < 30.0
    assert lines.count("TSC_MHz") == 1


def test_sigint_is_the_commands(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"trap 'exit 5' INT; : > {ready}; while :; do sleep 0.05; done"
    with subprocess.Popen([*PROGRAM, "-q", "--show", "CPU", "sh", "-c", script], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        while not ready.exists():
            assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        _out, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 5
        assert "CPU" in errors.splitlines()


def test_info_gives_the_header_as_json() -> None:
    report = table(run_forked("info", "--json", "--machine", "laptop").stdout, "configuration")
    assert (report["machine"], report["kind"]) == ("laptop", "SIMULATED")
    clocks = [row["values"] for row in report["rows"] if row["section"] == "clocks"]
    assert {"text": "30 * 100.0 = 3000.0 MHz base frequency", "source": "MSR 0xce"} in clocks
    text = run_forked("info", "--machine", "laptop").stdout
    assert text.startswith("# SIMULATED machine laptop")
    assert "  30 * 100.0 = 3000.0 MHz base frequency" in text.splitlines()


def titles(machine: str, *words: str) -> list[str]:
    done = stat("--machine", machine, "-q", "-i", "0.05", "-n", "1", *words)
    assert done.returncode == 0
    return done.stdout.splitlines()[1].split("\t")


def test_topology_columns_are_those_of_the_machine_whatever_is_measured() -> None:
    """Columns after them would shift otherwise, from one --cpu to another and beside turbostat."""
    wanted = titles("sapphire-2s", "--show", "topology,Busy%")
    assert titles("sapphire-2s", "--show", "topology,Busy%", "-c", "0-1") == wanted
    assert "Node" not in wanted, "one node a package"
    assert "Package" in wanted
    wanted = titles("forest-1s", "--show", "topology,Busy%")
    assert "Module" in wanted
    assert titles("forest-1s", "--show", "topology,Busy%", "-c", "0-1") == wanted


@pytest.mark.parametrize(("columns", "rows"), [("PkgWatt", 2), ("PkgWatt,SysWatt", 2), ("SysWatt", 0)])
def test_rows_without_data_are_not_printed(columns: str, rows: int) -> None:
    done = stat("--machine", "sapphire-2s", "-q", "-i", "0.05", "-n", "1", "--show", columns)
    _label, header, _summary, *result = done.stdout.splitlines()
    assert header.split("\t") == columns.split(",")
    assert len(result) == rows
    assert all(result)


@pytest.mark.parametrize("zero", ["0", "00", "-0"])
def test_a_tcc_of_zero_is_turbostats_word_for_not_told(zero: str) -> None:
    done = stat("--machine", "sapphire-2s", "-P", "-i", "0.05", "-n", "1", "-S", "--show", "PkgTmp", "-T", zero)
    assert done.returncode == 0
    assert "Using cmdline TCC" not in done.stderr
    assert 20 < int(done.stdout.splitlines()[-1]) < 110
