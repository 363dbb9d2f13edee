"""A file tree whose contents are computed when read, and whose folders are made when first visited."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Callable, Mapping
from typing import TypeAlias

from turbotui.machine.host import HostError

Content: TypeAlias = Callable[[float], str | bytes]
"""Contents of a file at a machine time in seconds."""


class File:
    """A file: its content by machine time, its mode bits, and the CPU it vanishes with (-1: none).

    `public` is how many bytes those see who lack CAP_SYS_ADMIN, -1 for all of them.
    """

    __slots__ = ("content", "cpu", "mode", "public")

    def __init__(self, content: Content, mode: int = 0o444, cpu: int = -1, public: int = -1) -> None:
        self.content = content
        self.mode = mode
        self.cpu = cpu
        self.public = public


class Folder:
    """A folder. `make` is called once, at the first visit."""

    __slots__ = ("_children", "_make")

    def __init__(self, make: Callable[[], Mapping[str, Node]]) -> None:
        self._make = make
        self._children: dict[str, Node] | None = None

    @property
    def children(self) -> dict[str, Node]:
        """Entries of the directory, by name."""
        children = self._children
        if children is None:
            children = self._children = dict(self._make())
        return children

    def forget(self) -> None:
        """Make the children anew at the next visit: the machine has changed."""
        self._children = None


Node: TypeAlias = File | Folder


class Visits:
    """The folders that were visited last; older ones forget what is in them, and it is made anew when it is wanted.

    For the folders of CPUs: there are a thousand of them, and a program reads each when it starts and never again.

    Args:
        kept: how many remember.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._latest: deque[Folder] = deque()

    def folder(self, make: Callable[[], Mapping[str, Node]]) -> Folder:
        """A folder that forgets when others have been visited since it was made."""

        def visit() -> Mapping[str, Node]:
            self._latest.append(made)
            while len(self._latest) > self._kept:
                self._latest.popleft().forget()
            return make()

        made = Folder(visit)
        return made


def fixed(text: object) -> File:
    """A file that always says the same, with the newline the kernel puts behind it."""
    line = f"{text}\n"
    return File(lambda _now: line)


def whole(content: Callable[[float], int], mode: int = 0o444, cpu: int = -1) -> File:
    """A file with one integer."""
    return File(lambda now: f"{content(now)}\n", mode, cpu)


def folder(children: Mapping[str, Node]) -> Folder:
    """A folder whose children are known."""
    return Folder(lambda: children)


def place(root: dict[str, Node], path: str, node: Node) -> None:
    """Put a node at a path below a mapping of children, making folders on the way."""
    parts = path.strip("/").split("/")
    level = root
    for part in parts[:-1]:
        following = level.get(part)
        if following is None:
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
        following = node.children.get(part)
        if following is None:
            raise HostError(errno.ENOENT, path)
        node = following
    return node


class Device(File):
    """A character device whose offset is an address: each read is one answer, not a part of a text."""

    __slots__ = ("answer",)

    def __init__(self, answer: Callable[[int], bytes], cpu: int) -> None:
        super().__init__(lambda _now: b"", 0o600, cpu)
        self.answer = answer
