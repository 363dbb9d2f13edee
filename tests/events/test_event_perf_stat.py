"""Event strings encoded as `perf stat -vv` encodes them, which prints the attribute that it opens."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess

import pytest
from comparisons import Comparisons
from patience import PATIENCE

from turbotui.events.encoded import flag_names
from turbotui.events.encoder import EventEncoder
from turbotui.machine.linux import LinuxHost

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("perf") is None, reason="perf is not installed (Debian: apt install linux-perf)"),
]
_MEMBER = re.compile(r"^  (?:\{ (\w+), (\w+) \}|(\w+)) +(\S+)$")
_OURS = (
    "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle", "exclude_host", "pinned", "exclusive", "precise_ip",
)  # fmt: skip

NAMES = [
    "cpu-cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
    "idle-cycles-frontend", "stalled-cycles-backend", "ref-cycles", "cpu-clock", "task-clock", "faults", "cs",
    "migrations", "minor-faults", "major-faults", "alignment-faults", "emulation-faults", "dummy", "bpf-output",
    "cgroup-switches", "L1-dcache-load-misses", "L1-icache-prefetches", "LLC-stores", "dTLB-loads", "iTLB-load-misses",
    "branch-loads", "node-prefetch-misses", "l1d-speculative-read-miss", "LLC-misses-write", "d-tlb-read-ops",
    "r1a8", "rffffffff", "msr/tsc/", "msr/event=1/", "msr/config=2/", "1:3", "4:0x1a8", "mem:0x1000", "mem:0x1000/8:w",
    "mem:0x1000:rw:u", "software/config=3/", "task-clock/name=mine/", "faults/period=5/",
]  # fmt: skip
MODIFIERS = ["u", "k", "h", "uk", "kh", "ukh", "p", "pp", "ppp", "G", "H", "GH", "uG", "kH", "I", "D", "e", "uD", "kpp"]


@functools.cache
def spoken(text: str) -> dict[str, int]:
    """The first attribute that perf prints for an event."""
    done = subprocess.run(  # noqa: S603 - the strings are those above
        [shutil.which("perf") or "perf", "stat", "-vv", "-e", text, "-a", "-C", "0", "--", "true"],
        capture_output=True, text=True, check=False, timeout=PATIENCE,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin:/usr/sbin"},
    )  # fmt: skip
    _, result, rest = done.stderr.partition("perf_event_attr:\n")
    if not result:
        pytest.skip(f"this perf prints no attribute for {text}: {done.stderr.strip()[-80:]}")
    members: dict[str, int] = {}
    for line in rest.splitlines():
        if line.startswith("---"):
            break
        match = _MEMBER.match(line)
        if match is not None and re.fullmatch(r"0x[0-9a-f]+|\d+", match[4]):
            number = int(match[4], 0)
            for name in match.groups()[:3]:
                if name:
                    members[name] = number
    return members


@pytest.fixture(scope="module")
def encoder() -> EventEncoder:
    return EventEncoder(LinuxHost())


def ours(encoder: EventEncoder, text: str) -> dict[str, int]:
    (event,) = encoder.encode(text)
    attr = event.attr
    words = {"type": attr.type, "config": attr.config, "config1": attr.config1, "config2": attr.config2}
    return {**words, "bp_type": attr.bp_type, **flag_names(attr.flags)}


@pytest.mark.parametrize("text", NAMES)
def test_words(encoder: EventEncoder, text: str, comparisons: Comparisons) -> None:
    said, selected = spoken(text), ours(encoder, text)
    members = ("type", "config", "config1", "config2", "bp_type")
    assert {name: selected[name] for name in members} == {name: said.get(name, 0) for name in members}
    comparisons.agreed("perf", "events names of the kernel and perf's grammar")


@functools.cache
def _release() -> tuple[int, int]:
    said = subprocess.run(["perf", "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S607
    major, minor = re.findall(r"\d+", said)[:2]
    return int(major), int(minor)


@pytest.mark.parametrize("letters", MODIFIERS)
def test_modifiers(encoder: EventEncoder, letters: str, comparisons: Comparisons) -> None:
    said, selected = spoken(f"cpu-clock:{letters}"), ours(encoder, f"cpu-clock:{letters}")
    assert {name: selected.get(name, 0) for name in _OURS} == {name: said.get(name, 0) for name in _OURS}
    if set(letters) & set("GH") or _release() >= (6, 13):  # an older perf leaves guests out unasked
        assert selected.get("exclude_guest", 0) == said.get("exclude_guest", 0)
    comparisons.agreed("perf", "events names of the kernel and perf's grammar")
