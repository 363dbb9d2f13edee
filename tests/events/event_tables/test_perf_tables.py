"""All tables of an installed perf over fake trees of sysfs: perf's encodings compared with turbotui's.

Run as a program it compares every event, with another perf or with a folder of JSON files:

    python tests/events/event_tables/test_perf_tables.py PERF [DIR]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from sysfs_trees import TREES, SysfsTree

from turbotui.events.encoder import EventEncoder
from turbotui.events.event_tables.devices import VendorDevices
from turbotui.events.event_tables.model import VendorTables
from turbotui.events.event_tables.perf_list import parse_list
from turbotui.events.event_tables.pmu_events import DirectoryTables
from turbotui.machine.linux import LinuxHost

Words = tuple[int, int, int, int]
Counters = dict[tuple[str, str, int], Words]
"""The four configs by event, PMU and type."""

_TYPE = re.compile(r"type\s+(\d+) \(([^)]*)\)")
_CONFIGS = tuple(re.compile(rf"\b{word}(?: \}})?\s+(0x[0-9a-f]+|\d+)")
                 for word in ("config", "config1", "config2", "config3"))
_REFUSED = re.compile(r"^(\S+) event is not supported by the kernel", re.MULTILINE)
_AT_ONCE = 80  # events of one command line


def asked(perf: str, tree: SysfsTree, root: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Return perf's answer if it takes the tree for its machine."""
    environment = {**os.environ, "LC_ALL": "C", "PERF_CPUID": tree.cpuid, "SYSFS_PATH": str(root / "sys")}
    return subprocess.run([perf, *words], env=environment, capture_output=True, check=False)  # noqa: S603 - no shell


def perfs(perf: str, tree: SysfsTree, root: Path, names: Sequence[str]) -> Counters:
    """Return the events that perf would open; it names each as the kernel refuses it, because no such PMU exists."""
    result: Counters = {}
    for at in range(0, len(names), _AT_ONCE):
        events = [word for name in names[at : at + _AT_ONCE] for word in ("-e", name)]
        text = asked(perf, tree, root, "stat", "-vv", *events, "true").stderr.decode()
        for block in text.split("perf_event_attr:")[1:]:
            kind, name = _TYPE.search(block), _REFUSED.search(block)
            if kind is None or name is None:
                continue
            values = [re_.search(block) for re_ in _CONFIGS]
            words = [0 if match is None else int(match[1], 0) for match in values]
            event = name[1].strip("/").rpartition("/")[2]
            result[event, kind[2], int(kind[1])] = (words[0], words[1], words[2], words[3])
    return result


def turbotuis(host: LinuxHost, tables: VendorTables, names: Sequence[str]) -> Counters:
    """Return the events that turbotui would open."""
    encoder = EventEncoder(host, None, VendorDevices(host, tables))
    return {(name, one.pmu, one.attr.type): (one.attr.config, one.attr.config1, one.attr.config2, one.attr.config3)
            for name in names for one in encoder.encode(name)}


def known(host: LinuxHost, tables: VendorTables) -> list[str]:
    """Names of the events whose PMU the tree has."""
    devices = VendorDevices(host, tables)
    return list(dict.fromkeys(row.name for row in tables.events() if devices.matched(row)))


def _listed(perf: str, tree: SysfsTree, root: Path) -> VendorTables:
    return parse_list(asked(perf, tree, root, "list", "-j", "pmu", "metric").stdout, perf)


@pytest.mark.parametrize("name", TREES)
def test_every_twentieth_event_has_perfs_encoding(name: str, tmp_path: Path) -> None:
    tree, perf = TREES[name], shutil.which("perf")
    tree.write(tmp_path)
    if perf is None or asked(perf, tree, tmp_path, "list", "-j", "pmu").returncode != 0:
        pytest.skip("linux-perf 6.2 or newer")
    tables = _listed(perf, tree, tmp_path)
    if not len(tables.events()):
        pytest.skip("linux-perf of this machine's architecture has no such table")
    host = LinuxHost(str(tmp_path))
    names = known(host, tables)[::20]
    theirs = perfs(perf, tree, tmp_path, names)
    assert len(theirs) >= len(names)
    assert turbotuis(host, tables, names) == theirs


def _compare(perf: str, folder: str) -> Iterator[str]:
    for name, tree in TREES.items():
        with tempfile.TemporaryDirectory() as root:
            tree.write(Path(root))
            host = LinuxHost(root)
            tables = DirectoryTables(host, f"{folder}/{tree.table}").read() if folder else _listed(
                perf, tree, Path(root))
            names = known(host, tables)
            ours, theirs = turbotuis(host, tables, names), perfs(perf, tree, Path(root), names)
            equal = sum(ours.get(key) == words for key, words in theirs.items())
            yield f"{name}: {len(tables.events())} rows, {len(names)} names, {len(theirs)} of perf, {equal} equal"


if __name__ == "__main__":
    for line in _compare(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""):
        print(line)
