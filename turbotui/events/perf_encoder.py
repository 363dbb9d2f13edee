"""perf's grammar over sysfs, and where sysfs does not know a name, over the vendor's tables too."""

from __future__ import annotations

from turbotui.events.devices import Devices, find_event
from turbotui.events.encoded import EncodedEvent
from turbotui.events.encoder import EventEncoder
from turbotui.events.errors import NoTablesError, UnknownEventError, UnknownPmuError, UnknownTermError
from turbotui.machine.host import Host
from turbotui.machine.pmus import Pmu

_UNKNOWN = (UnknownEventError, UnknownPmuError, UnknownTermError)
"""What sysfs says of a name that it does not have."""


class PerfEncoder:
    """Encodes any number of strings for one machine.

    The tables are looked for when they are first needed. They stand on sysfs too, so from then on they are asked first.

    Args:
        host: the machine.
        rings: as `EventEncoder` takes them.
    """

    def __init__(self, host: Host, rings: str | None = None) -> None:
        self._host = host
        self._rings = rings
        self._own: EventEncoder | None = None
        self._tables: EventEncoder | NoTablesError | None = None

    @property
    def own(self) -> EventEncoder:
        """The encoder over sysfs alone."""
        if self._own is None:
            self._own = EventEncoder(self._host, self._rings)
        return self._own

    def encode(self, text: str) -> tuple[EncodedEvent, ...]:
        """The counters that a string names, in its order.

        Raises:
            EventError: as `EventEncoder.encode`, with the reason why there are no tables where the name looks like one
                of theirs.
            UsageError: tables that somebody named cannot be used.
        """
        if isinstance(self._tables, EventEncoder):
            return _by_tables(self._tables, text)
        try:
            return self.own.encode(text)
        except _UNKNOWN as error:
            tables = self._with_tables()
            if isinstance(tables, EventEncoder):
                return _by_tables(tables, text)
            if "." not in text:  # as names of vendors have it, and those of sysfs have not
                raise
            raise type(error)(f"{error} {tables}") from None

    def pmu_with(self, pmu: str, event: str) -> Pmu | None:
        """The PMU of that name where it has the event, by sysfs or the tables; None where it has not.

        Raises:
            UsageError: as `encode`.
        """
        tables = self._with_tables()
        devices = (tables if isinstance(tables, EventEncoder) else self.own).devices
        found = devices.exactly(pmu)
        return found if found is not None and find_event(found, event) is not None else None

    def _with_tables(self) -> EventEncoder | NoTablesError:
        if self._tables is None:
            try:
                self._tables = table_encoder(self._host, self._rings, self.own.devices)
            except NoTablesError as absent:
                self._tables = absent
        return self._tables


def _by_tables(encoder: EventEncoder, text: str) -> tuple[EncodedEvent, ...]:
    """Encode over tables; of a name that looks like a vendor's, and is not there, what the tables leave out is said."""
    from turbotui.events.vendor.devices import VendorDevices  # noqa: PLC0415 - as below

    try:
        return encoder.encode(text)
    except _UNKNOWN as error:
        devices = encoder.devices
        lacks = devices.tables.lacks_events if isinstance(devices, VendorDevices) else ""
        if not lacks or "." not in text:
            raise
        raise type(error)(f"{error} {lacks}") from None


def table_encoder(host: Host, rings: str | None = None, sysfs: Devices | None = None) -> EventEncoder:
    """An encoder over the events of sysfs and those of the vendor's tables.

    Args:
        host: the machine.
        rings: as `EventEncoder` takes them.
        sysfs: the machine's PMUs, where somebody has begun to read them.

    Raises:
        NoTablesError: there are no tables for this machine.
        UsageError: those that somebody named cannot be used.
    """
    # imported where a name is not sysfs': most runs have none
    from turbotui.events.vendor.devices import VendorDevices  # noqa: PLC0415
    from turbotui.events.vendor.opening import open_vendor_tables  # noqa: PLC0415

    return EventEncoder(host, rings, VendorDevices(host, open_vendor_tables(host), sysfs))
