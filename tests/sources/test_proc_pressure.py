from __future__ import annotations

import errno

import pytest
from prochost import Content, machine_of

from turbotui.machine.host import NOT_GATHERED, HostKind
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.proc_pressure import FOLDER, ProcPressure

BOTH = "some avg10=99.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total={}\n"
FILES: dict[str, Content] = {
    f"{FOLDER}/cpu": BOTH.format(1_500_000, 0),
    f"{FOLDER}/memory": BOTH.format(200, 100),
    f"{FOLDER}/io": BOTH.format(4000, 3000),
    f"{FOLDER}/irq": "full avg10=0.00 avg60=0.00 avg300=0.00 total=77\n",
}
IDS = frozenset({"psi.cpu.some", "psi.memory.some", "psi.memory.full", "psi.io.some", "psi.io.full", "psi.irq.full"})


def found(files: dict[str, Content]) -> dict[str, Signal | Unavailable]:
    return dict(ProcPressure().probe(machine_of(files)[1]).signals)


def why(files: dict[str, Content], signal: str = "psi.cpu.some") -> Unavailable:
    absent = found(files)[signal]
    assert isinstance(absent, Unavailable)
    return absent


def test_totals_are_read_in_microseconds_and_averages_are_not() -> None:
    _, machine = machine_of(FILES)
    source = ProcPressure()
    signals = source.probe(machine).signals
    assert set(signals) == IDS
    reader = source.open_shared(machine, IDS)
    read = dict(zip(reader.signals, (values[0] for values in reader.read()), strict=True))
    assert read == {"psi.cpu.some": 1_500_000, "psi.memory.some": 200, "psi.memory.full": 100, "psi.io.some": 4000,
                    "psi.io.full": 3000, "psi.irq.full": 77}
    cpu = signals["psi.cpu.some"]
    assert isinstance(cpu, Signal)
    assert cpu.delta(500_000, 1_500_000) == pytest.approx(1.0)


def test_only_the_files_of_wanted_signals_are_read() -> None:
    host, machine = machine_of(FILES)
    reader = ProcPressure().open_shared(machine, frozenset({"psi.io.full", "psi.io.some"}))
    host.texts = 0
    reader.read()
    assert host.texts == 1


def test_a_file_that_goes_away_is_unknown_and_not_zero() -> None:
    host, machine = machine_of(FILES)
    reader = ProcPressure().open_shared(machine, IDS)
    host.files[f"{FOLDER}/cpu"] = errno.EOPNOTSUPP
    read = dict(zip(reader.signals, (values[0] for values in reader.read()), strict=True))
    assert read["psi.cpu.some"] is None
    assert read["psi.io.some"] == 4000


@pytest.mark.parametrize(("files", "says", "remedy"), [
    ({"/proc/sys/kernel/osrelease": "6.1\n", "/boot/config-6.1": "CONFIG_SMP=y\n"}, "no CONFIG_PSI",
     "use a kernel with CONFIG_PSI=y"),
    ({"/proc/cmdline": "quiet psi=0\n"}, "booted with psi=0", "boot without psi=0"),
    ({"/proc/sys/kernel/osrelease": "6.1\n", "/boot/config-6.1": "CONFIG_PSI=y\nCONFIG_PSI_DEFAULT_DISABLED=y\n"},
     "only when it is told to", "boot with psi=1"),
    ({}, "does not account pressure", "use Linux 4.20"),
])
def test_a_kernel_without_pressure_says_why_and_what_helps(files: dict[str, Content], says: str, remedy: str) -> None:
    absent = why(files)
    assert absent.reason is Reason.NO_DRIVER
    assert says in absent.detail
    assert absent.remedy.startswith(remedy)


def test_a_kernel_that_has_the_files_and_refuses_to_read_them() -> None:
    refusing: dict[str, Content] = dict.fromkeys(FILES, errno.EOPNOTSUPP)
    assert "ENOTSUP" in why(refusing).detail
    assert "psi=1" in why(refusing).remedy


def test_interrupts_have_a_reason_of_their_own() -> None:
    without = {path: text for path, text in FILES.items() if not path.endswith("irq")}
    assert "CONFIG_IRQ_TIME_ACCOUNTING" in why(without, "psi.irq.full").remedy
    assert isinstance(found(without)["psi.cpu.some"], Signal)


def test_of_a_recorded_machine_the_kernel_is_not_blamed() -> None:
    host, machine = machine_of({})
    host.kind = HostKind.RECORDED
    absent = ProcPressure().probe(machine).signals["psi.cpu.some"]
    assert isinstance(absent, Unavailable)
    assert absent.reason is Reason.RECORDED
    assert why(dict.fromkeys(FILES, NOT_GATHERED)).reason is Reason.RECORDED


@pytest.mark.real
def test_this_machines_own_files() -> None:
    """Whatever kernel this is, it either counts or says why not."""
    machine = read_machine(LinuxHost())
    signals = ProcPressure().probe(machine).signals
    reader = ProcPressure().open_shared(machine, IDS)
    older, newer = reader.read(), reader.read()
    for signal, before, after in zip(reader.signals, older, newer, strict=True):
        offered = signals[signal]
        if isinstance(offered, Unavailable):
            assert offered.remedy
        else:
            assert isinstance(before[0], int)
            assert isinstance(after[0], int)
            assert before[0] <= after[0]
