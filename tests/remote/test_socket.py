"""A collector behind a socket: who may connect, the effect of hostile and slow clients on others, and of a kill."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import grp
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest
from patience import PATIENCE, until_listening
from watched_machines import frames_of_machine

from turbotui.errors import UsageError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.recording.stream_writer import Gap
from turbotui.remote.incoming import Arrival, Incoming, Received
from turbotui.remote.links import LinkError, SocketConnector
from turbotui.remote.requests import request_line
from turbotui.remote.server import MOST_OF_ONE_USER, Admission, Peer, SocketClient, peer_of
from turbotui.remote.session import RemoteSession
from turbotui.remote.socket_file import SocketFileError, group_number, listening_socket, open_trusted_folder
from turbotui.sampling.frame import Frame

ROOT = Path(__file__).parents[2]
NOBODY = 65534
GROUP = 64123
"""Of nobody on any machine that tests run on; root may give files to it all the same."""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everybody can look into; pytest's own is this user's alone."""
    with tempfile.TemporaryDirectory(prefix="turbotui-socket-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def collector(path: Path, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "turbotui", "collect", "--machine", "laptop-old", "-i", "0.1", "--show", "Busy%",
               "--socket", str(path), *words]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,  # noqa: S603 - ours
                          env={**os.environ, "PYTHONPATH": str(ROOT)}) as process:
        try:
            until_listening(path, process)
            yield process
        finally:
            process.kill()


def connected(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PATIENCE)
    try:
        connection.connect(str(path))
    except OSError:
        connection.close()
        raise
    return connection


def frames_from(connection: socket.socket, incoming: Incoming, count: int) -> list[Received]:
    result: list[Received] = []
    while len(result) < count:
        data = connection.recv(1 << 16)
        assert data
        result += [item for item in incoming.take(data) if isinstance(item, Received)]
    return result


def closed(connection: socket.socket) -> bool:
    """Whether the other side closes it; what came before is thrown away."""
    end = time.monotonic() + PATIENCE
    try:
        while connection.recv(1 << 16):
            if time.monotonic() > end:
                return False
    except ConnectionError:
        return True
    return True


def as_user(uid: int, groups: list[int], call: Callable[[], int]) -> int:
    """Return the result of a call by another user, in a child: at most 200; 201 if it failed."""
    child = os.fork()
    if not child:
        status = 201
        try:
            os.setgroups(groups)
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            status = call()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def bytes_of(path: Path) -> int:
    """Return the number of bytes that a client receives first: at most 100; 101 if it may not connect."""
    try:
        with closing(connected(path)) as connection:
            return len(connection.recv(100))
    except PermissionError:
        return 101


# Who is let in


def test_the_file_is_for_this_user_and_the_group(folder: Path) -> None:
    group = os.getegid()
    with listening_socket(str(folder / "alone"), None), listening_socket(str(folder / "shared"), group):
        alone, shared = (folder / "alone").lstat(), (folder / "shared").lstat()
        assert stat.S_IMODE(alone.st_mode) == 0o600
        assert (stat.S_IMODE(shared.st_mode), shared.st_gid) == (0o660, group)
    assert list(folder.iterdir()) == []


def test_whoever_sees_the_file_can_connect(folder: Path) -> None:
    path, group = folder / "socket", os.getgid()
    name, seen = str(path), list[tuple[int, int]]()

    def look(_frame: object, _event: str, _argument: object) -> None:
        with contextlib.suppress(FileNotFoundError):
            mode = stat.S_IMODE(os.stat(name).st_mode)
            if len(seen) < 9:  # fewer than may wait to be accepted
                with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as client:
                    seen.append((mode, client.connect_ex(name)))

    sys.setprofile(look)  # before and after every call
    try:
        with listening_socket(str(path), group):
            pass
    finally:
        sys.setprofile(None)
    assert set(seen) == {(0o660, 0)}
    assert list(folder.iterdir()) == []


def test_a_collector_that_starts_at_the_same_moment_keeps_its_socket(folder: Path) -> None:
    path = folder / "socket"
    with contextlib.ExitStack() as other, closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as first:

        def overtake(frame: FrameType, event: str, _argument: object) -> None:
            if (event, frame.f_code.co_name) == ("call", "token_hex"):  # of the hidden name
                first.bind(str(path))
                first.listen()

        sys.setprofile(overtake)
        other.callback(sys.setprofile, None)
        with pytest.raises(SocketFileError, match="File exists"), listening_socket(str(path), None):
            pass
        assert [item.name for item in folder.iterdir()] == ["socket"]
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as client:
            client.connect(str(path))


def test_a_group_is_a_name_or_a_number() -> None:
    known = grp.getgrgid(0)
    assert group_number(known.gr_name) == 0
    assert group_number("1234") == 1234
    with pytest.raises(UsageError, match='there is no group "no such group"'):
        group_number("no such group")
    assert group_number(str((1 << 32) - 2)) == (1 << 32) - 2
    for none in (str((1 << 32) - 1), "9" * 5000):  # chown(2) takes the first as "no change", and Python none above
        with pytest.raises(UsageError, match=f"{none} is no number of a group"):
            group_number(none)


