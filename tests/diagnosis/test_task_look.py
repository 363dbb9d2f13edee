"""Tasks and control groups that a finding names, found in /proc."""

from __future__ import annotations

import errno
from collections.abc import Mapping

import pytest

from turbotui.diagnosis.rules import RankedBy
from turbotui.diagnosis.task_look import TaskLook
from turbotui.machine.host import HostError, HostKind, Privileges
from turbotui.machine.tasks.process_stats import ProcessStats
from turbotui.simulated import SimulatedHost, simulated_host


class ProcessesHost:
    """Processes by the text of their files below /proc, and the clock of a simulated machine that stands still."""

    kind = HostKind.REAL

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.seconds = 0.0
        self.slow = 0.0  # seconds that each read of an open file takes
        self.opened: list[str] = []

    def now_ns(self) -> int:
        return round(self.seconds * 1e9)

    def read_text(self, path: str) -> str:
        if path not in self.files:
            raise HostError(errno.ENOENT, path)
        return self.files[path]

    def open_file(self, path: str) -> int:
        self.read_text(path)
        self.opened.append(path)
        return len(self.opened) - 1

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        self.seconds += self.slow
        return self.read_text(self.opened[descriptor]).encode()[offset:offset + size]

    def close(self, descriptor: int) -> None:
        assert descriptor < len(self.opened)

    def privileges(self) -> Privileges:
        return Privileges(0, 0, None, (1024, 1024))

    def list_dir(self, path: str) -> tuple[str, ...]:
        result = {file[len(path) + 1:].partition("/")[0] for file in self.files if file.startswith(f"{path}/")}
        if not result:
            raise HostError(errno.ENOENT, path)
        return tuple(sorted(result))


class LookedAt(TaskLook):
    """A look at processes that a test has made."""

    def __init__(self) -> None:
        self.made = ProcessesHost()
        super().__init__(self.made)  # type: ignore[arg-type]  # what it asks for is there
        self.stats = ProcessStats(self.made)  # type: ignore[arg-type]  # as above

    def process(self, pid: int, name: str, *, ran: float, faults: int = 0, state: str = "S", unit: str = "",
                threads: Mapping[int, float] | None = None) -> None:
        """Set the counts of a process: seconds of CPU time, faults, and seconds of each thread."""
        self.made.files[f"/proc/{pid}/stat"] = _stat(pid, name, ran, faults, state)
        self.made.files[f"/proc/{pid}/cgroup"] = f"0::/system.slice/{unit}\n"
        for tid, seconds in (threads or {pid: ran}).items():
            self.made.files[f"/proc/{pid}/task/{tid}/stat"] = _stat(tid, name, seconds, faults, state)

    def look_at(self, seconds: float) -> None:
        self.made.seconds = seconds
        self.look(self.stats.read())


def _stat(pid: int, name: str, ran: float, faults: int, state: str) -> str:
    """proc_pid_stat(5): utime is field 14, majflt 12, delayacct_blkio_ticks 42."""
    words = ["0"] * 49
    words[0], words[9], words[11] = state, str(faults), str(round(ran * 100))
    return f"{pid} ({name}) {' '.join(words)}\n"




def test_processes_of_one_name_are_told_together_the_busiest_name_first() -> None:
    look = LookedAt()
    for seconds in (0.0, 2.0):
        look.process(10, "stress", ran=seconds, unit="burn.scope")
        look.process(11, "stress", ran=seconds * 0.5, unit="burn.scope")
        look.process(20, "db) 1", ran=seconds * 0.25, unit="db.service")
        look.look_at(100.0 + seconds)
    who = look.who.get(RankedBy.CPU, ())
    assert who == ("2 x stress (burn.scope, 150 % CPU)", "db) 1 20 (db.service, 25 % CPU)")


def test_the_busiest_thread_is_known_from_the_third_look_on() -> None:
    look = LookedAt()
    for seconds in (0.0, 1.0, 2.0):
        look.process(10, "make", ran=seconds * 1.2, threads={10: seconds * 0.2, 12: seconds})
        look.look_at(100.0 + seconds)
    assert look.busiest is not None
    assert look.busiest[0] == "make 12"
    assert round(look.busiest[1], 2) == 1.0
    look.process(10, "make", ran=4.0, threads={10: 0.4, 12: 3.03})
    look.look_at(103.0)
    assert look.busiest == ("make 12", 1.0), "a thread has no more than one CPU, whatever a tick adds"


def test_faults_and_waits_are_reported_of_those_who_have_them() -> None:
    look = LookedAt()
    for seconds in (0.0, 1.0):
        look.process(10, "busy", ran=seconds)
        look.process(11, "swapper", ran=0.0, faults=round(800 * seconds), unit="hog.scope")
        look.process(12, "reader", ran=0.0, state="D")
        look.look_at(100.0 + seconds)
    assert look.who.get(RankedBy.FAULTS, ()) == ("swapper 11 (hog.scope, 800 major faults/s)",)
    assert look.who.get(RankedBy.IO, ()) == ("reader 12 (waits for storage)",)
    assert look.who.get(RankedBy.NOBODY, ()) == ()


