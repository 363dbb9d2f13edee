"""Command lines for tasks: which line fits which task, and safe quoting for a shell."""

from __future__ import annotations

import shlex

from turbotui.features.tasks.command_lines import CommandTarget, command_lines
from turbotui.machine.tasks.group_names import GroupName, group_name

ID = "4f1b2a9c0d3e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8"


def words(path: str = "/system.slice/ssh.service", *, pid: int | None = 7, tid: int | None = None,
          kernel: bool = False, cpus: tuple[int, ...] = (2, 3, 4)) -> list[str]:
    return [line.words for line in command_lines(CommandTarget(pid, tid, kernel, cpus, group_name([path])))]


def test_a_process_of_a_unit_has_lines_of_every_kind() -> None:
    result = words()
    for line in ("renice -n 10 -p 7", "ionice -c 3 -p 7", "taskset -acp 2-4 7", "chrt -b -p 0 7", "kill -TERM 7",
                 "systemctl set-property --runtime ssh.service CPUQuota=50%", "perf record -g -p 7 -- sleep 10",
                 "cat /proc/7/task/7/stack"):
        assert line in result
    assert any(line.startswith("gdb -p 7 ") for line in result)


def test_a_thread_is_scheduled_by_its_own_number_and_ended_with_its_process() -> None:
    result = words(tid=9)
    for line in ("renice -n 10 -p 9", "taskset -cp 2-4 9", "perf record -g -t 9 -- sleep 10", "kill -TERM 7"):
        assert line in result
    assert "kill -TERM 9" not in result


def test_a_thread_of_the_kernel_is_neither_ended_nor_traced() -> None:
    result = words(kernel=True)
    assert "renice -n 10 -p 7" in result
    assert not any(line.startswith(("kill", "gdb", "strace", "ionice")) for line in result)


def test_init_gets_no_signal_that_it_did_not_ask_for_and_a_task_is_bound_only_where_it_ran() -> None:
    assert "renice -n 10 -p 1" in words(pid=1)
    assert not any(line.startswith("kill") for line in words(pid=1))
    assert not any(line.startswith("taskset -acp") for line in words(cpus=()))


def test_containers_and_jobs_have_the_words_of_their_managers() -> None:
    assert "docker update --cpus 0.5 4f1b2a9c0d3e" in words(f"/system.slice/docker-{ID}.scope")
    assert "podman update --cpus 0.5 4f1b2a9c0d3e" in words(f"/machine.slice/libpod-{ID}.scope/container")
    assert "scancel 4711.0" in words("/slurm/uid_1000/job_4711/step_0/task_3")
    assert not any("systemctl" in line for line in words(f"/system.slice/docker-{ID}.scope"))


def test_a_unit_of_a_users_own_manager_is_asked_there() -> None:
    path = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope"
    assert "systemctl --user set-property --runtime app-x.scope CPUQuota=50%" in words(path)


def test_a_row_of_a_unit_has_the_lines_of_the_unit_alone() -> None:
    result = words(pid=None)
    assert result
    assert all(line.startswith("systemctl ") for line in result)
    assert command_lines(CommandTarget(None, None, kernel=False, cpus=(), group=None)) == ()


def test_names_are_one_word_to_a_shell_and_dangerous_ones_make_no_line() -> None:
    [line] = [word for word in words("/system.slice/a b;reboot$(x).service") if "CPUQuota" in word]
    assert shlex.split(line)[3] == "a b;reboot$(x).service"
    for name in ("\u241b[2J.service", "--now.service", "\x1b[2J.service", "a\nreboot.service", "\u202ea.service"):
        target = CommandTarget(7, None, kernel=False, cpus=(0,), group=GroupName("unit", name, path=f"/{name}"))
        assert not any("systemctl" in command_line.words for command_line in command_lines(target))


def test_every_line_says_what_it_does() -> None:
    lines = command_lines(CommandTarget(7, 9, kernel=False, cpus=(0,), group=group_name(["/system.slice/ssh.service"])))
    assert all(line.meaning.endswith(".") and line.heading for line in lines)
    headings = [line.heading for line in lines]
    assert headings == sorted(headings, key=headings.index)  # each stands together
