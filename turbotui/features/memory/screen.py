"""The screen `N`: the machine, its packages, nodes and L3 caches."""

from typing import ClassVar

from turbotui.app.actions import bindings_for
from turbotui.app.kind_screen import KindScreen
from turbotui.features.memory.rows import MEMORY


class MemoryScreen(KindScreen):
    """Where the bytes go."""

    where: ClassVar[str] = "memory"
    number = "N"
    word = "memory"
    definition = MEMORY
    BINDINGS = bindings_for("memory")
