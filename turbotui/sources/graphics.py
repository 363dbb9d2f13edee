"""Graphics in sysfs: idle time of the render and media engines (RC6, MC6), and their clocks.

Files below /sys/class/drm: kernel drivers/gpu/drm/xe/xe_gt_idle.c and xe_gt_freq.c for Xe, drivers/gpu/drm/i915/gt/
intel_gt_sysfs_pm.c for i915 with a directory a GT, drivers/gpu/drm/i915/i915_sysfs.c before that. The integrated
graphics exist once, so the signals are the system's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host
from turbotui.machine.machine import Machine
from turbotui.machine.small_files import numbered_in, text_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sources.located_files import LocatedFiles, LocatedSignal, LocatedSignals, everywhere
from turbotui.sources.sysfs_files import read_line

CLASS = "/sys/class/drm"
_FRAMEBUFFER = "/sys/class/graphics/fb0/device/drm"
"""The cards of the first framebuffer's device: a sandbox may show no other class of it."""
_INTEGRATED = "0000:00:02.0"  # Intel's integrated graphics are always this PCI function (i915 and xe probe it so)
_ENGINES = ("gfx", "media")


@dataclass(frozen=True, slots=True)
class _Quantity:
    """A file of an engine: last part of the signal's id, unit, behaviour, and the step of the file's number."""

    unit: Unit
    behavior: Behavior
    step: float


_QUANTITIES: Mapping[str, _Quantity] = {
    "idle": _Quantity(Unit.SECOND, Behavior.COUNTER, 1e-3),  # milliseconds
    "cur": _Quantity(Unit.HERTZ, Behavior.GAUGE, 1e6),  # MHz asked for
    "act": _Quantity(Unit.HERTZ, Behavior.GAUGE, 1e6),  # MHz that ran, 0 while asleep
}

SIGNALS: tuple[SignalId, ...] = tuple(f"{engine}.{what}" for engine, what in product(_ENGINES, _QUANTITIES))


@dataclass(frozen=True, slots=True)
class _Layout:
    """One driver's files."""

    document: str  # where they are described
    files: Mapping[str, str]  # below the card, by quantity, with `{gt}`
    # the GT number of each engine of a card, empty if the card is not of this driver
    gts: Callable[[Host, str], Mapping[str, int]]


def _xe_gts(host: Host, card: str) -> Mapping[str, int]:
    """The GT whose idle state is called rc is the render engine, mc the media engine; either may be GT 0."""
    base = f"{card}/device/tile0/gt0/gtidle"
    name = read_line(host, f"{base}/name") or ""
    if not host.exists(f"{base}/idle_residency_ms"):
        return {}
    if name.startswith("gt0-rc"):
        return {"gfx": 0, "media": 1}
    return {"gfx": 1, "media": 0} if name.startswith("gt0-mc") else {}


def _i915_gts(host: Host, card: str) -> Mapping[str, int]:
    return {"gfx": 0, "media": 1} if host.exists(f"{card}/gt/gt0/rc6_residency_ms") else {}


def _old_i915_gts(host: Host, card: str) -> Mapping[str, int]:
    there = any(host.exists(f"{card}/{file}") for file in ("power/rc6_residency_ms", "gt_cur_freq_mhz"))
    return {"gfx": 0} if there else {}


_LAYOUTS = (
    _Layout(
        "kernel drivers/gpu/drm/xe/xe_gt_idle.c, xe_gt_freq.c",
        {"idle": "device/tile0/gt{gt}/gtidle/idle_residency_ms", "cur": "device/tile0/gt{gt}/freq0/cur_freq",
         "act": "device/tile0/gt{gt}/freq0/act_freq"},
        _xe_gts,
    ),
    _Layout(
        "kernel drivers/gpu/drm/i915/gt/intel_gt_sysfs_pm.c",
        {"idle": "gt/gt{gt}/rc6_residency_ms", "cur": "gt/gt{gt}/rps_cur_freq_mhz",
         "act": "gt/gt{gt}/rps_act_freq_mhz"},
        _i915_gts,
    ),
    _Layout(
        "kernel drivers/gpu/drm/i915/i915_sysfs.c",
        {"idle": "power/rc6_residency_ms", "cur": "gt_cur_freq_mhz", "act": "gt_act_freq_mhz"},
        _old_i915_gts,
    ),
)
"""Newest first: a kernel of the middle kind has the old files too."""


class Graphics(LocatedFiles):
    """The `Source` of the integrated graphics' files."""

    id = "graphics"

    def _find(self, machine: Machine) -> LocatedSignals:
        host = machine.host
        for card, layout in product(_cards(host), _LAYOUTS):
            if gts := layout.gts(host, card):
                return LocatedSignals(_files(host, card, layout, gts))
        return LocatedSignals(dict.fromkeys(SIGNALS, _absent(machine)))


def _cards(host: Host) -> list[str]:
    """The cards' directories: the integrated one first, then in the order of their numbers; the framebuffer's last."""
    cards = numbered_in(host, CLASS, "card")
    cards.sort(key=lambda card: _INTEGRATED not in text_of(host, f"{card}/device/uevent"))
    return [*cards, *numbered_in(host, _FRAMEBUFFER, "card")]


def _files(
    host: Host, card: str, layout: _Layout, gts: Mapping[str, int]
) -> Mapping[SignalId, LocatedSignal | Unavailable]:
    files: dict[SignalId, LocatedSignal | Unavailable] = {}
    for engine, what in product(_ENGINES, _QUANTITIES):
        name, quantity = f"{engine}.{what}", _QUANTITIES[what]
        if engine not in gts:
            files[name] = Unavailable(Reason.NO_HARDWARE, f"{card}: its driver shows no media engine of its own")
            continue
        path = f"{card}/{layout.files[what].format(gt=gts[engine])}"
        if not host.exists(path):
            files[name] = Unavailable(Reason.NO_HARDWARE, f"{path}: the graphics driver does not have the file")
            continue
        signal = Signal(name, Scope.SYSTEM, quantity.unit, quantity.behavior, Reduce.MEAN, origin=path,
                        document=layout.document, scale=quantity.step)
        files[name] = LocatedSignal.at(signal, everywhere(path))
    return files


def _absent(machine: Machine) -> Unavailable:
    detail = f"{CLASS}: no card has files of Intel's graphics drivers"
    if machine.model.x86_guest:
        return Unavailable(Reason.VIRTUALISED, detail)
    if machine.model.vendor != "GenuineIntel":
        return Unavailable(Reason.NO_HARDWARE, f"{detail}; only Intel's drivers tell sleep and clocks this way")
    return Unavailable(Reason.NO_DRIVER, detail, "modprobe i915 or xe, if the processor has graphics")
