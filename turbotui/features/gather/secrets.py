"""Finds the names and numbers that identify a machine and its users, which no gathered machine may contain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostKind
from turbotui.machine.small_files import line_of, names_in, text_of
from turbotui.quantities.plain_numbers import whole_number
from turbotui.untrusted import one_line

_DMI: Final = "/sys/class/dmi/id"
_NET: Final = "/sys/class/net"
_NAMES: Final = ("/proc/sys/kernel/hostname", "/etc/hostname", "/proc/sys/kernel/domainname")
_IDS: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/random/boot_id")
_OF_A_PERSON: Final = ("USER", "LOGNAME", "SUDO_USER")
_NUMBER = re.compile(r".*(?:serial|uuid|asset_tag)")
_PERSONS = range(1000, 65534)  # uids of people (login.defs(5)); 65534 is nobody
_LOCAL = frozenset({"localhost", "localdomain", "(none)", ""})
_GIVEN_BY_THE_KERNEL = re.compile(
    r"(?:lo|eth|wlan|ib|bond|br|docker|veth|virbr|tun|tap|ifb|dummy|sit|ip6tnl|usb|wwan)\d*"  # by their drivers
    r"|(?:en|wl|ww|ib|sl)(?:o\d+|s\d+|P?\d*p\d+s\d+)[a-z0-9]*",  # by their slots (systemd.net-naming-scheme(7))
)
SCRUBBED: Final = "scrubbed"
"""The replacements of secrets, which a machine that is gathered twice has as names and numbers."""
_SHORTEST_NAME: Final = 2
_SHORTEST_NUMBER: Final = 6
_UNSET = re.compile(
    r"(?i)(?:0+|1234567890?|none|n/?a|not (?:specified|available|present|applicable)|default string|unknown"
    r"|to be filled by o\.?e\.?m\.?|(?:system|chassis|base board) serial number|no asset tag)\Z")
KERNELS: Final = frozenset({
    "acpi", "amd", "arm", "authenticamd", "bios", "board", "boot", "bus", "cache", "class", "clock", "core",
    "cores", "cpu", "cpus", "device", "devices", "driver", "energy", "event", "events", "fan", "firmware",
    "freq", "genuineintel", "gpu", "hwmon", "idle", "info", "intel", "intel_pstate", "irq", "kernel", "kvm",
    "limit", "linux", "machine", "memory", "mode", "model", "module", "msr", "name", "node", "package", "pci",
    "perf", "performance", "pmu", "power", "powercap", "powersave", "proc", "processor", "root", "schedutil",
    "sensor", "server", "smp", "socket", "stat", "state", "stats", "status", "system", "temp", "thermal",
    "timer", "topology", "turbo", "type", "uncore", "user", "vendor", "virtual", "xen", "zone",
})
"""Words of the kernel's own files, which do not identify a machine or user of that name."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that must not be in the file."""

    what: str  # the kind: "host name", "user name", "serial number" ...
    text: str  # the text, in one line


def find_secrets(host: Host, environment: Mapping[str, str]) -> tuple[Secret, ...]:
    """Find the known secrets of a machine, the longest first, each once."""
    secrets = [*_host_names(host), *_people(host), *_numbers(host), *_interfaces(host)]
    if host.kind is HostKind.REAL:
        people = [environment.get(word, "") for word in _OF_A_PERSON]
        home = environment.get("HOME", "").rstrip("/").rpartition("/")
        if home[0] in ("/home", "/Users"):
            people.append(home[2])
        secrets += (Secret("user name", one_line(name)) for name in people if _is_name(name))
    once = {secret.text.lower(): secret for secret in secrets if secret.text.lower() not in {*KERNELS, SCRUBBED}}
    return tuple(sorted(once.values(), key=lambda secret: (-len(secret.text), secret.text)))


def harmless_names(host: Host) -> tuple[str, ...]:
    """Return names of the machine and its users that are also words of the kernel's files, and so stay."""
    names = (secret.text for secret in (*_host_names(host), *_people(host)))
    return tuple(sorted({name for name in names if name.lower() in KERNELS}))


def _host_names(host: Host) -> Iterator[Secret]:
    names = [host.name] if host.kind is HostKind.REAL else []
    for name in (*names, *(line_of(host, path) for path in _NAMES)):
        yield from (Secret("host name", part) for part in (name, *name.split(".")) if _is_name(part))


def _people(host: Host) -> Iterator[Secret]:
    for line in text_of(host, "/etc/passwd").splitlines():
        fields = line.split(":")
        if len(fields) < 6 or whole_number(fields[2]) not in _PERSONS:
            continue
        names = fields[4].split(",")[0]
        for name in (fields[0], names, *names.split(), fields[5].rstrip("/").rpartition("/")[2]):
            if _is_name(name):
                yield Secret("user name", one_line(name))


def _numbers(host: Host) -> Iterator[Secret]:
    for path in _IDS:
        yield from _number("machine id", line_of(host, path))
    for name in names_in(host, _DMI):
        if _NUMBER.match(name):
            yield from _number("serial number", line_of(host, f"{_DMI}/{name}"))
    yield from _number("serial number", line_of(host, "/proc/device-tree/serial-number"))


def _interfaces(host: Host) -> Iterator[Secret]:
    for name in names_in(host, _NET):
        yield from _number("MAC address", line_of(host, f"{_NET}/{name}/address"))
        if not _GIVEN_BY_THE_KERNEL.fullmatch(name) and _is_name(name):
            yield Secret("network interface", name)


def _number(what: str, text: str) -> Iterable[Secret]:
    if len(text) < _SHORTEST_NUMBER or _UNSET.match(text) or not set(text) - set("0-:. Ff"):
        return ()
    bare = re.sub(r"[-:. ]", "", text)
    return (Secret(what, text),) if bare == text else (Secret(what, text), Secret(what, bare))


def _is_name(text: str) -> bool:
    return len(text) >= _SHORTEST_NAME and not text.isdecimal() and text.lower() not in _LOCAL
