"""The doctor's report as tables: sources, and the signals of each."""

from __future__ import annotations

from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.doctor.model import Diagnosis, SignalReport, SourceReport, diagnose
from turbotui.machine.machine import Machine
from turbotui.quantities.columns import Column
from turbotui.quantities.sentences import yes_or_no
from turbotui.quantities.tables import RowTable
from turbotui.sampling.capabilities import Capabilities
from turbotui.tables.envelope import FeatureReport


@dataclass(frozen=True, slots=True)
class SourceSignal:
    """A signal with the source that was probed for it."""

    source: SourceReport
    signal: SignalReport


SOURCE_COLUMNS: Final[tuple[Column[SourceReport], ...]] = (
    Column("source", "", -1, (), lambda report: report.id, help="the source's name", identity=True),
    Column("title", "", -1, (), lambda report: report.title, help="the source in words"),
    Column("state", "", -1, (), lambda report: report.state.value, help="ready, partial or absent"),
    Column("gives", "", -1, (), lambda report: report.gives, help="what the source provides"),
    Column("usable", "", 0, (), lambda report: sum(signal.usable for signal in report.signals),
           help="number of signals that it provides on this machine"),
    Column("missing", "", 0, (), lambda report: sum(not signal.usable for signal in report.signals),
           help="number of signals that it cannot provide on this machine"),
    Column("detail", "", -1, (), lambda report: report.detail, help="reason for which signals are missing"),
    Column("remedy", "", -1, (), lambda report: report.remedy, help="what the user can do about missing signals"),
)
SIGNAL_COLUMNS: Final[tuple[Column[SourceSignal], ...]] = (
    Column("source", "", -1, (), lambda signal: signal.source.id, help="name of the source", identity=True),
    Column("signal", "", -1, (), lambda signal: signal.signal.id, help="name of the signal", identity=True),
    Column("usable", "", -1, (), lambda signal: yes_or_no(signal.signal.usable),
           help="whether this source can provide the signal on this machine"),
    Column("chosen", "", -1, (), lambda signal: yes_or_no(signal.signal.chosen),
           help="whether the signal is read from this source"),
    Column("compared", "", -1, (), lambda signal: yes_or_no(signal.signal.compared),
           help="whether the signal is also read from this source, for comparison with the chosen one"),
    Column("origin", "", -1, (), lambda signal: signal.signal.origin, help="register, event or file that is read"),
    Column("reason", "", -1, (), lambda signal: signal.signal.reason, help="kind of reason for the absence"),
    Column("detail", "", -1, (), lambda signal: signal.signal.detail, help="what was tried, with the result"),
    Column("remedy", "", -1, (), lambda signal: signal.signal.remedy, help="what the user can do about the absence"),
)


def source_table(diagnosis: Diagnosis) -> RowTable[SourceReport]:
    """Make a table with a row for each source."""
    return RowTable("sources", "source", SOURCE_COLUMNS, diagnosis.sources)


def signal_table(diagnosis: Diagnosis) -> RowTable[SourceSignal]:
    """Make a table with a row for each signal of each source that was probed for it."""
    rows = tuple(SourceSignal(source, signal) for source in diagnosis.sources for signal in source.signals)
    return RowTable("signals", "signal", SIGNAL_COLUMNS, rows)


def report(machine: Machine, capabilities: Capabilities) -> FeatureReport:
    """The doctor's report for a gathered file."""
    diagnosis = diagnose(machine, capabilities)
    facts = {name: value for name, value in diagnosis.facts if name != "machine"}
    return FeatureReport(facts, diagnosis.notes, (source_table(diagnosis), signal_table(diagnosis)))
