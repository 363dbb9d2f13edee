"""An encoder of perf's event strings that uses sysfs, and the vendor's tables for names that sysfs lacks."""

from __future__ import annotations

import re
from functools import cached_property

from turbotui.events.devices import Devices, find_event
from turbotui.events.encoded import EncodedEvent
from turbotui.events.encoder import EventEncoder
from turbotui.events.errors import (
    NoTablesError,
    TracepointError,
    UnknownEventError,
    UnknownPmuError,
    UnknownTermError,
)
from turbotui.machine.host import Host
from turbotui.machine.pmus import Pmu

_UNKNOWN = (UnknownEventError, UnknownPmuError, UnknownTermError)
"""The errors of sysfs's encoder for a name that sysfs does not have."""
_VENDORS = re.compile(r"\s*[A-Z][A-Z0-9_]+:[A-Z][A-Z0-9_.]+", re.ASCII)
"""The form of libpfm's event names; the kernel's tracepoints are in lower case."""


class PerfEncoder:
    """Encodes any number of strings for one machine.

    The tables are opened when they are first needed. They include sysfs, so from then on they are asked first.

    Args:
        rings: as `EventEncoder` takes them.
    """

    def __init__(self, host: Host, rings: str | None = None) -> None:
        self._host = host
        self._rings = rings
        self._tables: EventEncoder | NoTablesError | None = None

    @cached_property
    def own(self) -> EventEncoder:
        """The encoder that uses sysfs alone."""
        return EventEncoder(self._host, self._rings)

    def encode(self, text: str) -> tuple[EncodedEvent, ...]:
        """Return the counters that a string names, in the order of the string.

        Raises:
            EventError: as `EventEncoder.encode`; for a name in the vendors' style, the reason why there are no tables
                is added.
            UsageError: tables named by the user cannot be used.
        """
        if isinstance(self._tables, EventEncoder):
            return _by_tables(self._tables, text)
        try:
            return self.own.encode(text)
        except (*_UNKNOWN, TracepointError) as error:
            if isinstance(error, TracepointError) and not _VENDORS.match(text):
                raise
            tables = self._with_tables()
            if isinstance(tables, EventEncoder):
                return _by_tables(tables, text)
            if "." not in text:  # vendors' names have a dot, those of sysfs have none
                raise
            raise error.followed_by(str(tables)) from None

    def pmu_with(self, pmu: str, event: str) -> Pmu | None:
        """Return the PMU of that name if it has the event, by sysfs or the tables, else None.

        Raises:
            UsageError: as `encode`.
        """
        tables = self._with_tables()
        device = (tables if isinstance(tables, EventEncoder) else self.own).devices.exactly(pmu)
        return device if device is not None and find_event(device, event) is not None else None

    def _with_tables(self) -> EventEncoder | NoTablesError:
        if self._tables is None:
            try:
                self._tables = table_encoder(self._host, self._rings, self.own.devices)
            except NoTablesError as absent:
                self._tables = absent
        return self._tables


def _by_tables(encoder: EventEncoder, text: str) -> tuple[EncodedEvent, ...]:
    """Encode by the tables; the error for an unknown name in the vendors' style says which events the tables lack."""
    from turbotui.events.event_tables.devices import VendorDevices  # noqa: PLC0415 - as below

    try:
        return encoder.encode(text)
    except _UNKNOWN as error:
        devices = encoder.devices
        lacks = devices.tables.lacks_events if isinstance(devices, VendorDevices) else ""
        if not lacks or "." not in text:
            raise
        raise error.followed_by(lacks) from None


def table_encoder(host: Host, rings: str | None = None, sysfs: Devices | None = None) -> EventEncoder:
    """Make an encoder of the events of sysfs and of the vendor's tables.

    Args:
        rings: as `EventEncoder` takes them.

    Raises:
        NoTablesError: there are no tables for this machine.
        UsageError: tables named by the user cannot be used.
    """
    # imported here, because most runs need only names of sysfs
    from turbotui.events.event_tables.devices import VendorDevices  # noqa: PLC0415
    from turbotui.events.event_tables.opening import open_vendor_tables  # noqa: PLC0415

    return EventEncoder(host, rings, VendorDevices(host, open_vendor_tables(host), sysfs))
