"""State that all screens share: the watched machine, the visible columns, the past."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from turbotui.app.column_requests import AbsentColumns, ColumnRequests
from turbotui.app.past import PastEvent, TimeCursor
from turbotui.app.player import Player
from turbotui.app.sessions import FocusedSession, SpiedSession, WatchedSession
from turbotui.dataclass import dataclass
from turbotui.machine.view import kernel_release
from turbotui.quantities.columns import ColumnId, CounterColumn
from turbotui.quantities.filters import FilterError
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.signals import SignalId
from turbotui.quantities.spies import SpyPlan
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.answers import SHARED
from turbotui.sampling.frame import Frame
from turbotui.sampling.history import FrameTime, History, frame_time
from turbotui.sampling.limits import LONGEST_INTERVAL, SHORTEST_INTERVAL, next_interval
from turbotui.sampling.row_workers import RowSource
from turbotui.sampling.selection import default_columns, starting_columns
from turbotui.sources.source import Source
from turbotui.widgets.arrangement import ColumnArrangement
from turbotui.widgets.levels import FrameLevels
from turbotui.widgets.profiles import Profile
from turbotui.widgets.row_charts import past_of

if TYPE_CHECKING:  # most users record nothing and run no command
    from turbotui.app.alerting import Alerting
    from turbotui.app.beside import BesideCommand
    from turbotui.app.judge import Judge
    from turbotui.app.live_recorder import LiveRecorder
    from turbotui.diagnosis.rules import SlownessRule
    from turbotui.quantities.presentation import Limits
    from turbotui.recording.rows import IntervalRows

class RowRecording(Protocol):
    """Writes the frames of a session and what belongs to them."""

    def take(self, frame: Frame) -> None:
        """Write a frame; called on the sampler's thread."""

    def rows(self, rows: IntervalRows) -> None:
        """Write rows of another table for an interval whose frame was written; called on any thread."""

    def mark(self, text: str) -> None:
        """Write a mark at the newest moment."""


@dataclass(slots=True)
class Pointing:
    """The latest thing pointed at."""

    cpu: int | None = None  # the CPU whose tasks the tasks screen shows; None for all
    cpus: tuple[int, ...] = ()  # CPUs to highlight on the map and to pin in the tables of CPUs
    who: str = ""
    came_from: str = ""  # the screen to which Esc returns; "" for none

    def at_cpu(self, cpu: int, came_from: str) -> None:
        """Ask which tasks run on a CPU."""
        self.cpu, self.came_from = cpu, came_from

    def at_cpus(self, cpus: tuple[int, ...], who: str, came_from: str) -> None:
        """Highlight the CPUs of a task."""
        self.cpus, self.who, self.came_from = cpus, who, came_from

    def clear(self) -> str:
        """Stop pointing; returns the screen to return to."""
        back, self.cpu, self.cpus, self.who, self.came_from = self.came_from, None, (), "", ""
        return back


class AddedColumns(NamedTuple):
    """The columns that a user added."""

    names: frozenset[ColumnId]
    texts: tuple[str, ...]  # as typed: one of them may be several columns, of which some were removed


_MOST_TIMES = 600
"""Intervals of which the number and the times are known."""

_HEADLINE = (("Busy%", "Load%"), ("Bzy_MHz", "CurMHz", "NowMHz", "MHz"), ("PkgWatt", "SysWatt", "CorWatt"),
             ("CoreTmp", "CCDTmp", "PkgTmp"), ("IRQ/s",))
"""The columns of each number of the summary lines, the first of which that a machine has is shown."""


