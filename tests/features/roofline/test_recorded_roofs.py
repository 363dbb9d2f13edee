"""Screen 6 over trees of files: cpufreq and /proc/cpuinfo, of any processor, and no PMU."""

from __future__ import annotations

from pathlib import Path

import pytest

from turbotui.errors import MachineError
from turbotui.features.roofline.screen_view import RoofView
from turbotui.features.roofline.spec_sheets import CORES, core_of
from turbotui.features.roofline.theory import machine_roofs
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.scope import SYSTEM_ROW, Scope

PROCESSORS = (
    *(("GenuineIntel", 6, model) for model in (0x3A, 0x3C, 0x5E, 0x55, 0x6A, 0x8F, 0x97, 0xAA, 0xAD, 0xAF, 0xBD, 0xBE)),
    *(("AuthenticAMD", family, model) for family, model in ((23, 0x31), (25, 0x21), (25, 0x61), (26, 0x44), (23, 1))),
)
FLAGS = ("fpu tsc msr", "fpu sse2", "fpu avx", "fpu avx512f", "fpu sse2 avx avx2 fma avx512f")
CLOCKS: tuple[dict[str, str], ...] = (
    {}, {"cpuinfo_max_freq": "4700000"}, {"base_frequency": "2400000", "cpuinfo_max_freq": "4700000"},
)  # fmt: skip


def tree(folder: Path, processor: tuple[str, int, int], flags: str, clocks: dict[str, str]) -> Path:
    """A machine of four CPUs."""
    vendor, family, model = processor
    cpus = folder / "sys/devices/system/cpu"
    for cpu in range(4):
        policy = cpus / f"cpu{cpu}/cpufreq"
        policy.mkdir(parents=True)
        for name, text in clocks.items():
            (policy / name).write_text(f"{text}\n")
    for name in ("online", "present", "possible"):
        (cpus / name).write_text("0-3\n")
    (folder / "proc").mkdir()
    (folder / "proc/cpuinfo").write_text("\n".join(
        f"processor\t: {cpu}\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: made\n"
        f"stepping\t: 1\nflags\t\t: {flags}\n" for cpu in range(4)
    ))
    return folder


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_recorded_machine_has_roofs_or_a_sentence(
    tmp_path: Path, processor: tuple[str, int, int], flags: str
) -> None:
    for number, clocks in enumerate(CLOCKS):
        host = LinuxHost(str(tree(tmp_path / str(number), processor, flags, clocks)))
        machine = read_machine(host)
        view = RoofView(machine, (), {"HOME": str(tmp_path)})
        choice = view.roofs(SYSTEM_ROW)
        assert choice.source
        assert view.choice.source
        for row in (machine.topology.row(scope, 0) for scope in (Scope.CORE, Scope.PACKAGE)):
            assert view.roofs(row).source
        assert (view.picture() is None) == (view.choice.roofs is None)
        try:
            roofs = machine_roofs(machine, "all", machine.topology.cpus)
        except MachineError:
            assert view.choice.roofs is None
            continue
        named = {peak.isa for peak in roofs.peaks}
        assert {"scalar", "SSE"} <= named
        assert ("AVX-512" in named) <= ("avx512f" in flags)


def test_every_core_has_a_width_that_cannot_be_turned_off() -> None:
    assert all(core.widths and core.widths[0][0] in ("SSE", "NEON") for core in map(core_of, CORES.names()))
