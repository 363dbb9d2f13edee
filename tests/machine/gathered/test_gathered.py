"""Gathered machines: the noting host, the archive, the answering host, and sentences about damage."""

from __future__ import annotations

import errno
import gzip
import io
import json
import random
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from turbotui.errors import MachineError
from turbotui.machine.gathered.archive import LARGEST, GatheredError, pack, unpack
from turbotui.machine.gathered.documents import documents_of, parse_gathered
from turbotui.machine.gathered.host import GatheredHost, gathered_host
from turbotui.machine.gathered.model import Gathered, OpenAttempt
from turbotui.machine.gathered.noting_host import NotingHost
from turbotui.machine.host import NOT_GATHERED, HostError, HostKind, PerfAttr, Privileges, msr_device
from turbotui.machine.linux import LinuxHost
from turbotui.simulated import ManualClock, simulated_host

ATTR, OTHER = PerfAttr(4, 0xC0, config1=1 << 63), PerfAttr(1, 3, flags=1)
SMALL = Gathered(
    origin=HostKind.REAL, time="2026-01-02T03:04:05.000Z", version="0",
    rights=Privileges(1000, 1 << 38, 2, (1024, 4096)), usable=frozenset({0, 2}),
    files={"/proc/stat": b"cpu 1 2 3\n", "/sys/a b/\u240a\u27ea202e\u27eb": b"\xff\n"},
    folders={"/sys": ("a b", "never")},
    present=frozenset({"/sys/there"}), absent=frozenset({"/sys/gone", "/nowhere"}),
    errors={"/sys/secret": errno.EACCES},
    words={"/dev/cpu/0/msr": {0x10: b"\1" * 8, 0x611: errno.EIO}, "/dev/cpu/2/msr": {0x10: b"\1" * 8},
           "/dev/cpu/2/cpuid": {}, "/sys/telem": {0x1F8: b"12345678"}},
    counters={OpenAttempt(ATTR, (), 0): 0, OpenAttempt(OTHER, (ATTR,), 0): errno.EINVAL, OpenAttempt(OTHER, (), -1): 0},
    left_out={"/x": "why"},
)  # fmt: skip


def refusal(call: object, *arguments: object) -> int:
    """The errno with which a call is refused, 0 if it is not."""
    assert callable(call)
    try:
        call(*arguments)
    except HostError as error:
        return error.errno or -1
    return 0


