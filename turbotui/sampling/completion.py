"""Complete an --add text: PMUs, events, registers, files and the words of the grammar."""

from __future__ import annotations

from turbotui.machine.host import Host
from turbotui.machine.pmus import list_pmus, read_pmu
from turbotui.machine.registers import COUNTERS, registers_of
from turbotui.machine.small_files import names_in

_WORDS = ("u32", "u64", "cpu", "core", "package", "cycles", "seconds", "usec", "raw", "delta", "average", "percent")
_TELEMETRY = ("name=", "type=raw", "type=txtal_time", "type=tcore_clock", "format=raw", "format=delta", "domain=cpu",
              "domain=core", "domain=package", "offset=", "lsb=", "msb=", "guid=", "seq=", "path=")


def complete_added(host: Host, text: str, limit: int = 50) -> tuple[str, ...]:
    """Return up to `limit` whole texts that start with the typed text, with its last token completed."""
    before, comma, token = text.rpartition(",")
    head = before + comma
    if before.startswith("pmt"):
        found = [word for word in _TELEMETRY if word.startswith(token)]
    else:
        words = (*_WORDS, "perf/", "pmt,", "/sys/", "msr0x") if token else ("perf/", "msr0x", "/sys/", "pmt,")
        found = _places(host, token) or [word for word in words if word.startswith(token)]
    return tuple(head + word for word in found[:limit] if head + word != text)


def _places(host: Host, token: str) -> list[str]:
    if token.startswith("perf/"):
        device, slash, event = token.removeprefix("perf/").partition("/")
        if not slash:
            return [f"perf/{name}/" for name in list_pmus(host) if name.startswith(device)]
        pmu = read_pmu(host, device)
        return [] if pmu is None else [f"perf/{device}/{name}" for name in pmu.events if name.startswith(event)]
    if token.startswith("msr"):
        known = sorted({register.address for register in registers_of(COUNTERS)})
        return [f"msr{address:#x}" for address in known if f"msr{address:#x}".startswith(token)]
    if token.startswith("/"):
        folder, _slash, name = token.rpartition("/")
        return [f"{folder}/{entry}" for entry in names_in(host, folder or "/") if entry.startswith(name)]
    return []
