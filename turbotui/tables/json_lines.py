"""One JSON object on a line for each table and interval, with units, formulas, and a reason for every null.

The schema is docs/table.schema.json; no verb writes any other object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from turbotui import __version__
from turbotui.quantities.columns import Column
from turbotui.quantities.marks import DISPUTED, MARKS
from turbotui.quantities.tables import AnyTable, measures
from turbotui.tables.envelope import Envelope
from turbotui.tables.formats import Format
from turbotui.untrusted import bytes_in_base64, json_text


class JsonLines(Format):
    """JSON lines whose rows carry `values`, and in `why` a sentence for each null and for each partial value.

    Each of `quantities.marks` lists the names of the columns whose values have it; `disputed` has a sentence for each.
    `bytes` has the bytes of each text that is not UTF-8, in base64: the text itself has marks for them.
    """

    def lines(self, envelope: Envelope, table: AnyTable) -> Iterator[str]:
        """The envelope and the table as one line of JSON."""
        columns = measures(table)
        report: dict[str, object] = {
            "turbotui": __version__,
            "machine": envelope.machine,
            "kind": envelope.kind.value,
            "time": envelope.time,
            "seconds": envelope.seconds,
            "table": table.name,
            "columns": [_described(table, column) for column in columns],
            "rows": list(_rows(table, columns)),
        }
        if envelope.facts:
            report["facts"] = dict(envelope.facts)
        if envelope.notes:
            report["notes"] = list(envelope.notes)
        if bytes_of := _bytes({"machine": envelope.machine, **envelope.facts}):
            report["bytes"] = bytes_of
        yield json_text(report, compact=True)


def _described(table: AnyTable, column: Column[Any]) -> dict[str, str]:
    formula = table.formula(column)
    return {"id": column.id, "unit": column.unit, **({"formula": formula} if formula else {})}


def _rows(table: AnyTable, columns: Iterable[Column[Any]]) -> Iterator[dict[str, object]]:
    rows = table.rows
    cells = {column.id: table.cells(column, rows) for column in columns}
    noted = {name: column.noted for name, column in cells.items() if column.noted}
    for at, row in enumerate(rows):
        identity = table.identify(row)
        values = {name: column.values[at] for name, column in cells.items()}
        record: dict[str, object] = {"row": identity.kind, **identity.names, "values": values}
        if raw := _bytes({**identity.names, **values}):
            record["bytes"] = raw
        beside = {name: cell for name, column in noted.items() if (cell := column.get(at)) is not None}
        reasons = {name: cell.why.sentence() for name, cell in beside.items()
                   if cell.why is not None and (cell.value is None or cell.partial)}
        if reasons:
            record["why"] = reasons
        for mark in MARKS if beside else ():
            if marked := [name for name, cell in beside.items() if mark in cell.marks]:
                record[mark.name] = ({name: "; ".join(beside[name].disputed) for name in marked} if mark is DISPUTED
                                     else marked)
        yield record


def _bytes(values: Mapping[str, object]) -> dict[str, str]:
    return {name: encoded for name, value in values.items()
            if isinstance(value, str) and (encoded := bytes_in_base64(value)) is not None}
