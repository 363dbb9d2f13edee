"""`python -m bench.groups`: measures the cost of reading 500 control groups every second.

The groups are folders of this program's. Every slice and two of the 19 units in it are busy: their files lead to those
of the mounted version 2, where there is one, so that the kernel answers as it would, and no group is made. By the clock
that the reader is given a reading is a second after the one before, and two minutes pass before the first that counts.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

from turbotui.features.groups.columns import COLUMNS, needed
from turbotui.features.groups.model import rows_between
from turbotui.features.groups.reader import CgroupReader
from turbotui.machine.cgroups import for_pressure, hierarchies
from turbotui.machine.linux import LinuxHost

_OUTER: Final = 25
_INNER: Final = 19
_BEFORE: Final = 120
_ROUNDS: Final = 60
_MOUNT: Final = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
_STILL: Final = {
    "cpu.stat": "usage_usec 5\nuser_usec 5\nsystem_usec 0\n", "memory.current": "4096\n", "memory.max": "max\n",
    "cpu.max": "max 100000\n", "pids.current": "3\n", "io.stat": "8:0 rbytes=1 wbytes=2 rios=3 wios=4\n",
    **{f"{what}.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 "
       "total=0\n" for what in ("cpu", "memory", "io")},
}


class _Hasty(LinuxHost):
    """A clock that advances by a second at each reading."""

    rounds = 0

    def now_ns(self) -> int:
        """See `Host.now_ns`."""
        return super().now_ns() + self.rounds * 1_000_000_000


def _make(top: Path, real: str) -> int:
    """Write the files of the groups, and return their number."""
    folders = [top]
    for outer in range(_OUTER):
        folders += [top / f"s{outer}.slice", *(top / f"s{outer}.slice/u{inner}.service" for inner in range(_INNER))]
    for folder in folders:
        busy = not folder.name.endswith(".service") or folder.name in ("u3.service", "u11.service")
        folder.mkdir(parents=True)
        for name, text in _STILL.items():
            if real and busy and os.path.exists(f"{real}/{name}"):
                (folder / name).symlink_to(f"{real}/{name}")
            else:
                (folder / name).write_text(text)
        below = len(folders) - 1 if folder is top else _INNER if folder.parent == top else 0
        (folder / "cgroup.stat").write_text(f"nr_descendants {below}\n")
    return len(folders)


def main() -> None:
    """Print the cost of reading the groups."""
    tree = for_pressure(hierarchies(LinuxHost()))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "proc/self").mkdir(parents=True)
        (root / "proc/self/mountinfo").write_text(_MOUNT)
        many = _make(root / "sys/fs/cgroup", "" if tree is None else tree.top)
        host = _Hasty(folder)
        host.raise_descriptors()
        reader = CgroupReader(host, needed(column for column in COLUMNS if column.default))
        older = reader.read()
        for host.rounds in range(_BEFORE):
            older = reader.read()
        reads, rows = [], []
        for host.rounds in range(_BEFORE, _BEFORE + _ROUNDS):
            began = time.process_time()
            newer = reader.read()
            read = time.process_time()
            rows_between(older, newer)
            reads.append(read - began)
            rows.append(time.process_time() - read)
            older = newer
        print(f"{many} groups, {reader.open_files} files open: reading {statistics.median(reads) * 1e3:.1f} ms, "
              f"rows {statistics.median(rows) * 1e3:.1f} ms of CPU time, medians of {_ROUNDS}")
        reader.close()


if __name__ == "__main__":
    main()
