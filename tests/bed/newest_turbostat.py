"""The newest turbostat that Debian has, with its own dynamic linker and C library: no package of the system is touched.

`python tests/bed/newest_turbostat.py` fetches it (8 MB); the tests then run, and skip with a reason before.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "guest"))

from debianguest import apt_for, cache_folder, output_of

_SUITES: Final = ("trixie", "trixie-backports")
"""Backports have the tools of the newest stable kernel, and need no newer C library than their release's."""
_PACKAGES: Final = ("linux-cpupower", "libc6", "libcap2")
_ROOT: Final = cache_folder() / "turbostat"
PROGRAM: Final = _ROOT / "usr/sbin/turbostat"
LIBRARIES: Final = _ROOT / "usr/lib/x86_64-linux-gnu"
LINKER: Final = LIBRARIES / "ld-linux-x86-64.so.2"


def fetch() -> None:
    """Unpack the packages into the cache folder.

    Raises:
        subprocess.CalledProcessError: a package cannot be had.
        OSError: there is no apt-get or dpkg-deb.
    """
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        apt = apt_for("amd64", _SUITES, work)
        output_of([*apt, "update"], work)
        for name in ("debs", "root"):
            (work / name).mkdir()
        output_of([*apt, "-t", _SUITES[-1], "download", *_PACKAGES], work / "debs")
        for deb in (work / "debs").iterdir():
            output_of(["dpkg-deb", "-x", str(deb), str(work / "root")], work)
        shutil.rmtree(_ROOT, ignore_errors=True)
        for path in (LINKER, LIBRARIES / "libc.so.6", LIBRARIES / "libcap.so.2", PROGRAM):  # all are here if it is
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(work / "root" / path.relative_to(_ROOT), path)


if __name__ == "__main__":
    try:
        fetch()
    except (subprocess.CalledProcessError, OSError) as failure:
        sys.exit(f"{_PACKAGES[0]} of {_SUITES[-1]} cannot be had: {failure}")
    sys.stdout.write(output_of([str(LINKER), "--library-path", str(LIBRARIES), str(PROGRAM), "--version"], _ROOT))
