from __future__ import annotations

import ctypes
import errno

import pytest

from turbotui.machine.host import HostError, PerfAttr
from turbotui.machine.perf_abi import PUBLISHED_SIZE, PerfEventAttr, perf_event_open, structure_of, syscall_number

# Offset and size of every field of struct perf_event_attr (uapi linux/perf_event.h, PERF_ATTR_SIZE_VER9).
LAYOUT = {
    "type": (0, 4),
    "size": (4, 4),
    "config": (8, 8),
    "sample_period": (16, 8),
    "sample_type": (24, 8),
    "read_format": (32, 8),
    "flags": (40, 8),
    "wakeup_events": (48, 4),
    "bp_type": (52, 4),
    "config1": (56, 8),
    "config2": (64, 8),
    "branch_sample_type": (72, 8),
    "sample_regs_user": (80, 8),
    "sample_stack_user": (88, 4),
    "clockid": (92, 4),
    "sample_regs_intr": (96, 8),
    "aux_watermark": (104, 4),
    "sample_max_stack": (108, 2),
    "reserved_2": (110, 2),
    "aux_sample_size": (112, 4),
    "aux_action": (116, 4),
    "sig_data": (120, 8),
    "config3": (128, 8),
    "config4": (136, 8),
}


def test_layout_is_the_kernels() -> None:
    result = {}
    for name, _ in PerfEventAttr._fields_:
        member = getattr(PerfEventAttr, name)
        result[name] = (member.offset, member.size)
    assert result == LAYOUT
    assert ctypes.sizeof(PerfEventAttr) == 144


def test_structure_carries_what_counting_needs() -> None:
    attr = PerfAttr(type=11, config=0x1FF24, config1=2, config2=3, config3=4, flags=1 << 20, read_format=0xB)
    words = bytes(structure_of(attr))
    assert int.from_bytes(words[0:4], "little") == 11
    assert int.from_bytes(words[4:8], "little") == PUBLISHED_SIZE == 136
    assert int.from_bytes(words[8:16], "little") == 0x1FF24
    assert int.from_bytes(words[32:40], "little") == 0xB
    assert int.from_bytes(words[40:48], "little") == 1 << 20
    assert int.from_bytes(words[56:64], "little") == 2
    assert int.from_bytes(words[64:72], "little") == 3
    assert int.from_bytes(words[128:136], "little") == 4
    assert sum(words) == sum((11, 136, 0x24, 0xFF, 1, 0xB, 1 << 4, 2, 3, 4)), "nothing else is set"


@pytest.mark.parametrize(
    ("machine", "pointer", "number"),
    [
        ("x86_64", 8, 298),
        ("aarch64", 8, 241),
        ("riscv64", 8, 241),
        ("loongarch64", 8, 241),
        ("x86_64", 4, 336),
        ("s390x", 8, None),
    ],
)
def test_call_numbers(machine: str, pointer: int, number: int | None) -> None:
    assert syscall_number(machine, pointer) == number


@pytest.mark.real
def test_the_kernel_answers_with_an_errno() -> None:
    with pytest.raises(HostError) as caught:
        perf_event_open(PerfAttr(type=0x7FFFFFF0, config=0), -1, 0, -1)
    # ENOENT: no such PMU. EACCES, EPERM, ENOSYS: perf is closed to this process altogether.
    assert caught.value.errno in (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOSYS)
    assert "CPU 0" in str(caught.value)
