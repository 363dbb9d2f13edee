"""e on a thread's point of the roofline: its counts, what they come to, and what they rest on."""

from __future__ import annotations

import textwrap

from turbotui.analysis.roofline.live import Spot
from turbotui.analysis.roofline.telling import told
from turbotui.analysis.tasks.accounts import RUN
from turbotui.analysis.tasks.books import turns_sentence
from turbotui.analysis.tasks.report import Report
from turbotui.analysis.tasks.tables import TaskRow
from turbotui.screens.roofline_view import RoofView
from turbotui.screens.text_window import TextWindow
from turbotui.widgets.cells import UNKNOWN


class ExplainThread(TextWindow):
    """Explains where a thread stands, in each interval anew.

    Args:
        view: of the roofline screen.
        key: the thread's, as of `TaskRow.key`.
    """

    def __init__(self, view: RoofView, key: str) -> None:
        super().__init__(self.told)
        self._view = view
        self._key = key
        self._called = "thread"

    def told(self, width: int) -> tuple[str, list[str]]:
        """What the thread's numbers are now."""
        spot = next((one for one in self._view.spots if one.identity == self._key), None)
        report = self._view.report
        row = None if report is None else next((one for one in report.rows if one.key == self._key), None)
        if spot is None or row is None or report is None:
            return self._called, textwrap.wrap("it did not run in this interval, or its operations were not counted in "
                                             "it; its past is in the data file (X)", width)
        self._called = spot.name
        parts = [told(spot, self._view.roofs(spot.row)), "", *_sums(spot, row, report), "",
                 *_counts(row, report), "", *_rest(row, report)]
        return spot.name, [line for part in parts for line in
                           (textwrap.wrap(part, width, subsequent_indent="  ", drop_whitespace=True) or [""])]


def _sums(spot: Spot, row: TaskRow, report: Report) -> list[str]:
    """What the counts come to."""
    mark = "~" * spot.estimated
    place = f", last on cpu {row.last_cpu}" if row.last_cpu >= 0 else ""
    found = [f"ran: {row.run_seconds:.3f} s of {report.seconds:.3f} s{place}; rates are per second in which it ran",
             f"FLOPs: {mark}{spot.gflops * spot.length * 1e9:,.0f}, {mark}{spot.gflops:.4g} GFLOP/s"]
    if spot.gbytes is not None and spot.width is not None:
        found.append(f"bytes: {mark}{spot.gbytes * spot.length * 1e9:,.0f}, {mark}{spot.gbytes:.4g} GB/s; "
                     f"by: {spot.width.value}")
    elif spot.few_turns:
        found.append("bytes: not known, it did not run while each set was on")
    else:
        why = report.numerics.why
        found.append("bytes: not counted" + ("" if why is None else f", {why.sentence()}"))
    found.append(f"width: mostly {spot.dominant}" if spot.dominant else "width: not counted")
    return found


def _counts(row: TaskRow, report: Report) -> list[str]:
    """Each event's count of the interval; of one whose set never met the thread it is not known."""
    found = ["counts of the interval:"]
    for name in report.names:
        if name == RUN:
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
        always = [name for name in report.names if name not in row.estimated and name != RUN]
        found.append(f"counted by every set: {', '.join(always)}")
        found.append("in turns: " + ", ".join(name for name in report.names if name in row.estimated))
    if row.incomplete:
        found.append("its counters were shared with somebody else: its counts are too low")
    if report.numerics.note:
        found.append(report.numerics.note)
    return found
