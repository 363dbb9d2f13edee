"""turbotui: what a machine's CPUs and uncore really do, live in a terminal."""

from typing import TYPE_CHECKING

__version__ = "0.5.0"

if TYPE_CHECKING:
    from turbotui.region_marks import region as region


def __getattr__(name: str) -> object:
    """Import `turbotui.region` only in programs that mark their regions, not at every start of turbotui."""
    if name != "region":
        raise AttributeError(f"module 'turbotui' has no attribute '{name}'")
    from turbotui.region_marks import region as found  # noqa: PLC0415 - where it is used

    return found
