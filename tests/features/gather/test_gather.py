"""Gathering: the file has what the machine says, and nothing that identifies it."""

from __future__ import annotations

import errno
import gzip
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from turbotui.cli import main
from turbotui.features.doctor.model import Diagnosis, diagnose
from turbotui.features.gather.engine import GatheredArchive, gather
from turbotui.features.gather.scrubbing import Scrubber
from turbotui.features.gather.secrets import KERNELS, Secret, find_secrets
from turbotui.features.info.model import configuration
from turbotui.machine.gathered.documents import parse_gathered
from turbotui.machine.gathered.host import GatheredHost
from turbotui.machine.host import Host, HostError, HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason
from turbotui.recording import read
from turbotui.recording.capability_facts import capability_facts
from turbotui.recording.journal import Journal
from turbotui.recording.machine_facts import header_facts
from turbotui.sampling.capabilities import probe_sources
from turbotui.sampling.session import Session
from turbotui.simulated import RealClock, simulated_host
from turbotui.sources import SOURCES

pytestmark = pytest.mark.usefixtures("few_cores")

MEASURED = " of one CPU took "  # how long a reading took differs from reading to reading
EXECUTED = ("rdtsc", "core-clock")  # instructions are executed here or nowhere


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("USER", "LOGNAME", "SUDO_USER"):
        monkeypatch.delenv(word, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def reread(archive: GatheredArchive) -> GatheredHost:
    return GatheredHost(parse_gathered(archive.packed)[0], "again")


def diagnosed(host: Host) -> Diagnosis:
    machine = read_machine(host)
    return diagnose(machine, probe_sources(machine, SOURCES))


def comparable(diagnosis: Diagnosis) -> object:
    facts = {what: value for what, value in diagnosis.facts if what not in ("machine", "signals")}  # of EXECUTED, too
    sources = [(report.id, report.state, report.detail.partition(MEASURED)[0], report.remedy, report.signals)
               for report in diagnosis.sources if report.id not in EXECUTED]
    return facts, diagnosis.notes, sources


@pytest.mark.parametrize("name", ["laptop", "laptop-arrow", "laptop-old", "guest", "grace-2s"])
def test_a_gathered_machine_is_the_machine(name: str) -> None:
    host = simulated_host(name, RealClock(), 1)
    again = reread(gather(host, {}, 0.1))
    first, second = read_machine(host), read_machine(again)
    assert second.topology == first.topology
    assert replace(second.model, mhz=0.0) == replace(first.model, mhz=0.0), "the clock of the moment is another one"
    assert (second.platform, second.privileges) == (first.platform, first.privileges)
    assert comparable(diagnosed(again)) == comparable(diagnosed(host))
    columns = [set(Session(machine, SOURCES, 1.0, LinuxHost()).catalog.by_id) for machine in (first, second)]
    assert columns[0] == columns[1]
    # a register that counts or measures has another value by now: their lines say the same of something else
    lines = [[line.origin for section in configuration(machine, detailed=True) for line in section.lines]
             for machine in (first, second)]
    assert lines[0] == lines[1]


def test_a_gathered_machine_can_be_gathered_again() -> None:
    once = gather(simulated_host("laptop", RealClock(), 1), {}, 0.1)
    twice = reread(gather(reread(once), {}, 0.1))
    assert comparable(diagnosed(twice)) == comparable(diagnosed(reread(once)))


def test_the_real_machine(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(tmp_path / "here.tar.gz")
    assert main(["gather", path, "--yes", "--seconds", "1"]) == 0
    capsys.readouterr()
    for verb in (("doctor",), ("info",), ("columns",), ("stat", "-n", "1", "-i", "0.1")):
        assert main([*verb, "--machine", path, "--format", "json"]) == 0
        written = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
        assert {table["kind"] for table in written} == {"RECORDED"}
    host = LinuxHost()
    machine, _ = parse_gathered(Path(path).read_bytes())
    assert read_machine(GatheredHost(machine, "here")).topology.cpus == read_machine(host).topology.cpus
    signals = {(report.id, signal.id, signal.usable) for report in diagnosed(GatheredHost(machine, "here")).sources
               for signal in report.signals if report.id not in EXECUTED}
    here = {(report.id, signal.id, signal.usable) for report in diagnosed(host).sources
            for signal in report.signals if report.id not in EXECUTED}
    assert signals == here


# A machine that says who it is wherever it can

HOSTILE = {
    "host name": "zephyr-lab.example.org", "user name": "margarethe", "serial number": "PF3XW9QK",
    "board serial": "/7JQ4M33/CNWS20099B00D1/", "product uuid": "4c4c4544-0051-3410-8053-b7c04f334d33",
    "machine id": "8f14e45fceea167a5a36dedd4bea2543", "boot id": "9f86d081-884c-4d65-9a2f-eaa0c55ad015",
    "MAC": "3c:ec:ef:12:ab:9f", "IPv4": "192.168.77.12", "IPv6": "fe80::3eec:efff:fe12:ab9f",
    "full IPv6": "2001:db8:85a3:8d3:1319:8a2e:370:7348", "interface": "lan-headoffice",
    "enx": "enx3cecef12ab9f", "full name": "Ravensburger",
}  # fmt: skip
MODULE = "WDWCC7K4ABCDE"  # a serial number that stands in one place only, by which it is known
ALL = " ".join(HOSTILE.values())


def memory_device(*strings: str) -> bytes:
    """A structure of type 17 whose serial number is the third string, and its asset tag the fourth."""
    body = bytearray(0x28)
    body[0], body[1] = 17, len(body)
    body[0x10:0x12] = 1, 2
    body[0x17:0x1B] = 1, 3, 4, 5
    return bytes(body) + b"\0".join(string.encode() for string in strings) + b"\0\0"


def hostile_files() -> Iterator[tuple[str, bytes]]:
    cpus = "".join(
        f"processor\t: {cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Xeon of {ALL}\n"
        f"stepping\t: 8\nphysical id\t: 0\ncore id\t: {cpu}\nflags\t\t: lm tsc aperfmperf\n\n" for cpu in (0, 1)
    )
    yield "proc/cpuinfo", f"{cpus}Serial\t\t: 10000000deadbeef\nHardware : {ALL}\n".encode()
    yield "proc/stat", b"cpu  1 2 3 4 0 0 0 0 0 0\ncpu0 1 2 3 4 0 0 0 0 0 0\ncpu1 1 2 3 4 0 0 0 0 0 0\n"
    yield "proc/cmdline", f"root=UUID={HOSTILE['product uuid']} intel_pstate=passive {ALL}".encode()
    yield "proc/interrupts", f"     CPU0 CPU1\n 24: 1 2 PCI-MSI {ALL}\nNMI: 0 0 Non-maskable {ALL}\n".encode()
    yield "proc/softirqs", b"        CPU0 CPU1\nTIMER: 1 2\n"
    yield "proc/modules", f"msr 16384 0 - Live 0xffffffffc0a1b000\n{ALL} 1 0\n".encode()
    yield "proc/config.gz", gzip.compress(f'CONFIG_X86_MSR=y\nCONFIG_DEFAULT_HOSTNAME="{ALL}"\n'.encode())
    yield "proc/sys/kernel/hostname", f"{HOSTILE['host name']}\n".encode()
    yield "proc/sys/kernel/osrelease", f"6.18.0.1-{HOSTILE['user name']}\n".encode()
    yield "proc/sys/kernel/random/boot_id", f"{HOSTILE['boot id']}\n".encode()
    yield "etc/machine-id", f"{HOSTILE['machine id']}\n".encode()
    yield "etc/passwd", (f"root:x:0:0:root:/root:/bin/sh\n{HOSTILE['user name']}:x:1000:1000:"
                         f"M. {HOSTILE['full name']},,,:/home/{HOSTILE['user name']}:/bin/sh\n").encode()
    dmi = "sys/class/dmi/id"
    yield f"{dmi}/product_serial", f"{HOSTILE['serial number']}\n".encode()
    yield f"{dmi}/board_serial", f"{HOSTILE['board serial']}\n".encode()
    yield f"{dmi}/product_uuid", f"{HOSTILE['product uuid']}\n".encode()
    yield f"{dmi}/product_name", f"Thing of {ALL}\n".encode()
    yield f"{dmi}/sys_vendor", f"{ALL}\n".encode()
    for name in ("eth0", HOSTILE["interface"], HOSTILE["enx"]):
        yield f"sys/class/net/{name}/address", f"{HOSTILE['MAC']}\n".encode()
    yield ("sys/firmware/dmi/entries/17-0/raw",
           memory_device("DIMM A1", "BANK 0", MODULE, HOSTILE["serial number"], "M393A4K40"))
    cpu = "sys/devices/system/cpu"
    yield f"{cpu}/online", b"0-1\n"
    yield f"{cpu}/present", b"0-1\n"
    for number in (0, 1):
        yield f"{cpu}/cpu{number}/topology/core_id", f"{number}\n".encode()
        yield f"{cpu}/cpu{number}/topology/physical_package_id", b"0\n"
        yield f"{cpu}/cpu{number}/cpufreq/scaling_driver", f"{HOSTILE['user name']}\n".encode()
        yield f"{cpu}/cpu{number}/cpuidle/state0/name", f"{ALL}\n".encode()
        yield f"{cpu}/cpu{number}/cpuidle/state0/desc", f"{ALL}\n".encode()
        yield f"{cpu}/cpu{number}/cpuidle/state0/time", b"1\n"
        yield f"{cpu}/cpu{number}/cpuidle/state0/usage", b"1\n"
    for number in (0, 1):
        yield f"sys/class/hwmon/hwmon{number}/name", f"{('coretemp', ALL)[number]}\n".encode()
        yield f"sys/class/hwmon/hwmon{number}/temp1_label", f"Package id 0 {ALL}\n".encode()
        yield f"sys/class/hwmon/hwmon{number}/temp1_input", b"42000\n"
    for name in (f"pmu_{HOSTILE['user name']}", f"uncore_{HOSTILE['MAC'].replace(':', '-')}"):
        yield f"sys/bus/event_source/devices/{name}/type", b"99\n"
        yield f"sys/bus/event_source/devices/{name}/events/{HOSTILE['serial number']}", f"event={ALL}\n".encode()
        yield f"sys/bus/event_source/devices/{name}/format/event", b"config:0-7\n"
        yield f"sys/bus/event_source/devices/{name}/identifier", f"{ALL}\n".encode()


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    for name, data in hostile_files():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "tree"


def test_nothing_that_tells_whose_machine_it_was_is_in_the_file(hostile: Path) -> None:
    archive = gather(LinuxHost(str(hostile)), {}, 0.1)
    data = gzip.decompress(archive.packed)
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        data += gzip.decompress(tar.extractfile("gathered/root/proc/config.gz").read())  # type: ignore[union-attr]
    result = data.lower()
    for what, secret in HOSTILE.items():
        for form in {secret, secret.replace(":", "").replace("-", ""), secret.split(".")[0]} - {"192", "fe80"}:
            assert form.lower().encode() not in result, f"{what}: {form}"
    for also in (MODULE.lower().encode(), b"deadbeef", b"3cecef12ab9f", b"ffffffffc0a1b000", b"10000000d"):
        assert also not in result
    scrubbed = archive.scrubbed.machine
    assert scrubbed.files["/proc/cmdline"] == b"intel_pstate=passive scrubbed\n"
    assert scrubbed.files["/proc/sys/kernel/osrelease"] == b"6.18.0.1-scrubbed\n", "a version is no address"
    assert scrubbed.files["/proc/stat"].startswith(b"cpu  1 2 3 4 0 0"), "numbers stay"
    raw = scrubbed.files["/sys/firmware/dmi/entries/17-0/raw"]
    serial = HOSTILE["serial number"]
    assert raw == memory_device("DIMM A1", "BANK 0", "x" * len(MODULE), "x" * len(serial), "M393A4K40")
    host = reread(archive)
    assert find_secrets(host, {}) == (), "what stands where a secret was is none, if it is gathered again"
    gather(host, {}, 0.1)
    assert read_machine(host).topology.cpus == (0, 1)
    diagnosed(host)


def recorded(archive: GatheredArchive, folder: Path) -> Journal:
    (folder / "recording").write_bytes(parse_gathered(archive.packed)[1]["recording"])
    return read(str(folder / "recording"))


def test_no_text_in_the_journal_tells_either(hostile: Path, tmp_path: Path) -> None:
    with recorded(gather(LinuxHost(str(hostile)), {}, 0.1, 2), tmp_path) as journal:
        frames = list(journal.frames())
        said = json.dumps([header_facts(journal.header), capability_facts(journal.capabilities),
                           [list(raws) for frame in frames for raws in frame.newer.values.values()],
                           [list(frame.newer.failures.values()) for frame in frames]])
    assert len(frames) == 3
    assert "scrubbed" in said
    for what, secret in HOSTILE.items():
        assert secret.lower() not in said.lower(), what
    assert journal.header.boot_id == ""


def test_the_journal_has_the_numbers_of_the_machine(tmp_path: Path) -> None:
    host = simulated_host("laptop-old", RealClock(), 1)
    with recorded(gather(host, {}, 0.1, 3), tmp_path) as journal:
        frames = list(journal.frames())
        assert journal.missing == ()
        assert (journal.header.name, journal.header.was) == ("gathered", HostKind.SIMULATED)
        assert len(frames) == 4
        busy = journal.catalog.by_id["Busy%"]
        rows = frames[-1].rows(Scope.CPU)
        assert len(rows) == 8
        for row, value in zip(rows, frames[-1].cells(busy, rows), strict=True):
            why = frames[-1].why(busy, row)
            held_up = why is not None and why.reason in {Reason.LATE, Reason.INTERRUPTED}  # by what else runs here
            assert held_up or (isinstance(value, float) and 0 <= value < 100.001), (value, why)
        assert any(value is not None for frame in frames for value in frame.cells(busy, rows))


def test_serial_numbers_in_registers_stay_out() -> None:
    host = simulated_host("laptop", RealClock(), 1)
    archive = gather(host, {}, 0.1)
    for path, words in archive.scrubbed.machine.words.items():
        assert not words.keys() & {0x4F, 0xC00102F1}, path
        assert not path.endswith("/cpuid") or 3 not in {offset & 0xFFFFFFFF for offset in words}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("cpu MHz : 2600.000", "cpu MHz : 2600.000"),
        ("0000:3b:00.0", "0000:3b:00.0"),
        ("config:0-7,32-35", "config:0-7,32-35"),
        ("00000000,0000ffff,ffffffff", "00000000,0000ffff,ffffffff"),
        ("event=0xcd,umask=0x1,ldat=0x3", "event=0xcd,umask=0x1,ldat=0x3"),
        ("NMI: 12 13 14 Non-maskable interrupts", "NMI: 12 13 14 Non-maskable interrupts"),
        ("10:20:30", "10:20:30"),
        ("addr 10.0.0.1/24", "addr 0.0.0.0/24"),
        ("at 00:1B:44:11:3A:B7 now", "at 00:00:00:00:00:00 now"),
        ("00-1b-44-11-3a-b7", "00:00:00:00:00:00"),
        ("::1 fe80::1", "::1 ::"),
        ("0::/pods/" + "0a1b2c3d" * 8, "0::/pods/" + "0" * 64),
        ("a-pod0a1b2c3d_1111_2222_3333_0123456789ab.slice", "a-pod00000000_0000_0000_0000_000000000000.slice"),
        ("by joe@build.example.org", "by scrubbed@scrubbed"),
        ("/home/joe/.venv/bin/python", "/home/scrubbed/.venv/bin/python"),
        ("Alice's alice_box ALICE-2 malice", "scrubbed's scrubbed_box scrubbed-2 malice"),
    ],
)
def test_what_looks_like_an_address_goes_and_what_a_kernel_writes_stays(text: str, left: str) -> None:
    assert Scrubber([Secret("user name", "alice")]).text(text)[0] == left


