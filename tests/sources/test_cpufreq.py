from __future__ import annotations

import errno

import pytest
from prochost import machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Raw, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.cpufreq import Cpufreq
from turbotui.sources.source import CpuGone

CPU = "/sys/devices/system/cpu"
IDS = frozenset(
    f"cpufreq.{word}" for word in ("cur", "min", "max", "hw_min", "hw_max", "base", "driver", "governor", "epp")
)


def policy(cpu: int, **changes: str | None) -> dict[str, str]:
    files = {
        "scaling_cur_freq": "2400123\n", "scaling_min_freq": "800000\n", "scaling_max_freq": "3500000\n",
        "cpuinfo_min_freq": "400000\n", "cpuinfo_max_freq": "4700000\n", "base_frequency": "2100000\n",
        "scaling_driver": "intel_pstate\n", "scaling_governor": "powersave\n",
        "energy_performance_preference": "balance_performance\n", **changes,
    }  # fmt: skip
    return {f"{CPU}/cpu{cpu}/cpufreq/{name}": text for name, text in files.items() if text is not None}


def values(machine: Machine, cpu: int, wanted: frozenset[str] = IDS) -> dict[str, Raw]:
    reader = Cpufreq().open(machine, cpu, wanted)
    return dict(zip(reader.signals, reader.read(), strict=True))


def test_every_file_goes_to_its_own_signal() -> None:
    _, machine = machine_of(policy(0))
    assert values(machine, 0) == {
        "cpufreq.cur": 2400123, "cpufreq.min": 800000, "cpufreq.max": 3500000, "cpufreq.hw_min": 400000,
        "cpufreq.hw_max": 4700000, "cpufreq.base": 2100000, "cpufreq.driver": "intel_pstate",
        "cpufreq.governor": "powersave", "cpufreq.epp": "balance_performance",
    }  # fmt: skip


def test_frequencies_are_hertz_and_words_are_texts() -> None:
    _, machine = machine_of(policy(0))
    signals = Cpufreq().probe(machine).signals
    assert set(signals) == IDS
    cur, driver = signals["cpufreq.cur"], signals["cpufreq.driver"]
    assert isinstance(cur, Signal)
    assert isinstance(driver, Signal)
    assert cur.value(2400123) == pytest.approx(2.400123e9)
    assert driver.unit is Unit.TEXT


def test_descriptors_are_told_truly_and_given_back() -> None:
    host, machine = machine_of(policy(0))
    reader = Cpufreq().open(machine, 0, IDS)
    assert len(host.descriptors) == Cpufreq().descriptors(IDS, 1) == 6
    before = host.preads
    host.files[f"{CPU}/cpu0/cpufreq/scaling_governor"] = "performance\n"
    assert "performance" in reader.read()
    assert host.preads - before == 6
    reader.close()
    assert host.descriptors == {}


def test_the_base_frequency_of_cppc_firmware_is_in_megahertz() -> None:
    files = {
        **policy(0, base_frequency=None, scaling_driver="amd-pstate-epp\n"),
        f"{CPU}/cpu0/acpi_cppc/nominal_freq": "2400\n",
    }
    host, machine = machine_of(files)
    base = Cpufreq().probe(machine).signals["cpufreq.base"]
    assert isinstance(base, Signal)
    assert base.value(values(machine, 0)["cpufreq.base"]) == pytest.approx(2.4e9)
    assert "nominal_freq" in base.origin
    host.files[f"{CPU}/cpu0/acpi_cppc/nominal_freq"] = "0\n"
    assert isinstance(Cpufreq().probe(machine).signals["cpufreq.base"], Unavailable)
    assert values(machine, 0)["cpufreq.base"] is None


def test_what_the_driver_does_not_have_is_named() -> None:
    files = policy(0, base_frequency=None, energy_performance_preference=None, scaling_driver="acpi-cpufreq\n")
    _, machine = machine_of(files)
    signals = Cpufreq().probe(machine).signals
    for signal in ("cpufreq.base", "cpufreq.epp"):
        why = signals[signal]
        assert isinstance(why, Unavailable)
        assert why.reason is Reason.NO_DRIVER
        assert "intel_pstate" in why.detail
    assert isinstance(signals["cpufreq.cur"], Signal)


def test_an_unknown_frequency_and_an_unreadable_file_cost_only_themselves() -> None:
    host, machine = machine_of(policy(0, scaling_cur_freq="<unknown>\n"))
    assert values(machine, 0)["cpufreq.cur"] is None
    reader = Cpufreq().open(machine, 0, frozenset({"cpufreq.cur", "cpufreq.min"}))
    host.files[f"{CPU}/cpu0/cpufreq/scaling_min_freq"] = errno.EIO
    host.files[f"{CPU}/cpu0/cpufreq/scaling_cur_freq"] = "1200000\n"
    assert list(reader.read()) == [1200000, None]


@pytest.mark.parametrize(("cost", "slow"), [(20_000, False), (1_500_000, True)])
def test_the_cost_of_reading_the_frequency_is_measured(cost: int, slow: bool) -> None:
    host, machine = machine_of(policy(0))
    host.read_costs_ns = cost
    note = Cpufreq().probe(machine).note
    assert f"{cost // 1000} µs" in note
    assert ("slow" in note) is slow


def test_without_policies_the_reason_fits_the_machine() -> None:
    _, guest = machine_of({}, model=CpuModel(hypervisor=True))
    _, metal = machine_of({})
    for machine, reason in ((guest, Reason.VIRTUALISED), (metal, Reason.NO_DRIVER)):
        signals = Cpufreq().probe(machine).signals
        assert set(signals) == IDS
        assert {s.reason for s in signals.values() if isinstance(s, Unavailable)} == {reason}


def test_an_offline_policy_answers_busy() -> None:
    host, machine = machine_of({**policy(0), f"{CPU}/cpu0/online": "1\n"})
    reader = Cpufreq().open(machine, 0, frozenset({"cpufreq.cur", "cpufreq.governor"}))
    for name in ("scaling_cur_freq", "scaling_governor"):
        host.files[f"{CPU}/cpu0/cpufreq/{name}"] = errno.EBUSY
    assert list(reader.read()) == [None, None]
    host.files[f"{CPU}/cpu0/online"] = "0\n"
    with pytest.raises(CpuGone):
        reader.read()
