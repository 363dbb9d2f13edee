"""The time-stamp counter by its instruction, on this processor, and refused elsewhere."""

from __future__ import annotations

import errno
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from fakehost import FakeHost, machine
from patience import PATIENCE

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.delegating_host import RestrictedHost
from turbotui.machine.host import HostError, HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.timestamp import Timestamp

X86 = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x55, flags=frozenset({"tsc"}))
ARM = CpuModel(architecture="aarch64", vendor="Arm")
HERE = pytest.mark.skipif(platform.machine() != "x86_64", reason="this processor has no rdtsc")


class Stamped(FakeHost):
    """A fake machine that counts 2 ticks a ns, or refuses."""

    refusal = 0
    pins = True

    def read_tsc(self) -> int:
        if self.refusal:
            raise HostError(self.refusal, "rdtsc")
        return 2 * self.now


def probed(here: Machine) -> Signal | Unavailable:
    return Timestamp().probe(here).signals["tsc"]


def test_a_machine_that_executes_it() -> None:
    host = Stamped()
    here = machine(host, X86)
    assert isinstance(probed(here), Signal)
    reader = Timestamp().open(here, 0, frozenset({"tsc"}))
    host.now = 500
    assert list(reader.read()) == [1000]
    host.refusal = errno.EPERM
    assert list(reader.read()) == [None]


@pytest.mark.parametrize(
    ("host", "model", "reason"),
    [
        (FakeHost(), X86, Reason.NO_HARDWARE),  # a host that executes nothing
        (Stamped(), ARM, Reason.NO_HARDWARE),
        (Stamped(), replace(X86, flags=frozenset()), Reason.NO_HARDWARE),
        (RestrictedHost(FakeHost(), msr=False, perf=False), X86, Reason.NO_HARDWARE),
    ],
)
def test_machines_that_do_not(host: FakeHost, model: CpuModel, reason: Reason) -> None:
    result = probed(replace(machine(FakeHost(), model), host=host))
    assert isinstance(result, Unavailable)
    assert result.reason is reason


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.EPERM, Reason.NOT_PERMITTED), (errno.EACCES, Reason.NOT_PERMITTED), (errno.ENOSYS, Reason.NO_HARDWARE)],
)
def test_refusals(number: int, reason: Reason) -> None:
    host = Stamped()
    host.refusal = number
    result = probed(machine(host, X86))
    assert isinstance(result, Unavailable)
    assert result.reason is reason


def test_a_copy_of_files_executes_nothing(tmp_path: object) -> None:
    host = LinuxHost(str(tmp_path))
    assert host.kind is HostKind.RECORDED
    result = probed(replace(machine(FakeHost(), X86), host=host))
    assert isinstance(result, Unavailable)
    assert result.reason is Reason.RECORDED
    with pytest.raises(HostError):
        host.read_tsc()


@HERE
def test_the_instruction_counts_on_at_a_steady_rate() -> None:
    host = LinuxHost()
    rates = []
    for _ in range(5):
        start, began = host.read_tsc(), time.perf_counter_ns()
        while time.perf_counter_ns() - began < 20_000_000:
            pass
        rates.append((host.read_tsc() - start) / (time.perf_counter_ns() - began))
    assert 0.1 < statistics.median(rates) < 10.0, "GHz, of those in which nothing held this thread between two clocks"


@HERE
def test_a_process_that_may_not_execute_it_lives_and_is_reported() -> None:
    script = (
        "import ctypes, os\n"
        "from turbotui.machine.linux import LinuxHost\n"
        "from turbotui.machine.code import timestamp\n"
        "ctypes.CDLL(None).prctl(26, 2, 0, 0, 0)\n"  # PR_SET_TSC, PR_TSC_SIGSEGV: clocks of the vDSO kill, too
        "try:\n    LinuxHost().read_tsc()\nexcept OSError as error:\n    os.write(1, str(error).encode())\n"
        "os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=PATIENCE)  # noqa: S603 - ours
    assert done.returncode == 0, done.stderr
    assert "Operation not permitted" in done.stdout
