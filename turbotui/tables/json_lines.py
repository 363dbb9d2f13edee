"""One JSON object on a line for each table and interval, with units, formulas, and a reason for every null.

The schema is docs/table.schema.json; no verb writes any other object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from turbotui import __version__
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import AnyTable, measures
from turbotui.tables.envelope import Envelope
from turbotui.untrusted import bytes_in_base64, json_text


class JsonLines:
    """JSON lines whose rows carry `values`, and in `why` a sentence for each null.

    `disputed` has a sentence for each value that another counter contradicts; `estimated`, `partial` and `outstanding`
    (past its vendor's threshold) list the names of such columns. `bytes` has the bytes of each text that is not UTF-8,
    in base64: the text itself has marks for them.
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
            "rows": [_row(table, row) for row in table.rows],
        }
        if envelope.facts:
            report["facts"] = dict(envelope.facts)
        if envelope.notes:
            report["notes"] = list(envelope.notes)
        if bytes_of := _bytes({"machine": envelope.machine, **envelope.facts}):
            report["bytes"] = bytes_of
        yield json_text(report, compact=True)

    def end(self) -> Iterator[str]:
        """No lines at the end: every line was complete when written."""
        return iter(())


def _described(table: AnyTable, column: Column[Any]) -> dict[str, str]:
    formula = table.formula(column)
    return {"id": column.id, "unit": column.unit, **({"formula": formula} if formula else {})}


def _row(table: AnyTable, row: Any) -> dict[str, object]:
    identity = table.identify(row)
    cells = {column.id: table.cell(column, row) for column in measures(table)}
    found: dict[str, object] = {"row": identity.kind, **identity.names,
                                "values": {name: cell.value for name, cell in cells.items()}}
    marks: dict[str, object] = {
        "bytes": _bytes({**identity.names, **{name: cell.value for name, cell in cells.items()}}),
        "why": {name: cell.why.sentence() for name, cell in cells.items()
                if cell.value is None and cell.why is not None},
        "disputed": {name: "; ".join(cell.disputed) for name, cell in cells.items() if cell.disputed},
        "estimated": [name for name, cell in cells.items() if cell.estimated],
        "partial": [name for name, cell in cells.items() if cell.partial],
        "outstanding": [name for name, cell in cells.items() if cell.outstanding],
    }
    return found | {word: mark for word, mark in marks.items() if mark}


def _bytes(values: Mapping[str, object]) -> dict[str, str]:
    return {name: found for name, value in values.items()
            if isinstance(value, str) and (found := bytes_in_base64(value)) is not None}
