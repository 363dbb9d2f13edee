"""OpenMetrics of any table is read back by Prometheus' own parser, whatever its texts are."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from turbotui.machine.host import HostKind
from turbotui.quantities.columns import Column
from turbotui.quantities.tables import RowTable
from turbotui.tables.envelope import Envelope
from turbotui.tables.openmetrics import OpenMetricsText
from turbotui.untrusted import one_line


@given(st.text())
@example('x"} 1\n# EOF\ny\t\\n"')
def test_a_name_from_outside_stays_in_its_label(text: str) -> None:
    name = one_line(text)
    columns: tuple[Column[float], ...] = (
        Column("name", "", -1, (), lambda _row: name, width=4, identity=True),
        Column("busy", "%", 0, (), lambda row: row, width=1, help=f"Busy: {name}"),
    )
    writer = OpenMetricsText()
    lines = [*writer.lines(Envelope("here", HostKind.REAL, 0), RowTable("t", "row", columns, [2.0])), *writer.end()]
    families = text_string_to_metric_families("\n".join(lines) + "\n")  # type: ignore[no-untyped-call]
    samples = [sample for family in families for sample in family.samples if "busy" in sample.name]
    assert [sample.labels["name"] for sample in samples] == [name.replace("␊", "\n").replace("␉", "\t")]
