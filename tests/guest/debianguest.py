"""Stock Debian kernels under QEMU, with Python and the tree to be tested in an initramfs.

What a guest is made of is fetched once (60 to 150 MB of Debian packages, no root needed) into a cache folder. Nothing
of the system's own package database is touched: apt-get is given a state of its own.

The whole root is an initramfs: busybox, Python and its libraries first, made once; the tree to be tested and the
commands second, made for every run (kernel Documentation/driver-api/early-userspace/buffer-format.rst: archives join).
"""

from __future__ import annotations

import importlib.util
import lzma
import marshal
import os
import py_compile
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from itertools import pairwise
from pathlib import Path

_SOURCES = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian {} main\n"
_PACKAGES = (
    "busybox-static", "python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libc6", "libgcc-s1",
    "zlib1g", "libexpat1", "libffi8", "libssl3", "liblzma5", "libbz2-1.0", "libuuid1", "libtinfo6", "libncursesw6",
    "libreadline8", "libcrypt1", "libcap-ng0",
)  # fmt: skip
_PYTHON = (3, 11)
_UNCHECKED = py_compile.PycInvalidationMode.UNCHECKED_HASH
_SERVER = Path(__file__).parent / "guestfork.py"
_BEGIN, _END = "=== begin ", "=== end "
_SERVING = """unset PYTHONDONTWRITEBYTECODE
/bin/busybox mkfifo /tmp/requests
{ python3 /guestfork.py /tmp/requests VERBS || /bin/busybox poweroff -f; } &
"""
_BOOTS = 3
"""QEMU 7.2 under -icount stood still for ever in 3 of 60 boots on a busy machine, once while Python was importing."""
_LOOK = 60.0  # seconds between two looks at the CPU time of a guest, which computes all the time
_STILL = 0.02  # of a CPU: a guest that computes gets more on the busiest machine
_CLIENT = b"""#!/bin/busybox sh
/bin/busybox mkfifo /tmp/status.$$
echo $$ > /tmp/requests
read -r status < /tmp/status.$$
exit $status
"""
_INIT = """#!/bin/busybox sh
/bin/busybox mount -t devtmpfs none /dev
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
export PATH=/usr/bin:/bin HOME=/tmp PYTHONPATH=/turbotui PYTHONDONTWRITEBYTECODE=1
/bin/busybox sh /commands
/bin/busybox poweroff -f
"""


class GuestEndedError(RuntimeError):
    """The guest hung, or its kernel gave up: another boot may do better."""


