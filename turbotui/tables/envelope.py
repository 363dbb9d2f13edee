"""The envelope: of what machine, when and over which time the numbers of a table are."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime

from turbotui.dataclass import dataclass
from turbotui.machine.host import Host, HostKind
from turbotui.quantities.columns import Value


@dataclass(frozen=True, slots=True)
class Envelope:
    """The envelope of tables: what every format says beside them.

    Attributes:
        machine: its name.
        kind: whether it is the real one.
        wall_ns: end of the interval, or when the table was made, in nanoseconds since 1970.
        seconds: length of the interval; None where the table is of no interval.
        said: what the numbers of a table are, where that is not in its titles: stands in its first line.
        facts: what is true of the whole table, by name.
        notes: sentences that a reader of the numbers has to know.
    """

    machine: str
    kind: HostKind
    wall_ns: int
    seconds: float | None = None
    said: str = ""
    facts: Mapping[str, Value] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def time(self) -> str:
        """The moment in UTC, to the millisecond, as ISO 8601 has it."""
        return timestamp(self.wall_ns)

    @property
    def is_simulated(self) -> bool:
        """Whether no machine was measured: a simulated one, or a recording of one, which says so in its name."""
        return self.kind is HostKind.SIMULATED or self.machine.endswith(f"({HostKind.SIMULATED.value})")

    @property
    def label(self) -> str:
        """The mark of a machine that is simulated or recorded, for texts; "" for the real one."""
        if self.kind is HostKind.REAL:
            return ""
        return f"{self.kind.value} machine {self.machine}: nothing here was {self.kind.measured}"


def envelope_now(host: Host, facts: Mapping[str, Value] | None = None, notes: tuple[str, ...] = ()) -> Envelope:
    """The envelope of a table that is made at this moment, and of no interval."""
    return Envelope(host.name, host.kind, time.time_ns(), facts=facts or {}, notes=notes)


def timestamp(wall_ns: int) -> str:
    """A moment in UTC, to the millisecond, as ISO 8601 has it."""
    moment = datetime.fromtimestamp(wall_ns / 1e9, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
