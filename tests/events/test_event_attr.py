from __future__ import annotations

import ctypes
import platform

import pytest

from turbotui.events.encoded import FLAGS, flag_names, precise_of
from turbotui.events.libpfm import structures
from turbotui.machine.host import PerfAttr
from turbotui.machine.perf_abi import PerfEventAttr, structure_of

LAST_FIELD = {
    # docs/specs/perf.md 2: size of each version -> the last field it has
    64: "config1", 72: "config2", 80: "branch_sample_type", 96: "clockid", 104: "sample_regs_intr", 112: "reserved_2",
    120: "aux_action", 128: "sig_data", 136: "config3", 144: "config4",
}  # fmt: skip


@pytest.mark.parametrize(("size", "name"), LAST_FIELD.items())
def test_each_published_size_ends_with_its_last_field(size: int, name: str) -> None:
    field = getattr(PerfEventAttr, name)
    assert field.offset + field.size == size


def test_the_fields_lie_without_gaps() -> None:
    end = 0
    for name, _kind in PerfEventAttr._fields_:
        field = getattr(PerfEventAttr, name)
        assert field.offset == end
        end += field.size
    assert end == ctypes.sizeof(PerfEventAttr) == 144


def test_every_member_reaches_the_structure() -> None:
    attr = PerfAttr(
        1, 2, 3, 4, 5, 1 << FLAGS["freq"], 7, config4=8, sample_period=9, bp_type=3, branch_sample_type=10,
        sample_max_stack=11, aux_sample_size=12,
    )  # fmt: skip
    value = structure_of(attr)
    assert (value.type, value.config, value.config1, value.config2, value.config3, value.config4) == (1, 2, 3, 4, 5, 8)
    assert (value.flags, value.read_format, value.sample_period, value.bp_type) == (1 << 10, 7, 9, 3)
    assert (value.branch_sample_type, value.sample_max_stack, value.aux_sample_size) == (10, 11, 12)


def test_the_size_is_the_longest_only_where_it_must_be() -> None:
    assert structure_of(PerfAttr(1, 2)).size == 136
    assert structure_of(PerfAttr(1, 2, config4=1)).size == 144


def test_flag_bits() -> None:
    # docs/specs/perf.md 2
    numbers = {
        "disabled": 0, "inherit": 1, "pinned": 2, "exclusive": 3, "exclude_user": 4, "exclude_kernel": 5,
        "exclude_hv": 6, "exclude_idle": 7, "freq": 10, "enable_on_exec": 12, "precise_ip": 15, "mmap_data": 17,
        "sample_id_all": 18, "exclude_host": 19, "exclude_guest": 20, "write_backward": 27, "aux_output": 31,
        "cgroup": 32, "sigtrap": 37, "defer_output": 39,
    }  # fmt: skip
    assert {name: FLAGS[name] for name in numbers} == numbers
    assert flag_names(3 << 15 | 1 << 5) == {"exclude_kernel": 1, "precise_ip": 3}
    assert precise_of(2 << 15) == 2


@pytest.mark.skipif(platform.architecture()[0] != "64bit", reason="the sizes are those of 64-bit machines")
def test_libpfms_structures() -> None:
    # docs/specs/libpfm.md 2
    sizes = {
        structures.RawArgument: 32, structures.PerfArgument: 40, structures.PmuInformation: 56,
        structures.EventInformation: 64, structures.AttributeInformation: 64,
    }  # fmt: skip
    assert {kind: ctypes.sizeof(kind) for kind in sizes} == sizes
    assert (structures.RawArgument.count.offset, structures.RawArgument.idx.offset) == (24, 28)
    assert (structures.PerfArgument.idx.offset, structures.PerfArgument.flags.offset) == (24, 32)
    assert structures.PmuInformation.flags.offset == 52
    assert (structures.EventInformation.code.offset, structures.EventInformation.flags.offset) == (32, 60)
    assert (structures.AttributeInformation.code.offset, structures.AttributeInformation.dfl.offset) == (32, 56)
