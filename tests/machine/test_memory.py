"""Memory as SMBIOS and EDAC describe it, and the largest memory of families of processors."""

from __future__ import annotations

import errno
import struct
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from treehost import TreeHost

from turbotui.features.roofline.dram import family_memory
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import HostError
from turbotui.machine.memory import Module, channels_named, modules_in_words, parse_module, read_memory
from turbotui.simulated import simulated_host


def _raw(*, bits: int = 64, size: int = 16384, speed: int = 4800, extended: int = 0, texts: tuple[str, ...] = (),
         length: int = 0x5C, kind: int = 0x22, ranks: int = 2, large: int = 0) -> bytes:
    body = bytearray(0x5C)
    struct.pack_into("<BB", body, 0, 17, length)
    struct.pack_into("<HH", body, 0x0A, bits, size)
    struct.pack_into("<BB", body, 0x10, 1 if texts else 0, 2 if len(texts) > 1 else 0)
    struct.pack_into("<H", body, 0x15, 6400)  # what the module could do
    body[0x12], body[0x1B] = kind, 0xF0 | ranks  # the upper bits are reserved
    struct.pack_into("<I", body, 0x1C, large)
    struct.pack_into("<H", body, 0x20, speed)
    struct.pack_into("<I", body, 0x58, extended)
    return bytes(body[:length]) + b"".join(text.encode() + b"\0" for text in texts) + b"\0"


@pytest.mark.parametrize(("device", "bank", "channel"), [
    ("ChannelA-DIMM0", "BANK 0", "channela"), ("Controller1-ChannelB-DIMM0", "BANK 2", "controller1-channelb"),
    ("DIMM 0", "P0 CHANNEL C", "p0 channel c"), ("CPU1_DIMM_A1", "NODE 2 CHANNEL 1 DIMM 0", "node 2 channel 1"),
    ("A1", "Not Specified", ""), ("DIMM_A1", "", ""),
])
def test_a_modules_channel_is_read_from_its_names(device: str, bank: str, channel: str) -> None:
    module = parse_module(_raw(texts=(device, bank)))
    assert module is not None
    assert (module.channel, module.bits, module.mts) == (channel, 64, 4800)


def test_what_firmware_leaves_open_is_unknown() -> None:
    assert parse_module(_raw(size=0)) is None  # an empty slot
    assert parse_module(b"") is None
    assert parse_module(b"\x04" + _raw()[1:]) is None  # a processor, not memory
    old = parse_module(_raw(length=0x15))
    assert old is not None
    assert old.mts is None  # version 2.1 knows no speed that is set
    assert (parse_module(_raw(speed=0)) or old).mts is None
    assert (parse_module(_raw(bits=0xFFFF)) or old).bits is None
    fast = parse_module(_raw(speed=0xFFFF, extended=70_000))
    assert fast is not None
    assert fast.mts == 70_000


@pytest.mark.parametrize(("raw", "words"), [
    (_raw(), "1 x 16 GiB DDR5 4800 MT/s 2 ranks"),
    (_raw(size=0x7FFF, large=131072, kind=0x1A, speed=3200, ranks=1), "1 x 128 GiB DDR4 3200 MT/s 1 rank"),
    (_raw(size=0x8000 | 0x4000, kind=0x13, speed=0, ranks=0), "1 x 16 MiB DDR2"),
    (_raw(size=0xFFFF, kind=0x02), "1 x 4800 MT/s 2 ranks"), (_raw(size=0x7FFF), "1 x DDR5 4800 MT/s 2 ranks"),
    (_raw(length=0x15, size=1536), "1 x 1536 MiB DDR5"),
])
def test_size_type_speed_and_ranks_of_a_module(raw: bytes, words: str) -> None:
    module = parse_module(raw)
    assert module is not None
    assert modules_in_words((module,)) == words


