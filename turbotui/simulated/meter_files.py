"""Files of devices around a simulated machine's processors: hwmon, power_supply, accel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from turbotui.simulated import basis as b
from turbotui.simulated.model import Model
from turbotui.simulated.shapes import BATTERY_SECONDS, BATTERY_SHARE, BATTERY_WORN, SUPPLY_SHARE
from turbotui.simulated.tree import File, Folder, Node, fixed, fixed_files, folder, whole

_MICRO = 1e6
_SLOT = "0000:03:00.0"
_NVIDIA: Final = {"grace": "Grace", "t410": "Vera"}
"""The firmware's word for the chip in its meters, by `MachineShape.nvidia`."""


def meter_chips(model: Model) -> tuple[Folder, ...]:
    """Hwmon chips of a graphics card, supplies, ACPI's meters and fans, in the order of their numbers."""
    around = model.shape.around
    chips = [_card(model)] if around.card_watts else []
    chips += [_supply(model, around.supplies) for _ in range(around.supplies)]
    if around.meter_ms:
        chips.append(_meter("System Power", around.meter_ms, lambda _now: model.system.rate[b.SYS_JOULES]))
    if around.fans:
        chips.append(_fans(model))
    return tuple(chips)


def socket_meters(model: Model, package: int) -> tuple[Folder, ...]:
    """ACPI's meters of a socket (NVIDIA Grace Performance Tuning Guide, "Power and Thermals"); none elsewhere."""
    if (chip := _NVIDIA.get(model.shape.nvidia)) is None:
        return ()
    rates = model.package[package]

    def rail(_now: float) -> float:
        return rates.rate[b.PKG_JOULES]

    def whole_socket(_now: float) -> float:
        return rates.rate[b.PKG_JOULES] + rates.rate[b.PKG_RAM_JOULES]

    return (_meter(f"CPU Power Socket {package}", 50, rail), _meter(f"{chip} Power Socket {package}", 50, whole_socket))


def _meter(info: str, interval_ms: int, watts: Callable[[float], float]) -> Folder:
    """An ACPI power meter, whose attributes are its device's (Documentation/hwmon/acpi_power_meter.rst)."""
    return folder({"name": fixed("power_meter"), "device": folder({
        "power1_average": whole(lambda now: int(watts(now) * _MICRO)),
        "power1_oem_info": fixed(info),
        "power1_average_interval": fixed(interval_ms),
    })})


def _card(model: Model) -> Folder:
    """A discrete card of the xe driver (ABI/testing/sysfs-driver-intel-xe-hwmon)."""
    around = model.shape.around

    def status(now: float) -> str:
        return "active\n" if around.card_works(now) else "suspended\n"

    return folder({
        "name": fixed("xe"),
        "energy1_label": fixed("card"),
        "energy1_input": whole(lambda now: int(model.system.at(b.SYS_CARD_JOULES, now) * _MICRO)),
        "power1_max": fixed(round(around.card_watts * 1.5 * _MICRO)),
        "device": folder({
            "uevent": fixed(f"DRIVER=xe\nPCI_SLOT_NAME={_SLOT}"),
            "power": folder({"runtime_status": File(status), "control": fixed("auto")}),
        }),
    })


def _supply(model: Model, many: int) -> Folder:
    """One of several equal supplies (Documentation/hwmon/pmbus.rst, bel-pfe.rst)."""

    def given(_now: float) -> float:
        return model.system.rate[b.SYS_JOULES] / many

    return folder({"name": fixed("pfe1100"), "power1_label": fixed("pin"),
        "power1_input": whole(lambda now: int(given(now) / SUPPLY_SHARE * _MICRO)), "power2_label": fixed("pout1"),
        "power2_input": whole(lambda now: int(given(now) * _MICRO))})


def _fans(model: Model) -> Folder:
    """An embedded controller's fans, faster with the power of the first package."""

    def revolutions(_now: float) -> int:
        return 1200 + round(60.0 * min(1.5, model.package[0].rate[b.PKG_JOULES] / model.shape.power.tdp)) * 50

    children: dict[str, Node] = {"name": fixed("thinkpad" if model.shape.around.battery_joules else "nct6798")}
    for number in range(1, model.shape.around.fans + 1):
        children[f"fan{number}_input"] = whole(revolutions)
    return folder(children)


