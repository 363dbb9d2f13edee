"""A file tree whose contents are computed on reading, and whose directories are made on the first visit."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, cast

from turbotui.machine.host import HostError
from turbotui.quantities.facts import FactFile

_FIXED_FILES: Final = FactFile("simulated/fixed_files.toml")

Content: TypeAlias = Callable[[float], str | bytes]
"""A function that returns a file's content at a machine time in seconds."""


class File:
    """A file: its content by machine time, its mode bits, and the CPU with which it vanishes (-1: none).

    `public` is the number of bytes that readers without CAP_SYS_ADMIN get; -1 for all.
    """

    __slots__ = ("content", "cpu", "mode", "public")

    def __init__(self, content: Content, mode: int = 0o444, cpu: int = -1, public: int = -1) -> None:
        self.content = content
        self.mode = mode
        self.cpu = cpu
        self.public = public


class Folder:
    """A directory, whose `make` is called once, at the first visit."""

    __slots__ = ("_children", "_make")

    def __init__(self, make: Callable[[], Mapping[str, Node]]) -> None:
        self._make = make
        self._children: dict[str, Node] | None = None

    @property
    def children(self) -> dict[str, Node]:
        """Entries of the directory, by name."""
        if (children := self._children) is None:
            children = self._children = dict(self._make())
        return children

    def forget(self) -> None:
        """Drop the children, which the next visit makes again, because the machine has changed."""
        self._children = None


Node: TypeAlias = File | Folder


class FolderCache:
    """A cache of the directories that were visited last; older directories drop their children.

    It is for the directories of a thousand CPUs, each of which a program reads once, at its start.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._latest: deque[Folder] = deque()

    def folder(self, make: Callable[[], Mapping[str, Node]]) -> Folder:
        """Make a directory that drops its children when enough others have been visited."""

        def visit() -> Mapping[str, Node]:
            self._latest.append(made)
            while len(self._latest) > self._kept:
                self._latest.popleft().forget()
            return make()

        made = Folder(visit)
        return made


def fixed(text: object) -> File:
    """Make a file with fixed content and the kernel's newline at its end."""
    line = f"{text}\n"
    return File(lambda _now: line)


def fixed_texts(**texts: object) -> dict[str, Node]:
    """Make files with fixed content, by name."""
    return {name: fixed(text) for name, text in texts.items()}


def fixed_files(table: str) -> dict[str, Node]:
    """Make the files of a table of `fixed_files.toml`."""
    rows = cast("Mapping[str, Sequence[tuple[str, object]]]", _FIXED_FILES.find(table))["files"]
    return fixed_texts(**dict(rows))


def whole(content: Callable[[float], int], mode: int = 0o444, cpu: int = -1) -> File:
    """Make a file with one integer."""
    return File(lambda now: f"{content(now)}\n", mode, cpu)


def folder(children: Mapping[str, Node]) -> Folder:
    """Make a directory with known children."""
    return Folder(lambda: children)


def place(root: dict[str, Node], path: str, node: Node) -> None:
    """Put a node at a path below a mapping of children, making directories on the way."""
    parts = path.strip("/").split("/")
    level = root
    for part in parts[:-1]:
        if (following := level.get(part)) is None:
            following = level[part] = folder({})
        if isinstance(following, File):
            raise TypeError(f"{path}: {part} is a file")
        level = following.children
    level[parts[-1]] = node


def find(root: Folder, path: str) -> Node:
    """Look a path up.

    Raises:
        HostError: ENOENT, or ENOTDIR when a file stands in the way.
    """
    node: Node = root
    for part in path.split("/"):
        if not part or part == ".":
            continue
        if isinstance(node, File):
            raise HostError(errno.ENOTDIR, path)
        if (following := node.children.get(part)) is None:
            raise HostError(errno.ENOENT, path)
        node = following
    return node


class Device(File):
    """A character device whose offset is an address, so that each read is one answer."""

    __slots__ = ("answer",)

    def __init__(self, answer: Callable[[int], bytes], cpu: int) -> None:
        super().__init__(lambda _now: b"", 0o600, cpu)
        self.answer = answer
