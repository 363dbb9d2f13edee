"""Records a session to a file until it ends, or while a command runs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from turbotui.commands.recording import kept_columns, recorded_rows
from turbotui.dataclass import dataclass
from turbotui.diagnosis.recorded_looks import PacedLooks
from turbotui.errors import UsageError, nearest
from turbotui.installed_features import contained
from turbotui.machine.machine import Machine
from turbotui.machine.observing import Observation, observe
from turbotui.machine.region_pipes import RegionPipe
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.framing import RecordingError
from turbotui.recording.recorded_tables import RecordingRequest, RowRecorder, known_tables
from turbotui.recording.recorder import FrameRecorder
from turbotui.sampling.bus import EveryItem
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_tables import known_kinds
from turbotui.sampling.sampled import raise_failure
from turbotui.sampling.selection import why_absent
from turbotui.sampling.session import Session
from turbotui.threads import NamedThread

_FIRST = 2  # readings after which requested tables have rows, or a reason
_QUEUE = 256  # frames that wait for a slow disk; further ones are lost, and counted in the recording

@dataclass(slots=True)
class RecordingResult:
    """The result of a recording."""

    readings: int = 0  # the number of ticks
    # first_ns, last_ns: wall clocks of the first and the last tick
    first_ns: int = 0
    last_ns: int = 0
    size: int = 0  # bytes of all files
    failure: str = ""  # why it ended early; "" if it did not
    status: int = 0  # exit status of the command; 0 without one
    # why requested tables were not recorded, by the words for their rows
    missing: Mapping[str, str] = field(default_factory=dict)


class LookRecorder(RowRecorder):
    """Looks at tasks, groups and settings for the diagnosis of the recording."""

    what = "tasks behind causes of slowness"

    def __init__(self, machine: Machine, recorder: FrameRecorder) -> None:
        super().__init__(recorder)
        self._looks = PacedLooks(machine.host)

    def start(self) -> None:
        """Take the look to which the first interval's is compared."""
        self._looks.look()

    def end_interval(self, frame: Frame) -> None:
        """Look again, if it is time to."""
        if (record := self._looks.record(frame)) is not None:
            self._record(record)


def prepare(session: Session, columns: Sequence[CounterColumn], tables: Container[str]
            ) -> tuple[tuple[CounterColumn, ...], tuple[str, ...]]:
    """Have a session read what a recording holds.

    Args:
        columns: those that are shown.
        tables: see `record`.

    Returns:
        The columns that are read, and notes on sources that are not.
    """
    wanted = list(columns)
    for table in known_tables():
        if table.columns is not None and any(word in tables for word in table.words):
            wanted += contained(table.columns, session.catalog.columns) or ()
    wanted += kept_columns(session.catalog, session.capabilities, session.machine.topology)
    chosen = tuple(dict.fromkeys(wanted))
    session.want(column.id for column in chosen)
    contained_sources = (contained(table.sources, session.machine, tables)
                         for table in known_tables() if table.sources is not None)
    beside = [sources for sources in contained_sources if sources is not None]
    session.read_also([source for part in beside for source in part.sources],
                      frozenset().union(*(part.signals for part in beside)))
    return chosen, tuple(note for part in beside for note in part.notes)


def absent_columns(session: Session, columns: Iterable[CounterColumn], choices: Iterable[tuple[str, str]]
                   ) -> Iterator[str]:
    """A sentence for each column that a user named and this machine does not have.

    Args:
        columns: those that are shown.
        choices: of `choose_columns`.
    """
    named = {word.strip().lower() for _verb, words in choices for word in words.split(",")}
    for column in columns:
        if "added" in column.groups or column.id.lower() in named:
            why = why_absent(column, session.capabilities, session.machine.topology)
            if why is not None:
                yield f"{column.id} is not recorded: {why.sentence()}"


def requested_tables(text: str) -> tuple[str, ...]:
    """The tables to record beside the CPUs that --tables names, each once.

    Raises:
        UsageError: there is no such table, or two exclude each other.
    """
    names = [name.strip() for name in text.split(",") if name.strip() not in ("", "cpus")]
    known = (*(word for tables in known_tables() for word in tables.words), *known_kinds())
    for name in names:
        if name not in known:
            hint = nearest(name, known, 2) or f"; there are cpus (always), {', '.join(known)}"
            raise UsageError(f'--tables: "{name}" cannot be recorded{hint}')
    for table in known_tables():
        together = [name for name in names if name in table.words]
        if table.exclusive and len(set(together)) > 1:
            raise UsageError(f"--tables {','.join(together)}: {table.exclusive}: record one of them")
    return tuple(dict.fromkeys(names))


