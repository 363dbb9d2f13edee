"""Meters of power in trees with the kernel's own file names."""

from __future__ import annotations

import errno
import threading

import pytest
from prochost import Content, ProcHost, machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.machine import Machine
from turbotui.quantities.meters import meters_of
from turbotui.quantities.signals import Raw, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources import METER_SOURCES, SOURCES
from turbotui.sources.batteries import Batteries
from turbotui.sources.meter_source import DeviceAnswer, MeterReader, MeterSource, ThreadedDevice
from turbotui.sources.npus import Npus
from turbotui.sources.power_meters import Fans, GraphicsPower, PowerMeters

HWMON = "/sys/class/hwmon"


def card(number: int, name: str, slot: str, status: str, **files: Content) -> dict[str, Content]:
    """A graphics card's chip."""
    base = f"{HWMON}/hwmon{number}"
    return {f"{base}/name": f"{name}\n", f"{base}/device/uevent": f"DRIVER={name}\nPCI_SLOT_NAME={slot}\n",
            f"{base}/device/power/runtime_status": f"{status}\n",
            **{f"{base}/{file}": content for file, content in files.items()}}


def chip(number: int, name: str, **files: Content) -> dict[str, Content]:
    base = f"{HWMON}/hwmon{number}"
    return {f"{base}/name": f"{name}\n", **{f"{base}/{file}": content for file, content in files.items()}}


def acpi(number: int, info: str, watts: int, interval: int = 50) -> dict[str, Content]:
    """The ACPI meter puts its attributes into its device's directory."""
    base = f"{HWMON}/hwmon{number}"
    return {f"{base}/name": "power_meter\n", f"{base}/device/power1_average": f"{watts}\n",
            f"{base}/device/power1_average_interval": f"{interval}\n", f"{base}/device/power1_oem_info": f"{info}\n"}


def offered(source: MeterSource, machine: Machine) -> dict[SignalId, Signal]:
    return {name: item for name, item in source.probe(machine).signals.items() if isinstance(item, Signal)}


def readings(source: MeterSource, machine: Machine) -> dict[SignalId, Raw]:
    signals = offered(source, machine)
    reader = source.open_shared(machine, frozenset(signals))
    try:
        return {name: row[0] for name, row in zip(reader.signals, reader.read(), strict=True)}
    finally:
        reader.close()


def values(source: MeterSource, machine: Machine) -> dict[SignalId, float | None]:
    signals = offered(source, machine)
    return {name: signals[name].value(raw) for name, raw in readings(source, machine).items()
            if not isinstance(raw, str)}


@pytest.mark.parametrize(("name", "files", "signal", "value"), [
    ("i915", {"energy1_input": "12000000\n"}, "meter.gpu.0.energy", 12.0),
    ("xe", {"energy1_input": "7000000\n", "energy2_input": "3000000\n"}, "meter.gpu.0.energy", 7.0),
    ("xe", {"energy2_input": "3000000\n"}, "meter.gpu.0.energy", 3.0),
    ("amdgpu", {"power1_average": "35000000\n", "power1_input": "36000000\n"}, "meter.gpu.0.power", 35.0),
    ("amdgpu", {"power1_input": "36000000\n"}, "meter.gpu.0.power", 36.0),
    ("nouveau", {"power1_input": "41000000\n"}, "meter.gpu.0.power", 41.0),
    ("amdgpu", {"power1_input": "15000000\n", "in1_input": "900\n"}, "meter.apu.0.power", 15.0),
])
def test_each_graphics_driver_is_read_by_its_own_files(
        name: str, files: dict[str, Content], signal: str, value: float) -> None:
    _, machine = machine_of(card(3, name, "0000:03:00.0", "active", **files))
    assert values(GraphicsPower(), machine)[signal] == value


def test_cards_are_in_the_order_of_their_addresses() -> None:
    _, machine = machine_of({**card(2, "xe", "0000:83:00.0", "active", energy1_input="2\n"),
                             **card(10, "i915", "0000:03:00.0", "active", energy1_input="1\n")})
    assert [meter.label for meter in meters_of(offered(GraphicsPower(), machine))] == ["i915 0000:03:00.0",
                                                                                       "xe 0000:83:00.0"]


