"""Turbo clocks by active cores, from the registers of real machines, and machines without them."""

from __future__ import annotations

import pytest
from fakehost import GUEST, FakeHost, machine
from hypothesis import given
from hypothesis import strategies as st

from turbotui.machine.calibration import KnownConstant, turbo_hz
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.perf_errors import circumstances
from turbotui.machine.topology import CpuPlace
from turbotui.quantities.unavailable import Reason, Unavailable


def cores(count: int, kind: str | None = None, first: int = 0) -> list[CpuPlace]:
    return [CpuPlace(first + cpu, 0, 0, 0, 0, first + cpu, first + cpu, kind) for cpu in range(count)]


def clocks(model: int, registers: dict[int, int], places: list[CpuPlace]) -> tuple[tuple[float, float], str]:
    """MHz of one core and of all, and where the second was read."""
    host = FakeHost(registers={(places[0].cpu, address): value for address, value in registers.items()})
    here = machine(host, CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=model), places)
    single, everyone = turbo_hz(here, circumstances(here))
    assert isinstance(single, KnownConstant)
    assert isinstance(everyone, KnownConstant)
    return (single.value / 1e6, everyone.value / 1e6), everyone.origin


# InstLatX64 dumps of these parts, decoded by hand: ratio and core count byte by byte.
@pytest.mark.parametrize(
    ("model", "registers", "places", "mhz"),
    [
        (0x8F, {0x1AD: 0x222326292B2C2F30, 0x1AE: 0x14120E0C0A060402}, cores(20), (4800, 3400)),
        (0x8F, {0x1AD: 0x222326292B2C2F30, 0x1AE: 0x14120E0C0A060402}, cores(15), (4800, 3500)),
        (0x6A, {0x1AD: 0x1F1F202122222223, 0x1AE: 0x2422201E1C181612}, cores(36), (3500, 3100)),
        (0x97, {0x1AD: 0x2525252525252525, 0x1AE: 0x0807060504030201}, cores(6), (3700, 3700)),
    ],
)
def test_registers_of_real_machines(
    model: int, registers: dict[int, int], places: list[CpuPlace], mhz: tuple[float, float]
) -> None:
    result, origin = clocks(model, registers, places)
    assert result == mhz
    assert origin.endswith(f"of {len(places)}")


def test_hybrids_count_their_p_cores() -> None:
    places = [*cores(2, "P"), *cores(6, "E", first=2)]
    assert clocks(0x97, {0x1AD: 0x2021222324252627}, places)[0] == (3900, 3800)


def test_more_cores_than_one_register_holds() -> None:
    haswell_server = {0x1AD: 0x2828282828282A2D, 0x1AE: 0x2020212223242526, 0x1AF: 0x1F1E}
    assert clocks(0x3F, haswell_server, cores(18))[0] == (4500, 3100)
    assert clocks(0x3F, haswell_server, cores(12))[0] == (4500, 3500)


def test_who_does_not_tell() -> None:
    here = machine(FakeHost(), GUEST)
    assert [why.reason for why in turbo_hz(here, circumstances(here)) if isinstance(why, Unavailable)] == [
        Reason.VIRTUALISED, Reason.VIRTUALISED,
    ]  # fmt: skip
    model = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x97)
    silent = machine(FakeHost(registers={(0, 0x1AD): 0}), model)
    why, _ = turbo_hz(silent, circumstances(silent))
    assert isinstance(why, Unavailable)
    assert "read 0" in why.detail


@given(st.lists(st.integers(1, 80), min_size=8, max_size=8), st.integers(1, 12))
def test_all_cores_never_run_faster_than_one(ratios: list[int], count: int) -> None:
    falling = sorted(ratios, reverse=True)
    word = sum(ratio << 8 * index for index, ratio in enumerate(falling))
    (single, everyone), _ = clocks(0x97, {0x1AD: word}, cores(count))
    assert single == falling[0] * 100
    assert everyone == falling[min(count, 8) - 1] * 100