def archive(*entries: tarfile.TarInfo, data: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for entry in entries:
            entry.size = len(data) if entry.isreg() else 0
            tar.addfile(entry, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def test_what_was_gathered_comes_back_to_the_last_byte() -> None:
    packed, long = pack(documents_of(SMALL))
    assert long == ()
    gathered, others = parse_gathered(packed)
    assert gathered == SMALL
    assert others.keys() == {"about.json", "folders.json", "devices.json", "counters.json"}
    assert pack(documents_of(SMALL))[0] == packed, "the same machine is the same file"


def test_tar_reads_it_and_its_root_is_a_sysroot(tmp_path: Path) -> None:
    packed, _ = pack(documents_of(SMALL))
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(tmp_path, filter="data")
    assert LinuxHost(str(tmp_path / "gathered/root")).read_text("/proc/stat") == "cpu 1 2 3\n"


def test_paths_that_tar_cannot_hold_are_reported() -> None:
    longest = "root/" + "x" * 101
    _, long = pack({longest: b"", "root/fits": b""})
    assert long == (longest,)


def test_a_gathered_machine_answers_what_the_machine_answered() -> None:
    host = GatheredHost(SMALL, "x")
    assert host.kind is HostKind.RECORDED
    assert host.read_text("/proc/stat") == "cpu 1 2 3\n"
    assert host.read_text("/sys/a b/\u240a\u27ea202e\u27eb") == "\u27eaxff\u27eb\n"
    assert host.list_dir("/sys") == ("a b", "never")
    assert host.list_dir("/sys/a b") == ("\u240a\u27ea202e\u27eb",), "never listed, but known of"
    assert [host.exists(path) for path in ("/sys/never", "/sys/there", "/sys/gone", "/sys/secret", "/proc", "/x")] == [
        True, True, False, True, True, False]
    assert refusal(host.read_text, "/sys/secret") == errno.EACCES
    assert refusal(host.open_file, "/sys/secret") == errno.EACCES
    assert refusal(host.read_text, "/sys/gone") == errno.ENOENT
    assert refusal(host.read_text, "/sys/unlisted") == errno.ENOENT, "the listing of its folder has no such name"
    assert refusal(host.list_dir, "/nowhere/below") == errno.ENOENT
    assert refusal(host.read_text, "/sys/never") == NOT_GATHERED, "it was there, and nobody read it"
    assert refusal(host.read_text, "/etc/other") == NOT_GATHERED
    assert refusal(host.read_text, "/sys") == errno.EISDIR
    assert host.privileges() == SMALL.rights
    assert host.usable_cpus() == frozenset({0, 2})


def test_registers_hold_what_they_held_and_refuse_what_they_refused() -> None:
    host = GatheredHost(SMALL, "x")
    zero, two = (host.open_file(msr_device(cpu)) for cpu in (0, 2))
    assert host.read_at(zero, 8, 0x10) == host.read_at(two, 8, 0x10) == b"\1" * 8
    assert refusal(host.read_at, zero, 8, 0x611) == errno.EIO
    assert refusal(host.read_at, two, 8, 0x611) == NOT_GATHERED
    assert refusal(host.open_file, msr_device(1)) == NOT_GATHERED
    telem = host.open_file("/sys/telem")
    assert host.read_at(telem, 8, 0x1F8) == b"12345678"
    for descriptor in (zero, two, telem):
        host.close(descriptor)
    assert refusal(host.close, telem) == errno.EBADF


def test_counters_open_as_they_did_and_count_nothing() -> None:
    host = GatheredHost(SMALL, "x")
    leader = host.perf_event_open(ATTR, -1, 0, -1)
    assert refusal(host.perf_event_open, OTHER, -1, 0, leader) == errno.EINVAL
    assert host.perf_event_open(OTHER, -1, -1, -1) > leader
    assert refusal(host.perf_event_open, OTHER, -1, 0, -1) == NOT_GATHERED
    assert refusal(host.perf_event_open, ATTR, -1, 1, -1) == NOT_GATHERED
    assert refusal(host.read_counter, leader, 4096) == NOT_GATHERED, "a count that stands still is no count"


def test_a_machine_that_was_no_real_one_says_so_in_its_name() -> None:
    assert GatheredHost(SMALL, "x").name == "x"
    gathered = NotingHost(simulated_host("laptop", ManualClock(0))).gathered("now")
    assert GatheredHost(gathered, "x").name == "x (SIMULATED)"


def test_the_last_good_reading_counts_and_a_refusal_keeps_its_errno(tmp_path: Path) -> None:
    file = tmp_path / "value"
    file.write_text("one\n")
    (tmp_path / "long").write_bytes(bytes(range(200)))
    host = NotingHost(LinuxHost(str(tmp_path)))
    descriptor = host.open_file("/value")
    assert host.read_at(descriptor, 256) == b"one\n"
    file.write_text("2\n")
    assert host.read_at(descriptor, 256) == b"2\n"
    host.close(descriptor)
    descriptor = host.open_file("/long")
    assert host.read_at(descriptor, 128, 0) + host.read_at(descriptor, 128, 128) == bytes(range(200))
    host.close(descriptor)
    descriptor = host.open_file("/long")
    host.close(descriptor)
    for path in ("/none", "/value/below"):
        assert refusal(host.read_text, path) in (errno.ENOENT, errno.ENOTDIR)
    assert refusal(host.perf_event_open, ATTR, -1, 0, -1) == NOT_GATHERED
    gathered = host.gathered("now")
    assert gathered.files == {"/value": b"2\n", "/long": bytes(range(200))}
    assert gathered.absent == frozenset({"/none"})
    assert gathered.errors == {"/value/below": errno.ENOTDIR}
    assert gathered.counters == {OpenAttempt(ATTR, (), 0): NOT_GATHERED}
    assert gathered.origin is HostKind.RECORDED


def test_numbers_of_descriptors_that_come_again_are_not_confused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    host = NotingHost(LinuxHost(str(tmp_path)))
    for name in ("a", "b"):
        descriptor = host.open_file(f"/{name}")
        host.read_at(descriptor, 16)
        host.close(descriptor)
    assert host.gathered("now").files == {"/a": b"a", "/b": b"b"}


@pytest.mark.parametrize(
    ("packed", "words"),
    [
        (b"", "ends early"),
        (b"no gzip at all, and more than ten bytes", "no file of gzip"),
        (gzip.compress(b""), "ends early"),
        (gzip.compress(b"x" * 512), "no archive of tar"),
        (archive(entry("gathered/root/../../etc/passwd")), "below gathered/"),
        (archive(entry("/etc/passwd")), "below gathered/"),
        (archive(entry("gathered//x")), "below gathered/"),
        (archive(entry("other/x")), "below gathered/"),
        (archive(entry("gathered/x", tarfile.SYMTYPE, "/etc/passwd")), "no plain file"),
        (archive(entry("gathered/x", tarfile.LNKTYPE, "/etc/passwd")), "no plain file"),
        (archive(entry("gathered/x", tarfile.CHRTYPE)), "no plain file"),
        (archive(entry("gathered/x", tarfile.FIFOTYPE)), "no plain file"),
        (archive(entry("gathered/x", tarfile.GNUTYPE_SPARSE)), "no plain file"),
        (archive(entry("gathered/x"), entry("gathered/x")), "twice"),
        (archive(entry("gathered/x")), "no about.json"),
        (archive(entry("gathered/about.json"), data=b"{"), "not JSON"),
        (archive(entry("gathered/about.json"), data=b"[" * 100_000), "nested too deeply"),
        (archive(entry("gathered/about.json"), data=b"[]"), "about.json is no table"),
        (archive(entry("gathered/about.json"), data=b"{}"), 'does not say "format"'),
        (archive(entry("gathered/about.json"), data=b'{"format": 2}'), "reads format 1"),
    ],
    ids=map(str, range(20)),
)
def test_what_is_no_gathered_machine_is_a_sentence(packed: bytes, words: str) -> None:
    with pytest.raises(GatheredError, match=words):
        parse_gathered(packed)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT],
                         ids=["ustar", "gnu", "pax"])
