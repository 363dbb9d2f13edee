"""Why there are no vendor's tables for a machine."""

from __future__ import annotations

from turbotui.machine.pmus import EventError


class VendorTablesError(EventError):
    """Tables that cannot be read or used: which, why, and what to do."""
