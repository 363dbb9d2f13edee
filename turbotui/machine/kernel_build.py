"""The running kernel's build options, boot parameters and loaded drivers.

They explain a missing driver by facts of the machine, and rule out remedies that contradict these facts.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from typing import Final

from turbotui.machine.host import Host, HostError
from turbotui.machine.reading import closing
from turbotui.machine.small_files import text_of
from turbotui.machine.view import kernel_release
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.untrusted import decoded, one_line

_GZIP: Final = 31  # wbits of zlib for one member with gzip's header
_LARGEST: Final = 1 << 22  # bytes of a configuration, packed or not: Debian's has 0.3 MB


def no_driver(host: Host, module: str, option: str, detail: str, *, remedy: str = "") -> Unavailable:
    """Return why a driver is missing, by the kernel's options and modules.

    Args:
        option: the option that builds it, without "CONFIG_".
        remedy: the remedy if the driver could be loaded; "" for modprobe.
    """
    load = remedy or f"modprobe {module}"
    newer = f"dmesg | grep -i {module}; a newer kernel may know this processor"
    if is_loaded(host, module):
        unknown = f"{detail}, although the driver {module} is loaded: it found nothing that it knows"
        return Unavailable(Reason.NO_HARDWARE, unknown, newer)
    built = build_option(host, option, module)
    if built == "n":
        without = f"{detail}: this kernel was built without the driver {module} (CONFIG_{option} is not set)"
        return Unavailable(Reason.NO_DRIVER, without, f"use a kernel with CONFIG_{option}=m or y")
    if built == "y":
        unknown = f"{detail}, although the driver {module} is in the kernel: it found nothing that it knows"
        return Unavailable(Reason.NO_HARDWARE, unknown, newer)
    word = boot_word(host, "nomodule", rf"(?:modprobe|module)[._-]?blacklist=(?:\S*,)?{re.escape(module)}(?:,\S*)?")
    if word:
        return Unavailable(Reason.NO_DRIVER, f"{detail}: the kernel was booted with {word}", f"boot without {word}")
    return Unavailable(Reason.NO_DRIVER, detail, load)


def boot_word(host: Host, *patterns: str) -> str:
    """Return the first word of the kernel's command line that fully matches a pattern; "" for none."""
    words = text_of(host, "/proc/cmdline").split()
    if "--" in words:  # the rest is for init (Documentation/admin-guide/kernel-parameters.rst)
        words = words[: words.index("--")]
    return next((one_line(word) for word in words for pattern in patterns if re.fullmatch(pattern, word)), "")


def is_loaded(host: Host, module: str) -> bool:
    """Tell whether /proc/modules lists a module."""
    lines = text_of(host, "/proc/modules").splitlines()
    wanted = f"{module.replace('-', '_')} "
    return any(line.startswith(wanted) for line in lines)


def build_option(host: Host, option: str, module: str = "") -> str:
    """Return CONFIG_<option> of the module, "y", "m" or "n", by the kernel and its modules; "" if unknown."""
    if not (release := kernel_release(host)):
        return ""
    for read in (_running_config, _boot_config):
        if (text := read(host, release)) is not None:
            _, option_line, rest = f"\n{text}".partition(f"\nCONFIG_{option}=")
            return rest.partition("\n")[0] if option_line else "n"
    if not module:
        return ""
    folder = f"/lib/modules/{release}"
    try:
        builtin = host.read_text(f"{folder}/modules.builtin")
        modules = host.read_text(f"{folder}/modules.dep")
    except HostError:
        return ""
    file = re.compile(rf"/{re.escape(module).replace('_', '[_-]')}\.ko")
    if file.search(builtin):
        return "y"
    return "m" if file.search(modules) else "n"


def _running_config(host: Host, _release: str) -> str | None:
    """Read /proc/config.gz of kernels with CONFIG_IKCONFIG_PROC; None if it is missing, too long or not gzip."""
    packed = bytearray()
    try:
        with closing(host, host.open_file("/proc/config.gz")) as descriptor:
            while len(packed) < _LARGEST and (part := host.read_at(descriptor, 1 << 16, len(packed))):
                packed += part
        return _unpacked(bytes(packed))
    except (HostError, zlib.error):
        return None


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> str | None:
    """The text of a configuration: unpacking takes 0.3 ms, and each missing driver is looked up there."""
    unpacking = zlib.decompressobj(_GZIP)
    text = unpacking.decompress(packed, _LARGEST)
    return decoded(text) if unpacking.eof else None


def _boot_config(host: Host, release: str) -> str | None:
    """Read the configuration that distributions install beside the kernel; None if there is none."""
    return next((text for path in (f"/boot/config-{release}", f"/lib/modules/{release}/config")
                 if host.exists(path) and (text := text_of(host, path))), None)