def test_equal_modules_are_counted_together() -> None:
    small, large = parse_module(_raw()), parse_module(_raw(size=0x7FFF, large=32768))
    assert small is not None
    assert large is not None
    assert modules_in_words((small, large, replace(small, slot="other"))) == (
        "2 x 16 GiB DDR5 4800 MT/s 2 ranks, 1 x 32 GiB DDR5 4800 MT/s 2 ranks")
    assert modules_in_words(()) == ""


@given(st.binary(max_size=200))
def test_no_structure_breaks_the_parser(raw: bytes) -> None:
    for start in (b"", b"\x11", b"\x11\x28", b"\x11\x5c"):
        module = parse_module(start + raw)
        assert module is None or module.mts is None or module.mts > 0


def _modules(*names: str) -> tuple[Module, ...]:
    return tuple(Module(f"slot {number} {name}", name, 64, 3200) for number, name in enumerate(names))


def test_doubtful_names_give_no_channels() -> None:
    assert channels_named(_modules("channela", ""), 1) == ()
    assert channels_named((Module("x channela", "channela", 64, 1), Module("x channela", "channela", 64, 1)), 1) == ()
    assert channels_named(_modules("channela", "channelb"), 2) == ()  # two packages, named as one
    assert len(channels_named(_modules("p0 channel a", "p1 channel a"), 2)) == 2


def _edac(*places: tuple[int, str, int], name: str = "Intel_10nm Socket#0 IMC#0") -> dict[str, str]:
    base = "/sys/devices/system/edac/mc"
    files = {f"{base}/power/control": "auto"}
    for number, (controller, location, size) in enumerate(places):
        files[f"{base}/mc{controller}/mc_name"] = name
        files[f"{base}/mc{controller}/dimm{number}/dimm_location"] = location + "\n"
        files[f"{base}/mc{controller}/dimm{number}/size"] = f"{size}\n"
    return files


@pytest.mark.parametrize(("files", "channels"), [
    (_edac((0, "channel 0 slot 0", 32768), (0, "channel 0 slot 1", 32768), (0, "channel 1 slot 0", 32768),
           (1, "channel 0 slot 0", 32768), (1, "channel 1 slot 0", 0)), 3),
    (_edac((0, "csrow 0 channel 0 ", 8192), (0, "csrow 1 channel 0 ", 8192), (0, "csrow 0 channel 1 ", 8192)), 2),
    (_edac((0, "memory 3 ", 8192), name="ghes_edac"), 0),
    (_edac((0, "channel 0 slot 0", 8192), name="Intel_client_SoC MC#0"), 0),
    ({}, 0),
])
def test_channels_that_the_kernel_counts(files: dict[str, str], channels: int) -> None:
    facts = read_memory(TreeHost(files))
    assert facts.channels == channels
    assert "SMBIOS" in facts.why


def test_modules_that_only_root_may_read_say_so() -> None:
    entry = "/sys/firmware/dmi/entries/17-0/raw"
    facts = read_memory(LockedHost({entry: ""}))
    assert facts.modules == ()
    assert facts.why == f"{entry} cannot be read (EACCES); root can"


class LockedHost(TreeHost):
    """Opens no file."""

    def open_file(self, path: str) -> int:
        raise HostError(errno.EACCES, path)


def test_families() -> None:
    host = simulated_host("grace-2s")
    milan = family_memory(host, CpuModel(vendor="AuthenticAMD", family=0x19, model=0x01))
    assert milan is not None
    assert milan.words == "8 channels of DDR4-3200"
    ivy = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x3A)
    assert getattr(family_memory(host, ivy), "rate", None) == 25.6e9
    assert family_memory(host, replace(ivy, model=1)) is None
    assert family_memory(host, CpuModel(vendor="Arm", implementer=0x41, part=0xD0C)) is None
    v2 = CpuModel(vendor="Arm", implementer=0x41, part=0xD4F)
    assert family_memory(host, v2) is not None
    assert family_memory(simulated_host("vera-2s"), v2) is None  # the core of others' chips too