def test_a_machine_with_the_name_of_a_kernel_s_word_still_works(tmp_path: Path) -> None:
    host = tmp_path / "proc/sys/kernel/hostname"
    host.parent.mkdir(parents=True)
    host.write_text("cpu.power.example\n")
    result = [secret.text for secret in find_secrets(LinuxHost(str(tmp_path)), {})]
    assert {"cpu", "power"} <= KERNELS
    assert result == ["cpu.power.example", "example"]


def test_the_user_who_runs_it_is_no_part_of_it() -> None:
    environment = {"USER": "joyce", "SUDO_USER": "ulysses", "HOME": "/home/leopold"}
    result = {secret.text for secret in find_secrets(LinuxHost(), environment) if secret.what == "user name"}
    assert {"joyce", "ulysses", "leopold"} <= result


# The verb

def test_the_list_is_shown_and_nothing_written(tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                               monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["gather", "--list", "--seconds", "1", "--machine", "laptop"]) == 0
    shown = capsys.readouterr().out
    assert "/sys/devices/system/cpu/cpu*/topology/core_id" in shown
    assert "perf_event_open" in shown
    assert "SIMULATED" in shown
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give the file to write"),
        (("x.tar.gz",), "no terminal to ask on"),
        (("x.tar", "--yes"), "does not end in .tar.gz"),
        (("old.tgz", "--yes"), "is there already"),
    ],
)
def test_what_cannot_be_written_is_reported_before_anything_is_read(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    Path("old.tgz").write_bytes(b"kept")
    assert main(["gather", *words, "--machine", "no such machine"]) == 2
    assert said in capsys.readouterr().err
    assert Path("old.tgz").read_bytes() == b"kept"


class Typed(io.StringIO):
    """A terminal with typed input."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("yes\n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_a_user_is_asked(typed: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                         capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", Typed(typed))
    path = tmp_path / "it.tar.gz"
    assert main(["gather", str(path), "--seconds", "1", "--machine", "laptop-old"]) == status
    assert path.exists() == (status == 0)
    assert f"Write this to {path}? [y/N]" in capsys.readouterr().out


def test_a_file_that_is_none_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.tar.gz"
    path.write_bytes(b"not at all")
    assert main(["doctor", "--machine", str(path)]) == 3
    assert f"{path} is not a machine that turbotui gather wrote" in capsys.readouterr().err
    assert main(["doctor", "--machine", str(tmp_path / "none.tar.gz")]) == 3
    assert "No such file" in capsys.readouterr().err


def test_a_refusal_while_reading_is_no_end(tmp_path: Path) -> None:
    """A file of which the reading fails is gathered with its errno, and the others too."""
    host = simulated_host("laptop", RealClock(), 1)
    host.fail("/sys/devices/system/cpu/cpuidle/current_driver", errno.EACCES)
    again = reread(gather(host, {}, 0.1))
    with pytest.raises(HostError) as caught:
        again.read_text("/sys/devices/system/cpu/cpuidle/current_driver")
    assert caught.value.errno == errno.EACCES
    gather(again, {}, 0.1)
