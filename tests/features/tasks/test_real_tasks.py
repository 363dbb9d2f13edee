"""The real kernel, with software events only: real threads, forks, and rings that are too small."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from patience import least_disturbed
from watchedtasks import ROOT, Done, intervals, started, switches_allowed, tasks

from turbotui.features.tasks.sample_aggregator import SampleAggregator
from turbotui.machine.launching import HeldCommand
from turbotui.machine.linux import LinuxHost
from turbotui.machine.perf_records import ReadFormat
from turbotui.machine.tasks.sets import SOFTWARE_COUNTERS, Mode, choose
from turbotui.machine.tasks.tracer import TaskTracer

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not switches_allowed(), reason="perf does not sample switches here"),
]
whole_cpus = pytest.mark.skipif(os.geteuid() != 0, reason="whole CPUs need root or CAP_PERFMON")

THREADS = """
import threading, time
def work(n):
    for _ in range(4):
        end = time.thread_time() + 0.03
        while time.thread_time() < end: pass
        time.sleep(0.001)
    open(f'/proc/self/task/{threading.get_native_id()}/comm', 'w').write(f'worker{n}')
    end = time.thread_time() + 0.03
    while time.thread_time() < end: pass
    time.sleep(0.001)
ts = [threading.Thread(target=work, args=(n,)) for n in range(2)]
[t.start() for t in ts]; [t.join() for t in ts]
"""
FORKS = """
import os, time
for n in range(5):
    if not os.fork():
        end = time.process_time() + 0.06
        while time.process_time() < end: pass
        time.sleep(0.001)
        os._exit(0)
for _ in range(5): os.wait()
"""


def python(program: str, *options: str) -> Done:
    return tasks("--json", *options, "--", sys.executable, "-S", "-c", program)


def balanced(table: dict[str, Any]) -> None:
    for name, total in table["final_read"].items():
        assert table["sum"][name] == pytest.approx(sum(row[name] for row in table["tasks"]), abs=1e-9), name
        parts = [table["sum"], table["after_last_samples"], *table["not_in_rows"].values()]
        assert sum(part[name] for part in parts) == pytest.approx(total, abs=1e-9), name


@least_disturbed
def test_threads_have_the_time_that_they_used_and_the_names_that_they_took() -> None:
    done = python(THREADS)
    assert (done.status, done.err) == (0, "")
    [table] = done.tables
    workers = {row["command"]: row for row in table["tasks"] if row["command"].startswith("worker")}
    assert set(workers) == {"worker0", "worker1"}
    for row in workers.values():
        assert row["Time_s"] == pytest.approx(0.15, abs=0.02)
        assert row["switches"] >= 5
    assert table["lost"] == 0
    balanced(table)


@least_disturbed
def test_forks_are_followed() -> None:
    [table] = python(FORKS, "--by", "process").tables
    children = [row for row in table["tasks"] if row["Time_s"] == pytest.approx(0.06, abs=0.015)]
    assert len(children) == 5
    balanced(table)


def test_a_ring_that_is_too_small_loses_samples_says_so_and_keeps_the_totals() -> None:
    host = LinuxHost()
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    choice = choose(host, cpus[0], SOFTWARE_COUNTERS, whole_cpus=False)
    held = HeldCommand([sys.executable, "-S", "-c", "import time\nfor _ in range(300): time.sleep(0.0002)"])
    tracer = TaskTracer(host, choice, cpus, pages=1)
    try:
        tracer.add_process(held.pid, on_exec=True)
        held.go()
        select.select([held.descriptor], [], [])  # nobody takes samples while it runs
        assert held.status == 0
        aggregate = SampleAggregator(choice, tracer.roots)
        for batch in tracer.take():
            aggregate.feed(batch)
        sampled = sum(totals.samples for totals in aggregate.entries())
        aggregate.close(tracer.final_readings())
    finally:
        tracer.close()
    assert aggregate.read is not None
    assert aggregate.read[0] >= 300
    assert sampled < 150
    assert tuple(map(sum, zip(aggregate.sums(), aggregate.tail, strict=True))) == aggregate.read
    if choice.read_format & ReadFormat.LOST:
        assert aggregate.lost >= aggregate.read[0] - sampled


def test_counters_of_one_thread_are_booked_to_the_last_nanosecond() -> None:
    [table] = python("import time\nend = time.thread_time() + 0.12\nwhile time.thread_time() < end: pass").tables
    [row] = table["tasks"]
    assert row["Clock_s"] == pytest.approx(table["final_read"]["Clock_s"], abs=1e-12)
    assert row["Time_s"] > 0.12
    assert table["after_last_samples"]["Clock_s"] == 0


@least_disturbed
def test_a_running_process_is_watched_by_intervals_until_it_ends() -> None:
    program = "import select, sys\nwhile not select.select([sys.stdin], [], [], .001)[0]: pass"
    with subprocess.Popen([sys.executable, "-S", "-c", program], stdin=subprocess.PIPE) as process:  # noqa: S603 - ours
        assert process.stdin is not None
        with started("--json", "--pid", str(process.pid), "-i", "0.3") as watch:
            assert watch.stdout is not None
            first = intervals("".join(watch.stdout.readline() for _ in range(4)))
            process.stdin.close()
            *more, whole = intervals(watch.stdout.read())
            assert watch.wait() == 0
    switches = [row["switches"] for table in (*first, *more) for row in table["tasks"]]
    assert all(number > 0 for number in switches[:2])
    assert [table["interval"] for table in first] == [1, 2]
    assert "interval" not in whole
    assert whole["sum"]["switches"] >= sum(switches)
    balanced(whole)


@whole_cpus
@pytest.mark.parametrize("target", [("--all",), ("--cgroup", "/")])
@least_disturbed
def test_whole_cpus_show_threads_of_others(target: tuple[str, ...]) -> None:
    program = "import time\nprint(flush=True)\nwhile True: time.sleep(.001)"
    with subprocess.Popen([sys.executable, "-S", "-c", program], stdout=subprocess.PIPE) as process:  # noqa: S603 - ours
        assert process.stdout is not None
        process.stdout.readline()  # it has begun to sleep and wake
        done = tasks("--json", *target, "-n", "1", "-i", "0.4")
        process.send_signal(signal.SIGKILL)
    if target[0] == "--cgroup" and "no control group" in done.err:
        pytest.skip("no cgroup hierarchy for perf here")
    [table] = done.tables
    assert table["mode"] == "CPUS"
    assert any(row["pid"] == process.pid and row["switches"] > 0 for row in table["tasks"])
    balanced(table)


LEADERLESS = """
import ctypes, threading, time
def work():
    print(threading.get_native_id(), flush=True)
    while True:
        time.sleep(0.001)
threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)
"""


@least_disturbed
def test_threads_whose_first_one_has_ended_are_watched() -> None:
    words = [sys.executable, "-S", "-c", LEADERLESS]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:  # noqa: S603 - ours
        assert process.stdout is not None
        thread = int(process.stdout.readline())
        state = Path(f"/proc/{process.pid}/stat")
        while state.read_text().rpartition(") ")[2][0] != "Z":  # proc(5): it has ended, and others of its process live
            os.sched_yield()
        done = tasks("--json", "--pid", str(process.pid), "-n", "1", "-i", "0.2")
        process.send_signal(signal.SIGKILL)
    assert done.status == 0, done.err
    assert [row["tid"] for row in done.tables[0]["tasks"]] == [thread]


def test_the_commands_own_status_is_handed_on() -> None:
    assert tasks("--", "sh", "-c", "exit 3").status == 3
    assert tasks("--", "sh", "-c", "kill -9 $$").status == 128 + 9


def test_the_text_says_the_mode_and_what_is_not_counted() -> None:
    out = tasks("--", "true").out
    assert "each thread is counted" in out or "each CPU is counted" in out
    assert "sampled when a thread leaves its CPU" in out
    assert "# sum of the rows: run 0." in out


@pytest.mark.parametrize(("words", "says", "status"), [
    (("--pid", "4194305"), "no process 4194305", 3),
    (("--cgroup", "/no/such/group"), "no control group", 3),
    ((), "say what to watch", 2),
    (("--pid", "1", "--", "true"), "is watched with all that it starts", 2),
    (("--pages", "3", "--", "true"), "power of two", 2),
    (("-n", "0", "--", "true"), "at least one interval", 2),
    (("--", "/no/such/program"), "cannot be run", 1),
    (("-e", "no-such-event", "--", "true"), "no-such-event", 2),
])
def test_bad_input_is_one_sentence(words: tuple[str, ...], says: str, status: int) -> None:
    done = tasks(*words)
    assert (done.status, done.out) == (status, "")
    assert says in done.err
    assert done.err.count("\n") == 1


def test_too_many_events_are_one_sentence() -> None:
    done = tasks(*[word for number in range(1100) for word in ("-e", f"page-faults/name=e{number}/")], "--", "true")
    assert done.status == 3
    assert "too many" in done.err
    assert done.err.count("\n") == 1


PAIR = ("--app", "lean:run=sh -c :", "--app", "faulty:run=sh -c :;:events=page-faults,minor-faults")


def test_applications_have_events_of_their_own() -> None:
    result = {table["application"]: table for table in tasks("--json", "--by", "process", *PAIR).tables}
    assert {"page-faults", "minor-faults"} <= result["faulty"]["final_read"].keys()
    assert "page-faults" not in result["lean"]["final_read"]
    assert result["faulty"]["tasks"][0]["page-faults"] > 10
    for table in result.values():
        balanced(table)


@pytest.mark.parametrize(("words", "says"), [
    (("--app", "a:pid=1", "--app", "a:pid=2"), 'two applications are called "a"'),
    (("--app", "a:all", "-e", "faults"), "an --app has its own events="),
    (("--app", "a:pid=4194305"), "no process 4194305"),
    (("--app", "a:run=/no/such/program"), "cannot be run"),
    (("--app", "a:nothing"), "not understood"),
    (("--machine", "laptop-old", "--", "true"), "not on a simulated one"),
    (("--machine", "laptop-old", "--pid", "7"), "no process 7"),
])
def test_bad_applications_are_one_sentence(words: tuple[str, ...], says: str) -> None:
    done = tasks(*words)
    assert done.status != 0
    assert says in done.err
    assert done.err.count("\n") == 1


def test_the_timeline_shows_on_which_cpu_each_thread_ran() -> None:
    if shutil.which("taskset") is None:
        pytest.skip("taskset is not installed (Debian: util-linux)")
    cpu = max(os.sched_getaffinity(0))
    loop = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
    out = tasks("--timeline", "--", "taskset", "-c", str(cpu), "sh", "-c", loop).out
    head, lane = out.split("# where each thread ran: ")[1].splitlines()[:2]
    seconds, places = float(head.split()[0]), lane.split()[-1]
    ran = float(out.split("# sum of the rows: run ")[1].split()[0])
    assert "s from left to right" in head
    assert set(places) <= {str(cpu), "·", "0"}
    assert places.count(str(cpu)) >= 0.5 * len(places) * ran / seconds, "no place holds more than it lasts"


def test_an_event_of_choice_is_counted() -> None:
    [table] = tasks("--json", "-e", "minor-faults", "--", "true").tables
    assert table["final_read"]["minor-faults"] > 10
    balanced(table)


@least_disturbed
def test_threads_found_in_proc_are_counted_to_the_last_nanosecond_too() -> None:
    host = LinuxHost()
    choice = replace(choose(host, min(os.sched_getaffinity(0)), SOFTWARE_COUNTERS, whole_cpus=False), mode=Mode.THREADS)
    held = HeldCommand([sys.executable, "-S", "-c", THREADS])
    tracer = TaskTracer(host, choice, sorted(os.sched_getaffinity(0)))
    aggregate = SampleAggregator(choice, tracer.roots)
    try:
        tracer.add_process(held.pid, on_exec=True)
        held.go()
        tracer.watch(held.descriptor)
        while held.status is None:
            tracer.wait(0.005)
            for batch in tracer.take():
                aggregate.feed(batch)
            tracer.find_threads([held.pid])
        for batch in tracer.take():
            aggregate.feed(batch)
        aggregate.close(tracer.final_readings())
    finally:
        tracer.close()
    assert aggregate.sums() == aggregate.read
    ran = sorted(totals.totals[1] for totals in aggregate.entries())
    assert len(ran) == 3
    assert all(0.12e9 < item < 0.18e9 for item in ran[1:])


UNPRIVILEGED = """
import os
from turbotui.machine.host import HostError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.tasks.tracer import sentence
from turbotui.machine.tasks.sets import SOFTWARE_COUNTERS, choose
os.setgroups([]); os.setgid(65534); os.setuid(65534)
host = LinuxHost()
print(choose(host, min(os.sched_getaffinity(0)), SOFTWARE_COUNTERS, whole_cpus=False).when.name)
for whole, target in ((True, 0), (False, 1)):
    try:
        choose(host, min(os.sched_getaffinity(0)), (), whole_cpus=whole, target=target)
    except HostError as error:
        print(sentence(error, "it", 2))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_another_user_gets_ticks_of_his_own_tasks_and_a_sentence_for_the_rest() -> None:
    level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text(encoding="ascii"))
    if level != 2:
        pytest.skip(f"kernel.perf_event_paranoid is {level}: other users have other rights")
    done = subprocess.run([sys.executable, "-c", UNPRIVILEGED], capture_output=True, text=True, check=True,  # noqa: S603 - ours
                          cwd=ROOT)
    when, *refused = done.stdout.splitlines()
    assert when == "TICKS"
    assert len(refused) == 2
    assert all("may not be sampled by this user" in item for item in refused)
