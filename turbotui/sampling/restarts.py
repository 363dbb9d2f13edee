"""What keeps a counter's difference from spanning snapshots that are left out: it began anew, or may have wrapped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from turbotui.quantities.signals import SignalId
from turbotui.sampling.snapshot import Snapshot

_Positions: TypeAlias = Mapping[SignalId, "frozenset[int]"]


class Restarts:
    """`fresh` and `unsure` of snapshots that are left out, for the next one that is kept.

    Positions are those of one topology. Once CPUs came or went in between, a counter that began anew somewhere has no
    difference anywhere until then: a CPU that leaves and returns would otherwise hide what was opened anew meanwhile.
    """

    def __init__(self) -> None:
        self._fresh: _Positions = {}
        self._unsure: _Positions = {}
        self._cpus: tuple[int, ...] = ()

    def skip(self, snapshot: Snapshot) -> None:
        """Keep the facts of a snapshot that is left out."""
        joined = self.added_to(snapshot)
        self._fresh, self._unsure, self._cpus = joined.fresh, joined.unsure, snapshot.topology.cpus

    def added_to(self, snapshot: Snapshot) -> Snapshot:
        """Return a snapshot with the facts of those before it; signals that it did not read need none."""
        if not self._fresh and not self._unsure:
            return snapshot
        return replace(snapshot, fresh=self._joined(self._fresh, snapshot.fresh, snapshot),
                       unsure=self._joined(self._unsure, snapshot.unsure, snapshot))

    def _joined(self, before: _Positions, now: _Positions, snapshot: Snapshot) -> dict[SignalId, frozenset[int]]:
        moved = snapshot.topology.cpus != self._cpus
        return {**now, **{
            name: frozenset(range(len(values))) if moved else positions | now[name] if name in now else positions
            for name, positions in before.items() if positions and (values := snapshot.values.get(name)) is not None}}
