"""A stock Debian arm64 kernel under QEMU, with a real armv8_pmuv3 that counts exactly.

`python tests/guest/arm64guest.py` fetches what it needs (60 MB of Debian packages, no root needed) into a cache folder
and makes the guest there; the tests then run, and skip with a reason before. Nothing of the system's own package
database is touched: apt-get is given a state of its own.

The whole root is an initramfs: busybox, Python and its libraries first, made once; the tree to be tested and the
commands second, made for every run (kernel Documentation/driver-api/early-userspace/buffer-format.rst: archives join).
With -icount shift=1 QEMU counts one instruction every 2 ns of virtual time on one host thread: counts are exact.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turbotui-tests" / "arm64"
EMULATOR = "qemu-system-aarch64"
_SOURCES = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n"
_KERNEL = "linux-image-arm64"
_PACKAGES = (
    "busybox-static", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libc6", "libgcc-s1",
    "zlib1g", "libexpat1", "libffi8", "libssl3", "liblzma5", "libbz2-1.0", "libuuid1", "libtinfo6", "libncursesw6",
    "libreadline8", "libcrypt1", "libcap-ng0",
)  # fmt: skip
_SPARE = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/lib/aarch64-linux-gnu/gconv/")
_BEGIN, _END = "=== begin ", "=== end "
_INIT = """#!/bin/busybox sh
/bin/busybox mount -t devtmpfs none /dev
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
export PATH=/usr/bin:/bin HOME=/tmp PYTHONPATH=/turbotui PYTHONDONTWRITEBYTECODE=1
/bin/busybox sh /commands
/bin/busybox poweroff -f
"""


def why_not() -> str:
    """Why the guest cannot run here, "" when it can."""
    if shutil.which(EMULATOR) is None:
        return f"{EMULATOR} is not installed (Debian: qemu-system-arm)"
    if not (CACHE / "root.cpio").exists():
        return f"no guest in {CACHE}: make it once with python tests/guest/arm64guest.py"
    return ""


def run(tree: Path, commands: Iterable[str], files: Iterable[Path] = (), seconds: float = 240.0) -> list[str]:
    """Boot, run shell commands with the tree on PYTHONPATH, and give what each of them printed.

    Args:
        tree: folder of the turbotui package.
        commands: one line of shell each.
        files: put into / of the guest.
        seconds: after which the guest is ended.

    Raises:
        RuntimeError: the guest did not come to its end.
    """
    lines = list(commands)
    script = "".join(f"echo '{_BEGIN}{n}'\n{line} 2>&1\necho '{_END}{n}'\n" for n, line in enumerate(lines))
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "initrd"
        shutil.copyfile(CACHE / "root.cpio", archive)
        with archive.open("ab") as out:
            out.writelines(_archive([
                ("commands", script.encode(), 0o100644),
                *((file.name, file.read_bytes(), 0o100644) for file in files),
                *_package(tree),
            ]))  # fmt: skip
        machine = [
            EMULATOR, "-M", "virt", "-cpu", "neoverse-n1", "-smp", "2", "-m", "768", "-nographic", "-no-reboot",
            "-accel", "tcg,thread=single", "-icount", "shift=1", "-nic", "none",
            "-kernel", str(CACHE / "kernel"), "-initrd", str(archive), "-append", "console=ttyAMA0 quiet panic=-1",
        ]  # fmt: skip
        try:
            done = subprocess.run(  # noqa: S603 - our own words
                machine, capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"the guest did not end in {seconds:g} s: {(error.stdout or b'')[-2000:]!r}") from error
    text = done.stdout.decode(errors="replace").replace("\r", "")
    answers = []
    for number in range(len(lines)):
        begin, end = f"{_BEGIN}{number}\n", f"{_END}{number}\n"
        if begin not in text or end not in text:
            raise RuntimeError(f"the guest did not come to command {number}: {text[-2000:]} {done.stderr!r}")
        answers.append(text.split(begin, 1)[1].split(end, 1)[0])
    return answers


def _package(tree: Path) -> Iterator[tuple[str, bytes, int]]:
    yield "turbotui", b"", 0o040755
    for path in [tree, *sorted(tree.rglob("*"))]:
        if "__pycache__" in path.parts:
            continue
        name = f"turbotui/turbotui/{path.relative_to(tree)}".removesuffix("/.")
        yield (name, b"", 0o040755) if path.is_dir() else (name, path.read_bytes(), 0o100644)


def _archive(files: Iterable[tuple[str, bytes, int]]) -> Iterator[bytes]:
    """A cpio archive in the "newc" format: header of 13 hexadecimal fields, name and data padded to 4 bytes."""
    for inode, (name, data, mode) in enumerate([*files, ("TRAILER!!!", b"", 0)], start=1):
        raw = name.encode() + b"\0"
        fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + raw
        yield head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def build() -> None:
    """Fetch packages and make kernel and root in the cache folder."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        apt = _apt(work)
        _say([*apt, "update"], work)
        names = _say(["apt-cache", *apt[1:], "depends", _KERNEL], work)
        kernel = next(word for word in names.split() if word.startswith("linux-image-6"))
        (work / "debs").mkdir()
        _say([*apt, "download", kernel, *_PACKAGES], work / "debs")
        root = work / "root"
        root.mkdir()
        for deb in sorted((work / "debs").iterdir()):
            target = work / "kernel" if deb.name.startswith("linux-image") else root
            _say(["dpkg-deb", "-x", str(deb), str(target)], work)
        shutil.copyfile(next((work / "kernel/boot").glob("vmlinuz-*")), CACHE / "kernel")
        for name in ("dev", "proc", "sys", "tmp"):
            (root / name).mkdir(exist_ok=True)
        (root / "init").write_text(_INIT)
        (root / "init").chmod(0o755)
        (root / "usr/bin/python3").symlink_to("python3.11")
        partial = CACHE / "root.partial"
        with partial.open("wb") as out:
            out.writelines(_archive(_tree(root)))
        partial.rename(CACHE / "root.cpio")


def _say(command: list[str], folder: Path) -> str:
    """What a command says; its own words on failure go to stderr."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder).stdout  # noqa: S603 - ours


def _apt(work: Path) -> list[str]:
    """apt-get for arm64 with a state of its own, and the system's keys and proxies."""
    for name in ("state/lists/partial", "cache/archives/partial", "parts"):
        (work / name).mkdir(parents=True)
    (work / "status").touch()
    (work / "sources").write_text(_SOURCES)
    options = {
        "APT::Architecture": "arm64", "APT::Architectures": "arm64", "Dir::State": str(work / "state"),
        "Dir::State::status": str(work / "status"), "Dir::Cache": str(work / "cache"),
        "Dir::Etc::SourceList": str(work / "sources"), "Dir::Etc::SourceParts": str(work / "parts"),
        "APT::Sandbox::User": "", "APT::Get::List-Cleanup": "0",
    }  # fmt: skip
    return ["apt-get", "-q", *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]


def _tree(root: Path) -> Iterator[tuple[str, bytes, int]]:
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.startswith(_SPARE):
            continue
        mode = path.lstat().st_mode
        if path.is_symlink():
            yield name, os.readlink(path).encode(), mode
        else:
            yield name, b"" if path.is_dir() else path.read_bytes(), mode


if __name__ == "__main__":
    build()
    sys.stdout.write(f"made {CACHE}\n")