PASSIVE: Final = 90
"""°C from which the kernel slows a simulated laptop's processor down."""
_STATES: Final = 10


def thermal(model: Model) -> Mapping[str, Node]:
    """/sys/class/thermal of a laptop: two zones, its processor, its fan, and powerclamp, which does nothing."""
    if not model.shape.around.battery_joules:
        return {}

    def celsius(now: float) -> int:
        return int(model.package_celsius(0, now)) * 1000

    def trips(*known: tuple[str, int]) -> dict[str, Node]:
        return {f"trip_point_{number}_{file}": fixed(content) for number, (kind, milli) in enumerate(known)
                for file, content in (("type", kind), ("temp", milli))}

    def device(kind: str, state: Callable[[float], int], most: int) -> Folder:
        return folder({"type": fixed(kind), "cur_state": whole(state), "max_state": fixed(most)})

    return {
        "thermal_zone0": folder({"type": fixed("acpitz"), "temp": whole(celsius), "policy": fixed("step_wise"),
                                 **trips(("critical", 119_000), ("passive", PASSIVE * 1000), ("active", 60_000))}),
        "thermal_zone1": folder({"type": fixed("x86_pkg_temp"), "temp": whole(celsius), "policy": fixed("step_wise"),
                                 **trips(("passive", -274_000))}),
        "cooling_device0": device("Processor", lambda now: max(0, min(_STATES, celsius(now) // 1000 - PASSIVE)),
                                  _STATES),
        "cooling_device1": device("Fan", lambda now: int(celsius(now) > 60_000), 1),
        "cooling_device2": device("intel_powerclamp", lambda _now: -1, 100),
    }


class _BatteryClock:
    """A battery's energy at the last update by its firmware, and the mean power since the update before."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._tick, self._since, self._begin = -1, 0.0, 0.0
        self.joules, self.watts = 0.0, model.system.rate[b.SYS_JOULES] / BATTERY_SHARE

    def look(self, now: float) -> _BatteryClock:
        """Update the numbers if it is time."""
        if (tick := int(now / BATTERY_SECONDS)) != self._tick:
            joules = self._model.system.at(b.SYS_JOULES, now) / BATTERY_SHARE
            if self._tick < 0:
                self._begin = joules
            elif now > self._since:
                self.watts = (joules - self._begin - self.joules) / (now - self._since)
            self._tick, self._since, self.joules = tick, now, joules - self._begin
        return self


def power_supplies(model: Model) -> Mapping[str, Node]:
    """/sys/class/power_supply of a laptop on battery, with another that is full, and a mouse (sysfs-class-power)."""
    if not (full := model.shape.around.battery_joules):
        return {}
    clock = _BatteryClock(model)

    def hours(joules: float) -> int:
        return round(joules / 3600.0 * _MICRO)

    return {
        "AC": folder({"type": fixed("Mains"), "online": fixed(0)}),
        "BAT0": folder({
            **fixed_files("battery"),
            "capacity": whole(lambda now: int(100 * max(0.0, 0.8 - clock.look(now).joules / full))),
            "power_now": whole(lambda now: int(clock.look(now).watts * _MICRO)),
            "energy_now": whole(lambda now: hours(max(0.0, 0.8 * full - clock.look(now).joules))),
            "energy_full": fixed(hours(full)),
            "energy_full_design": fixed(hours(full / BATTERY_WORN)),
        }),
        "BAT1": folder(fixed_files("full-battery")),
        "hidpp_battery_0": folder(fixed_files("mouse")),
    }


def accelerators(model: Model) -> Mapping[str, Node]:
    """/sys/class/accel with Intel's NPU (drivers/accel/ivpu/ivpu_sysfs.c)."""
    if not model.shape.around.npu:
        return {}
    return {"accel0": folder({"device": folder({
        "npu_busy_time_us": whole(lambda now: int(model.system.at(b.SYS_NPU_BUSY, now) * _MICRO)),
        "npu_current_frequency_mhz": fixed(1400),
    })})}
