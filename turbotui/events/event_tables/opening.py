"""Opens the vendor's tables of a machine: those of a directory named by the user, else perf's own.

The directory comes from --event-tables for one host, else from the environment, else from the user's settings, in this
order. Tables are opened once for each host.
"""

from __future__ import annotations

import os
from typing import Final
from weakref import WeakKeyDictionary

from turbotui.events.errors import NoTablesError
from turbotui.events.event_tables.model import VendorTables
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.host import Host
from turbotui.machine.own_files import config_folder
from turbotui.quantities.documents import DocumentError, parse_toml
from turbotui.untrusted import visible

VARIABLE: Final = "TURBOTUI_EVENT_TABLES"
"""Environment variable with the default of --event-tables."""
SETTING: Final = "event_tables"
"""The key in settings.toml, which applies to all commands: an event's name means the same everywhere."""
NOTHING: Final = "none"
"""Value in place of a directory that allows only sysfs and libpfm."""

_named: WeakKeyDictionary[Host, str] = WeakKeyDictionary()
_opened: WeakKeyDictionary[Host, VendorTables | str] = WeakKeyDictionary()
"""The tables, or why there are none: an exception that is raised again keeps every frame that it ever passed."""


def name_event_tables(host: Host, directory: str) -> None:
    """Set the directory of a machine's tables; `NOTHING` for no tables at all.

    Raises:
        VendorTablesError: the directory cannot be used for this machine.
    """
    _named[host] = directory
    _opened.pop(host, None)
    if directory != NOTHING:
        open_vendor_tables(host)


def open_vendor_tables(host: Host) -> VendorTables:
    """The vendor's tables of a machine's CPU.

    Raises:
        NoTablesError: no tables were named, and perf has none of this CPU or is not installed.
        VendorTablesError: the named tables cannot be used, or have none of this CPU.
    """
    tables = _opened.get(host)
    if tables is None:
        try:
            tables = _open(host, _named.get(host) or visible(os.environ.get(VARIABLE, "")) or _of_settings())
        except NoTablesError as error:  # running perf again would give the same error
            tables = str(error)
        _opened[host] = tables
    if isinstance(tables, str):
        raise NoTablesError(tables)
    return tables


def _of_settings() -> str:
    """Return the directory named in the user's settings, else ""; the dashboard reports errors in the settings."""
    try:
        written = read_given(os.path.join(config_folder(os.environ), "settings.toml")).text()
        named = parse_toml(written).get(SETTING) if SETTING in written else None
    except (GivenFileError, DocumentError):
        return ""
    return os.path.expanduser(named) if isinstance(named, str) else ""


def _open(host: Host, directory: str) -> VendorTables:
    if directory == NOTHING:
        raise NoTablesError("Event tables are switched off: give a folder of pmu-events JSON with --event-tables.")
    # imported here, because most runs read no tables
    from turbotui.events.event_tables.cached import cached  # noqa: PLC0415
    from turbotui.events.event_tables.cpuid import cpuids_of_cores  # noqa: PLC0415

    if directory:
        from turbotui.events.event_tables.perfmon import PerfmonTables, is_perfmon  # noqa: PLC0415
        from turbotui.events.event_tables.pmu_events import DirectoryTables, mapfile_in  # noqa: PLC0415

        kinds = cpuids_of_cores(host) if mapfile_in(host, directory) else {}
        if kinds:
            from turbotui.events.event_tables.pmu_events import KindsOfCoreTables  # noqa: PLC0415

            return cached(KindsOfCoreTables(host, directory, kinds))
        return cached((PerfmonTables if is_perfmon(directory) else DirectoryTables)(host, directory))
    from turbotui.events.event_tables.perf_list import PerfTables  # noqa: PLC0415

    return cached(PerfTables(host))
