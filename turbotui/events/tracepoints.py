"""Finds tracepoints in tracefs, whose ids are perf_event_attr.config (Documentation/trace/events.rst)."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.errors import nearest
from turbotui.events.errors import TracepointError
from turbotui.machine.host import Host, HostError
from turbotui.machine.small_files import names_in, text_of
from turbotui.quantities.plain_numbers import whole_number

_ROOTS = ("/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events")
_VENDORS = re.compile(r"[A-Z][A-Z0-9_]+:[A-Z][A-Z0-9_]+", re.ASCII)
"""The form of vendors' event names; the kernel's tracepoints are in lower case."""
_PATTERN_CHARACTERS = frozenset("*?[")
REMEDY = "mount it as root: mount -t tracefs tracefs /sys/kernel/tracing"


@dataclass(slots=True)
class Tracepoints:
    """The tracepoints of one machine; directories are listed once."""

    host: Host
    _root: str | None = None
    _listed: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def find(self, system: str, name: str) -> tuple[tuple[str, str, int], ...]:
        """Return (system, name, id) of every tracepoint that fits two words or patterns.

        Raises:
            TracepointError: tracefs cannot be read, or no tracepoint fits.
        """
        written = f"{system}:{name}"
        systems = self.systems(written)
        tracepoints = []
        names: list[str] = []
        for folder in _fitting(system, systems):
            names = self._list(f"{self._root}/{folder}")
            tracepoints += [(folder, each, whole_number(text_of(self.host, f"{self._root}/{folder}/{each}/id").strip()))
                            for each in _fitting(name, names)]
        kept = tuple((folder, each, number) for folder, each, number in tracepoints if number is not None)
        if not kept:
            if _VENDORS.fullmatch(written):
                raise _vendors_spelling(written)
            raise TracepointError(f"The kernel has no tracepoint {written}",
                                  lambda: nearest(name, names) if names else nearest(system, systems))
        return kept

    def systems(self, written: str) -> list[str]:
        """Return the names of the groups of tracepoints.

        Raises:
            TracepointError: tracefs is not mounted, or refuses this user.
        """
        if self._root is None:
            refused = False
            for root in _ROOTS:
                try:
                    self._listed[root] = self.host.list_dir(root)
                except HostError as error:
                    refused = refused or error.name in ("EACCES", "EPERM")
                    continue
                self._root = root
                break
            else:
                why = "this user may not read tracefs (run as root)"
                if not refused:
                    why = f"tracefs is not mounted ({REMEDY})"
                if _VENDORS.fullmatch(written):
                    raise _vendors_spelling(written)
                raise TracepointError(f"{written} is no event of a PMU, and as a tracepoint it cannot be found: {why}.")
        return self._list(self._root)

    def _list(self, folder: str) -> list[str]:
        if folder not in self._listed:
            self._listed[folder] = names_in(self.host, folder)  # none in files, which stand beside groups in tracefs
        return list(self._listed[folder])


def _vendors_spelling(written: str) -> TracepointError:
    return TracepointError(
        f"{written} is spelled as libpfm has a vendor's events (EVENT:UMASK), and neither a PMU here nor a libpfm that "
        "knows this processor has it; a raw event counts it: cpu/event=0xNN,umask=0xNN/.")


def _fitting(word: str, names: list[str]) -> list[str]:
    if _PATTERN_CHARACTERS.isdisjoint(word):
        return [word] if word in names else []
    return [name for name in names if fnmatch.fnmatchcase(name, word)]
