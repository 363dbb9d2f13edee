"""What every recording holds, whichever verb or key makes it."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace

from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.feature_list import FEATURES, part_called
from turbotui.machine.gathered.noting_host import NotingHost
from turbotui.machine.machine import Machine
from turbotui.machine.topology import Topology
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.columns import CounterColumn
from turbotui.recording.kept_files import kept_of
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.recording.recorder import FrameRecorder, Recorder
from turbotui.recording.rotation import Retention, RotatingRecorder
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.row_tables import known_kinds
from turbotui.sampling.row_workers import RowSource
from turbotui.sampling.selection import available_columns


def kept_answers(machine: Machine) -> KeptAnswers:
    """Read the files and registers that features need of a recorded machine, to keep them."""
    host = NotingHost(machine.host)
    noted = replace(machine, host=host)
    for feature in FEATURES:
        part_called(feature.gathers, object, noted)
    return kept_of(host.gathered(""))


def kept_columns(catalog: Catalog, capabilities: Capabilities, topology: Topology) -> tuple[CounterColumn, ...]:
    """The columns that a recording holds whatever is shown: what the rules of the diagnosis and features need."""
    has = available_columns(catalog, capabilities, topology)
    columns = [*MachineDiagnosis(catalog).wanted(has.__contains__)]
    for feature in FEATURES:
        columns += part_called(feature.kept, CounterColumn, catalog, has)
    return tuple(dict.fromkeys(columns))


def recorded_rows(tables: Container[str] = ()) -> tuple[RowSource, ...]:
    """The sources of the rows that a recording has: always, and because its tables name their kinds."""
    return tuple(definition.source for definition in known_kinds().values()
                 if definition.kept or definition.source.kind.id in tables)


def open_recorder(path: str, machine: Machine, retention: Retention | None,
                  command: Sequence[str] = ()) -> FrameRecorder:
    """Open a recorder for a machine, with the words of the recorded command, if any.

    Raises:
        RecordingError: as `Recorder`.
    """
    kept = kept_answers(machine)
    if retention is None:
        return Recorder(path, machine, kept=kept, command=command)
    return RotatingRecorder(path, machine, retention, kept=kept, command=command)