@needs_root
def test_another_user_may_not_connect(folder: Path) -> None:
    with collector(folder / "socket", "--group", str(GROUP)):
        assert as_user(NOBODY, [], lambda: bytes_of(folder / "socket")) == 101


@needs_root
def test_another_user_is_sent_nothing_even_where_the_file_lets_everybody_in(folder: Path) -> None:
    with collector(folder / "socket", "--group", str(GROUP)):
        (folder / "socket").chmod(0o666)
        assert as_user(NOBODY, [], lambda: bytes_of(folder / "socket")) == 0
        assert as_user(NOBODY, [GROUP], lambda: bytes_of(folder / "socket")) == 100


@needs_root
def test_a_member_of_the_group_reads(folder: Path) -> None:
    with collector(folder / "socket", "--group", str(GROUP)):
        assert as_user(NOBODY, [GROUP], lambda: bytes_of(folder / "socket")) == 100


def test_the_kernel_says_who_it_is() -> None:
    item, other = socket.socketpair()
    with closing(item), closing(other):
        assert peer_of(item) == Peer(os.geteuid(), frozenset((os.getegid(), *os.getgroups())))


def test_admission() -> None:
    admission = Admission(500, 70)
    assert admission.admits(Peer(500, frozenset((5,))))
    assert admission.admits(Peer(0, frozenset((0,))))
    assert admission.admits(Peer(501, frozenset((5, 70))))
    assert not admission.admits(Peer(501, frozenset((5, 71))))
    assert not Admission(500).admits(Peer(501, frozenset((5, 70))))


# The path


def refused(path: Path) -> str:
    with pytest.raises(SocketFileError) as caught, listening_socket(str(path), None):
        pass
    return str(caught.value)


def test_what_is_there_is_left_as_it_is(folder: Path) -> None:
    victim = folder / "victim"
    victim.write_text("precious")
    link, dangling = folder / "link", folder / "dangling"
    link.symlink_to(victim)
    dangling.symlink_to(folder / "elsewhere")
    for path in (victim, link, dangling):
        assert "is no socket: it is left as it is" in refused(path)
    assert victim.read_text() == "precious"
    assert not (folder / "elsewhere").exists()
    assert link.is_symlink()
    assert dangling.is_symlink()


def test_a_folder_that_became_a_link_is_not_followed(folder: Path) -> None:
    (folder / "run").mkdir()
    os.close(open_trusted_folder(str(folder / "run"), "s"))
    (folder / "run").rename(folder / "elsewhere")
    (folder / "run").symlink_to(folder / "elsewhere")
    with pytest.raises(OSError, match=r"Not a directory|Too many levels of symbolic links"):
        open_trusted_folder(str(folder / "run"), "s")


def test_a_folder_that_others_can_change_is_refused(folder: Path) -> None:
    inner = folder / "open" / "inner"
    inner.mkdir(parents=True)
    (folder / "open").chmod(0o777)
    assert "others than root and this user can change" in refused(inner / "socket")
    link = folder / "link"
    link.symlink_to(inner)
    assert "others than root and this user can change" in refused(link / "socket")
    assert list(inner.iterdir()) == []
    (folder / "open").chmod(0o1777)
    with listening_socket(str(link / "socket"), None):
        assert (inner / "socket").is_socket()


@needs_root
def test_another_users_folder_and_socket_are_refused(folder: Path) -> None:
    theirs = folder / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    assert "others than root and this user can change" in refused(theirs / "socket")
    with closing(socket.socket(socket.AF_UNIX)) as squatting:
        squatting.bind(str(folder / "socket"))
    os.chown(folder / "socket", NOBODY, NOBODY)
    assert "is another user's socket" in refused(folder / "socket")


def test_a_second_collector_is_refused(folder: Path) -> None:
    with listening_socket(str(folder / "socket"), None):
        assert "another collector listens" in refused(folder / "socket")
        assert (folder / "socket").is_socket()


def test_only_its_own_socket_is_taken_away(folder: Path) -> None:
    with listening_socket(str(folder / "socket"), None):
        (folder / "socket").unlink()
        (folder / "socket").write_text("another one's")
    assert (folder / "socket").read_text() == "another one's"


# Clients