def test_an_archive_that_was_packed_again_is_the_same_machine(form: int) -> None:
    files = {"about.json": b"{}", "root/sys/" + "f" * 60 + "/" + "g" * 60: b"1\n", "root/\u00fc": b""}
    if form != tarfile.USTAR_FORMAT:
        files["root/" + "/".join(["d" * 200] * 3)] = b"2\n" * 700
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form, pax_headers={"comment": "packed again"}) as tar:
        for path, data in files.items():
            info = entry(f"gathered/{path}")
            info.size, info.mtime = len(data), 1.5  # a time with a fraction is an extended header of its own
            tar.addfile(info, io.BytesIO(data))
    assert unpack(gzip.compress(buffer.getvalue())) == files


@pytest.mark.parametrize(("headers", "words"), [
    ({"path": "gathered/../x"}, "below gathered/"), ({"path": "gathered/x"}, "twice"),
    ({"size": "9" * 30}, "number in it"), ({"size": "-1"}, "number in it"), ({"GNU.sparse.major": "1"}, "sparse"),
    ({"comment": "x" * 9_000}, "more than 8192"),
], ids=["up", "twice", "endless", "negative", "sparse", "long"])
def test_extended_headers_are_judged_as_headers_are(headers: dict[str, str], words: str) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        tar.addfile(entry("gathered/x"))
        info = entry("gathered/y")
        info.pax_headers = headers
        tar.addfile(info)
    with pytest.raises(GatheredError, match=words):
        unpack(gzip.compress(buffer.getvalue()))


