"""e on a thread's point of the roofline: its counts, what they come to, and what they rest on."""

from __future__ import annotations

import textwrap

from turbotui.features.roofline.live import RooflinePoint
from turbotui.features.roofline.screen_view import RoofView
from turbotui.features.roofline.verdict_text import verdict_text
from turbotui.features.tasks.application_totals import turns_sentence
from turbotui.features.tasks.columns import TIMES
from turbotui.features.tasks.report import Report
from turbotui.features.tasks.tables import TaskRow
from turbotui.widgets.cells import UNKNOWN


class ExplainedThread:
    """Tells where a thread stands, in each interval anew.

    Args:
        view: of the roofline screen.
        key: the thread's, as of `TaskRow.key`.
    """

    def __init__(self, view: RoofView, key: str) -> None:
        self._view = view
        self._key = key
        self._called = "thread"

    def told(self, width: int) -> tuple[str, list[str]]:
        """What the thread's numbers are now."""
        point = next((one for one in self._view.points if one.identity == self._key), None)
        report = self._view.report
        row = None if report is None else next((one for one in report.rows if one.key == self._key), None)
        if point is None or row is None or report is None:
            return self._called, textwrap.wrap("it did not run in this interval, or its operations were not counted in "
                                             "it; its past is in the data file (X)", width)
        self._called = point.name
        parts = [verdict_text(point, self._view.roofs(point.row)), "", *_sums(point, row, report), "",
                 *_counts(row, report), "", *_rest(row, report)]
        return point.name, [line for part in parts for line in
                           (textwrap.wrap(part, width, subsequent_indent="  ", drop_whitespace=True) or [""])]


def _sums(point: RooflinePoint, row: TaskRow, report: Report) -> list[str]:
    """What the counts come to."""
    mark = "~" * point.estimated
    place = f", last on cpu {row.last_cpu}" if row.last_cpu >= 0 else ""
    found = [f"ran: {row.run_seconds:.3f} s of {report.seconds:.3f} s{place}; rates are per second in which it ran",
             f"FLOPs: {mark}{point.gflops * point.length * 1e9:,.0f}, {mark}{point.gflops:.4g} GFLOP/s"]
    if point.gbytes is not None and point.width is not None:
        found.append(f"bytes: {mark}{point.gbytes * point.length * 1e9:,.0f}, {mark}{point.gbytes:.4g} GB/s; "
                     f"by: {point.width.value}")
    elif point.not_scheduled:
        found.append("bytes: not known, it did not run while each set was on")
    else:
        why = report.numerics.why
        found.append("bytes: not counted" + ("" if why is None else f", {why.sentence()}"))
    found.append(f"width: mostly {point.dominant}" if point.dominant else "width: not counted")
    return found


def _counts(row: TaskRow, report: Report) -> list[str]:
    """Each event's count of the interval; of one whose set never met the thread it is not known."""
    found = ["counts of the interval:"]
    for name in report.names:
        if name in TIMES:
            continue  # said above in seconds
        count = row.counts.get(name)
        text = f"{UNKNOWN}, it did not run while this was counted" if count is None else (
            f"{'~' * (name in row.estimated)}{count:,}")
        found.append(f"{name}: {text}")
    return found


def _rest(row: TaskRow, report: Report) -> list[str]:
    """What the counts rest on."""
    found = []
    if report.turns > 1:
        found.append(turns_sentence(report.turns))
        always = [name for name in report.names if name not in row.estimated and name not in TIMES]
        found.append(f"counted by every set: {', '.join(always)}")
        found.append("in turns: " + ", ".join(name for name in report.names if name in row.estimated))
    if row.incomplete:
        found.append("its counters were shared with somebody else: its counts are too low")
    if report.numerics.note:
        found.append(report.numerics.note)
    return found
