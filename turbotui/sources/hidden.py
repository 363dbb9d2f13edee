"""Which sources are hidden from this process, by masks over their files and links that lead nowhere.

Container runtimes and services hide files of /proc and /sys (`turbotui.machine.view`). A source finds nothing then, as
on a machine without the driver or the hardware, and its advice would be to load what is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from turbotui.machine.machine import Machine
from turbotui.machine.small_files import names_in
from turbotui.machine.view import SHOW_FILE
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.bases import source_facts
from turbotui.sources.source import Probe

_NOT_FOUND: Final = (Reason.NO_DRIVER, Reason.NO_HARDWARE, Reason.VIRTUALISED, Reason.UNKNOWN_MODEL, Reason.NOT_SET,
                     Reason.FAILED, Reason.RECORDED)
"""What a source takes a hidden file for."""


class HiddenSources:
    """Places that are hidden on a machine; folders of links are looked through once for all sources."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._broken: dict[str, str] = {}

    def unhidden(self, source: str, probe: Probe) -> Probe:
        """The findings of a source, in which what is hidden is not called missing."""
        renumbered = self._machine.view.renumbered
        missing = [name for name, answer in probe.signals.items() if isinstance(answer, Unavailable) and (
            answer.reason in _NOT_FOUND or (renumbered and answer.reason is Reason.NOT_PERMITTED))]
        why = next(self._hidden(source), None) if missing else None
        if why is None:
            return probe
        note = probe.note if any(isinstance(answer, Signal) for answer in probe.signals.values()) else ""
        return replace(probe, signals={**probe.signals, **dict.fromkeys(missing, why)}, note=note)

    def _hidden(self, source: str) -> Iterator[Unavailable]:
        view, cpus = self._machine.view, self._machine.topology.cpus
        facts = source_facts().get(source)  # of a package's source the file has none
        for place in () if facts is None else facts.files:
            if view.masks or view.renumbered:
                paths = (place.removesuffix("*").rstrip("/").format(cpu=cpu) for cpu in (
                    cpus if "{cpu}" in place else cpus[:1]))
                if (why := view.hidden(*paths)) is not None:
                    yield why
            if place.endswith("*") and (link := self._broken_link(place)):
                yield Unavailable(
                    Reason.HIDDEN, f"the container hides what {link} points to: the link leads nowhere", SHOW_FILE)

    def _broken_link(self, place: str) -> str:
        """The first link of a folder, by the beginning of its name, that leads nowhere; "" if none does."""
        if place not in self._broken:
            folder, _, word = place.removesuffix("*").rpartition("/")
            names = (name for name in names_in(self._machine.host, folder) if name.startswith(word))
            self._broken[place] = next((path for name in names if not self._machine.host.exists(
                path := f"{folder}/{name}")), "")
        return self._broken[place]
