"""Names that perf computes itself and no PMU of the kernel counts, with turbotui's replacement for each.

tools/perf/util/tool_pmu.c (tool), hwmon_pmu.c (hwmon_CHIP), drm_pmu.c (drm_DRIVER).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from turbotui.events.devices import Devices
from turbotui.events.errors import NoCounterError
from turbotui.events.syntax import Written
from turbotui.machine.host import Host
from turbotui.machine.small_files import line_of, names_in

_TOOL: Final = "tool"
_HWMON: Final = "hwmon_"
_DRM: Final = "drm_"
_CHIPS: Final = "/sys/class/hwmon"
_CONSTANT: Final = "it is a fact of the machine, which turbotui info tells"
_OF_PERF: Final = "it says how perf itself was called"
TOOL_NAMES: Final[Mapping[str, str]] = {
    "duration_time": "a column or formula that --add makes has it, the interval's seconds, dt",
    "user_time": "a column or formula that --add makes has it, the seconds of stat.user",
    "system_time": "a column or formula that --add makes has it, the seconds of stat.system",
    **dict.fromkeys(("has_pmem", "num_cores", "num_cpus", "num_cpus_online", "num_dies", "num_packages", "slots",
                     "smt_on", "system_tsc_freq"), _CONSTANT),
    "core_wide": _OF_PERF,
    "target_cpu": _OF_PERF,
}
"""The events of perf's PMU `tool`, and where turbotui shows each of them."""
_NO_WORD = re.compile(r"[^a-z0-9]+")


def check_counted(written: Written, devices: Devices) -> None:
    """Refuse a name that only perf knows, unless a PMU here has it too.

    Raises:
        NoCounterError: only perf knows the name; the message says what turbotui has instead.
    """
    head = written.head
    if devices.matching(head):
        return
    if head == _TOOL and written.terms:
        name = next((term.name.lower() for term in written.terms if term.value is None), "")
        instead = TOOL_NAMES.get(name) or f"it has {', '.join(TOOL_NAMES)}"
        raise NoCounterError(f"{written.text} is measured by perf itself: the kernel has no counter for it; {instead}.")
    if (tool := head.lower()) in TOOL_NAMES and not devices.holding(head):
        instead = TOOL_NAMES[tool]
        raise NoCounterError(f"{tool} is measured by perf itself: the kernel has no counter for it; {instead}.")
    if head.startswith(_HWMON) and written.terms:
        raise NoCounterError(_of_chip(devices.host, written))
    if head.startswith(_DRM):
        raise NoCounterError(
            f"{written.text} is no counter: perf adds up what /proc/PID/fdinfo says of each user of a graphics device; "
            "turbotui columns lists those of graphics devices.")


def _of_chip(host: Host, written: Written) -> str:
    """Return the sentence for an event of a sensor chip, with the file that holds its value."""
    wanted = written.head.removeprefix(_HWMON)
    event = next((term.name for term in written.terms or () if term.value is None), "")
    known = []
    for folder in names_in(host, _CHIPS):
        chip = f"{_CHIPS}/{folder}"
        name = _NO_WORD.sub("_", line_of(host, f"{chip}/name").lower())
        known.append(f"{_HWMON}{name}")
        if name != wanted.lower():
            continue
        file_name = next((file for file in names_in(host, chip) if _is_event(host, f"{chip}/{file}", event)), "")
        if file_name:
            return (f"{written.text} is no counter: perf reads the file {chip}/{file_name}; add it as a level with "
                    f"--add {chip}/{file_name},raw, or see turbotui columns for those of known sensors.")
        return f"The sensor chip {chip} of {written.text} has no value {event!r} that can be read."
    chips = f"; there are {', '.join(sorted(set(known)))}" if known else ""
    return f"This machine has no sensor chip {wanted!r}, which {written.text} would read{chips}."


def _is_event(host: Host, path: str, event: str) -> bool:
    """Tell whether a file is the input of a sensor, named by number (temp1) or by label (temp_package_id_0)."""
    stem = path.removesuffix("_input")
    if stem == path:
        return False
    number = stem.rpartition("/")[2]
    label = _NO_WORD.sub("_", line_of(host, f"{stem}_label").lower())
    kind = number.rstrip("0123456789")
    return event.lower() in {number, f"{kind}_{label}" if label else number}
