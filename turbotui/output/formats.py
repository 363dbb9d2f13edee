"""The output formats of `turbotui stat --format`. To add one, add its module and its row.

A module is imported only when its format is used: `turbotui stat` starts quickly, and most often prints text.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from turbotui.errors import UsageError

if TYPE_CHECKING:  # the command line needs the names only
    from turbotui.output.layout import Format, FormatMaker, Layout

FORMATS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "text": ("turbotui.output.turbostat_text", "TurbostatText"),
        "table": ("turbotui.output.table", "TableText"),
        "csv": ("turbotui.output.csv_lines", "CsvLines"),
        "json": ("turbotui.output.json_lines", "JsonLines"),
        "openmetrics": ("turbotui.output.openmetrics", "OpenMetricsText"),
    }
)
"""Name to the module and class that make it; the first is the default."""


def make_format(name: str, layout: Layout) -> Format:
    """A format for one run.

    Raises:
        UsageError: there is no such format.
    """
    if name not in FORMATS:
        raise UsageError(f'unknown format "{name}"; there are: {", ".join(FORMATS)}')
    module, kind = FORMATS[name]
    maker: FormatMaker = getattr(importlib.import_module(module), kind)
    return maker(layout)


def make_series(name: str, layout: Layout, intervals: int | None) -> Format:
    """A format for a run of that many intervals; None: nobody knows how many. See `layout.Ending`.

    Raises:
        UsageError: there is no such format.
    """
    if name != "openmetrics" or intervals == 1:
        return make_format(name, layout)
    from turbotui.output.openmetrics import OpenMetricsSeries  # noqa: PLC0415 - imported only where it is used

    return OpenMetricsSeries(layout, endless=intervals is None)
