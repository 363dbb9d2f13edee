"""Runs a command inside a fake machine: a script, started by `fake_machine`.

In a private mount namespace it mounts the served tree and binds it over /sys, /dev/cpu and files of /proc; it then sets
limits and rights, installs the system call filter, hands the descriptors to the server, and becomes the command.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import signal
import socket
import struct
import sys

_NEWNS = 0x0002_0000  # CLONE_NEWNS (uapi linux/sched.h)
_NOSUID, _NODEV, _BIND, _REC, _PRIVATE = 2, 4, 4096, 16384, 1 << 18  # uapi linux/mount.h
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_KEEPCAPS, _CAPBSET_DROP, _PDEATHSIG, _NO_NEW_PRIVS, _AMBIENT, _AMBIENT_RAISE = 8, 24, 1, 38, 47, 2  # linux/prctl.h
_LAST_CAP = 40  # CAP_CHECKPOINT_RESTORE (uapi linux/capability.h)
_CAP_VERSION_3 = 0x2008_0522
# audit architecture, and the numbers of seccomp, capset, perf_event_open, sched_setaffinity, sched_getaffinity
_CALLS = {"x86_64": (0xC000_003E, 317, 126, 298, 203, 204), "aarch64": (0xC000_00B7, 277, 91, 241, 122, 123)}
_TIME_CALLS = (96, 201, 228, 35, 230, 23, 270)
"""x86-64: gettimeofday, time, clock_gettime, nanosleep, clock_nanosleep, select, pselect6."""
_SETTING_LIMITS = {"x86_64": 302, "aarch64": 261}  # prlimit64
_LINKER = "/lib64/ld-linux-x86-64.so.2"
"""The dynamic linker that programs of x86-64 name (System V ABI, AMD64 supplement, 5.2.1)."""
_NEW_LISTENER = 8  # SECCOMP_FILTER_FLAG_NEW_LISTENER
_ALLOW, _NOTIFY, _DONE = 0x7FFF_0000, 0x7FC0_0000, 0x0005_0000  # uapi linux/seccomp.h
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    result = _libc.mount(source.encode(), target.encode(), kind.encode() if kind else None,
                         ctypes.c_ulong(flags), data.encode())
    _check(result, f"mount {source} on {target}")


def _bind(source: str, target: str) -> None:
    if os.path.exists(source) and os.path.exists(target):
        _mount(source, target, None, _BIND)


def _serve_devices(machine: str, folder: str) -> None:
    """A /dev of its own: the machine's CPU devices, and a few real ones."""
    _mount("tmpfs", folder, "tmpfs", _NOSUID, "mode=755")
    for name in _DEVICES:
        os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY, 0o666))
        _bind(f"/dev/{name}", f"{folder}/{name}")
    for name in ("pts", "shm"):
        os.mkdir(f"{folder}/{name}")
        _bind(f"/dev/{name}", f"{folder}/{name}")
    for name, target in (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd")):
        os.symlink(target, f"{folder}/{name}")
    if os.path.isdir(f"{machine}/dev/cpu"):
        os.mkdir(f"{folder}/cpu")
        _mount(f"{machine}/dev/cpu", f"{folder}/cpu", None, _BIND)
    os.close(os.open(f"{folder}/cpu_dma_latency", os.O_CREAT | os.O_WRONLY, 0o600))
    _bind(f"{machine}/dev/cpu_dma_latency", f"{folder}/cpu_dma_latency")
    _mount(folder, "/dev", None, _BIND | _REC)


def _enter(base: str, door: socket.socket) -> int:
    """Mount everything, and return a descriptor of the folder of counters."""
    _check(_libc.unshare(_NEWNS), "unshare of the mount namespace")
    _mount("none", "/", None, _REC | _PRIVATE)
    served = f"{base}/served"
    fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    _mount("fake-machine", served, "fuse", _NOSUID | _NODEV,
           f"fd={fuse},rootmode=40755,user_id=0,group_id=0,allow_other,default_permissions")
    socket.send_fds(door, [b"f"], [fuse])
    os.close(fuse)
    counters = os.open(f"{served}/perf", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    machine = f"{served}/machine"
    for below in ("proc", "proc/sys/kernel"):
        for name in os.listdir(f"{machine}/{below}"):
            if name not in ("self", "sys") and not name.isdecimal():  # these stay the running program's own
                _bind(f"{machine}/{below}/{name}", f"/{below}/{name}")
    _serve_devices(machine, f"{base}/dev")
    _mount(f"{machine}/sys", "/sys", None, _BIND)
    return counters


def _load_from(libraries: str) -> None:
    """Have the command loaded by the dynamic linker of this folder, with its libraries (ld.so(8))."""
    _bind(f"{libraries}/{os.path.basename(_LINKER)}", _LINKER)
    os.environ["LD_LIBRARY_PATH"] = libraries


def _reveal(paths: list[str]) -> None:
    """Make these folders accessible to everybody, because an interpreter in a user's home may not be executable by
    others.
    """
    hidden: dict[str, list[str]] = {}
    for path in paths:
        parts = os.path.realpath(path).split("/")
        above = ["/".join(parts[:count]) for count in range(2, len(parts))]
        closed = next((folder for folder in above if not os.stat(folder).st_mode & 0o001), None)
        if closed is not None:
            hidden.setdefault(closed, []).append("/".join(parts))
    for closed, inside in hidden.items():
        kept = {path: os.open(path, os.O_PATH) for path in inside}
        _mount("tmpfs", closed, "tmpfs", _NOSUID, "mode=755")
        for path, descriptor in kept.items():
            os.makedirs(path, exist_ok=True)
            _mount(f"/proc/self/fd/{descriptor}", path, None, _BIND | _REC)
            os.close(descriptor)


def _limit(uid: int, capabilities: int, capset: int) -> None:
    """Give up what the command is not to have, so that exec(2) does not bring it back."""
    for capability in range(_LAST_CAP + 1):
        if not capabilities >> capability & 1:
            _check(_libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0), "drop from the bounding set")
    if uid:
        _check(_libc.prctl(_KEEPCAPS, 1, 0, 0, 0), "keep capabilities")
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    low, high = capabilities & 0xFFFF_FFFF, capabilities >> 32
    header = struct.pack("<Ii", _CAP_VERSION_3, 0)
    _check(_libc.syscall(ctypes.c_long(capset), header, struct.pack("<6I", low, low, low, high, high, high)), "capset")
    for capability in range(_LAST_CAP + 1):
        if uid and capabilities >> capability & 1:
            _check(_libc.prctl(_AMBIENT, _AMBIENT_RAISE, capability, 0, 0), "raise an ambient capability")


def _filter(architecture: int, seccomp: int, calls: tuple[int, ...]) -> int:
    """Have these system calls answered by the holder of the returned descriptor."""
    _check(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    last = len(calls)
    # offsets of arch and nr in struct seccomp_data: 4 and 0
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 0, last + 1, architecture), (_LOAD, 0, 0, 0)]
    program += [(_EQUAL, last - place, 0, number) for place, number in enumerate(calls)]
    program += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _NOTIFY)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in program))
    head = struct.pack("<H6xQ", len(program), ctypes.addressof(code))
    listener = _libc.syscall(ctypes.c_long(seccomp), ctypes.c_ulong(1), ctypes.c_ulong(_NEW_LISTENER), head)
    return _check(int(listener), "seccomp")


