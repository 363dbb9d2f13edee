"""Saves what the roofline screen shows to files, and describes it in their titles."""

from __future__ import annotations

import os
import time

from turbotui.errors import TurbotuiError
from turbotui.features.roofline.screen_view import RoofView
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.tables.saving import write_numbered


def title_of(machine: Machine, view: RoofView) -> str:
    """Return the title of a picture: the kind of machine unless it is real, the processor, the level of the points."""
    host = machine.host
    kind = "" if host.kind is HostKind.REAL else f"{host.kind.value} machine {host.name}"
    return ", ".join(word for word in (kind, machine.model.title, view.levels[view.level].word) if word)


def save_file(machine: str, suffix: str, text: str, without: str = "") -> str:
    """Write a new file in the current directory, and return a notice with its path or the error.

    Args:
        machine: the machine's name, which becomes a part of the file's name.
        suffix: of the file, without a dot.
        without: what the file leaves out, as a part of the notice.
    """
    kept = "".join(char if char.isalnum() or char in "-+." else "-" for char in machine)
    stem = f"turbotui-roofline-{kept}-{time.strftime('%Y%m%d-%H%M%S')}"
    try:
        return f"Saved{without} {write_numbered(os.getcwd(), stem, suffix, text)}"
    except (TurbotuiError, OSError) as error:
        return f"Not saved: {error}"
