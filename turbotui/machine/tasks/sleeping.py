"""Where a thread sleeps: the kernel function that /proc/PID/task/TID/wchan names, in a word for people.

The file is read once, so for a thread that sleeps often it shows only where the thread mostly sleeps. The kernel shows
the function to users who may trace the thread (fs/proc/base.c, proc_pid_wchan), and "0" to others and for running
threads.
"""

from __future__ import annotations

from typing import Final

from turbotui.machine.host import Host
from turbotui.machine.small_files import line_of

_WORDS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("futex_",), "futex"),
    (("do_epoll_wait", "ep_poll", "poll_schedule"), "poll"),
    (("hrtimer_nanosleep", "do_nanosleep"), "timer"),
    (("pipe_", "anon_pipe_"), "pipe"),
    (("wait_woken", "inet_csk_", "unix_", "sk_wait", "tcp_", "__skb_wait", "skb_wait"), "socket"),
    (("do_wait", "kernel_clone"), "child"),
    (("do_sigtimedwait", "sigsuspend", "do_pause", "__do_sys_pause"), "signal"),
    (("io_cqring_wait",), "io_uring"),
    (("io_schedule", "folio_wait", "wait_on_page", "blk_", "submit_bio", "jbd2_", "__wait_on_buffer"), "storage"),
    (("rwsem_", "down_", "__mutex_lock"), "kernel lock"),
)
"""Beginnings of names of functions of Linux 5.10 to 6.18 (kernel/futex, fs/eventpoll.c, fs/select.c, fs/pipe.c,
net/core, kernel/exit.c, kernel/fork.c for vfork, kernel/signal.c, io_uring, mm/filemap.c, kernel/locking), and what
those wait for."""
_WIDEST: Final = 20


def sleeps_in(host: Host, pid: int, tid: int) -> str:
    """Return the reason of a thread's sleep, or the kernel function if no word is known; "" for none."""
    name = line_of(host, f"/proc/{pid}/task/{tid}/wchan")
    if name in ("", "0"):
        return ""
    word = next((word for starts, word in _WORDS if name.startswith(starts)), None)
    return name[:_WIDEST] if word is None else word
