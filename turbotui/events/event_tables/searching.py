"""Searches the vendor's events by typed text: beginnings of names, parts of names, words of descriptions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from turbotui.events.event_tables.devices import VendorDevices
from turbotui.events.event_tables.model import VendorEvent, VendorTables
from turbotui.machine.host import Host


class EventSearch:
    """The events of the tables that the machine's PMUs have, indexed for a search at each key press."""

    def __init__(self, host: Host, tables: VendorTables) -> None:
        self.tables = tables
        self._devices = VendorDevices(host, tables)
        self._rows = [(row, f"{row.name} {row.brief} {row.description}".lower())
                      for row in tables.events() if self._devices.matched(row)]

    def find(self, text: str, limit: int, pmu: str = "") -> tuple[VendorEvent, ...]:
        """Return the events that match a text, best matches first, each name once, deprecated events behind others.

        Args:
            text: the text in any case; "" finds all events of `pmu` if one is named, else nothing.
            pmu: only events of this PMU, by its name in sysfs.
        """
        words = text.lower().split()
        if not words and not pmu:
            return ()
        rows = [(row, described) for row, described in self._rows if not pmu or pmu in self._devices.matched(row)]
        events = {row.name: row for row in self._by_name(rows, words)}
        if len(events) < limit:
            others = (row for row, described in rows if all(word in described for word in words))
            events |= {row.name: row for row in others if row.name not in events}
        return tuple(islice(events.values(), limit))

    @staticmethod
    def _by_name(rows: list[tuple[VendorEvent, str]], words: list[str]) -> Iterator[VendorEvent]:
        if len(words) != 1:
            return iter(())
        first = sorted((row for row, _ in rows if row.name.startswith(words[0])), key=lambda row: row.deprecated)
        inside = (row for row, _ in rows if words[0] in row.name[1:] and not row.name.startswith(words[0]))
        return chain(first, sorted(inside, key=lambda row: row.deprecated))
