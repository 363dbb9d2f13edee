"""A host over files in memory: a dict of path -> text, or the tree inside a tar archive. It has no counters."""

from __future__ import annotations

import errno
import tarfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from turbotui.machine.host import NOT_GATHERED, HostError, HostKind, PerfAttr, Privileges


class TreeHost:
    """Implements `Host`: list_dir, exists and read_text over a tree; everything else is refused with ENOSYS.

    `reads` counts read_text calls, for tests of cost. A file whose text is None in `errors` fails with that errno.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        *,
        links: Mapping[str, str] | None = None,
        folders: Iterable[str] = (),
        errors: Mapping[str, int] | None = None,
        usable: frozenset[int] | None = None,
        name: str = "tree",
    ) -> None:
        self.files = dict(files)
        self.errors = dict(errors or {})
        self.reads = 0
        self._name = name
        self._usable = usable
        self._links = dict(links or {})
        self._children: dict[str, set[str]] = {"/": set()}
        for path in (*files, *self._links, *self.errors):
            self._add_parents(path)
        for folder in folders:
            self._children.setdefault(folder, set())
            self._add_parents(folder)

    @classmethod
    def from_tar(cls, archive: Path, *, usable: frozenset[int] | None = None) -> TreeHost:
        """The tree below the archive's one top folder."""
        files: dict[str, str] = {}
        links: dict[str, str] = {}
        folders: list[str] = []
        with tarfile.open(archive) as tar:
            for member in tar:
                parts = PurePosixPath(member.name).parts[1:]
                if not parts:
                    continue
                path = "/" + "/".join(parts)
                if member.issym():
                    links[path] = member.linkname
                elif member.isdir():
                    folders.append(path)
                else:
                    content = tar.extractfile(member)
                    files[path] = "" if content is None else content.read().decode("utf-8", "replace")
        return cls(files, links=links, folders=folders, usable=usable, name=archive.name.split(".")[0])

    def _add_parents(self, path: str) -> None:
        parent, _, name = path.rpartition("/")
        siblings = self._children.get(parent or "/")
        if siblings is None:
            siblings = self._children[parent] = set()
            self._add_parents(parent)
        siblings.add(name)

    def _resolve(self, path: str) -> str:
        """The path with symbolic links followed, as the kernel would."""
        if not self._links or path in self.files:
            return path
        done = ""
        rest = [part for part in path.split("/") if part]
        for _ in range(200):
            if not rest:
                return done or "/"
            part = rest.pop(0)
            if part == "..":
                done = done.rpartition("/")[0]
                continue
            if part == ".":
                continue
            target = self._links.get(f"{done}/{part}")
            if target is None:
                done = f"{done}/{part}"
                continue
            if target.startswith("/"):
                done = ""
            rest[:0] = [piece for piece in target.split("/") if piece]
        raise HostError(errno.ELOOP, path)

    @property
    def kind(self) -> HostKind:
        return HostKind.RECORDED

    @property
    def name(self) -> str:
        return self._name

    def read_text(self, path: str) -> str:
        self.reads += 1
        if path in self.errors:
            raise HostError(self.errors[path], path)
        real = self._resolve(path)
        if real in self.files:
            return self.files[real]
        raise HostError(errno.EISDIR if real in self._children else errno.ENOENT, path)

    def list_dir(self, path: str) -> tuple[str, ...]:
        if path in self.errors:
            raise HostError(self.errors[path], path)
        real = self._resolve(path.rstrip("/") or "/")
        if real in self._children:
            return tuple(sorted(self._children[real]))
        raise HostError(errno.ENOTDIR if real in self.files else errno.ENOENT, path)

    def exists(self, path: str) -> bool:
        try:
            real = self._resolve(path.rstrip("/") or "/")
        except HostError:
            return False
        return real in self.files or real in self._children

    def open_file(self, path: str) -> int:
        raise HostError(errno.ENOSYS if self.exists(path) else errno.ENOENT, path)

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        raise HostError(errno.EBADF, f"descriptor {descriptor}")

    def perf_event_open(self, attr: PerfAttr, pid: int, cpu: int, group: int) -> int:
        raise HostError(NOT_GATHERED, "perf_event_open")

    def read_counter(self, descriptor: int, size: int) -> bytes:
        raise HostError(errno.EBADF, f"descriptor {descriptor}")

    def close(self, descriptor: int) -> None:
        raise HostError(errno.EBADF, f"descriptor {descriptor}")

    def pin_this_thread(self, cpus: Sequence[int]) -> None:
        raise HostError(errno.ENOSYS, "sched_setaffinity")

    @property
    def pins(self) -> bool:
        return False

    def usable_cpus(self, online: str | None = None) -> frozenset[int] | None:
        return self._usable

    def privileges(self) -> Privileges:
        return Privileges(uid=1000, capabilities=0, perf_paranoid=None, descriptors=(1024, 1024))

    def now_ns(self) -> int:
        return 0

    def wall_ns(self) -> int:
        return 0