def _never() -> str:
    raise AssertionError("a device that sleeps was read")


@pytest.mark.parametrize("status", ["suspended", "suspending"])
def test_a_card_that_sleeps_is_not_read(status: str) -> None:
    _, machine = machine_of(card(0, "amdgpu", "0000:03:00.0", status, power1_average=_never))
    result = readings(GraphicsPower(), machine)
    assert result["meter.gpu.0.state"] == status
    assert result["meter.gpu.0.power"] is None


def test_a_card_is_read_again_when_it_wakes() -> None:
    host, machine = machine_of(card(0, "xe", "0000:03:00.0", "suspended", energy1_input="5000000\n"))
    source = GraphicsPower()
    reader = source.open_shared(machine, frozenset(offered(source, machine)))
    names = reader.signals
    asleep = dict(zip(names, reader.read(), strict=True))
    host.files[f"{HWMON}/hwmon0/device/power/runtime_status"] = "active\n"
    awake = dict(zip(names, reader.read(), strict=True))
    assert asleep["meter.gpu.0.energy"] == (None,)
    assert awake["meter.gpu.0.energy"] == (5_000_000,)


def test_grace_s_meters_are_distinguished_by_what_the_firmware_calls_them() -> None:
    _, machine = machine_of({**acpi(1, "SysIO Power Socket 0", 18), **acpi(2, "Grace Power Socket 1", 63),
                             **acpi(3, "CPU Power Socket 0", 42), **acpi(4, "Module Power Socket 0", 90),
                             **acpi(5, "Grace Power Socket 0", 62), **acpi(6, "", 300, 1000)})
    result = {f"{meter.kind.id}{meter.number}": (meter.label, meter.interval)
              for meter in meters_of(offered(PowerMeters(), machine))}
    assert result == {
        "sysio0": ("SysIO Power Socket 0", 0.05), "rail0": ("CPU Power Socket 0", 0.05),
        "socket0": ("Grace Power Socket 0", 0.05), "socket1": ("Grace Power Socket 1", 0.05),
        "module0": ("Module Power Socket 0", 0.05), "meter0": ("ACPI power meter", 1.0),
    }
    assert readings(PowerMeters(), machine)["meter.socket.1.power"] == 63


def test_of_a_supply_what_it_takes_counts_and_rails_of_boards_do_not() -> None:
    _, machine = machine_of({
        **chip(0, "pfe1100", power1_label="pin\n", power1_input="150000000\n", power2_label="pout1\n",
               power2_input="140000000\n"),
        **chip(1, "corsairpsu", power1_label="power total\n", power1_input="90000000\n", power2_label="power +12v\n",
               power2_input="80000000\n"),
        **chip(2, "tps53679", power1_label="pin\n", power1_input="60000000\n"),
        **chip(3, "ina226", power1_input="5000000\n"),
    })
    source = PowerMeters()
    assert {name: item for name, item in values(source, machine).items() if name.endswith("power")} == {
        "meter.psu.0.power": 150.0, "meter.psu.1.power": 90.0}
    assert source.probe(machine).note == "left out, rails of unknown place: tps53679, ina226"


@pytest.mark.parametrize(("name", "files"), [
    ("aem0", {"power1_average": "210000000\n"}),
    ("occ", {"power1_label": "1_proc\n", "power1_input": "80000000\n", "power2_label": "system\n",
             "power2_input": "210000000\n"}),
    ("ibmpowernv", {"power1_label": "Chip 0\n", "power1_input": "80000000\n", "power9_label": "System\n",
                    "power9_input": "210000000\n"}),
])
def test_service_processors_tell_the_whole_machine(name: str, files: dict[str, Content]) -> None:
    _, machine = machine_of(chip(0, name, **files))
    assert values(PowerMeters(), machine)["meter.bmc.0.power"] == 210.0