def test_of_processes_of_one_name_those_are_counted_that_have_to_do_with_the_cause() -> None:
    look = LookedAt()
    for seconds in (0.0, 1.0):
        look.process(10, "python3", ran=seconds, unit="busy.service")
        look.process(11, "python3", ran=0.0, state="D", unit="reads.service")
        look.process(12, "python3", ran=0.0, state="D", unit="reads.service")
        look.process(13, "python3", ran=0.0, faults=round(9 * seconds), unit="hog.scope")
        look.look_at(100.0 + seconds)
    assert look.who.get(RankedBy.IO, ()) == ("2 x python3 (reads.service, wait for storage)",)
    assert look.who.get(RankedBy.FAULTS, ()) == ("python3 13 (hog.scope, 9 major faults/s)",)


def test_slow_readings_make_nobody_busier_than_there_was_time() -> None:
    look = LookedAt()
    look.made.slow = 3.0
    look.process(10, "hog", ran=0.0)
    look.look_at(100.0)  # read between 100 and 103
    look.made.slow = 0.3
    look.process(10, "hog", ran=3.2)
    look.look_at(103.0)
    assert look.who.get(RankedBy.CPU, ()) == ("hog 10 (97 % CPU)",)


def test_each_process_has_its_own_interval_in_a_slow_reading_of_many() -> None:
    look = LookedAt()
    busy, others = 100, range(101, 165)
    for seconds in (0.0, 1.0):
        look.process(busy, "busy", ran=seconds)
        for pid in others:
            look.process(pid, "idle", ran=0.0)
        look.made.slow = 0.004  # 0.26 s for all of them, and 0.13 for those of which one is the first
        look.look_at(100.0 + seconds)
    assert look.who.get(RankedBy.CPU, ()) == ("busy 100 (89 % CPU)",)


def test_where_nobody_waits_for_storage_at_the_look_those_with_major_faults_are_reported() -> None:
    look = LookedAt()
    for seconds in (0.0, 1.0):
        look.process(10, "busy", ran=seconds)
        look.process(11, "swapped", ran=0.0, faults=round(300 * seconds))
        look.look_at(100.0 + seconds)
    assert look.who.get(RankedBy.IO, ()) == ("swapped 11 (300 major faults/s)",)


def test_a_name_that_a_task_chose_reaches_no_terminal_raw() -> None:
    look = LookedAt()
    for seconds in (0.0, 1.0):
        look.process(10, "\x1b[2Jboo", ran=seconds)
        look.look_at(100.0 + seconds)
    assert "\x1b" not in look.who.get(RankedBy.CPU, ())[0]


def test_a_machine_without_processes_names_nobody() -> None:
    host: SimulatedHost = simulated_host("guest")
    look, stats = TaskLook(host), ProcessStats(host)
    look.look(stats.read())
    look.look(stats.read())
    assert look.busiest is None
    assert look.who.get(RankedBy.CPU, ()) == ()


def test_a_storm_is_reported_of_those_that_wake_most_and_else_of_the_busiest() -> None:
    look = LookedAt()
    for seconds in (0.0, 1.0, 2.0):
        look.process(10, "busy", ran=seconds)
        look.process(11, "ticker", ran=seconds * 0.3, unit="tick.service")
        look.made.files["/proc/11/status"] = (
            f"Name:\tticker\nvoluntary_ctxt_switches:\t{round(20_000 * seconds)}\nnonvoluntary_ctxt_switches:\t7\n")
        look.look_at(100.0 + seconds)
        if seconds == 1.0:
            assert look.who.get(RankedBy.WAKES, ())[0] == "busy 10 (100 % CPU)"  # one look at sleeps says little
    assert look.who.get(RankedBy.WAKES, ()) == ("ticker 11 (tick.service, wakes 20,000 times/s, 30 % CPU)",)


def test_who_moves_bytes_waits_for_storage_where_nobody_is_seen_to_wait() -> None:
    look = LookedAt()
    for seconds in (0.0, 1.0, 2.0):
        look.process(10, "busy", ran=seconds, faults=round(5 * seconds))
        look.process(11, "writer", ran=seconds * 0.1)
        look.made.files["/proc/11/io"] = f"rchar: 9\nread_bytes: 5\nwrite_bytes: {round(2e8 * seconds)}\n"
        look.look_at(100.0 + seconds)
    assert look.who.get(RankedBy.IO, ()) == ("writer 11 (200.0 MB/s to and from storage)",)


def test_of_groups_of_version_1_that_of_the_cause_is_reported() -> None:
    look = LookedAt()
    for seconds in (0.0, 1.0):
        look.process(10, "hog", ran=seconds, faults=round(100 * seconds))
        look.made.files["/proc/10/cgroup"] = "4:memory:/small\n3:cpu,cpuacct:/slow\n1:name=systemd:/user.slice\n0::/\n"
        look.look_at(100.0 + seconds)
    assert look.who.get(RankedBy.FAULTS, ()) == ("hog 10 (small, 100 major faults/s)",)
    assert look.who.get(RankedBy.CPU, ()) == ("hog 10 (slow, 100 % CPU)",)


