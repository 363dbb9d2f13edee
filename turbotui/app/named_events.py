"""The vendor's names of events for windows in which events are typed, read beside the keys."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from turbotui.errors import UsageError
from turbotui.machine.host import Host

if TYPE_CHECKING:
    from turbotui.events.vendor.searching import EventSearch


async def find_named_events(host: Host) -> EventSearch | None:
    """The vendor's tables of a machine, to be searched; None where there are none.

    They are read in a thread: the first time perf is run for them, which takes half a second and may take ten.
    """
    return await asyncio.to_thread(_search, host)


def _search(host: Host) -> EventSearch | None:
    # imported where an event is typed: most runs read no table
    from turbotui.events.vendor.opening import open_vendor_tables  # noqa: PLC0415
    from turbotui.events.vendor.searching import EventSearch  # noqa: PLC0415

    try:
        return EventSearch(host, open_vendor_tables(host))
    except UsageError:  # what is named with the table's name says why
        return None
