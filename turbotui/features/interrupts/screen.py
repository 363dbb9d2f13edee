"""The screen `Z`: sources of interrupts, and the CPUs inside each."""

from typing import ClassVar

from turbotui.app.actions import bindings_for
from turbotui.app.kind_screen import KindScreen
from turbotui.features.interrupts.rows import INTERRUPTS


class InterruptsScreen(KindScreen):
    """The rows of /proc/interrupts."""

    where: ClassVar[str] = "interrupts"
    number = "Z"
    word = "interrupts"
    definition = INTERRUPTS
    BINDINGS = bindings_for("interrupts")