@pytest.mark.parametrize(("path", "said"), [
    (f"/system.slice/docker-{'4f1b2a9c0d3e' * 5}4f1b.scope", "docker 4f1b2a9c0d3e"),
    (f"/sandbox/{'12a2511ce548' * 2}57428d21", "group 12a2511ce548"), ("/sandbox/burn", "burn"),
])
def test_a_long_id_is_identified_by_its_first_digits(path: str, said: str) -> None:
    look = LookedAt()
    for seconds in (0.0, 2.0):
        look.process(10, "hog", ran=seconds)
        look.made.files["/proc/10/cgroup"] = f"0::{path}\n"
        look.look_at(seconds)
    assert look.who.get(RankedBy.CPU, ()) == (f"hog 10 ({said}, 100 % CPU)",)


def test_a_unit_is_read_once_for_a_look_however_often_a_finding_is_drawn() -> None:
    look = LookedAt()
    for seconds in (0.0, 2.0):
        look.process(10, "stress", ran=seconds, unit="burn.scope")
        look.look_at(seconds)
    said = look.who.get(RankedBy.CPU, ())
    look.made.files["/proc/10/cgroup"] = "0::/system.slice/other.scope\n"
    assert look.who.get(RankedBy.CPU, ()) == said
    assert "burn.scope" in said[0]
    look.process(10, "stress", ran=4.0, unit="other.scope")
    look.look_at(4.0)
    assert "other.scope" in look.who.get(RankedBy.CPU, ())[0]


def test_a_process_that_has_the_number_of_an_earlier_one_did_nothing_of_what_that_one_did() -> None:
    look = LookedAt()
    look.process(10, "old", ran=50.0)
    look.look_at(100.0)
    look.process(10, "new", ran=58.0)
    words = look.made.files["/proc/10/stat"].split()
    words[21] = "777"  # starttime: field 22
    look.made.files["/proc/10/stat"] = " ".join(words)
    look.look_at(101.0)
    assert look.who.get(RankedBy.CPU, ()) == ()


def test_who_waits_for_storage_is_told_although_nothing_of_it_changes() -> None:
    look = LookedAt()
    look.process(12, "reader", ran=1.0, state="D")
    for seconds in (100.0, 101.0, 102.0):
        look.look_at(seconds)
    assert look.who.get(RankedBy.IO, ()) == ("reader 12 (waits for storage)",)


def unseen_tasks(seconds: float, *, hidden: bool, mine: float = 0.1, stat: bool = True) -> LookedAt:
    """Two looks in which CPUs were busy for that many seconds, and one visible process for some of them."""
    look = LookedAt()
    if hidden:
        look.made.files["/proc/self/mountinfo"] = (
            "23 20 0:21 / / rw - ext4 /dev/root rw\n24 23 0:22 / /proc rw - proc proc rw,hidepid=invisible\n")
    for at in (0, 1):
        if stat:
            look.made.files["/proc/stat"] = f"cpu  {100 * at * seconds:.0f} 0 0 5 0 9 9 0 0 0\n"
        look.process(7, "mine", ran=at * mine)
        look.look_at(1.0 + at)
    return look


@pytest.mark.parametrize("whose", [RankedBy.CPU, RankedBy.WAIT, RankedBy.THREAD])
def test_work_of_tasks_that_cannot_be_seen_is_theirs(whose: RankedBy) -> None:
    look = unseen_tasks(2.0, hidden=True)
    assert look.who[whose] == ("tasks that cannot be seen (190 % CPU)", "mine 7 (10 % CPU)")
    assert look.unseen is not None
    assert "hidepid" in look.unseen.sentence
    assert look.unseen.sentence.startswith("tasks that cannot be seen (190 % CPU): hidden: ")
    assert unseen_tasks(2.0, hidden=True, mine=1.5).who[whose][0] == "mine 7 (150 % CPU)"
    assert unseen_tasks(0.1, hidden=True).who[whose] == ("mine 7 (10 % CPU)",)


def test_what_nobody_visible_did_may_be_theirs_without_a_number() -> None:
    assert unseen_tasks(2.0, hidden=True).who[RankedBy.IO] == ("tasks that cannot be seen",)
    assert RankedBy.IO not in unseen_tasks(2.0, hidden=False).who


def test_without_times_of_the_machine_their_part_is_unknown() -> None:
    look = unseen_tasks(2.0, hidden=True, stat=False)
    assert look.unseen is not None
    assert look.unseen.ran is None
    assert look.who[RankedBy.CPU] == ("mine 7 (10 % CPU)",)


def test_where_all_tasks_are_seen_the_rest_was_short_lived() -> None:
    look = unseen_tasks(2.0, hidden=False)
    assert look.unseen is None
    assert look.who[RankedBy.CPU] == ("tasks that began or ended meanwhile (190 % CPU)", "mine 7 (10 % CPU)")