def _pretend_limits(architecture: int, seccomp: int, number: int) -> None:
    """Answer every setting of a limit with success, and do nothing."""
    _check(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    # offsets in struct seccomp_data: 32 is the low word of the third argument, the new limit, if there is one
    program = [(_LOAD, 0, 0, 4), (_EQUAL, 0, 5, architecture), (_LOAD, 0, 0, 0), (_EQUAL, 0, 3, number),
               (_LOAD, 0, 0, 32), (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, _DONE), (_RETURN, 0, 0, _ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in program))
    head = struct.pack("<H6xQ", len(program), ctypes.addressof(code))
    _check(int(_libc.syscall(ctypes.c_long(seccomp), ctypes.c_ulong(1), ctypes.c_ulong(0), head)), "seccomp")


def main() -> None:
    """Become the command. The one argument but the socket is JSON: see `FakeMachine.started`."""
    door = socket.socket(fileno=int(sys.argv[1]))
    wanted = json.loads(sys.argv[2])
    architecture, seccomp, capset, *calls = _CALLS[platform.machine()]
    counters = _enter(wanted["base"], door)
    if wanted["uid"]:
        _reveal(wanted["paths"])
    if wanted["libraries"]:
        _load_from(wanted["libraries"])
    if wanted["files"]:
        resource.setrlimit(resource.RLIMIT_NOFILE, tuple(wanted["files"]))
    _check(_libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "die with the parent")
    if wanted["capabilities"] is not None:
        _limit(wanted["uid"], wanted["capabilities"], capset)
    if wanted["lenient"] or wanted["held"]:
        _pretend_limits(architecture, seccomp, _SETTING_LIMITS[platform.machine()])
    held = wanted["held"]
    if held:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # for good: the call is answered from now on
    listener = _filter(architecture, seccomp, (*calls, *_TIME_CALLS) if wanted["timed"] else tuple(calls))
    socket.send_fds(door, [b"s"], [counters, listener])
    if held:
        door.recv(1)
    door.close()
    os.execv(wanted["command"][0], wanted["command"])  # noqa: S606 - no shell is meant


if __name__ == "__main__":
    main()
