"""Header lines about what tells of power beside the processor: cards, supplies, meters, batteries; no value is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from turbotui.features.info.machine_facts import HeaderLine, MachineFacts
from turbotui.quantities.meters import KINDS
from turbotui.sources import SOURCES
from turbotui.sources.meter_devices import MeterDevice
from turbotui.sources.meter_source import MeterSource

_WATT_HOURS = 1e-6  # of microwatt hours (kernel Documentation/ABI/testing/sysfs-class-power)


def meter_lines(facts: MachineFacts) -> Iterable[HeaderLine]:
    """A line for each meter, and one for all fans of a chip."""
    devices = [device for source in SOURCES if isinstance(source, MeterSource)
               for device in source.find(facts.machine).devices]
    for device in devices:
        if device.kind != "fan":
            yield HeaderLine(f"{KINDS[device.kind].words}: {device.label}{_more(facts, device)}", device.files[0].path)
    fans = Counter(device.label.partition(" ")[0] for device in devices if device.kind == "fan")
    for chip, many in fans.items():
        yield HeaderLine(f"fans: {many} at {chip}", "/sys/class/hwmon")


def _more(facts: MachineFacts, device: MeterDevice) -> str:
    """What a battery holds of what it held when it was new; over what a meter averages."""
    found = {file.quantity: facts.number(file.path) for file in device.files if file.quantity in {"full", "design"}}
    full, design = found.get("full"), found.get("design")
    if full and design:
        return f", {full * _WATT_HOURS:.1f} of {design * _WATT_HOURS:.1f} Wh when new"
    return "" if device.interval_ms is None else f", averages over {device.interval_ms} ms"
