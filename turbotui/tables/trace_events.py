"""Lines of a Chrome trace: JSON that ui.perfetto.dev, chrome://tracing and Perfetto's trace processor open.

The format is Google's "Trace Event Format" (catapult): an object with `traceEvents`, in any order. An event has `ph`
(X: a slice with `dur`; C: a sample of a counter; i: an instant; M: the name of a process or thread), `ts` and `dur` in
microseconds, which may have a fraction, and `pid` and `tid`, which need not be those of any process. Slices of one
thread lie in each other or apart. A counter holds its last value until its next sample, and has no word for unknown;
readers take null as an error, or as 0. So a counter gets no sample while its value is unknown, and a track beside it,
named after it, has a slice for that time with the reason; a value with marks has such a slice with their names.

Every `tid` is used once, since some versions of Perfetto name threads by it alone, and none is 0, which it gives to
the idle task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.sampling.frame import Frame
from turbotui.untrusted import json_text

MOST_BYTES: Final = 48_000_000
"""Bytes of all events of a trace, but for the names of its tracks. Perfetto's user interface
needs some ten times as much memory, in a browser."""
_SHARES: Final = {"counters": 0.6, "slices": 0.3, "notes": 0.1}
"""The part of `MOST_BYTES` that events of each kind may take; notes are gaps, marks of values and instants."""
_WORDS: Final = {"counters": "samples of counters", "slices": "slices", "notes": "gaps, marks of values and instants"}
_SAMPLE_BYTES: Final = 100
_SLICE_BYTES: Final = 220
"""Bytes of most samples of counters, and of most slices with their arguments."""
_LONGEST_NAME: Final = 200
"""Characters of a name; what is cut off is in no event."""
_MOST_TRACKS: Final = 5_000


@dataclass(frozen=True, slots=True)
class TraceSlice:
    """Something that lasted, on a track."""

    group: str  # title of the group of tracks
    track: str  # name of the track, unique in its group
    name: str
    # start_ns, end_ns: by the clock of the trace, in ns
    start_ns: int
    end_ns: int
    args: Mapping[str, object] | None = None  # what a reader shows beside it


@dataclass(frozen=True, slots=True)
class TraceRoom:
    """What a trace has room for."""

    size: int = MOST_BYTES  # bytes

    @property
    def samples(self) -> int:
        """The number of samples of counters for which there is room."""
        return round(_SHARES["counters"] * self.size) // _SAMPLE_BYTES

    @property
    def slices(self) -> int:
        """The number of slices for which there is room."""
        return round(_SHARES["slices"] * self.size) // _SLICE_BYTES


@dataclass(frozen=True, slots=True)
class TracedRows:
    """What a feature adds to the trace of a recording (`feature.Feature.traced`)."""

    # the slices of an interval, in the order of time on each track, and how many of them there may be at most
    slices: Callable[[Frame, int], Iterable[TraceSlice]]
    notes: Callable[[], Iterable[str]]  # what a reader of the slices has to know
    thinned: Callable[[], Iterable[str]]  # what was left out of them so far


class TraceEvents:
    """Makes the lines of a trace, which together are one JSON object.

    Slices of one track are expected in the order of time: one that begins before the end of the last one is cut.

    Args:
        room: what it has room for.
    """

    def __init__(self, room: TraceRoom | None = None) -> None:
        self._size = (room or TraceRoom()).size
        self._began_ns = 0
        self._left_out: Counter[str] = Counter()
        self._separator = ""
        self._lines: list[str] = ['{"displayTimeUnit":"ms","traceEvents":[']
        self._room = {kind: share * self._size for kind, share in _SHARES.items()}
        self._groups: dict[str, int] = {}
        self._tracks: dict[tuple[str, str], int] = {}
        self._ends: dict[int, int] = {}

    def begin(self, began_ns: int) -> None:
        """Say which moment is 0 in the trace, before the first event."""
        self._began_ns = began_ns

    def left_out_words(self) -> Iterator[str]:
        """What was left out for want of room."""
        for kind, count in self._left_out.items():
            yield f"{count:,} {_WORDS[kind]} are left out, to keep the trace below {self._size / 1e6:g} MB"

    def take(self) -> list[str]:
        """The lines that were made since the last call."""
        lines, self._lines = self._lines, []
        return lines

    def finish(self, facts: Mapping[str, object]) -> Iterator[str]:
        """The last lines.

        Args:
            facts: facts of the whole trace, which its reader shows as metadata.
        """
        yield from self.take()
        yield f'],"otherData":{json_text(dict(facts), compact=True)}}}'

    def slice(self, trace_slice: TraceSlice, kind: str = "slices") -> None:
        """Add a slice; what lies before the end of the last slice of its track is cut off."""
        if len(self._tracks) >= _MOST_TRACKS and (trace_slice.group, trace_slice.track) not in self._tracks:
            self._left_out[kind] += 1
            return
        track = self._track(trace_slice.group, trace_slice.track)
        start = max(trace_slice.start_ns, self._ends.get(track, trace_slice.start_ns), self._began_ns)
        if trace_slice.end_ns <= start:
            return
        event: dict[str, object] = {"ph": "X", "pid": self._group(trace_slice.group), "tid": track,
                                    "ts": self._us(start),
                                    "dur": (trace_slice.end_ns - start) / 1e3, "name": _bounded(trace_slice.name)}
        if trace_slice.args:
            event["args"] = dict(trace_slice.args)
        if self._put(kind, event):
            self._ends[track] = trace_slice.end_ns

    def counter(self, group: str, name: str, unit: str, at_ns: int, value: float) -> bool:
        """Add a sample of a counter; returns whether there was room."""
        return self._put("counters", {"ph": "C", "pid": self._group(group), "ts": self._us(at_ns),
                                      "name": _bounded(name), "args": {unit or "value": value}})

    def instant(self, name: str, at_ns: int, category: str) -> None:
        """Add a moment of the whole trace."""
        self._put("notes", {"ph": "i", "s": "g", "cat": category, "pid": self._group("events"),
                            "tid": self._track("events", category), "ts": self._us(max(at_ns, self._began_ns)),
                            "name": _bounded(name)})

    def _us(self, ns: int) -> float:
        return (ns - self._began_ns) / 1e3

    def _group(self, title: str) -> int:
        known = self._groups.get(title)
        if known is None:
            known = self._groups[title] = len(self._groups) + 1
            self._name("process", {"pid": known}, title, known)
        return known

    def _track(self, group: str, name: str) -> int:
        known = self._tracks.get((group, name))
        if known is None:
            pid = self._group(group)
            known = self._tracks[group, name] = 1_000_000 + len(self._tracks)
            self._name("thread", {"pid": pid, "tid": known}, name, len(self._tracks))
        return known

    def _name(self, what: str, ids: Mapping[str, int], name: str, place: int) -> None:
        """Give a process or a thread of the trace its name and its place in the picture."""
        for word, args in (("name", {"name": _bounded(name)}), ("sort_index", {"sort_index": place})):
            self._put("notes", {"ph": "M", **ids, "name": f"{what}_{word}", "args": args}, needed=True)

    def _put(self, kind: str, event: Mapping[str, object], *, needed: bool = False) -> bool:
        line = f"{self._separator}{json_text(event, compact=True)}"
        size = len(line.encode()) + 1
        if size > self._room[kind] and not needed:
            self._left_out[kind] += 1
            return False
        self._room[kind] -= size
        self._separator = ","
        self._lines.append(line)
        return True


def _bounded(text: str) -> str:
    return text if len(text) <= _LONGEST_NAME else f"{text[:_LONGEST_NAME - 1]}…"