def battery(**files: Content) -> dict[str, Content]:
    base = "/sys/class/power_supply/BAT0"
    return {f"{base}/type": "Battery\n", f"{base}/present": "1\n",
            **{f"{base}/{file}": content for file, content in files.items()}}


def test_a_battery_in_watt_hours() -> None:
    _, machine = machine_of(battery(
        status="Discharging\n", power_now="12000000\n", voltage_now="15000000\n", energy_now="40000000\n",
        energy_full="50000000\n", energy_full_design="57000000\n", cycle_count="214\n", manufacturer="LGC\n",
        model_name="5B10W13930\n"))
    result = values(Batteries(), machine)
    assert result["meter.battery.0.power"] == 12.0
    assert result["meter.battery.0.stored"] == pytest.approx(40 * 3600)
    assert "meter.battery.0.volts" not in result, "what power_now makes needless is not read"
    assert readings(Batteries(), machine)["meter.battery.0.status"] == "Discharging"
    assert meters_of(offered(Batteries(), machine))[0].label == "BAT0 LGC 5B10W13930"


def test_a_battery_in_ampere_hours_whose_current_is_negative() -> None:
    _, machine = machine_of(battery(
        status="Discharging\n", current_now="-800000\n", voltage_now="15000000\n", charge_now="2000000\n",
        charge_full="4000000\n", charge_full_design="5000000\n"))
    result = values(Batteries(), machine)
    assert result["meter.battery.0.amperes"] == pytest.approx(0.8)
    assert result["meter.battery.0.volts"] == 15.0
    assert result["meter.battery.0.charge"] == pytest.approx(7200)


@pytest.mark.parametrize("other", [
    {"type": "Mains\n"}, {"type": "Battery\n", "scope": "Device\n"}, {"type": "Battery\n", "present": "0\n"},
])
def test_what_feeds_something_else_is_no_battery_of_the_machine(other: dict[str, Content]) -> None:
    _, machine = machine_of({f"/sys/class/power_supply/X/{file}": text for file, text in other.items()})
    why = Batteries().probe(machine).signals["meter.battery.0.power"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_HARDWARE


def test_the_age_of_a_battery_is_since_its_numbers_changed() -> None:
    host, machine = machine_of(battery(status="Discharging\n", power_now="12000000\n"))
    source = Batteries()
    reader = source.open_shared(machine, frozenset(offered(source, machine)))

    def age() -> Raw:
        return dict(zip(reader.signals, reader.read(), strict=True))["meter.battery.0.age"][0]

    ages = [age()]
    for text, seconds in (("12000000\n", 8), ("12000000\n", 2), ("13000000\n", 1), ("13000000\n", 3)):
        host.clock_ns += seconds * 1_000_000_000
        host.files["/sys/class/power_supply/BAT0/power_now"] = text
        ages.append(age())
    assert ages == [0, 8_000, 10_000, 0, 3_000]


def test_an_npu_tells_its_time_and_clock() -> None:
    base = "/sys/class/accel/accel0/device"
    _, machine = machine_of({f"{base}/npu_busy_time_us": "2500000\n", f"{base}/npu_current_frequency_mhz": "1400\n"})
    assert values(Npus(), machine) == {"meter.npu.0.busy": 2.5, "meter.npu.0.clock": 1.4e9}


def test_fans_have_the_names_of_their_chips_made_visible() -> None:
    _, machine = machine_of(chip(4, "nct6798", fan1_input="1210\n", fan10_input="900\n", fan2_input="0\n",
                                 fan2_label="CPU\x1b[2J fan\n"))
    labels = [meter.label for meter in meters_of(offered(Fans(), machine))]
    assert labels[0] == "nct6798 fan1"
    assert labels[2] == "nct6798 fan10"
    assert "\x1b" not in "".join(labels)
    assert [raw for name, raw in readings(Fans(), machine).items() if name.endswith("turns")] == [1210, 0, 900]


def test_a_file_that_cannot_be_read_is_unknown_and_not_zero() -> None:
    _, machine = machine_of(chip(0, "nct6798", fan1_input="1210\n"))
    source = Fans()
    reader = source.open_shared(machine, frozenset(offered(source, machine)))
    host = machine.host
    assert isinstance(host, ProcHost)
    host.files[f"{HWMON}/hwmon0/fan1_input"] = errno.EIO
    assert dict(zip(reader.signals, reader.read(), strict=True))["meter.fan.0.turns"] == (None,)


def test_nothing_is_opened_that_nobody_wants_and_all_is_closed() -> None:
    host, machine = machine_of({**card(0, "xe", "0000:03:00.0", "active", energy1_input="1\n"),
                                **card(1, "xe", "0000:04:00.0", "active", energy1_input="1\n")})
    source = GraphicsPower()
    wanted = frozenset({"meter.gpu.1.energy"})
    source.probe(machine)
    reader = source.open_shared(machine, wanted)
    assert sorted(host.descriptors.values()) == [
        f"{HWMON}/hwmon1/device/power/runtime_status", f"{HWMON}/hwmon1/energy1_input"]
    assert len(host.descriptors) == source.descriptors(wanted, 1)
    reader.close()
    assert host.descriptors == {}


def test_a_guest_is_told_that_the_machine_s_meters_are_not_shown() -> None:
    guest = CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x8F, hypervisor=True)
    _, machine = machine_of({}, model=guest)
    for source in SOURCES:
        if source.id in METER_SOURCES - {"accel"}:
            reasons = {why.reason for why in source.probe(machine).signals.values() if isinstance(why, Unavailable)}
            assert reasons == {Reason.VIRTUALISED}, source.id


