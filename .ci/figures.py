"""The file of figures of turbotui.quantities.verification: what it lists, and its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

PATH: Final = Path("turbotui/quantities/verification.toml")
_HEAD: Final = """\
# What turbotui's numbers agreed with in the last run of .ci/verification, which writes this file: how many of them, by
# method. A table without a key was compared with nothing. The methods, as verification_methods.toml describes them:
# hardware, turbostat-new, turbostat-old, guest-turbostat, guest, arm64, kernel, perf, libpfm, perfmon, linux, model.
# Documents: docs/verification.md, with what each method compares and the command that repeats it.
"""


def names() -> Iterator[str]:
    """Everything that gives numbers: columns, sources, PMUs with their tables by processor."""
    from turbotui.quantities.catalog import STATIC_COLUMNS  # noqa: PLC0415 - the path to it is set by the scripts
    from turbotui.quantities.uncore.kinds import INTEL, PMUS  # noqa: PLC0415 - as above
    from turbotui.sources import SOURCES  # noqa: PLC0415 - as above

    yield from (f"column {column.id}" for column in STATIC_COLUMNS)
    yield from (f"source {source.id}" for source in SOURCES)
    yield from (f"pmu {name}" for table in (PMUS, INTEL) for name in table.names())


def text_of(agreed: Mapping[str, Mapping[str, object]]) -> str:
    """The file's text, with a table for everything that gives numbers and for what else was compared."""
    from turbotui.quantities.verification import METHODS  # noqa: PLC0415 - as above

    others = sorted(name for name in agreed if name.split(" ")[0] in ("events", "tables"))
    parts = [_HEAD]
    for name in dict.fromkeys([*names(), *others]):
        figures = agreed.get(name, {})
        parts.append("\n".join([f'["{name}"]', *(f"{method} = {figures[method]}" for method in METHODS if method in figures)]))
    return "\n\n".join(parts) + "\n"