class Watch:
    """The state that outlives a change of screens; used only on the user interface's thread.

    Attributes:
        kept: explained or graphed cells, which are read.
        recorder: the recording that the user began; None for none.
        keeper: keeps this run for later; None if nothing does.
        past_read: called when the minute before the shown moment has been judged; None for nobody.
        beside: the command that runs beside the dashboard; None for none.
        marked: that command, or other programs, whose region marks are read; None for none.
        arrangements: order and widths of columns that the user changed, by the table's name.
        remembered: names of the tables whose columns the settings contain.
        row_limits: the user's thresholds for columns of other rows than CPUs, by table and lower-case column.
        why_limits: percent of the wanted work from which causes of slowness are shown, by the rule's id.
        mistakes: the file of the settings, and a sentence about each mistake in it.
        usual: names of the columns that are visible unless somebody chose others.
        lacks_chosen: whether this machine has none of the chosen columns, so that the usual ones are shown.
    """

    def __init__(self, session: WatchedSession, columns: Sequence[CounterColumn] | None = None,
                 player: Player | None = None) -> None:
        self.session = session
        self._requests = ColumnRequests(session)
        self._wanted_visible: frozenset[ColumnId] = frozenset()
        self.live_history = self.history = History()
        self.levels = FrameLevels(session.catalog.get)
        self.arrangements: dict[str, ColumnArrangement] = {}
        self.remembered: frozenset[str] = frozenset()
        self.alerts: Alerting | None = None
        self.row_limits: Mapping[str, Mapping[str, Limits]] = {}
        self.why_limits: Mapping[str, float] = {}
        self.mistakes: tuple[str, tuple[str, ...]] = ("", ())
        self.times: deque[FrameTime] = deque(maxlen=_MOST_TIMES)
        self.player = player
        self.recorder: LiveRecorder | None = None
        self.keeper: RowRecording | None = None
        self.past_read: Callable[[], None] | None = None
        self.cursor: TimeCursor | None = None if player is None else player.cursor
        self.frame: Frame | None = None
        self.beside: BesideCommand | None = None
        self.marked: object = None
        self.paused = False
        self.mark: Frame | None = None
        self.profile: Profile | None = None
        self.interval = session.interval
        topology = self._topology = session.machine.topology
        catalog = session.catalog
        self._absent = AbsentColumns(session)
        defaults = default_columns(catalog, session.capabilities, topology, extras=True)
        usual = starting_columns(defaults, topology)
        start = usual if columns is None or tuple(columns) == defaults else columns
        self.usual = frozenset(column.id for column in usual if self.why_absent(column) is None)
        self._visible = {column.id for column in start if self.why_absent(column) is None}
        self.lacks_chosen = any(not column.identity for column in start) and all(
            self.session.catalog.by_id[name].identity for name in self._visible)
        if self.lacks_chosen:
            self._visible = set(self.usual)
        self.spied_on = session if isinstance(session, SpiedSession) else None
        self._spied: tuple[CounterColumn, ...] = ()
        self._typed_plan: tuple[SpyPlan, SpyPlan] | None = None  # before somebody typed one, and the typed one
        self.follow_spies()
        self.busy, self.clock, self.watts, self.heat, self.interrupts = map(self._first, _HEADLINE)
        self.kernel = kernel_release(session.machine.host)
        self.kept: tuple[tuple[CounterColumn, RowId], ...] = ()
        self.pointing = Pointing()

    def _first(self, names: Sequence[ColumnId]) -> CounterColumn | None:
        for name in names:
            if (column := self.session.catalog.get(name)) is not None and self.why_absent(column) is None:
                return column
        return None

    @property
    def rules(self) -> Sequence[SlownessRule]:
        """Causes of slowness, as far as the user wants to see them."""
        from turbotui.diagnosis.rule_table import RULES, limited  # noqa: PLC0415 - not every screen judges

        return limited(RULES, self.why_limits) if self.why_limits else RULES

    @cached_property
    def judge(self) -> Judge:
        """The diagnosis that all screens share."""
        from turbotui.app.judge import Judge  # noqa: PLC0415 - not every screen judges

        judge = Judge(self.session, self.rules, self.why_absent, lambda: self.cursor,
                      lambda: self.frame if self.in_past else None)
        judge.on_noted, judge.on_read = self._keep_finding, self.past_read
        return judge

    def _keep_finding(self, event: PastEvent) -> None:
        if self.keeper is not None:
            self.keeper.mark(event.text)

    @property
    def recorders(self) -> Sequence[RowRecording]:
        """What records at this moment: the user's recording, and the kept run."""
        return [recording for recording in (self.recorder, self.keeper) if recording is not None]

    def record_rows(self, rows: IntervalRows) -> None:
        """Record rows of another table for an interval; called on any thread."""
        for recorder in self.recorders:
            recorder.rows(rows)

    def record_mark(self, text: str) -> None:
        """Record a mark at the newest moment."""
        for recorder in self.recorders:
            recorder.mark(text)

    @property
    def in_past(self) -> bool:
        """Whether a moment of the past is shown."""
        return self.cursor is not None and self.cursor.at is not None

    def frame_at(self, time_ns: int) -> Frame | None:
        """The kept frame of the interval that ended at a time, in ns since 1970; None if there is none."""
        latest = self.session.latest
        if latest is not None and latest.newer.wall_ns == time_ns:
            return latest
        return None if self.cursor is None else self.cursor.timeline.frame(time_ns)

    @property
    def play_state(self) -> str:
        """Words of the time bar for a recording; "" for a watched machine."""
        return "" if self.player is None else self.player.state

    @property
    def held(self) -> bool:
        """Whether the picture stays when a frame arrives, because it is paused or of the past."""
        return self.paused or self.in_past

    # Columns

    @property
    def columns(self) -> tuple[CounterColumn, ...]:
        """The visible columns in print order."""
        return tuple(column for column in self.session.catalog.columns if column.id in self._visible)

    def is_visible(self, column: CounterColumn) -> bool:
        """Whether a column is shown."""
        return column.id in self._visible

    def why_absent(self, column: CounterColumn) -> Unavailable | None:
        """Why a column is unavailable now, None if it is available: a counter may be lost at run time."""
        return self._absent.why(column, self._topology)

    def absent_columns(self, names: Iterable[str]) -> Sequence[tuple[CounterColumn, Unavailable]]:
        """The columns of these names that this machine lacks, with the reasons."""
        columns = [column for name in names if (column := self.known(name)) is not None]
        return [(column, why) for column in columns if (why := self.why_absent(column)) is not None]

    def show_only(self, names: Collection[ColumnId]) -> None:
        """Show these columns, those that say which row it is, and no others."""
        self._visible = {column.id for column in self.session.catalog.columns if self.why_absent(column) is None
                         and (column.id in names or (column.identity and column.id in self._visible | self.usual))}

    @property
    def chosen(self) -> frozenset[ColumnId]:
        """Names of the visible columns, except those of spies, which come and go with them."""
        return frozenset(self._visible) - {column.id for column in self._spied}

    def show_chosen(self, names: frozenset[ColumnId]) -> None:
        """Show these columns, as far as they exist, and those of spies."""
        there = {column.id for column in self.session.catalog.columns}
        self._visible = (self._visible & {column.id for column in self._spied}) | (names & there)

    def toggle(self, column: CounterColumn) -> bool:
        """Show or hide a column; false if it is unavailable."""
        if self.why_absent(column) is not None:
            return False
        self._visible ^= {column.id}
        return True

    def _group(self, names: Sequence[str]) -> list[CounterColumn]:
        """The available columns of a group, as `toggle_group` names it."""
        return [column for column in self.session.catalog.columns if self.why_absent(column) is None
                and (column.category.name in names or any(need.startswith(tuple(names)) for need in column.needs))]

    def group_columns(self, names: Sequence[str]) -> Sequence[CounterColumn]:
        """The visible columns of a group."""
        return [column for column in self._group(names) if column.id in self._visible]

    def count_group(self, names: Sequence[str]) -> tuple[int, int]:
        """How many columns of a group are visible, and how many there are."""
        members = self._group(names)
        return sum(column.id in self._visible for column in members), len(members)

    def toggle_group(self, names: Sequence[str]) -> tuple[int, bool]:
        """Hide every column of a group if one is visible, otherwise show those that are shown by default.

        Args:
            names: of `Category`, or prefixes of the signals that a column of the group needs.

        Returns:
            How many columns changed, and whether they are visible now.
        """
        members = self._group(names)
        if visible := {column.id for column in members} & self._visible:
            self._visible -= visible
            return len(visible), False
        shown = {column.id for column in members if column.default} or {column.id for column in members}
        self._visible |= shown
        return len(shown), True

    def find(self, name: str) -> CounterColumn | None:
        """A column by its name in any case, if it is available."""
        column = self.known(name)
        return column if column is not None and self.why_absent(column) is None else None

    def named(self, name: str) -> CounterColumn | None:
        """A column by its name in any case; None if no column has the name.

        Raises:
            FilterError: it is not available here, with the reason.
        """
        column = self.known(name)
        why = None if column is None else self.why_absent(column)
        if column is not None and why is not None:
            raise FilterError(f"{column.id} is not here: {why.sentence()}")
        return column

    def known(self, name: str) -> CounterColumn | None:
        """A column by its name in any case, available or not; an available one before another of the same name."""
        named = [column for column in self.session.catalog.columns if column.id.lower() == name.lower()]
        return min(named, key=lambda column: self.why_absent(column) is not None, default=None)

    def swap_joules(self) -> str:
        """Show every visible watt column as joules, or the reverse; returns the unit, "" if no column has both."""
        if self.show_joules():
            return "joules"
        return "watts" if self._swap("_J", "Watt") else ""

    def show_joules(self) -> bool:
        """Show every visible watt column as joules of the interval; false if no column has both."""
        return self._swap("Watt", "_J")

    def _swap(self, old: str, new: str) -> bool:
        """Replace columns with one ending by columns with another, if available; returns whether any was replaced."""
        pairs = [(name, name.removesuffix(old) + new) for name in self._visible if name.endswith(old)]
        pairs = [(name, other) for name, other in pairs if self.find(other) is not None]
        self._visible -= {name for name, _ in pairs}
        self._visible |= {other for _, other in pairs}
        return bool(pairs)

    # Counters added by hand

    def add(self, text: str) -> tuple[CounterColumn, ...]:
        """Add what a text names, and show those of its columns that are available.

        Raises:
            UsageError: the text is neither a counter nor an event, or its name is taken.
        """
        columns = self.session.add_all(text)
        self._visible |= {column.id for column in columns if self.why_absent(column) is None}
        return columns

    def remove(self, name: ColumnId) -> None:
        """Remove an added column."""
        self.session.remove(name)
        self._visible.discard(name)

    @property
    def added(self) -> AddedColumns:
        """The added columns, and the texts of the counters that they show."""
        return AddedColumns(frozenset(name for name, _ in self.session.by_hand()), self.added_texts)

    def show_added(self, wanted: AddedColumns) -> None:
        """Add and remove counters until there are these. Raises UsageError if a name is taken."""
        for text in wanted.texts:
            if text not in self.added_texts:
                self.add(text)
        for name in self.added.names - wanted.names:
            self.remove(name)

    @property
    def added_texts(self) -> tuple[str, ...]:
        """Texts of the added counters, as typed."""
        return self.session.typed()

    # Spies

    def follow_spies(self) -> bool:
        """Show the spies' current columns in place of their earlier ones; true if they changed."""
        if self.spied_on is None or self.spied_on.spied is self._spied:
            return False
        before, self._spied = {column.id for column in self._spied}, self.spied_on.spied
        now = {column.id for column in self._spied if column.default and self.why_absent(column) is None}
        self._visible = (self._visible - before) | (self._visible & now) | (now - before)
        return True

    def spy(self, plan: SpyPlan) -> None:
        """Set the spies' plan, and show its columns. Raises UsageError if an event has the name of a column."""
        if self.spied_on is not None:
            before = self.plan_before_typed or self.spied_on.spies
            self.spied_on.spy(plan)
            self._typed_plan = None if plan == before else (before, plan)
            self.follow_spies()

    @property
    def plan_before_typed(self) -> SpyPlan | None:
        """The spies' plan before somebody typed the present one; None if it was not typed."""
        typed = self._typed_plan
        return None if typed is None or self.spied_on is None or self.spied_on.spies != typed[1] else typed[0]

    def spy_flag(self) -> str:
        """A warning that the spies' file is unusable; "" if it is usable."""
        wrong = self.spied_on is not None and self.spied_on.spy_note
        return "SPIES: THEIR FILE IS WRONG, SEE S" if wrong else ""

    # Profiles

    def take(self, profile: Profile) -> None:
        """Show the columns of a profile and use its interval; tables apply the rest when they are shown.

        Raises:
            UsageError: one of its added counters is malformed, or its name is taken.
        """
        for text in profile.added:
            self.add(text)
        self.profile = profile
        self.arrangements[profile.screen] = ColumnArrangement(profile.order, profile.widths)
        columns = [self.find(name) for name in profile.columns]
        self._visible = {column.id for column in columns if column is not None}
        seconds = min(LONGEST_INTERVAL, max(SHORTEST_INTERVAL, profile.interval))
        if seconds != self.interval:
            self.interval = seconds
            self.session.set_interval(seconds)

    @property
    def headline(self) -> tuple[CounterColumn, ...]:
        """Columns of the summary lines."""
        headline = (self.busy, self.clock, self.watts, self.heat, self.interrupts)
        return tuple(column for column in headline if column is not None)

    def want(self, columns: Iterable[CounterColumn]) -> None:
        """Read these columns and those of the summary from the next tick on."""
        hidden = self._wanted_visible - self._visible
        self._wanted_visible = frozenset(self._visible)
        alerted = () if self.alerts is None else self.alerts.columns
        beside = () if self.beside is None else self.beside.columns
        kept = () if self.recorder is None else self.recorder.columns
        cells = (column for column, _ in self.kept)
        self.look_often_at(None)  # the next screen says at which
        self._requests.want((*columns, *self.headline, *alerted, *beside, *kept, *cells), hidden)

    def look_often_at(self, row: RowId | None) -> None:
        """Time the clock of a row's CPUs at more moments of an interval, as far as it is a CPU's or a core's."""
        session = self.session
        if isinstance(session, FocusedSession):
            near = row is not None and row.scope.rank <= Scope.CORE.rank
            instance = self._topology.instance(row) if near and row is not None else None
            session.look_often(() if instance is None else instance.cpus)

    def read_also(self, owner: object, sources: Sequence[Source], signals: frozenset[SignalId], *,
                  lasting: bool = False, rows: Sequence[RowSource] = ()) -> None:
        """Read these signals of these sources, and these rows, beside columns."""
        self._requests.read_also(owner, sources, signals, lasting=lasting, rows=rows)

    # Frames

    def record(self, frame: Frame, sparks: Iterable[ColumnId], lines: Sequence[RowId]) -> None:
        """Record a frame in the histories, whether it is shown or the picture is paused, before it is drawn.

        Args:
            sparks: columns kept for every CPU (core, package), so that a row has its past when it is scrolled into
                view.
            lines: further rows with sparklines: the groups of a tree.
        """
        self._requests.look(frame)
        if self._topology is not frame.topology:
            self._topology = frame.topology
            self.live_history.keep_only(row for scope in Scope for row in frame.rows(scope))
        self.times.append(frame_time(frame))
        if frame.older is None:
            return
        history = self.live_history
        history.push(frame, self.headline, (SYSTEM_ROW,))
        for name in sparks:
            column = self.session.catalog.get(name)
            if column is not None:
                coarser = (row for row in lines if row.scope.rank > column.scope.rank)
                history.push(frame, (column,), frame.rows(column.scope))
                history.push(frame, (column,), (SYSTEM_ROW, *coarser))
        for column, row in self.kept:
            history.push(frame, (column,), (row,))

    def record_shown(self, frame: Frame, columns: Sequence[CounterColumn], rows: Sequence[RowId]) -> None:
        """Record what is visible now: it was computed for drawing, and the user may ask about it."""
        if frame.older is not None:
            self.live_history.push_shown(frame, [column for column in columns if column.decimals >= 0], rows)

    def recent(self, column: CounterColumn, row: RowId, count: int) -> Sequence[float]:
        """The last values of a cell up to the moment that is shown, so many at most, the newest last."""
        if (frame := self.frame) is None:
            return ()
        home = frame.home(column, row) or row
        self.history.series(column, home, count)
        (newest,) = frame.bare_cells(column, (home,))
        return past_of(self.history.ring(column.id, home), frame.seq, newest, count)

    def keep(self, column: CounterColumn, row: RowId) -> None:
        """Read a cell that the user looked at from now on."""
        if (column, row) not in self.kept:
            # the oldest are dropped: a user looks at no more than a screenful of cells
            self.kept = (*self.kept[-63:], (column, row))

    def late_flag(self) -> str:
        """A warning that numbers are old because CPUs did not answer in time, with a remedy; "" for none."""
        late = frozenset() if self.frame is None else self.frame.newer.late
        if not late:
            return ""
        cpus = len(late - {SHARED})
        who = f"{cpus} CPU{'s' * (cpus != 1)}" if cpus else "/proc"
        return f"{who} LATE (+: longer interval)"

    # Interval

    def step_interval(self, by: int) -> float:
        """Change to the next longer or shorter interval, and return it."""
        seconds = self.interval = next_interval(self.interval, by)
        self.session.set_interval(seconds)
        return seconds
