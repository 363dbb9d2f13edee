"""The command that waited longest for a CPU in a recording, and who ran meanwhile."""

from __future__ import annotations

from dataclasses import replace

from turbotui.diagnosis.wait_tails import NamedWaits, RecordedWaits, sentence_of
from turbotui.features.tasks.recorded_tasks import tasks_of
from turbotui.features.tasks.tables import Grouping
from turbotui.quantities.histograms import Buckets, bucket_bounds
from turbotui.recording.journal import Journal
from turbotui.sampling.frame import Frame


class CommandWaits(RecordedWaits):
    """The waits of commands, added up over intervals."""

    def __init__(self, journal: Journal) -> None:
        self._rows, self._model = journal.rows, journal.machine.model
        self._waited: dict[str, NamedWaits] = {}
        self._wakeups = True
        self._lost = False

    def look(self, frame: Frame) -> str:
        """Add the recorded waits of a frame's interval; "" as soon as records of switches were lost."""
        record = tasks_of(self._rows, frame, self._model, Grouping.COMMAND)
        for report in () if record is None else record.reports[Grouping.COMMAND]:
            for row in report.rows:
                waits = row.waits
                if waits is None or waits.waited is None or waits.why_no_lengths is not None:
                    continue  # the rows that waited most often have lengths
                self.recorded = True
                self._wakeups &= waits.why_no_wakeups is None
                self._lost |= waits.lost > 0
                waited = replace(waits.waited, ended=_sum_of(waits.waited.lengths))
                self._waited.setdefault(row.name, NamedWaits()).add(waited, waits.behind)
        return "" if self._lost else sentence_of(self._waited, wakeups=self._wakeups)


def _sum_of(lengths: Buckets) -> int:
    """The sum of the lengths of waits in ns, to 1/32: a recording has their histogram."""
    return sum(count * sum(bucket_bounds(bucket)) // 2 for bucket, count in lengths.items())