@dataclass(frozen=True, slots=True)
class DebianGuest:
    """A kind of guest.

    Attributes:
        architecture: Debian's name of it.
        emulator: QEMU's program, and the package that has it.
        kernel: package that depends on today's kernel; further packages of that kernel are found by their prefix.
        machine: QEMU's options.
        console: the serial console, as the kernel names it.
        recipe: module that makes it, as a person runs it.
        words: further words of the kernel's command line.
        builds_module: whether `finish` needs the kernel's headers.
        finish: puts into the root what else the guest needs; given the folder of all unpacked packages and the root.
    """

    architecture: str
    emulator: tuple[str, str]
    kernel: str
    machine: tuple[str, ...]
    console: str
    recipe: str
    words: str = ""
    builds_module: bool = False
    finish: Callable[[Path, Path], None] | None = None

    @property
    def cache(self) -> Path:
        """The folder in which the guest's kernel and root archive are kept."""
        return cache_folder() / self.architecture

    def why_not(self) -> str:
        """Why the guest cannot run here, "" when it can."""
        program, package = self.emulator
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian: {package})"
        if not (self.cache / "root.cpio").exists():
            return f"no guest in {self.cache}: make it once with python {self.recipe}"
        return ""

    def run(
        self, tree: Path, commands: Iterable[str], files: Iterable[Path] = (), seconds: float = 1800.0
    ) -> list[str]:
        """Boot, run shell commands with the tree on PYTHONPATH, and give what each of them printed.

        The word `turbotui` in commands is that of the tree, in one process for all (guestfork.py).

        Args:
            tree: folder of the turbotui package.
            commands: one line of shell each.
            files: put into / of the guest.
            seconds: after which the guest is ended; it computes all the time, ten times as long on a busy machine.

        Raises:
            RuntimeError: the guest did not come to its end.
        """
        lines = list(commands)
        verbs = [verb for word, verb in pairwise(" ".join(lines).split()) if word == "turbotui"]
        first = next((number for number, line in enumerate(lines) if "turbotui " in line), None)
        script = "".join(
            (_SERVING.replace("VERBS", " ".join(verbs)) if number == first else "")  # nothing runs beside those before
            + f"echo '{_BEGIN}{number}'\n{line} 2>&1\necho '{_END}{number}'\n"
            for number, line in enumerate(lines)
        )
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / "initrd"
            shutil.copyfile(self.cache / "root.cpio", archive)
            with archive.open("ab") as out:
                out.writelines(_archive([
                    ("commands", script.encode(), 0o100644),
                    ("bin/turbotui", _CLIENT, 0o100755),
                    *((file.name, file.read_bytes(), 0o100644) for file in (_SERVER, *files)),
                    *_package(tree),
                ]))  # fmt: skip
            machine = [
                self.emulator[0], *self.machine, "-nographic", "-no-reboot", "-nic", "none",
                "-kernel", str(self.cache / "kernel"), "-initrd", str(archive),
                "-append", f"console={self.console} quiet panic=-1 {self.words}",
            ]  # fmt: skip
            for boot in range(1, _BOOTS + 1):
                try:
                    return _answers(*_booted(machine, seconds), len(lines))
                except GuestEndedError:
                    if boot == _BOOTS:
                        raise
        raise AssertionError("at least one boot")

    def build(self) -> None:
        """Fetch packages and make kernel and root in the cache folder."""
        self.cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            apt = apt_for(self.architecture, ("bookworm",), work)
            output_of([*apt, "update"], work)
            (work / "debs").mkdir()
            output_of([*apt, "download", *self._of_the_kernel(apt, work), *_PACKAGES], work / "debs")
            root, unpacked = work / "root", work / "kernel"
            root.mkdir()
            for deb in sorted((work / "debs").iterdir()):
                output_of(["dpkg-deb", "-x", str(deb), str(unpacked if deb.name.startswith("linux-") else root)], work)
            (self.cache / "kernel").write_bytes(_unpacked(next((unpacked / "boot").glob("vmlinuz-*")).read_bytes()))
            for name in ("dev", "proc", "sys", "tmp"):
                (root / name).mkdir(exist_ok=True)
            (root / "init").write_text(_INIT)
            (root / "init").chmod(0o755)
            (root / "usr/bin/python3").symlink_to("python3.11")
            if sys.version_info[:2] == _PYTHON:  # its bytecode is the guest's, whose emulated CPUs compile for seconds
                _compile_library(root / "usr/lib/python3.11")
            if self.finish is not None:
                self.finish(unpacked, root)
            partial = self.cache / "root.partial"
            with partial.open("wb") as out:
                out.writelines(_archive(_tree(root)))
            partial.rename(self.cache / "root.cpio")

    def _of_the_kernel(self, apt: Sequence[str], work: Path) -> Sequence[str]:
        """Today's kernel, and if the guest builds a module its headers and what they depend on but compilers."""
        def depends(package: str) -> list[str]:
            words = output_of(["apt-cache", *apt[1:], "depends", package], work).split()
            return [word for word in words if word.startswith(("linux-image-6", "linux-headers-6", "linux-kbuild"))]

        kernel = depends(self.kernel)[0]
        if not self.builds_module:
            return [kernel]
        headers = kernel.replace("linux-image", "linux-headers")
        return [kernel, *dict.fromkeys((headers, *depends(headers)))]


def cache_folder() -> Path:
    """The folder of what the tests fetch once."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turbotui-tests"


def apt_for(architecture: str, suites: Sequence[str], work: Path) -> list[str]:
    """apt-get for an architecture with a state of its own in a folder, and the system's keys and proxies."""
    for name in ("state/lists/partial", "cache/archives/partial", "parts"):
        (work / name).mkdir(parents=True)
    (work / "status").touch()
    (work / "sources").write_text("".join(map(_SOURCES.format, suites)))
    options = {
        "APT::Architecture": architecture, "APT::Architectures": architecture,
        "Dir::State": str(work / "state"), "Dir::State::status": str(work / "status"),
        "Dir::Cache": str(work / "cache"), "Dir::Etc::SourceList": str(work / "sources"),
        "Dir::Etc::SourceParts": str(work / "parts"), "APT::Sandbox::User": "", "APT::Get::List-Cleanup": "0",
    }  # fmt: skip
    return ["apt-get", "-q", *(word for key, value in options.items() for word in ("-o", f"{key}={value}"))]


