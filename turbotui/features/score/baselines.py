"""Stores baselines with the hardware configuration that they apply to.

Directory: $XDG_DATA_HOME/turbotui, ~/.local/share by default (XDG Base Directory Specification 0.8).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from turbotui.errors import TurbotuiError
from turbotui.features.score.model import GREATEST, UNKNOWN, Baseline
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.host import Host
from turbotui.machine.machine import Machine
from turbotui.machine.memory import modules_in_words, read_memory
from turbotui.machine.own_files import data_folder, replace_file, sole_writer
from turbotui.machine.small_files import line_of, memory_of
from turbotui.quantities.documents import parse_json
from turbotui.quantities.plain_numbers import decimal, integer
from turbotui.untrusted import json_text

FORMAT: Final = 1
_NO_TURBO: Final = (  # kernel Documentation/admin-guide/pm: intel_pstate (1 is off), cpufreq (1 is on)
    ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1"),
    ("/sys/devices/system/cpu/cpufreq/boost", "0"),
)
_DMI: Final = "/sys/class/dmi/id"  # kernel Documentation/ABI/testing/sysfs-class-dmi
_GIB: Final = 1 << 20  # KiB
_LARGEST: Final = 1 << 24  # most bytes of the file, for tens of thousands of baselines


def path_of(environment: Mapping[str, str]) -> str:
    """Return the path of the file with all baselines."""
    return os.path.join(data_folder(environment), "baselines.json")


def configuration(machine: Machine) -> dict[str, str]:
    """Return the configuration that a baseline applies to, UNKNOWN for what cannot be read here."""
    host = machine.host
    return {
        "model": machine.model.name,
        "CPUs": str(len(machine.topology.cpus)),
        "memory": _memory(host),
        "DIMMs": modules_in_words(read_memory(host).modules) or UNKNOWN,  # only root may read them
        "BIOS": " ".join(word for file in ("bios_vendor", "bios_version") if (word := line_of(host, f"{_DMI}/{file}")))
        or UNKNOWN,
        "microcode": machine.model.microcode or UNKNOWN,
        "turbo": _turbo(host),
    }


def _memory(host: Host) -> str:
    """Return the memory in whole GiB, as firmware and kernels reserve varying amounts (proc(5))."""
    kibibytes = memory_of(host).get("MemTotal")
    return UNKNOWN if kibibytes is None else f"{round(kibibytes / _GIB)} GiB"


def _turbo(host: Host) -> str:
    for path, off in _NO_TURBO:
        if text := line_of(host, path):
            return "off" if text == off else "on"
    return UNKNOWN


def load(path: str) -> dict[str, Baseline]:
    """Load baselines by name; empty if there is no file.

    Raises:
        TurbotuiError: the file is damaged or cannot be read.
    """
    try:
        data = parse_json(read_given(path, _LARGEST).data)
        if not isinstance(data, dict) or not isinstance(data["baselines"], dict):
            raise TypeError  # noqa: TRY301 - one handler for every kind of damage
        if data["format"] != FORMAT:
            raise TurbotuiError(f"{path} is of another version of turbotui: move it away and store the baselines again")
        return {name: _baseline(name, table) for name, table in data["baselines"].items()}
    except GivenFileError as error:
        if error.missing:
            return {}
        raise TurbotuiError(f"the baselines in {path} cannot be read: {error.why}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TurbotuiError(f"the baselines in {path} are damaged: move the file away and store them again") from error


def _baseline(name: str, table: Mapping[str, object]) -> Baseline:
    known = table["configuration"]
    if not isinstance(known, dict):
        raise ValueError("no configuration")  # noqa: TRY004 - one error for a damaged file
    value, ratio = decimal(str(table["value"])), decimal(str(table["ratio"]))
    if not (0.0 < value <= GREATEST and 0.0 < ratio <= GREATEST):
        raise ValueError("no score")
    cpus, busy = table.get("busy_cpus"), table.get("busy")
    share = None if busy is None else decimal(str(busy))
    number = None if cpus is None else integer(str(cpus))
    if not 0.0 <= (share or 0.0) <= 1.0 or (number is not None and not 0 < number <= GREATEST):
        raise ValueError("no load")
    return Baseline(name, str(table["unit"]), value, ratio,
                    {str(key): str(value) for key, value in known.items()}, str(table["simulated"]), number, share)


def store(path: str, baseline: Baseline) -> None:
    """Store a baseline, replacing one of the same name.

    Raises:
        TurbotuiError: the file is damaged, or the directory cannot be written.
    """
    try:
        with sole_writer(f"{path}.lock"):  # a lock file, because the file itself is replaced
            _replace(path, {**load(path), baseline.name: baseline})
    except OSError as error:
        raise TurbotuiError(f"the baseline cannot be stored in {path}: {error.strerror}; set XDG_DATA_HOME") from error


def _replace(path: str, kept: Mapping[str, Baseline]) -> None:
    data = {"format": FORMAT, "baselines": {
        name: {key: value for key, value in asdict(baseline).items() if key != "name"}
        for name, baseline in kept.items()}}
    replace_file(path, json_text(data, indent=1))
