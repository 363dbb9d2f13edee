"""Scrubbing: removes from gathered data what identifies the machine and its users.

Known secrets are removed everywhere, as is everything that looks like an address, an identifier or a home directory.
Files that exist for such data are removed whole, and some files are reduced to the parts that turbotui reads.

Details and reasons: docs/specs/gather.md 6.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.gather.secrets import SCRUBBED, Secret
from turbotui.machine.gathered.model import Answer, Gathered
from turbotui.untrusted import decoded, original

_WHOLE = re.compile(
    r"(?i)(?:.*serial.*|.*uuid.*|.*asset_tag|machine-id|boot_id|hostname|domainname|address|wwid|ppin)\Z")
_KEYED = re.compile(r"(?im)^([^\n:=]*(?:serial|uuid|asset|host ?name|mac addr)[^\n:=]*[:=][ \t]*)(\S[^\n]*)$")
_HEX, _END = r"[0-9a-fA-F]", r"(?![0-9a-zA-Z])"
_START = r"(?<![0-9a-zA-Z])"
_NO_ADDRESS: Final = ".".join("0000")
_PATTERNS: Final = tuple((re.compile(pattern), put) for pattern, put in (
    (rf"{_START}{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}{_END}",
     "00000000-0000-0000-0000-000000000000"),
    (rf"{_START}{_HEX}{{32}}{_END}", "0" * 32),
    (rf"{_START}{_HEX}{{64}}{_END}", "0" * 64),  # a container's id, in the names of control groups
    (rf"(?<=pod){_HEX}{{8}}_{_HEX}{{4}}_{_HEX}{{4}}_{_HEX}{{4}}_{_HEX}{{12}}{_END}",
     "00000000_0000_0000_0000_000000000000"),
    (rf"{_START}(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}(?![0-9a-zA-Z:])", "00:00:00:00:00:00"),
    (rf"(?<=enx){_HEX}{{12}}{_END}", "0" * 12),
    (r"(?<![0-9a-zA-Z:.])(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}(?![0-9a-zA-Z:])", "::"),
    (r"(?<![0-9a-zA-Z:.])(?:[0-9a-fA-F]{1,4}:){1,6}(?::[0-9a-fA-F]{1,4}){1,6}(?![0-9a-zA-Z:])", "::"),
    (r"(?<![0-9a-zA-Z.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9a-zA-Z.])", _NO_ADDRESS),
    (r"(?<=/home/)[^/\s\"']+|(?<=/Users/)[^/\s\"']+", SCRUBBED),
    (r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*", f"{SCRUBBED}@{SCRUBBED}"),
))
_BOOT_WORDS = re.compile(
    r"(?:nomodule|nosmt|quiet|psi|tsc|clocksource|idle|mitigations|maxcpus|nr_cpus|possible_cpus|isolcpus|nohz|nohz_full"
    r"|rcu_nocbs|nmi_watchdog|nowatchdog|cpuidle\.\w+|cpufreq\.\w+|intel_idle\.\w+|processor\.\w+|intel_pstate|amd_pstate"
    r"|amd_prefcore|acpi|noapic|nolapic|nox2apic|lockdown|pcie_aspm|msr\.\w+|\w*(?:modprobe|module)[._-]?blacklist"
    r"|initcall_blacklist)(?:=[\w,.:+-]*)?\Z"
)
"""Words of the kernel's command line that affect counting and are kept; all others are removed."""
_OPTION = re.compile(rb"CONFIG_\w+=[ymn]\Z")
_CONFIG = re.compile(r"/boot/config-|/lib/modules/[^/]+/config\Z")
_POINTER = re.compile(r"0x[0-9a-f]{8,16}")
_PCI_HEADER: Final = 64  # bytes that every user may read; an extended capability behind them may have a serial number
_DMI_RAW = re.compile(r"/sys/firmware/dmi/entries/17-\d+/raw\Z")
_DMI_SERIAL, _DMI_ASSET = 0x18, 0x19  # SMBIOS 3.7, 7.18: numbers of the strings in a memory device's structure
_RELEASE: Final = "/proc/sys/kernel/osrelease"
_SECRET_REGISTERS: Final = frozenset({0x4F, 0xC00102F1})
"""The processor's serial number: MSR_PPIN (Intel SDM vol. 4), AMD_PPIN (kernel arch/x86/include/asm/msr-index.h)."""
_SHORTEST_IN_BINARY: Final = 4
_VOCABULARY = re.compile(r"/proc/config\.gz$|/boot/config-|/lib/modules/[^/]+/(?:config|modules\.\w+)$")
ANYBODY: Final = 1000
"""The uid that replaces all uids other than root's."""
_SECRET_LEAF: Final = 3  # CPUID: the processor serial number of a Pentium III


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """A machine without its secrets."""

    machine: Gathered
    changed: Mapping[str, int]  # the number of removals in each file, by its scrubbed path


