"""What a recording holds of meters of power, if it is asked for them."""

from typing import Final

from turbotui.features.batteries import BATTERIES
from turbotui.quantities.catalog.meters import power_columns
from turbotui.recording.recorded_tables import RecordedTables, RecordingRequest


def _read_batteries(request: RecordingRequest) -> None:
    """Read the rows of batteries, of which `turbotui power` has a table."""
    if "power" in request.tables:
        request.session.read_rows(_read_batteries, (BATTERIES.source,))


RECORDED: Final = (RecordedTables({"power": "every meter of power, and batteries"}, columns=power_columns,
                                  recorders=_read_batteries),)
