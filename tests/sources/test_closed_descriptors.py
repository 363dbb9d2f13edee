"""Opened files are closed: files and leaves that are read once, and groups with a refused counter."""

from __future__ import annotations

import errno

import pytest
from fakehost import FakeHost

from turbotui.machine.host import HostError, PerfAttr, msr_device
from turbotui.machine.perf_groups import close_all, open_group
from turbotui.machine.reading import Leaf, closing, cpuid_of, read_bytes
from turbotui.machine.registers import read_once

CPUID = "/dev/cpu/3/cpuid"


class ShortHost(FakeHost):
    """A host whose files end before the requested bytes."""

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        return super().read_at(descriptor, size, offset)[: size - 1]


def test_bytes_are_read_where_they_are_asked_for() -> None:
    host = FakeHost(files={"/x": "abcdef", "/no": errno.EACCES})
    assert (read_bytes(host, "/x", 3), read_bytes(host, "/x", 9, 4)) == (b"abc", b"ef")
    with pytest.raises(HostError, match="/no"):
        read_bytes(host, "/no", 1)
    assert host.open == {}


def test_leaves_and_subleaves() -> None:
    host = FakeHost(files={CPUID: ""}, leaves={0: (0x1C, 1, 2, 3), 4 | 2 << 32: (9, 8, 7, 6)})
    with cpuid_of(host, 3) as ask:
        assert (ask(0), ask(4, 2).ebx) == (Leaf(0x1C, 1, 2, 3), 8)
        assert len(host.open) == 1
    assert host.open == {}


def test_half_a_leaf_is_none() -> None:
    host = ShortHost(files={CPUID: ""})
    with cpuid_of(host, 3) as ask, pytest.raises(HostError) as caught:
        ask(0)
    assert (caught.value.errno, host.open) == (errno.EIO, {})


def test_a_register_that_is_not_there_leaves_nothing_open() -> None:
    host = FakeHost(registers={(0, 0x10): 7})
    assert read_once(host, 0, 0x10) == 7
    with pytest.raises(HostError):
        read_once(host, 0, 0x11)
    with pytest.raises(KeyError), closing(host, host.open_file(msr_device(0))):
        raise KeyError
    assert host.open == {}


def test_a_group_has_one_leader_and_is_opened_whole_or_not_at_all() -> None:
    host = FakeHost(counters={(4, 1): 1.0, (4, 2): 1.0, (4, 3): 1.0}, lonely={(4, 3)})
    first, second = opened = open_group(host, [PerfAttr(4, 1), PerfAttr(4, 2)], -1, 0)
    assert [getattr(host.open[item], "leader", None) for item in opened] == [-1, first]
    assert second != first
    close_all(host, opened)
    with pytest.raises(HostError) as caught:
        open_group(host, [PerfAttr(4, 1), PerfAttr(4, 2), PerfAttr(4, 3)], -1, 0)
    assert (caught.value.errno, host.open) == (errno.EINVAL, {})
    assert open_group(host, [], -1, 0) == []
