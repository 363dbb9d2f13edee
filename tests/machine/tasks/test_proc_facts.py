"""Facts of /proc about tasks, from files of the test and from a real process."""

from __future__ import annotations

import errno
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest
from treehost import TreeHost

from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.host import HostError, Privileges
from turbotui.machine.linux import LinuxHost
from turbotui.machine.tasks.proc_facts import (
    ALLOWED_SECONDS,
    ENDED,
    NOT_THEN,
    READS,
    TOO_MANY,
    ProcFacts,
    TaskFacts,
    TaskLooks,
    parse_stat,
)
from turbotui.machine.tasks.process_stats import SHARE
from turbotui.quantities.unavailable import Unavailable
from turbotui.simulated import simulated_host


def stat(pid: int, name: str, *, state: str = "S", parent: int = 1, started: int = 77, flags: int = 0,
         nice: int = 0, ran: tuple[int, int] = (140, 17)) -> str:
    words = ["0"] * 50
    words[10], words[11] = map(str, ran)
    words[0], words[5], words[14], words[15], words[16], words[18], words[20], words[37] = (
        str(parent), str(flags), str(20 + nice), str(nice), "4", str(started), "25", "3")
    return f"{pid} ({name}) {state} {' '.join(words)}\n"


class Files(TreeHost):
    """A tree whose files are read by position too; of one that has gone, an open file says so, as the kernel does.

    A test moves its clock.
    """

    now = 0

    def __init__(self, files: Mapping[str, str], *, errors: Mapping[str, int] | None = None) -> None:
        super().__init__(files, errors=errors)
        self.opened: dict[int, tuple[str, str]] = {}  # path, and the process as its number and start tell it
        self.openings: list[str] = []

    def privileges(self) -> Privileges:
        return Privileges(0, 0, None, (16 * SHARE, 16 * SHARE))

    def now_ns(self) -> int:
        return self.now

    def open_file(self, path: str) -> int:
        self.openings.append(path)
        descriptor = len(self.openings)
        self.opened[descriptor] = path, started_of(self.read_text(path))
        return descriptor

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        path, started = self.opened[descriptor]
        if started_of(self.files.get(path, "")) != started:
            raise HostError(errno.ESRCH, path)
        return self.files[path].encode()[offset : offset + size]

    def close(self, descriptor: int) -> None:
        del self.opened[descriptor]


def started_of(content: str) -> str:
    words = content.rpartition(") ")[2].split()
    return words[19] if len(words) > 19 else ""


def files(**more: str) -> dict[str, str]:
    return {
        "/etc/passwd": "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/home/ada:/bin/sh\n",
        "/proc/7/stat": stat(7, "a) b", state="R", nice=5),
        "/proc/7/cmdline": "./a\0--of\0x y\0",
        "/proc/7/status": "Name:\ta\nUid:\t0\t1000\t0\t0\nCpus_allowed_list:\t0-3,8\n",
        "/proc/7/cgroup": "0::/system.slice/ssh.service\n",
        "/proc/7/task/9/stat": stat(9, "worker", state="D", ran=(3, 0)),
        "/proc/7/task/9/status": "Name:\tworker\nCpus_allowed:\t4\nCpus_allowed_list:\t2\n",
        **more,
    }


def seen(result: TaskFacts | Unavailable | None) -> TaskFacts:
    assert isinstance(result, TaskFacts)
    return result


def test_a_process_is_known_by_its_files() -> None:
    facts = seen(ProcFacts(Files(files())).facts(7))
    assert (facts.stat.name, facts.stat.state, facts.stat.parent, facts.stat.nice) == ("a) b", "R", 1, 5)
    assert (facts.stat.priority, facts.stat.policy, facts.stat.kernel) == (25, "BATCH", False)
    assert (facts.stat.threads, facts.stat.memory) == (4, 25 * os.sysconf("SC_PAGE_SIZE"))
    assert (facts.stat.ran, facts.stat.allowed) == (157, "0-3,8")
    assert facts.arguments == "./a --of x y"
    assert facts.user == "ada"
    assert facts.group is not None
    assert facts.group.text == "ssh.service"


def test_a_thread_has_a_state_and_a_name_of_its_own() -> None:
    facts = seen(ProcFacts(Files(files())).facts(7, 9))
    assert (facts.stat.name, facts.stat.state, facts.process, facts.stat.allowed) == ("worker", "D", "a) b", "2")
    assert facts.stat.ran == 157  # the process's: so it is of the first thread, whose file is that of the process
    assert facts.arguments == "./a --of x y"


def test_a_user_without_a_name_is_a_number_and_a_kernel_thread_stands_in_brackets() -> None:
    tree = files(**{"/proc/7/stat": stat(7, "kworker/0:1", flags=0x00200000), "/proc/7/cmdline": "",
                    "/proc/7/status": "Uid:\t4711\t4711\t0\t0\n"})
    facts = seen(ProcFacts(Files(tree)).facts(7))
    assert (facts.user, facts.arguments, facts.stat.kernel) == ("4711", "[kworker/0:1]", True)


def test_words_that_would_move_a_cursor_are_marked_and_long_ones_are_cut() -> None:
    tree = files(**{"/proc/7/cmdline": "a\x1b[2J\nb\0" + "c" * 100_000})
    result = seen(ProcFacts(Files(tree)).facts(7)).arguments
    assert "\x1b" not in result
    assert "\n" not in result
    assert len(result) < 5_000