def _booted(machine: Sequence[str], seconds: float) -> tuple[bytes, bytes]:
    """Return the guest's and QEMU's output up to its end.

    Raises:
        GuestEndedError: it hung.
        RuntimeError: it did not end in time.
    """
    began, used = time.monotonic(), 0.0
    with subprocess.Popen(  # noqa: S603 - our own words
        machine, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as emulator:
        while True:
            try:
                return emulator.communicate(timeout=_LOOK)
            except subprocess.TimeoutExpired as late:
                before, used = used, _cpu_seconds(emulator.pid)
                still, over = used - before < _STILL * _LOOK, time.monotonic() - began > seconds
                if still or over:
                    emulator.kill()
                    emulator.communicate()
                if still:
                    raise GuestEndedError(f"the guest stood still: {(late.output or b'')[-2000:]!r}") from late
                if over:
                    said = (late.output or b"")[-2000:]
                    raise RuntimeError(f"the guest did not end in {seconds:g} s: {said!r}") from late


def _cpu_seconds(pid: int) -> float:
    """CPU time of a process (proc(5): utime and stime are the twelfth and thirteenth behind its name)."""
    times = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def _answers(output: bytes, errors: bytes, count: int) -> list[str]:
    """Return the output of each command.

    Raises:
        GuestEndedError: the guest did not come to one of them.
    """
    text, answers = output.decode(errors="replace").replace("\r", ""), []
    for number in range(count):
        begin, end = f"{_BEGIN}{number}\n", f"{_END}{number}\n"
        if begin not in text or end not in text:
            raise GuestEndedError(f"the guest did not come to command {number}: {text[-2000:]} {errors!r}")
        answers.append(text.split(begin, 1)[1].split(end, 1)[0])
    return answers


def _package(tree: Path) -> Iterator[tuple[str, bytes, int]]:
    """The tree, compiled where this interpreter's bytecode is the guest's: an emulated CPU compiles it for 10 s."""
    yield "turbotui", b"", 0o040755
    for path in [tree, *sorted(tree.rglob("*"))]:
        name = f"turbotui/turbotui/{path.relative_to(tree)}".removesuffix("/.")
        if path.is_dir():
            if path.name != "__pycache__":
                yield name, b"", 0o040755
                yield f"{name}/__pycache__", b"", 0o040755
        elif "__pycache__" not in path.parts:
            yield name, path.read_bytes(), 0o100644
            if path.suffix == ".py" and sys.version_info[:2] == _PYTHON:
                yield _compiled(path, name)


def _unpacked(kernel: bytes) -> bytes:
    """The ELF in a bzImage, which QEMU boots as well: an emulated CPU unpacks it for 3 s.

    Layout: linux Documentation/arch/x86/boot.rst (setup_sects, payload_offset and payload_length, from protocol 2.08).
    """
    if kernel[0x202:0x206] != b"HdrS":
        return kernel
    offset, length = struct.unpack_from("<II", kernel, 0x248)
    start = (kernel[0x1F1] + 1) * 512 + offset
    return lzma.LZMADecompressor().decompress(kernel[start : start + length])  # its last four bytes are its length


def _compile_library(library: Path) -> None:
    """Compile what programs import of Python's library; parts of it are meant not to compile."""
    for path in library.rglob("*.py"):
        if not {"test", "tests", "lib2to3", "idlelib", "pydoc_data"} & set(path.parts):
            compiled = importlib.util.cache_from_source(str(path))
            inside = f"/{path.relative_to(library.parents[2])}"
            py_compile.compile(str(path), compiled, inside, doraise=True, invalidation_mode=_UNCHECKED)


def _compiled(path: Path, name: str) -> tuple[str, bytes, int]:
    """Bytecode of a module that nothing compares with its source (PEP 552): the archive knows no times."""
    code = SourceFileLoader(path.stem, str(path)).get_code(path.stem)  # compiled already, where it was imported here
    head = importlib.util.MAGIC_NUMBER + struct.pack("<I8x", 1)
    return importlib.util.cache_from_source(name), head + marshal.dumps(code), 0o100644


def _archive(files: Iterable[tuple[str, bytes, int]]) -> Iterator[bytes]:
    """A cpio archive in the "newc" format: header of 13 hexadecimal fields, name and data padded to 4 bytes."""
    for inode, (name, data, mode) in enumerate([*files, ("TRAILER!!!", b"", 0)], start=1):
        raw = name.encode() + b"\0"
        fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0)
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + raw
        yield head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def output_of(command: Sequence[str], folder: Path) -> str:
    """Return the output of a command; on failure its messages go to stderr."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder).stdout  # noqa: S603 - ours


def _tree(root: Path) -> Iterator[tuple[str, bytes, int]]:
    spare = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", *(
        str(path.relative_to(root)) + "/" for path in root.glob("usr/lib/*/gconv")
    ))
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if name.startswith(spare):
            continue
        mode = path.lstat().st_mode
        if path.is_symlink():
            yield name, os.readlink(path).encode(), mode
        else:
            yield name, b"" if path.is_dir() else path.read_bytes(), mode
