"""The output formats of `turbotui stat --format`. To add one, add its module and its row."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from turbotui.output.csv_lines import CsvLines
from turbotui.output.json_lines import JsonLines
from turbotui.output.layout import FormatMaker
from turbotui.output.openmetrics import OpenMetricsText
from turbotui.output.table import TableText
from turbotui.output.turbostat_text import TurbostatText

FORMATS: Mapping[str, FormatMaker] = MappingProxyType(
    {
        "text": TurbostatText,
        "table": TableText,
        "csv": CsvLines,
        "json": JsonLines,
        "openmetrics": OpenMetricsText,
    }
)
"""Name to what makes it; the first is the default."""