def test_the_list_of_meter_sources_names_sources() -> None:
    assert {source.id for source in SOURCES if isinstance(source, MeterSource)} == METER_SOURCES


class _Bus:
    """A slow bus: a reading ends when the test releases it."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self) -> str:
        self.open.wait()
        return "75000000\n"


def test_a_slow_device_holds_nothing_up_and_its_number_comes_later() -> None:
    bus = _Bus()
    host, machine = machine_of({**chip(0, "pfe1100", power1_label="pin\n", power1_input=bus),
                                **chip(1, "pfe1100", power1_label="pin\n", power1_input="50000000\n")})
    host.pins = True
    source = PowerMeters()
    signals = offered(source, machine)
    reader = source.open_shared(machine, frozenset(signals))
    assert isinstance(reader, MeterReader)

    def power(number: int) -> Raw:
        return dict(zip(reader.signals, reader.read(), strict=True))[f"meter.psu.{number}.power"][0]

    assert power(0) is None, "the first reading is still under way"
    while power(1) is None:
        pass  # a thread of its own reads it: it comes
    bus.open.set()
    while power(0) is None:
        pass
    assert power(0) == 75_000_000
    reader.close()


class _Counted:
    """A device whose second reading lasts until the test releases it."""

    age = "meter.nvidia.0.age"
    signals = ("meter.nvidia.0.energy", "meter.nvidia.0.power")

    def __init__(self) -> None:
        self.readings = 0
        self.open, self.under_way = threading.Event(), threading.Event()

    def read(self) -> DeviceAnswer:
        self.readings += 1
        if self.readings > 1:
            self.under_way.set()
            self.open.wait()
        return DeviceAnswer({"meter.nvidia.0.energy": self.readings, "meter.nvidia.0.power": 10 * self.readings}, 0)

    def close(self) -> None:
        self.open.set()


def test_an_old_count_is_unknown_and_an_old_gauge_stands() -> None:
    device = _Counted()
    aside = ThreadedDevice(device)
    aside.ask()
    first = aside.latest(None)
    aside.ask()
    device.under_way.wait()
    old = aside.latest(0.0)
    device.open.set()
    new = aside.latest(None)
    aside.close()
    assert first is not None
    assert old is not None
    assert new is not None
    assert first.values == {"meter.nvidia.0.energy": 1, "meter.nvidia.0.power": 10}
    assert old.values == {"meter.nvidia.0.power": 10}
    assert new.values == {"meter.nvidia.0.energy": 2, "meter.nvidia.0.power": 20}
