"""Reasons for missing drivers come from the kernel's own words, and no remedy contradicts them."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from treehost import TreeHost

from turbotui.machine.kernel_build import boot_word, build_option, is_loaded, no_driver
from turbotui.machine.linux import LinuxHost
from turbotui.quantities.unavailable import Reason

RELEASE = {"/proc/sys/kernel/osrelease": "6.12.0-amd64\n"}
CONFIG = "/boot/config-6.12.0-amd64"
FOLDER = "/lib/modules/6.12.0-amd64"


def why(files: dict[str, str]) -> tuple[Reason, str, str]:
    unavailable = no_driver(TreeHost(RELEASE | files), "k10temp", "SENSORS_K10TEMP", "no sensor")
    return unavailable.reason, unavailable.detail, unavailable.remedy


@pytest.mark.parametrize(
    ("files", "reason", "detail", "remedy"),
    [
        ({}, Reason.NO_DRIVER, "no sensor", "modprobe k10temp"),
        ({CONFIG: "CONFIG_SENSORS_K10TEMP=m\n"}, Reason.NO_DRIVER, "no sensor", "modprobe k10temp"),
        ({CONFIG: "# CONFIG_SENSORS_K10TEMP is not set\n"}, Reason.NO_DRIVER, "built without", "use a kernel"),
        ({CONFIG: "CONFIG_SENSORS_K10TEMP=y\n"}, Reason.NO_HARDWARE, "in the kernel", "newer kernel"),
        ({"/proc/modules": "k10temp 16384 0 - Live 0x0\n"}, Reason.NO_HARDWARE, "is loaded", "newer kernel"),
        ({"/proc/modules": "k10temperature 1 0 - Live 0x0\n"}, Reason.NO_DRIVER, "no sensor", "modprobe k10temp"),
        ({"/proc/cmdline": "quiet nomodule\n"}, Reason.NO_DRIVER, "booted with nomodule", "boot without nomodule"),
        ({"/proc/cmdline": "module_blacklist=a,k10temp,b\n"}, Reason.NO_DRIVER, "booted with module_", "boot without"),
        ({"/proc/cmdline": "quiet -- nomodule\n"}, Reason.NO_DRIVER, "no sensor", "modprobe k10temp"),
        ({f"{FOLDER}/modules.builtin": "", f"{FOLDER}/modules.dep": "kernel/drivers/hwmon/k10temp.ko.xz:\n"},
         Reason.NO_DRIVER, "no sensor", "modprobe k10temp"),
        ({f"{FOLDER}/modules.builtin": "", f"{FOLDER}/modules.dep": ""},
         Reason.NO_DRIVER, "built without", "use a kernel"),
    ],
)  # fmt: skip
def test_a_missing_driver(files: dict[str, str], reason: Reason, detail: str, remedy: str) -> None:
    result = why(files)
    assert result[0] is reason
    assert detail in result[1]
    assert remedy in result[2]
    could_be_loaded = result[1] == "no sensor"
    assert ("modprobe" in result[2]) == could_be_loaded


@given(st.text(alphabet="abc=.,- \n", max_size=40))
def test_words_of_the_command_line_never_fail(text: str) -> None:
    host = TreeHost({"/proc/cmdline": text})
    assert boot_word(host, r"idle=\w+") == ""
    assert not is_loaded(host, "a")
    assert build_option(host, "X") == ""


@pytest.mark.parametrize(("lines", "kept", "option"), [(0, None, "y"), (1 << 25, None, ""), (0, -9, ""), (0, 0, "")])
def test_a_packed_configuration_is_unpacked_to_a_bound(tmp_path: Path, lines: int, kept: int | None,
                                                       option: str) -> None:
    packed = gzip.compress(b"\n" * lines + b"CONFIG_X=y\n")
    for path, data in (("sys/kernel/osrelease", b"6.12.0\n"), ("config.gz", packed[:kept])):
        (tmp_path / "proc" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "proc" / path).write_bytes(data)
    tracemalloc.start()
    value = build_option(LinuxHost(str(tmp_path)), "X")
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (value, peak >> 24) == (option, 0)