@pytest.mark.parametrize("record", [b"x", b"8 a=bc\n", b"6 a=bc\n", b"99 path=x\n", b"0 a=b\n", b"x a=b\n", b"7 path\n",
                                    b"1_0 a=bc\n"])
def test_damaged_extended_headers_are_a_sentence(record: bytes) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        info = entry("gathered/h", tarfile.XHDTYPE)
        info.size = len(record)
        tar.addfile(info, io.BytesIO(record))
    with pytest.raises(GatheredError, match=r"it is damaged: (an extended header|a number) in it is none"):
        unpack(gzip.compress(buffer.getvalue()))


def test_sizes_are_bounded_before_memory_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from turbotui.machine.gathered import archive as module  # noqa: PLC0415 - its bounds are made small here

    packed, _ = pack({"a": b"x" * 2000, "b": b"y" * 2000})
    monkeypatch.setattr(module, "_MOST_FILES", 1)
    with pytest.raises(GatheredError, match="more than 1 files"):
        unpack(packed)
    monkeypatch.setattr(module, "_MOST_CONTENT", 3000)
    with pytest.raises(GatheredError, match="more than 3000 bytes"):
        unpack(packed)
    monkeypatch.setattr(module, "_MOST_UNPACKED", 1024)
    with pytest.raises(GatheredError, match="unpacks to more"):
        unpack(packed)
    huge = tmp_path / "huge.tar.gz"
    with huge.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(MachineError, match="larger than"):
        gathered_host(str(huge))


def test_a_size_that_is_a_lie_takes_no_memory() -> None:
    tar = bytearray(gzip.decompress(archive(entry("gathered/x"))))
    tar[124:136] = b"00700000000\0"  # 117 MB of which there is nothing
    tar[148:156] = b" " * 8
    tar[148:156] = f"{sum(tar[:512]):06o}\0 ".encode()
    with pytest.raises(GatheredError, match="ends early"):
        unpack(gzip.compress(bytes(tar)))


def test_a_file_that_ends_at_any_byte_is_a_sentence() -> None:
    packed, _ = pack(documents_of(SMALL))
    for end in range(len(packed)):
        with pytest.raises(GatheredError):
            parse_gathered(packed[:end])


def test_every_flipped_bit_is_found_or_changes_nothing() -> None:
    packed, _ = pack(documents_of(SMALL))
    for place in range(len(packed)):
        damaged = bytearray(packed)
        damaged[place] ^= 1 << place % 8
        try:
            gathered, _ = parse_gathered(bytes(damaged))
        except GatheredError:
            continue
        assert gathered == SMALL, "gzip's header has bytes that mean nothing"