class Scrubber:
    """Removes secrets from texts."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        texts = [original(secret.text) for secret in secrets]
        self._secrets = _any_of(texts)
        self._in_binary = _any_of([text for text in texts if len(text) >= _SHORTEST_IN_BINARY])

    def text(self, text: str, *, addresses: bool = True) -> tuple[str, int]:
        """Return a text without secrets, and the number of removals.

        Args:
            addresses: whether four numbers with dots may be an IPv4 address, and not a version.
        """
        total = 0
        for pattern, put in _PATTERNS:
            if addresses or put != _NO_ADDRESS:
                text, count = pattern.subn(put, text)
                total += count
        if self._secrets is not None:
            text, count = self._secrets.subn(SCRUBBED, text)
            total += count
        return text, total

    def name(self, path: str) -> str:
        """Return a visible text, such as a path, without secrets."""
        return decoded(self.text(original(path))[0].encode("utf-8", "surrogateescape"))

    def holds_secrets(self, name: str, data: bytes) -> bool:
        """Tell whether a file's name or content has a known secret."""
        # only words of a kernel's configuration
        if _VOCABULARY.search(name):
            return False
        # any three letters may occur in binary content, so only longer secrets are searched there
        pattern = self._in_binary if b"\0" in data else self._secrets
        return pattern is not None and bool(
            pattern.search(name) or pattern.search(data.decode("utf-8", "surrogateescape")))

    def content(self, path: str, data: bytes) -> tuple[bytes | None, int]:
        """Return a file's content without secrets, and the number of removals; None if it cannot be examined."""
        for fits, take in _BY_PATH:
            if fits(path):
                taken = take(data)
                if _VOCABULARY.search(path) or b"\0" in taken:
                    return taken, int(taken != data)
                text, count = self.text(taken.decode("utf-8", "surrogateescape"))
                return text.encode("utf-8", "surrogateescape"), count + (taken != data)
        text = data.rstrip(b"\0").decode("utf-8", "surrogateescape")
        if "\0" in text:
            return None, 0
        keyed, count = _KEYED.subn(rf"\1{SCRUBBED}", text)
        scrubbed, more = self.text(keyed, addresses=path != _RELEASE)
        total = count + more
        return (scrubbed.encode("utf-8", "surrogateescape") if total else data), total


def _any_of(texts: Iterable[str]) -> re.Pattern[str] | None:
    patterns = [re.escape(text) for text in texts]
    return re.compile(rf"(?i){_START}(?:{'|'.join(patterns)}){_END}") if patterns else None


