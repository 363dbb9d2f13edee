"""Writes the long table as Parquet by pyarrow, an optional package that no other module imports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, Final

import pyarrow as pa
from pyarrow import parquet

from turbotui.features.export.model import LongColumn, by_level, rows_of_level
from turbotui.sampling.frame import Frame
from turbotui.tables.layout import PLACES, place_of

_GROUP_ROWS: Final = 65_536
"""Rows of a row group: enough for zstd to find repetitions, few enough for readers to skip times."""
_WORDS: Final = pa.string()
_LEVEL: Final = "row"


def write_parquet(file: BinaryIO, frames: Iterable[Frame], columns: Sequence[LongColumn],
                  facts: Mapping[str, str], last_facts: Callable[[], Mapping[str, str]]) -> tuple[int, int]:
    """Write intervals as a Parquet file: doubles split into byte streams, compressed by zstd.

    Args:
        facts: facts of the whole file, which become its metadata; a column's facts become its field's.
        last_facts: asked after the last interval for facts that are known only then.

    Returns:
        The numbers of intervals and rows.
    """
    schema = _schema(columns, facts)
    numbers = {"seconds": "BYTE_STREAM_SPLIT",
               **{column.name: "BYTE_STREAM_SPLIT" for column in columns if not column.is_text}}
    words = [_LEVEL, *(scope.value for scope in PLACES), *(column.name for column in columns if column.is_text)]
    levels = by_level(columns)
    intervals = rows = waiting = 0
    batches: list[Any] = []
    with parquet.ParquetWriter(file, schema, compression="zstd", use_dictionary=words, column_encoding=numbers,
                               version="2.6", write_statistics=True) as writer:
        for frame in frames:
            intervals += 1
            for level, some in levels.items():
                batch = _batch(frame, schema, level.value, rows_of_level(frame, level), some)
                batches.append(batch)
                waiting += batch.num_rows
                rows += batch.num_rows
            if waiting >= _GROUP_ROWS:
                writer.write_table(pa.Table.from_batches(batches, schema), row_group_size=waiting)
                batches, waiting = [], 0
        if batches:
            writer.write_table(pa.Table.from_batches(batches, schema), row_group_size=waiting)
        writer.add_key_value_metadata(dict(last_facts()))
    return intervals, rows


def _schema(columns: Sequence[LongColumn], facts: Mapping[str, str]) -> Any:
    fields = [
        pa.field("time", pa.timestamp("ns", tz="UTC"), metadata={"meaning": "end of the interval"}),
        pa.field("seconds", pa.float64(), metadata={"unit": "s", "meaning": "length of the interval"}),
        pa.field(_LEVEL, _WORDS, metadata={"meaning": "level of the row: cpu, core, package, system"}),
        *(pa.field(scope.value, pa.int32(), metadata={"meaning": f"{scope.value} of the row, by its id in sysfs"})
          for scope in PLACES),
        *(pa.field(column.name, _WORDS if column.is_text else pa.float64(), metadata=dict(column.facts))
          for column in columns),
    ]
    return pa.schema(fields, metadata=dict(facts))


def _batch(frame: Frame, schema: Any, level: str, rows: Sequence[Any], columns: Sequence[LongColumn]) -> Any:
    size = len(rows)
    places = [place_of(frame, row) for row in rows]
    batch: dict[str, Any] = {
        "time": pa.array([frame.newer.wall_ns] * size, pa.timestamp("ns", tz="UTC")),
        "seconds": pa.array([frame.seconds] * size, pa.float64()),
        _LEVEL: pa.array([level] * size, _WORDS),
        **{scope.value: pa.array([place.get(scope.value) for place in places], pa.int32()) for scope in PLACES},
    }
    for column in columns:
        values = frame.bare_cells(column.column, rows)
        if column.is_text:
            batch[column.name] = pa.array([None if value is None else str(value) for value in values], _WORDS)
        else:
            batch[column.name] = pa.array([None if isinstance(value, str) or value is None else float(value)
                                           for value in values], pa.float64())
    return pa.record_batch([batch[column_field.name] if column_field.name in batch
                            else pa.nulls(size, column_field.type) for column_field in schema],
                           schema=schema)
