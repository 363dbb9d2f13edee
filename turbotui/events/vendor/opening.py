"""Which tables are a machine's: those of a directory that a person names, else perf's own.

A directory is named for a host by --event-tables, or for all by the environment, or by a person's settings, in this
order. Tables are opened once for a host.
"""

from __future__ import annotations

import os
from typing import Final
from weakref import WeakKeyDictionary

from turbotui.events.errors import NoTablesError
from turbotui.events.vendor.model import VendorTables
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.host import Host
from turbotui.machine.own_files import config_folder
from turbotui.quantities.documents import DocumentError, parse_toml
from turbotui.untrusted import visible

VARIABLE: Final = "TURBOTUI_EVENT_TABLES"
"""Variable of the environment: what --event-tables takes, for every command that does not say."""
SETTING: Final = "event_tables"
"""What settings.toml calls it; its commands are those of all, for a name means the same everywhere."""
NOTHING: Final = "none"
"""In place of a directory: sysfs and libpfm alone."""

_named: WeakKeyDictionary[Host, str] = WeakKeyDictionary()
_opened: WeakKeyDictionary[Host, VendorTables | NoTablesError] = WeakKeyDictionary()


def name_event_tables(host: Host, directory: str) -> None:
    """Take the tables of a machine from this directory; `NOTHING` for none at all.

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
        NoTablesError: nobody named any and perf has none of this CPU, or is not there.
        VendorTablesError: those that were named cannot be used, or have none of this CPU.
    """
    found = _opened.get(host)
    if found is None:
        try:
            found = _open(host, _named.get(host) or visible(os.environ.get(VARIABLE, "")) or _of_settings())
        except NoTablesError as error:  # to run perf once more would change nothing
            found = error
        _opened[host] = found
    if isinstance(found, NoTablesError):
        raise found
    return found


def _of_settings() -> str:
    """The folder that a person's settings name; "" where they do not. What is wrong in them the dashboard says."""
    try:
        written = read_given(os.path.join(config_folder(os.environ), "settings.toml")).text()
        named = parse_toml(written).get(SETTING) if SETTING in written else None
    except (GivenFileError, DocumentError):
        return ""
    return os.path.expanduser(named) if isinstance(named, str) else ""


def _open(host: Host, directory: str) -> VendorTables:
    if directory == NOTHING:
        raise NoTablesError("Event tables are switched off: give a folder of pmu-events JSON with --event-tables.")
    # imported where tables are read: most runs read none
    from turbotui.events.vendor.cached import cached  # noqa: PLC0415
    from turbotui.events.vendor.cpuid import cpuids_of_cores  # noqa: PLC0415

    if directory:
        from turbotui.events.vendor.perfmon import PerfmonTables, is_perfmon  # noqa: PLC0415
        from turbotui.events.vendor.pmu_events import DirectoryTables, mapfile_in  # noqa: PLC0415

        if kinds := cpuids_of_cores(host) if mapfile_in(host, directory) else {}:
            from turbotui.events.vendor.kinds_of_core import KindsOfCoreTables  # noqa: PLC0415

            return cached(KindsOfCoreTables(host, directory, kinds))
        return cached((PerfmonTables if is_perfmon(directory) else DirectoryTables)(host, directory))
    from turbotui.events.vendor.perf_list import PerfTables  # noqa: PLC0415

    return cached(PerfTables(host))
