"""/sys/bus/event_source/devices, and the same folders below /sys/devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from turbotui.machine.cpulist import format_cpulist
from turbotui.simulated.model import Model
from turbotui.simulated.pmu import Context, SimulatedPmu
from turbotui.simulated.tree import File, Folder, Node, fixed, folder, place


def _folder(model: Model, pmu: SimulatedPmu) -> Folder:
    children: dict[str, Node] = {
        "type": fixed(pmu.type),
        "perf_event_mux_interval_ms": fixed(4),
        "uevent": fixed(""),
        "power": folder({"control": fixed("auto")}),
    }
    if pmu.formats:
        children["format"] = folder({name: fixed(text) for name, text in pmu.formats.items()})
    if pmu.events:
        events: dict[str, Node] = {}
        for name, event in pmu.events.items():
            events[name] = fixed(event.terms)
            if event.scale:
                events[f"{name}.scale"] = fixed(event.scale)
            if event.unit:
                events[f"{name}.unit"] = fixed(event.unit)
            if event.snapshot:
                events[f"{name}.snapshot"] = fixed(1)
        children["events"] = folder(events)
    if pmu.readers is not None:
        readers = pmu.readers
        children["cpumask"] = File(lambda _now: f"{format_cpulist(readers())}\n")
    if pmu.cpus_file:
        mine = pmu.cpus
        everyone: Iterable[int] = range(len(model.online)) if mine is None else mine
        known = tuple(sorted(everyone))
        children["cpus"] = File(lambda _now: f"{format_cpulist(cpu for cpu in known if model.online[cpu])}\n")
    for name, text in pmu.files.items():
        place(children, name, fixed(text))
    return folder(children)


def pmu_folders(model: Model, pmus: Iterable[SimulatedPmu]) -> Mapping[str, Folder]:
    """One folder for each PMU that sysfs shows, by name."""
    result: dict[str, Folder] = {}
    for pmu in pmus:
        result[pmu.name] = Folder(lambda pmu=pmu: _folder(model, pmu).children)  # type: ignore[misc]
    result["tracepoint"] = folder({"type": fixed(2)})
    result["breakpoint"] = folder({"type": fixed(5)})
    return result


def devices(model: Model, pmus: Iterable[SimulatedPmu]) -> tuple[Mapping[str, Folder], Mapping[str, Folder]]:
    """(below /sys/bus/event_source/devices, core PMUs below /sys/devices)."""
    known = tuple(pmus)
    every = pmu_folders(model, known)
    return every, {pmu.name: every[pmu.name] for pmu in known if pmu.context is not Context.SOFTWARE}