def test_a_screen_reads_through_it_and_outlives_a_kill_of_the_collector(folder: Path) -> None:
    path = folder / "socket"
    troubles: list[str] = []
    again = threading.Event()

    def pause(stopped: threading.Event, _seconds: float) -> bool:
        troubles.append(session.trouble)
        again.wait(0.05)
        return stopped.is_set()

    with collector(path) as process:
        session = RemoteSession(SocketConnector(str(path)), LinuxHost(), pause=pause)
        frames: list[Frame] = []
        session.want(["IRQ"])
        session.start(frames.append)
        while not frames or "irq.total" not in frames[-1].newer.values:
            again.wait(0.01)
        process.send_signal(signal.SIGKILL)
        while not any("has ended" in trouble for trouble in troubles):
            again.wait(0.01)
    assert path.is_socket()  # a kill leaves it
    while not any("was killed" in trouble for trouble in troubles):
        again.wait(0.01)
    with collector(path):
        count = len(frames)
        while len(frames) < count + 3:
            again.wait(0.01)
        assert session.trouble == ""
        session.stop(PATIENCE)
    seqs = [frame.seq for frame in frames]
    assert seqs == sorted(set(seqs))


def test_a_collector_that_is_told_to_end_says_so_and_takes_its_socket_away(folder: Path) -> None:
    with collector(folder / "socket") as process, closing(connected(folder / "socket")) as connection:
        incoming = Incoming()
        frames_from(connection, incoming, 2)
        process.send_signal(signal.SIGTERM)
        while data := connection.recv(1 << 16):
            list(incoming.take(data))
        assert incoming.ended
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert list(folder.iterdir()) == []


def test_hostile_clients_are_closed_and_cost_the_others_no_frame(folder: Path) -> None:
    path = folder / "socket"
    with collector(path), closing(connected(path)) as good:
        incoming = Incoming()
        frames = frames_from(good, incoming, 2)
        for garbage in (b"\0\xff" * 9, b"GET / HTTP/1.1\r\n\r\n", b'{"want":1}\n', b'{"run":["sh"]}\n'):
            with closing(connected(path)) as bad:
                bad.sendall(garbage + b"\n")
                assert closed(bad)
        with closing(connected(path)) as endless, pytest.raises(ConnectionError):
            endless.sendall(b"x" * (1 << 24))  # a request that never ends
        with closing(connected(path)) as half:
            half.shutdown(socket.SHUT_WR)
            assert closed(half)
        many = [connected(path) for _ in range(40)]
        assert sum(bool(entry.recv(1)) for entry in many) == MOST_OF_ONE_USER - 1
        for item in many:
            item.close()
        frames += frames_from(good, incoming, 3)
        assert [frame.frame.seq for frame in frames] == list(range(frames[0].frame.seq, frames[-1].frame.seq + 1))


def test_requests_only_add_what_the_machine_offers(folder: Path) -> None:
    path = folder / "socket"
    with collector(path), closing(connected(path)) as item, closing(connected(path)) as other:
        incoming, beside = Incoming(), Incoming()
        assert "irq.total" not in frames_from(item, incoming, 1)[0].frame.newer.values
        item.sendall(request_line(["irq.total", "msr0x1a0", "/etc/shadow"]))
        while "irq.total" not in frames_from(other, beside, 1)[-1].frame.newer.values:
            pass  # what one asks for is read once, and sent to all
        values = frames_from(item, incoming, 1)[-1].frame.newer.values
        assert not {"msr0x1a0", "/etc/shadow"} & values.keys()
        assert "mperf" in values


@functools.cache
def watched() -> tuple[Machine, list[Frame]]:
    return frames_of_machine("turin-2s", 3)


def test_a_slow_client_loses_frames_is_told_how_many_and_holds_no_more_memory() -> None:
    machine, frames = watched()
    asyncio.run(late_reading(machine, frames))


async def late_reading(machine: Machine, frames: list[Frame]) -> None:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    client = SocketClient(Peer(0, frozenset()), machine, lambda: None, lambda _client: None)
    transport, _protocol = await asyncio.get_running_loop().connect_accepted_socket(lambda: client, ours)
    sent = [replace(frames[at % 3 + 1].newer, seq=at, fresh={}) for at in range(60)]
    most = 0
    for snapshot in sent:
        client.take(Frame(None, snapshot, frames[0].capabilities))
        most = max(most, transport.get_write_buffer_size())
        await asyncio.sleep(0)
    assert most < 4 << 20
    incoming, items = Incoming(), list[Arrival]()
    theirs.setblocking(False)
    loop = asyncio.get_running_loop()
    seen = 0
    while sum(isinstance(item, Received) for item in items) + seen < 60:
        items += incoming.take(await loop.sock_recv(theirs, 1 << 16))
        seen = sum(item.frames for item in items if isinstance(item, Gap))
        if not transport.get_write_buffer_size():
            at = len(sent)  # the next one says what was lost before it
            sent.append(replace(frames[1].newer, seq=at, fresh={}))
            client.take(Frame(None, sent[-1], frames[0].capabilities))
    assert seen >= 40
    client.abort()
    theirs.close()


def test_a_socket_that_is_not_there_is_a_sentence(folder: Path) -> None:
    with pytest.raises(LinkError, match="there is no socket"):
        SocketConnector(str(folder / "none")).open()
    with closing(socket.socket(socket.AF_UNIX)) as dead:
        dead.bind(str(folder / "dead"))
    with pytest.raises(LinkError, match="nobody listens"):
        SocketConnector(str(folder / "dead")).open()
