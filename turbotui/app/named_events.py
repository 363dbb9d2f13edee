"""Read the vendor's names of events in the background, for windows in which events are typed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from turbotui.errors import UsageError
from turbotui.machine.host import Host

if TYPE_CHECKING:
    from turbotui.events.event_tables.searching import EventSearch


async def find_named_events(host: Host) -> EventSearch | None:
    """The vendor's tables of a machine, for searching; None if there are none.

    A thread reads them, because the first run of perf takes half a second, and may take ten.
    """
    return await asyncio.to_thread(_search, host)


def _search(host: Host) -> EventSearch | None:
    # imported on use: most runs read no table
    from turbotui.events.event_tables.opening import open_vendor_tables  # noqa: PLC0415
    from turbotui.events.event_tables.searching import EventSearch  # noqa: PLC0415

    try:
        return EventSearch(host, open_vendor_tables(host))
    except UsageError:  # adding an event by the table's name reports the reason
        return None