def refuse_marks(tables: Container[str]) -> None:
    """Refuse tables of what a command marks. Raises UsageError if there is one."""
    marked = next((word for table in known_tables() for word in table.marked if word in tables), None)
    if marked is not None:
        raise UsageError(f"--tables {marked}: a command marks them: turbotui record FILE --tables {marked} -- COMMAND")


def record(session: Session, recorder: FrameRecorder, *, intervals: int | None = None,
           command: Sequence[str] = (), take_marks: Callable[[], int] = int,
           tables: Container[str] = (), tell: Callable[[str, str], None] = lambda _what, _why: None) -> RecordingResult:
    """Sample a session that is not started yet, and record every frame.

    Args:
        recorder: the recorder, which is closed at the end.
        intervals: the number of intervals; None until the session is stopped.
        command: a command to run meanwhile, whose end ends the recording; its counters are open before it begins.
        take_marks: returns the number of marks that the user set since its last call.
        tables: words of `known_tables` and ids of kinds; those with rows of their own are recorded, too.
        tell: takes an item of the result's `missing` as soon as it is known.

    Raises:
        TurbotuiError: the sampling failed, or the command cannot be run.
    """
    result = RecordingResult()
    with contextlib.ExitStack() as stack:
        stack.callback(recorder.close)
        marks = any(word in tables for known in known_tables() for word in known.marked)
        pipe = stack.enter_context(RegionPipe()) if command and marks else None
        prepare = None if pipe is None else pipe.announce
        seen = stack.enter_context(observe(command, prepare=prepare)) if command else None
        request = RecordingRequest(session, recorder, tables, pipe, 0 if seen is None else seen.commands[0].pid)
        for known in known_tables():
            if known.recorders is not None:
                contained(known.recorders, request)
        beside = [LookRecorder(session.machine, recorder), *request.made]
        for row_recorder in beside:
            stack.callback(contained, row_recorder.stop)
            contained(row_recorder.start)
        rows = recorded_rows(tables)
        session.read_rows(recorder, rows)

        def note_missing(frame: Frame | None) -> None:
            missing = {row_recorder.what: row_recorder.failure for row_recorder in beside if row_recorder.failure}
            missing |= recorder.failures
            for source in rows:
                of_kind = None if frame is None else frame.kind(source.kind.id)
                if isinstance(of_kind, Unavailable):
                    missing[source.kind.title] = of_kind.sentence()
            known, result.missing = result.missing, missing
            for what in result.missing.keys() - known.keys():
                tell(what, result.missing[what])

        frames: EveryItem[Frame] = EveryItem(_QUEUE)
        session.start(frames.put, intervals=intervals, on_end=frames.close)
        stack.callback(session.stop)
        watcher: threading.Thread | None = None
        for frame in _with_losses(frames, recorder, result):
            _each(beside, "settle")
            _take(recorder, frame, result, take_marks)
            _each(beside, "end_interval", frame)
            if result.readings == _FIRST:
                note_missing(frame)
            if seen is not None and watcher is None:  # now every counter is open
                seen.run()
                watcher = NamedThread(target=_stop_behind, args=(seen, session), name="command", daemon=True)
                watcher.start()
            if result.failure and seen is None:
                session.stop(0.0)
        if seen is not None and watcher is not None:
            watcher.join()
            result.status = seen.commands[0].status or 0
        _each(beside, "stop")
        note_missing(session.latest)
        raise_failure(session)
    result.size = recorder.size
    return result


def _each(beside: Iterable[RowRecorder], step: str, *values: object) -> None:
    for row_recorder in beside:
        contained(getattr(row_recorder, step), *values)


def _stop_behind(seen: Observation, session: Session) -> None:
    """End the last interval together with the command."""
    seen.wait()
    session.stop(0.0)


def _with_losses(frames: EveryItem[Frame], recorder: FrameRecorder, result: RecordingResult) -> Iterator[Frame]:
    lost = 0
    for frame in frames:
        if frames.lost > lost and not result.failure:
            recorder.lost(frames.lost - lost)
            lost = frames.lost
        yield frame


def _take(recorder: FrameRecorder, frame: Frame, result: RecordingResult, take_marks: Callable[[], int]) -> None:
    if result.failure:
        return  # the command continues, and the recording so far stays
    try:
        for _ in range(take_marks()):
            recorder.mark("SIGUSR1")
        recorder.take(frame)
    except RecordingError as error:
        result.failure = str(error)
        return
    result.first_ns = result.first_ns or frame.newer.wall_ns
    result.last_ns = frame.newer.wall_ns
    result.readings += 1