def test_a_number_that_is_used_again_or_an_exec_is_read_again() -> None:
    host = Files(files())
    facts = ProcFacts(host)
    facts.facts(7)
    openings = [*host.openings]
    facts.facts(7)
    assert host.openings == openings, "only the state is read, from the file that is open"
    host.files["/proc/7/stat"] = stat(7, "a) b", started=99)
    host.files["/proc/7/cmdline"] = "other\0"
    assert seen(facts.facts(7)).arguments == "other"
    host.files["/proc/7/stat"] = stat(7, "sh", started=99)
    host.files["/proc/7/cmdline"] = "sh\0-c\0true\0"
    assert seen(facts.facts(7)).arguments == "sh -c true"


def test_the_cpus_of_an_affinity_are_read_again_after_some_seconds_and_for_another_task_at_once() -> None:
    host = Files(files())
    facts = ProcFacts(host)
    seen(facts.facts(7, 9))
    host.files["/proc/7/task/9/status"] = "Cpus_allowed_list:\t5\n"
    assert seen(facts.facts(7, 9)).stat.allowed == "2"
    host.files["/proc/7/task/9/stat"] = stat(7, "worker", started=99)
    assert seen(facts.facts(7, 9)).stat.allowed == "5"
    del host.files["/proc/7/task/9/status"]
    assert seen(facts.facts(7, 9)).stat.allowed == "5"
    host.now += ALLOWED_SECONDS * 10**9
    assert seen(facts.facts(7, 9)).stat.allowed is None


def test_what_has_ended_has_what_was_seen_of_it() -> None:
    host = Files(files())
    facts = ProcFacts(host)
    first = TaskLooks(facts)
    assert seen(first.at(7)).stat.state == "R"
    del host.files["/proc/7/stat"]
    later = TaskLooks(facts)
    assert seen(later.at(7)).arguments == "./a --of x y"
    assert later.at(8) is ENDED


def test_stat_files_stay_open_while_there_is_room_for_them_and_their_tasks_live() -> None:
    tree = {f"/proc/{pid}/stat": stat(pid, "x", state="S") for pid in range(1, 41)}
    host = Files(tree)
    facts = ProcFacts(host)
    for pid in range(1, 41):
        facts.stat(pid)
    assert [path for path, _started in host.opened.values()] == [f"/proc/{pid}/stat" for pid in range(25, 41)]
    host.files["/proc/40/stat"] = stat(40, "x", state="D")
    facts.stat(25)
    assert facts.stat(40) == parse_stat(host.files["/proc/40/stat"])
    assert len(host.openings) == 40
    del host.files["/proc/40/stat"]
    assert facts.stat(40) is None
    assert len(host.opened) == 15
    facts.stat(1)
    facts.stat(2)
    assert "/proc/25/stat" in dict(host.opened.values()), "it was read after 26"
    assert "/proc/26/stat" not in dict(host.opened.values())
    del facts
    assert host.opened == {}


def test_an_interval_keeps_what_was_seen_in_it_and_learns_nothing_later() -> None:
    host = Files(files())
    facts = ProcFacts(host)
    first = TaskLooks(facts)
    first.at(7)
    first.close()
    host.files["/proc/7/stat"] = stat(7, "a) b", state="Z")
    assert seen(TaskLooks(facts).at(7)).stat.state == "Z"
    assert seen(first.at(7)).stat.state == "R"
    assert first.at(7, 9) is NOT_THEN


def test_only_so_many_tasks_are_read_for_an_interval() -> None:
    tree = {f"/proc/{pid}/stat": stat(pid, "x") for pid in range(1, READS + 10)}
    host = Files(tree, errors=dict.fromkeys(
        (f"/proc/{pid}/{name}" for pid in range(1, READS + 10) for name in ("cmdline", "status", "cgroup")),
        errno.EACCES))
    looks = TaskLooks(ProcFacts(host))
    result = [looks.at(pid) for pid in range(1, READS + 10)]
    assert [item for item in result if item is TOO_MANY] == result[READS:] != []
    assert seen(result[0]).user == ""
    assert looks.at(1) is result[0]


def test_lines_that_are_too_short_say_nothing() -> None:
    assert parse_stat("7 (a) S 1 2") is None
    assert parse_stat("") is None
    assert parse_stat(stat(7, "a").replace(" 77 ", " x ")) is None


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "print(flush=True); input()", "--some", "word"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()  # it runs by now
        yield child
        child.communicate(b"\n")


def test_a_real_process_is_what_it_was_started_as(child: subprocess.Popen[bytes]) -> None:
    facts = seen(ProcFacts(LinuxHost()).facts(child.pid))
    assert facts.arguments.endswith("--some word")
    assert facts.stat.parent == os.getpid()
    assert facts.stat.allowed == format_cpulist(os.sched_getaffinity(child.pid))
    assert facts.user == pwd.getpwuid(os.geteuid()).pw_name
    assert facts.group is not None
    assert facts.stat.state in "RSD"


def test_simulated_processes_have_files_too() -> None:
    facts = seen(ProcFacts(simulated_host("laptop-old")).facts(10_000))
    assert (facts.user, facts.arguments) == ("ada", "./solver --mesh wing.msh --order 4")
    assert facts.group is not None
    assert facts.group.text == "slurm 4711.0"
    assert facts.stat.allowed == "0-7"