def scrub(machine: Gathered, scrubber: Scrubber) -> Scrubbed:
    """Return a gathered machine without identifying data."""
    files: dict[str, bytes] = {}
    left_out = {scrubber.name(path): why for path, why in machine.left_out.items()}
    changed: Counter[str] = Counter()
    for path, data in machine.files.items():
        name = scrubber.name(path)
        taken, count = scrubber.content(path, data)
        changed[name] += count + (name != path)
        if taken is None:
            left_out[name] = "it is no text, and may hold anything"
        elif name in files:
            left_out[name] = "several files have this name once it is scrubbed; this is the first one"
        else:
            files[name] = taken
    scrubbed = replace(
        machine,
        rights=replace(machine.rights, uid=ANYBODY if machine.rights.uid else 0),
        files=files,
        folders={scrubber.name(path): tuple(sorted({scrubber.name(name) for name in names}))
                 for path, names in machine.folders.items()},
        present=frozenset(map(scrubber.name, machine.present)),
        absent=frozenset(map(scrubber.name, machine.absent)),
        errors={scrubber.name(path): number for path, number in machine.errors.items()},
        words={scrubber.name(path): _words(path, answers) for path, answers in machine.words.items()},
        left_out=left_out,
    )
    return Scrubbed(scrubbed, {path: count for path, count in changed.items() if count})


def _words(path: str, answers: Mapping[int, Answer]) -> dict[int, Answer]:
    """Return a device's words without serial numbers; words of files are numbers of at most eight bytes."""
    if path.startswith("/dev/"):
        cpuid = path.endswith("/cpuid")
        return {offset: answer for offset, answer in answers.items()
                if offset & 0xFFFFFFFF != _SECRET_LEAF or not cpuid
                if offset not in _SECRET_REGISTERS or cpuid}
    return {offset: answer for offset, answer in answers.items() if isinstance(answer, int) or len(answer) <= 8}


def _boot_words(data: bytes) -> bytes:
    words = data.decode("utf-8", "replace").split()
    end = words.index("--") if "--" in words else len(words)  # the rest is for init
    kept = [word for word in words[:end] if _BOOT_WORDS.match(word)]
    return (" ".join([*kept, *([SCRUBBED] if len(kept) < len(words) else [])]) + "\n").encode()


def _options(data: bytes) -> bytes:
    """Return a kernel configuration's switches, without texts and numbers, which may name people and places."""
    return b"".join(line + b"\n" for line in data.splitlines() if _OPTION.match(line))


def _packed_options(data: bytes) -> bytes:
    try:
        text = zlib.decompressobj(31).decompress(data, 1 << 24)
    except zlib.error:
        return b""
    return gzip.compress(_options(text), mtime=0)


def _module_names(data: bytes) -> bytes:
    return b"".join(line.partition(b":")[0] + b":\n" for line in data.splitlines())


def _memory_device(data: bytes) -> bytes:
    """Blank serial number and asset tag in a structure of SMBIOS, keeping their lengths."""
    length = data[1] if len(data) > 1 else 0
    strings = data[length:].split(b"\0")
    for place in (_DMI_SERIAL, _DMI_ASSET):
        number = data[place] if place < min(length, len(data)) else 0
        if 0 < number <= len(strings):
            strings[number - 1] = b"x" * len(strings[number - 1])
    return data[:length] + b"\0".join(strings)


_BY_PATH: Final[tuple[tuple[Callable[[str], bool], Callable[[bytes], bytes]], ...]] = (
    (lambda path: _WHOLE.match(path.rpartition("/")[2]) is not None, lambda _data: f"{SCRUBBED}\n".encode()),
    ("/proc/cmdline".__eq__, _boot_words),
    ("/proc/config.gz".__eq__, _packed_options),
    (lambda path: _CONFIG.match(path) is not None, _options),
    (lambda path: path.endswith(("/modules.dep", "/modules.builtin")), _module_names),
    ("/proc/modules".__eq__, lambda data: _POINTER.sub("0x0", data.decode("utf-8", "replace")).encode()),
    (lambda path: _DMI_RAW.match(path) is not None, _memory_device),
    (lambda path: path.startswith("/sys/bus/pci/devices/") and path.endswith("/config"),
     lambda data: data[:_PCI_HEADER]),
)
"""Files that are reduced to a part, by path; the first match applies."""
