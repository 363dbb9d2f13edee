"""What a recording holds of meters of power, if it is asked for them."""

from typing import Final

from turbotui.quantities.catalog.meters import power_columns
from turbotui.recording.recorded_tables import RecordedTables

RECORDED: Final = (RecordedTables({"power": "every meter of power"}, columns=power_columns),)
