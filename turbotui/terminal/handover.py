"""A terminal that is in the dashboard's modes before Textual is there, and what was typed into it meanwhile."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from turbotui.dataclass import dataclass

Modes = list[int | list[bytes | int]]
"""What termios.tcgetattr gives."""


@dataclass(slots=True)
class Handover:
    """State that the driver takes over from the opening.

    Attributes:
        modes: of the terminal as the shell gave it, to be restored; None where it has none.
        typed: bytes that were read and not acted on, in their order.
        taken: whether the driver has taken the terminal over, and restores it.
    """

    modes: Modes | None = None
    typed: bytes = b""
    taken: bool = False


@runtime_checkable
class HandedOver(Protocol):
    """An application whose terminal may be in its modes already.

    Attributes:
        handover: from the opening; None where there was none.
    """

    handover: Handover | None
