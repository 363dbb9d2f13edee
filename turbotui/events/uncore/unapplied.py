"""Filter fields that a driver accepts for every event of a PMU and applies to a few: the others are counted unfiltered.

Rules: kernel arch/x86/events/intel/uncore_snbep.c, skx_uncore_cha_extra_regs and skx_cha_filter_mask;
icx_cha_hw_config and spr_cha_hw_config.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from turbotui.events.uncore.filters import field_value
from turbotui.machine.host import PerfAttr
from turbotui.machine.pmus import Pmu

_TOR: Final = (0x35, 0x36)
_LOOKUP: Final = (0x34,)
_STATES: Final = (0x03, 0x05, 0x09, 0x11, 0x31, 0x91)
"""Masks of the event 0x34 for which the driver writes the field of states."""
_THREADS: Final = (0x38,)
_REQUESTS: Final = ("filter_rem", "filter_loc", "filter_all_op", "filter_nm", "filter_not_nm", "filter_opc0",
                    "filter_opc1", "filter_nc", "filter_isoc")
_SKYLAKE: Final[Mapping[str, tuple[int, ...]]] = {
    **dict.fromkeys(_REQUESTS, _TOR), "filter_state": _LOOKUP, "filter_tid": _THREADS, "filter_link": _THREADS}
"""The events to which the driver of Skylake's and Cascade Lake's CHAs applies each field."""


def unapplied(pmu: Pmu, attr: PerfAttr, settings: Collection[str]) -> tuple[str, ...]:
    """The filters among settings of a PMU that the kernel does not apply to an event."""
    return tuple(name for name in settings if name in pmu.formats and not _applies(pmu, attr, name))


def _applies(pmu: Pmu, attr: PerfAttr, name: str) -> bool:
    def value(field: str) -> int:
        return field_value(pmu.formats[field], attr) if field in pmu.formats else 0

    if "filter_all_op" in pmu.formats:
        events = _SKYLAKE.get(name)
        return events is None or (value("event") in events and (events != _LOOKUP or value("umask") in _STATES))
    return not (name == "filter_tid" and "tid_en" in pmu.formats) or bool(value("tid_en"))