def values(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where every value of a JSON document is."""
    yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from values(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from values(inner, (*path, index))


OTHERS: tuple[object, ...] = (
    None, True, -1, 1 << 62, "", "zz", "E0", "0-65535", [], ["x"], [1, 2], [-5], {}, {"x": 1}, {"OK": "0-9"},
)  # fmt: skip


@pytest.mark.parametrize("name", ["about.json", "folders.json", "devices.json", "counters.json"])
def test_any_other_value_anywhere_is_read_or_a_sentence(name: str) -> None:
    files = documents_of(SMALL)
    text = files[name].decode()
    tried = 0
    for path in values(json.loads(text)):
        for other in OTHERS:
            document = json.loads(text)
            if not path:
                document = other
            else:
                holder = document
                for part in path[:-1]:
                    holder = holder[part]
                holder[path[-1]] = other
            try:
                parse_gathered(pack({**files, name: json.dumps(document).encode()})[0])
            except GatheredError:
                tried += 1
    assert tried > 10


def test_lists_of_cpus_cannot_fill_the_memory() -> None:
    rows = [{"path": "/dev/cpu/*/msr", "at": hex(at), "answers": {"00": "0-65535"}} for at in range(16)]
    files = {**documents_of(SMALL), "devices.json": json.dumps(rows).encode()}
    with pytest.raises(GatheredError, match="words of devices"):
        parse_gathered(pack(files)[0])


@pytest.mark.parametrize(("name", "document", "words"), [
    ("counters.json", {"events": [{"type": "0x0"}], "tried": [
        {"event": 0, "beside": [0] * 100_000, "answers": {"OK": "0-9999"}}]}, "group of more than 64 events"),
    ("devices.json", [{"path": "/dev/cpu/*/msr", "at": "0x10", "answers": {"00": ",".join(["0-65535"] * 100_000)}}],
     "named again and again"),
    ("folders.json", {"folders": {"/a" * 500_000: []}, "present": [], "absent": [], "errors": {}},
     "path of more than 4096 characters"),
    ("folders.json", {"folders": {f"/{number}{'/a' * 2000}": [] for number in range(2_500)}, "present": [],
                      "absent": [], "errors": {}}, "paths have more than 4000000 parts"),
], ids=["groups", "lists", "long", "deep"])
def test_small_documents_cannot_take_minutes(name: str, document: object, words: str) -> None:
    files = {**documents_of(SMALL), name: json.dumps(document).encode()}
    with pytest.raises(GatheredError, match=words):
        parse_gathered(pack(files)[0])


def test_files_of_millions_of_lines_are_refused() -> None:
    """Each would be an object of a reader: 3,000,000 interrupts of 7 MB took 1.4 GB, and 2,000,000 CPUs 0.9."""
    files = {**documents_of(SMALL), "root/proc/interrupts": b"1:\n" * 300_000}
    with pytest.raises(GatheredError, match="/proc/interrupts in it has more than 262,144 lines"):
        parse_gathered(pack(files)[0])


def test_a_line_of_millions_of_words_is_refused() -> None:
    """A table of 2,000,000 CPUs took 388 MB."""
    files = {**documents_of(SMALL), "root/proc/interrupts": b"CPU0 " * 300_000 + b"\n"}
    with pytest.raises(GatheredError, match="/proc/interrupts in it has a line of more than 1,048,576 bytes"):
        parse_gathered(pack(files)[0])


def test_an_archive_out_of_proportion_is_refused() -> None:
    """100 MB of zeros, which are the end of an archive, in 100 kB."""
    with pytest.raises(GatheredError, match="unpacks to more than"):
        unpack(gzip.compress(bytes(100 << 20), 6))


def test_extended_headers_without_a_file_come_to_an_end() -> None:
    info = entry("gathered/h", tarfile.XHDTYPE)
    info.size = 8
    header = info.tobuf(tarfile.USTAR_FORMAT) + b"8 a=bcd\n".ljust(512, b"\0")
    with pytest.raises(GatheredError, match="more than 8 extended headers"):
        unpack(gzip.compress(header * 20))


def test_random_damage_inside_is_read_or_a_sentence() -> None:
    """Bytes that changed before they were packed: no checksum of gzip finds them."""
    random_ = random.Random(13)
    tar = gzip.decompress(pack(documents_of(SMALL))[0])
    for _ in range(3000):
        damaged = bytearray(tar)
        for _ in range(random_.choice((1, 1, 2, 8))):
            damaged[random_.randrange(len(damaged))] = random_.randrange(256)
        try:
            host = GatheredHost(parse_gathered(gzip.compress(bytes(damaged), 0))[0], "x")
        except GatheredError:
            continue
        host.exists("/sys/a b")
