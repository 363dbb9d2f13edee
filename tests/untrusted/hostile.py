"""A recorded machine whose every name is chosen by somebody who wants the terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from turbotui.machine.host import Host, HostError
from turbotui.simulated import simulated_host

HOSTILE = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\u200b\u2028\x85\x7f\r\tT\nN"
HOSTILE_BYTES = HOSTILE.encode() + b"\xff\xfe"
SHOWN = "␛[2J␛]0;owned␇⟪9b⟫31m⟪202e⟫⟪200b⟫⟪2028⟫⟪85⟫␡␍␉T␊N⟪xff⟫⟪xfe⟫"
_NUMBERS = re.compile(r"(?:0x)?[0-9a-f,\s-]*")
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""What must not reach a terminal, but for the line ends and TABs of a layout."""


def record(machine: str, root: Path) -> None:
    """Write a simulated machine's files below a folder, each text in them followed by the hostile one."""
    host = simulated_host(machine)
    for path in _files(host, "/"):
        try:
            text = host.read_text(path)
        except HostError:
            continue
        target = Path(f"{root}{path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_hostile(path, text))
    for path in ("/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease", "/proc/cmdline"):
        target = Path(f"{root}{path}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(b"host" + HOSTILE_BYTES + b"\n")
    _hostile_names(f"{root}/sys/bus/event_source/devices")
    _hostile_names(f"{root}/sys/class/hwmon")


def _files(host: Host, path: str) -> Iterator[str]:
    try:
        names = host.list_dir(path)
    except HostError:
        yield path
        return
    for name in names:
        yield from _files(host, f"{path.rstrip('/')}/{name}")


def _hostile(path: str, text: str) -> bytes:
    inline = HOSTILE_BYTES.replace(b"\n", b"")
    if path.endswith("cpuinfo"):
        return re.sub(rb"(model name\t: )", lambda match: match[1] + inline, text.encode())
    if path.endswith(("interrupts", "softirqs")):
        return text.encode().replace(b"\n", b" " + inline + b"\n")
    if text.count("\n") > 1 or _NUMBERS.fullmatch(text):
        return text.encode()
    return text.rstrip("\n").encode() + HOSTILE_BYTES + b"\n"


def _hostile_names(folder: str) -> None:
    """Beside each directory one of the same content and a hostile name, and in it an event of a hostile name."""
    name = HOSTILE_BYTES.replace(b"/", b"")
    for entry in sorted(os.listdir(folder)):
        old = f"{folder}/{entry}".encode()
        os.makedirs(old + name)
        for inner in sorted(os.listdir(old)):
            os.symlink(old + b"/" + inner, old + name + b"/" + inner)
        if os.path.isdir(old + b"/events"):
            Path(os.fsdecode(old + b"/events/evil" + name)).write_text("event=0x3c\n")
