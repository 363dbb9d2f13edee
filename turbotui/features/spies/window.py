"""The window of S: sets of events for CPUs, cores, packages or all, counted by spies from the next interval on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from textual.widget import Widget
from textual.widgets import Input, Static

from turbotui.app.field_window import FieldWindow, find_named_events
from turbotui.app.watch import Watch
from turbotui.errors import UsageError
from turbotui.features.spies.intervals import cost_words, joining_note, no_cpus_note
from turbotui.machine.pmus import list_pmus, read_pmu
from turbotui.machine.topology import Topology
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope
from turbotui.quantities.spies import Spy, SpyPlan, parse_events, typed_spy
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing

if TYPE_CHECKING:
    from turbotui.events.event_tables.searching import EventSearch

_ENTRY = "entry "
_INTRODUCTION = (
    "CPUS: EVENTS, such as 0-3,8: cycles,branches or package 0: cycles;branches (sets by ; are multiplexed). "
    "One set that does not fit is split. reference: EVENT joins them."
)
_COMMON = ("instructions", "cycles", "branches", "branch-misses", "cache-references", "cache-misses",
           "L1-dcache-loads", "L1-dcache-load-misses", "LLC-loads", "LLC-load-misses", "dTLB-load-misses",
           "context-switches", "cpu-migrations", "page-faults", "task-clock")  # perf-list(1), the generic events
_MOST = 40  # lines of completions
_FEWEST = 2  # least characters of a word to search in the vendor's tables
_OF_CORES = ("default_core", "cpu_core", "cpu_atom")  # events that count on CPUs, as spies do
_CALLS = "Call/s"
_REFERENCE = "reference"


class SpyForm(FieldWindow):
    """The form for spies' event sets; spies and columns follow each change at once.

    Args:
        changed: called when columns were added or removed.
        row: the row under the cursor, with which the form begins.
    """

    DEFAULT_CSS = """
    SpyForm > .window { width: 90; max-width: 100%; height: 70%; }
    SpyForm #answer { height: auto; max-height: 5; color: $tui-dim; }
    SpyForm #cost { height: auto; max-height: 3; color: $tui-dim; }
    """

    heading = "spies: event sets by CPU"
    hint = "Tab take over · Enter set · Delete remove · Esc close"

    def __init__(self, watch: Watch, changed: Callable[[], None], row: RowId | None) -> None:
        super().__init__()
        self._watch = watch
        self._changed = changed
        self._row = row
        self._search: EventSearch | None = None

    def parts(self) -> Iterable[Widget]:
        """Lay out field, sentence, entries with completions, and the spies' cost."""
        field = Input(value=f"{self._begin()}: ", placeholder="all: cycles,branches", select_on_focus=False)
        introduction = Static(_INTRODUCTION, id="answer", markup=False)
        return field, introduction, Listing(), Static("", id="cost", markup=False)

    def _begin(self) -> str:
        row, topology = self._row, self._watch.session.machine.topology
        instance = None if row is None else topology.instance(row)
        if row is None or instance is None or row.scope is Scope.SYSTEM:
            return "all"
        if row.scope is Scope.PACKAGE and instance.label >= 0:
            return f"package {instance.label}"
        return ",".join(map(str, sorted(instance.cpus)))

    def on_mount(self) -> None:
        """Focus the field, and show problems first."""
        super().on_mount()
        self.run_worker(self._read_tables())
        if (session := self._watch.spied_on) is not None and (session.spy_note or self._notes()):
            self.say(" · ".join(note for note in (session.spy_note, *self._notes()) if note))
        calls = self._watch.find(_CALLS)
        if calls is not None:  # read while the form is open, and shown elsewhere only on request
            self._watch.keep(calls, SYSTEM_ROW)
            self._changed()
        self.show_frame()

    async def _read_tables(self) -> None:
        self._search = await find_named_events(self._watch.session.machine.host)
        if self._search is not None:
            self.fill()

    def show_frame(self) -> None:
        """Show the spies' cost in the last interval."""
        session, frame, calls = self._watch.spied_on, self._watch.frame, self._watch.find(_CALLS)
        if session is None or frame is None or not session.spies.spies:
            self.query_one("#cost", Static).update("")
            return
        rate = None if calls is None else frame.cell(calls, SYSTEM_ROW)
        count = rate * frame.seconds if isinstance(rate, float) and frame.seconds else None
        self.query_one("#cost", Static).update(f"a sample, with this screen: {cost_words(session.own_cost(), count)}")

    def _notes(self) -> list[str]:
        if (session := self._watch.spied_on) is None:
            return []
        joining = joining_note(session.spies, session.capabilities.signals)
        return [*session.spy_notes, *([joining] if joining else [])]

    def fill(self) -> None:
        """List the completions of the field's text, and the entries."""
        session = self._watch.spied_on
        entries = () if session is None else session.spies.spies
        items: list[Item] = []
        if entries:
            joined = "" if session is None else f"joined by {session.spies.reference}"
            items.append(Item((("spied on, ", StyleRole.TITLE), (joined, StyleRole.TITLE))))
            items += [Item(((f" {spy.on.text}", StyleRole.PLAIN), (f": {_events(spy)}", StyleRole.DIM)),
                           f"{_ENTRY}{spy.on.text}") for spy in entries]
        offers = self._follow(self.query_one(Input).value)
        items.append(Item(((("may follow" if offers else "nothing is known to follow"), StyleRole.TITLE),)))
        items += [Item(((f" {text}", StyleRole.PLAIN),), text) for text in offers]
        listing = self.query_one(Listing)
        listing.show(items)
        if offers and not listing.key.startswith(_ENTRY) and listing.key not in offers:
            listing.select(offers[0])

    def _follow(self, text: str) -> list[str]:
        """Return texts with the last word completed."""
        on, colon, events = text.partition(":")
        if not colon:
            topology = self._watch.session.machine.topology
            words = ["all", *[f"package {instance.label}" for instance in topology.instances(Scope.PACKAGE)
                              if instance.label >= 0], *_cores(topology), _REFERENCE]
            return [f"{word}: " for word in words if word.startswith(on.strip())][:_MOST]
        at = max(events.rfind(","), events.rfind(";")) + 1
        word = events[at:].strip()
        known = [name for name in _COMMON if name.startswith(word)]
        names = dict.fromkeys((*known, *self._of_pmus(word), *self._of_tables(word)))
        return [f"{on}:{events[:at] if at else ' '}{name}" for name in names][:_MOST]

    def _of_pmus(self, word: str) -> list[str]:
        host = self._watch.session.machine.host
        device, slash, event = word.partition("/")
        if not slash:
            return [f"{name}/" for name in list_pmus(host) if word and name.startswith(word)]
        pmu = read_pmu(host, device)
        return [] if pmu is None else [f"{device}/{name}/" for name in pmu.events if name.startswith(event)]

    def _of_tables(self, word: str) -> list[str]:
        """Return the cores' events in the vendor's tables: by name, then by a word of the description."""
        if self._search is None or len(word) < _FEWEST or "/" in word:
            return []
        return [row.name for row in self._search.find(word, _MOST) if row.pmu in _OF_CORES]

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Apply the typed spies, or show the error."""
        on, colon, events = event.value.partition(":")
        if (session := self._watch.spied_on) is None:
            return
        if not colon or not events.strip():
            self.say(_INTRODUCTION)
            return
        try:
            plan, done = _asked(session.spies, on.strip(), events, self._watch.session.machine.topology)
            self._watch.spy(plan)
        except UsageError as error:
            self.say(str(error))
            return
        self.say(" · ".join(self._notes()) or done)
        self.query_one(Input).value = ""
        self._changed()
        self.fill()

    def action_take(self) -> None:
        """Copy the entry under the cursor into the field for editing."""
        key = self.query_one(Listing).key
        spy = self._entry(key)
        text = key if spy is None else f"{spy.on.text}: {_events(spy)}"
        if text:
            self.put(text)

    def action_remove(self) -> None:
        """End the spies under the cursor."""
        session, spy = self._watch.spied_on, self._entry(self.query_one(Listing).key)
        if session is None or spy is None:
            return
        self._watch.spy(session.spies.without(spy.on.text))
        self.say(f"{spy.on.text} has no spies any more")
        self._changed()
        self.fill()

    def _entry(self, key: str) -> Spy | None:
        session = self._watch.spied_on
        if session is None or not key.startswith(_ENTRY):
            return None
        return next((spy for spy in session.spies.spies if f"{_ENTRY}{spy.on.text}" == key), None)


def _asked(plan: SpyPlan, on: str, events: str, topology: Topology) -> tuple[SpyPlan, str]:
    """Return the plan with the typed entry, and a sentence about it.

    Raises:
        UsageError: CPUs are missing or do not exist, or there is no event, or several for the reference.
    """
    if on == _REFERENCE:
        names = [name for event in parse_events(events) for name in event]
        if len(names) != 1:
            raise UsageError(f"one event joins the sets, and these are {len(names)}")
        return SpyPlan(plan.spies, names[0]), f"sets are joined by {names[0]} from the next interval on"
    spy = typed_spy(on, events)
    if nobody := no_cpus_note(spy.on, topology):
        raise UsageError(nobody)
    return plan.with_spy(spy), f"{spy.on.text}: counted from the next interval on"


def _cores(topology: Topology) -> list[str]:
    """Return cores by their ids, which repeat in each package."""
    several = len(topology.instances(Scope.PACKAGE)) > 1
    places = [topology.places[instance.cpus[0]] for instance in topology.instances(Scope.CORE) if instance.cpus]
    named = [(place.label(Scope.PACKAGE), place.label(Scope.CORE)) for place in places]
    return [f"package {package} core {core}" if several else f"core {core}"
            for package, core in named if core >= 0 and package >= 0]


def _events(spy: Spy) -> str:
    return ";".join(",".join(events) for events in spy.sets)


def spy_form(watch: Watch, changed: Callable[[], None], row: RowId | None) -> SpyForm | str:
    """The form, or why spies cannot be set here."""
    if watch.spied_on is None:
        return "Spies cannot be changed here, because the readings come from elsewhere"
    return SpyForm(watch, changed, row)
