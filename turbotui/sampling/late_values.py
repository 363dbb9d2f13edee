"""Keep the last values of late readers: they start the next difference and are shown as old until then.

Counters are cumulative: a CPU that did not answer in one interval has those counts in its next, longer interval.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from turbotui.quantities.signals import Raw, SignalId
from turbotui.sampling.answers import SHARED
from turbotui.sampling.arithmetic import packed
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.plan import reading_cpus
from turbotui.sampling.snapshot import Snapshot


def empty_places(snapshot: Snapshot, capabilities: Capabilities) -> Mapping[SignalId, Sequence[int]]:
    """The positions, by signal, that late readers left empty in a snapshot."""
    places: dict[SignalId, Sequence[int]] = {}
    shared = SHARED in snapshot.late
    for name in snapshot.values:  # not their columns: those of a recorded tick are decoded when they are asked for
        late: Sequence[int] = ()
        if not capabilities.provider[name].shared:
            readers = reading_cpus(capabilities.signals[name], snapshot.topology)
            late = [position for position, cpu in enumerate(readers) if cpu in snapshot.late]
        elif shared:
            late = range(len(snapshot.values[name]))
        values = snapshot.values[name] if late else ()
        empty = [position for position in late if values[position] is None]
        if empty:
            places[name] = empty
    return places


def filled(snapshot: Snapshot, before: Snapshot | None, places: Mapping[SignalId, Sequence[int]]) -> Snapshot:
    """A snapshot with an earlier one's values and stamps at these positions by signal.

    Without an earlier snapshot, or where CPUs came or went, the positions become unknown.
    """
    usable = before is not None and before.topology is snapshot.topology
    values: dict[SignalId, Sequence[Raw]] = {}
    stamps: dict[SignalId, Sequence[int]] = {}
    fresh = dict(snapshot.fresh)
    moments: dict[tuple[int, ...], Sequence[int]] = {}
    for name, positions in places.items():
        if name not in snapshot.values:
            continue
        known = before if before is not None and usable and name in before.values else None
        earlier, at = (None, None) if known is None else (known.values[name], known.stamps[name])
        words: list[Raw] = list(snapshot.values[name])
        for position in positions:
            words[position] = None if earlier is None else earlier[position]
        values[name] = packed(words)  # as objects a column takes five times as much
        own = snapshot.stamps[name]
        key = (id(own), id(at), *positions)
        if key not in moments:  # signals that were read together go on sharing their stamps
            moved = list(own)
            for position in positions:
                moved[position] = 0 if at is None else at[position]
            moments[key] = packed(moved)
        stamps[name] = moments[key]
        began = () if known is None else known.fresh.get(name, frozenset()).intersection(positions)
        if began:
            fresh[name] = fresh.get(name, frozenset()).union(began)
    return replace(snapshot, values=ChainMap(values, cast("dict[SignalId, Sequence[Raw]]", snapshot.values)),
                   stamps=ChainMap(stamps, cast("dict[SignalId, Sequence[int]]", snapshot.stamps)), fresh=fresh)


class FrameMaker:
    """Makes a frame of each snapshot and the one before; a late reader's next difference starts at its last answer.

    Attributes:
        last: the start of the next difference; None before the first snapshot.
    """

    def __init__(self) -> None:
        self.last: Snapshot | None = None
        self._earlier: Snapshot | None = None

    def frame(self, snapshot: Snapshot, capabilities: Capabilities) -> Frame:
        """The frame of the next snapshot."""
        base, earlier = self.last, self._earlier
        places = empty_places(snapshot, capabilities) if snapshot.late and base is not None else {}
        if not places or base is None:
            self._earlier, self.last = base, snapshot
            return Frame(base, snapshot, capabilities)
        held = filled(base, earlier, places), filled(snapshot, base, places)
        self._earlier, self.last = held
        return Frame(base, snapshot, capabilities, held)
