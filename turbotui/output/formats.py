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
