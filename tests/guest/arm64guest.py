"""A stock Debian arm64 kernel under QEMU, with a real armv8_pmuv3 that counts exactly.

`python tests/guest/arm64guest.py` makes the guest; the tests then run, and skip with a reason before.
With -icount shift=1 QEMU counts one instruction every 2 ns of virtual time on one host thread: counts are exact.
"""

from __future__ import annotations

import sys

from debianguest import DebianGuest

GUEST = DebianGuest(
    architecture="arm64",
    emulator=("qemu-system-aarch64", "qemu-system-arm"),
    kernel="linux-image-arm64",
    machine=("-M", "virt", "-cpu", "neoverse-n1", "-smp", "2", "-m", "768",
             "-accel", "tcg,thread=single", "-icount", "shift=1"),
    console="ttyAMA0",
    recipe="tests/guest/arm64guest.py",
)  # fmt: skip

if __name__ == "__main__":
    GUEST.build()
    sys.stdout.write(f"made {GUEST.cache}\n")
