"""The envelope: the machine, the time and the interval that a table's numbers describe."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostKind
from turbotui.quantities.columns import Value
from turbotui.quantities.tables import AnyTable


@dataclass(frozen=True, slots=True)
class Envelope:
    """What every format says about a set of tables."""

    machine: str  # its name
    kind: HostKind  # REAL, SIMULATED or RECORDED
    wall_ns: int  # end of the interval, or the time at which the table was made, in nanoseconds since 1970
    seconds: float | None = None  # length of the interval; None if the table describes no interval
    meaning: str = ""  # what the numbers of a table mean beyond its titles, shown in its first line
    facts: Mapping[str, Value] = field(default_factory=dict)  # facts about the whole table, by name
    notes: tuple[str, ...] = ()  # sentences that a reader of the numbers needs

    @property
    def time(self) -> str:
        """The moment in UTC, to the millisecond, in ISO 8601."""
        return timestamp(self.wall_ns)

    @property
    def is_simulated(self) -> bool:
        """Whether nothing was measured: a simulated machine, or a recording of one, which has it in its name."""
        return self.kind is HostKind.SIMULATED or self.machine.endswith(f"({HostKind.SIMULATED.value})")

    @property
    def label(self) -> str:
        """The mark of a simulated or recorded machine in texts; "" for the real one."""
        if self.kind is HostKind.REAL:
            return ""
        return f"{self.kind.value} machine {self.machine}: nothing here was {self.kind.measured}"

    def heading(self, name: str, *more: str) -> str:
        """The first line of a table for people: its name, the time, further words, and the label."""
        return f"# {', '.join(filter(None, (name, self.time, *more, self.label)))}"


@dataclass(frozen=True, slots=True)
class FeatureReport:
    """What a feature reports of a machine, for a gathered file (`feature.Feature.report`)."""

    facts: Mapping[str, Value]  # about the machine, by name
    notes: tuple[str, ...]
    tables: tuple[AnyTable, ...]


def envelope_now(host: Host, facts: Mapping[str, Value] | None = None, notes: tuple[str, ...] = ()) -> Envelope:
    """The envelope of a table that is made now and describes no interval."""
    return Envelope(host.name, host.kind, time.time_ns(), facts=facts or {}, notes=notes)


def timestamp(wall_ns: int) -> str:
    """A moment in UTC, to the millisecond, in ISO 8601."""
    moment = datetime.fromtimestamp(wall_ns / 1e9, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
