"""a: a form that adds and removes counters, events and formulas in the grammar of --add, with completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from textual.widget import Widget
from textual.widgets import Input, Static

from turbotui.app.field_window import FieldWindow, find_named_events
from turbotui.app.watch import Watch
from turbotui.cell_widths import flush_left
from turbotui.errors import UsageError
from turbotui.events.names import generic_event
from turbotui.events.plain_formulas import as_formula
from turbotui.events.set_files import EventSet
from turbotui.machine.host import Host
from turbotui.quantities.added import is_turbostats
from turbotui.quantities.event_columns import parse_requests
from turbotui.quantities.unavailable import Unavailable
from turbotui.sampling.event_completion import Completion, complete_added, complete_events
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing

if TYPE_CHECKING:
    from turbotui.events.event_tables.searching import EventSearch

_REMOVE = "remove "
_INTRODUCTION = (
    "cycles:u  power/energy-pkg/  {cycles,instructions}   then ,name=TITLE ,rate  cache-misses/instructions\n"
    "CPI=cycles/instructions  GBs='uncore_imc/cas_count_read/'/dt/1e9,unit=GB/s\n"
    "set:ipc  msr0x10  perf/PMU/EVENT  /sys/PATH  pmt,...  then ,NAME ,core ,raw"
)
_WIDE = 34  # width of a completion before its note


class Additions(Protocol):
    """The added columns of a table."""

    @property
    def host(self) -> Host:
        """The machine that counts."""

    @property
    def introduction(self) -> str:
        """Lines of examples."""

    @property
    def takes_places(self) -> bool:
        """Whether registers, files and telemetry can be added as well as events."""

    def sets(self) -> Mapping[str, EventSet]:
        """The known event sets. Raises UsageError if a user's file of sets cannot be read."""

    def there(self) -> Sequence[tuple[str, str, Unavailable | None]]:
        """Added columns: name, what each counts, and why it is unavailable if it is."""

    def add(self, text: str) -> Sequence[tuple[str, Unavailable | None]]:
        """Add the columns that a text names; each is returned with the reason if it is unavailable.

        Raises:
            UsageError: the text is not a counter.
        """

    def remove(self, name: str) -> None:
        """Remove an added column."""


class CpuAdditions:
    """Added columns of the tables of CPUs."""

    introduction = _INTRODUCTION
    takes_places = True

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self.host: Host = watch.session.machine.host

    def sets(self) -> Mapping[str, EventSet]:
        return self._watch.session.find_sets()

    def there(self) -> Sequence[tuple[str, str, Unavailable | None]]:
        session = self._watch.session
        return [(name, what, self._watch.why_absent(session.catalog.by_id[name])) for name, what in session.by_hand()]

    def add(self, text: str) -> Sequence[tuple[str, Unavailable | None]]:
        return [(column.id, self._watch.why_absent(column)) for column in self._watch.add(text)]

    def remove(self, name: str) -> None:
        self._watch.remove(name)


class AddCounter(FieldWindow):
    """The window that adds and removes counters; the table behind it changes at once.

    `changed` is called when a column was added or removed, with the name of the added one.
    """

    DEFAULT_CSS = """
    AddCounter > .window { width: 90; max-width: 100%; height: 70%; }
    AddCounter #answer { height: auto; max-height: 6; color: $tui-dim; }
    """

    heading = "add a column"
    hint = "Tab complete · Enter add · Delete remove · Esc close"

    def __init__(self, additions: Additions, changed: Callable[[str | None], None]) -> None:
        super().__init__()
        self._additions = additions
        self._changed = changed
        self._search: EventSearch | None = None

    def on_mount(self) -> None:
        """Start reading the vendor's tables; Textual calls on_mount of the base classes by itself."""
        self.run_worker(self._read_tables())

    async def _read_tables(self) -> None:
        self._search = await find_named_events(self._additions.host)
        if self._search is not None and self.query_one(Input).value:
            self.fill()

    def parts(self) -> Iterable[Widget]:
        """The field, a sentence, completions and added counters."""
        more = ", msr0x, perf/, /sys/, pmt," if self._additions.takes_places else ""
        field = Input(placeholder=f"event, NAME=formula, set:, metric:{more}", select_on_focus=False)
        return field, Static(self._additions.introduction, id="answer", markup=False), Listing()

    def fill(self) -> None:
        """List the completions of the typed text and the added counters."""
        text = self.query_one(Input).value
        there = [_there(*addition) for addition in self._additions.there()]
        if there:
            there.insert(0, Item((("added", StyleRole.TITLE),)))
        completions = self._following(text)
        complete = _complete(text) if text else ""
        heads = [complete] if complete else []
        heads += ["may follow"] if completions else [] if complete else ["nothing is known to follow"]
        follow = [Item(((head, StyleRole.TITLE),)) for head in heads]
        follow += [Item(((f" {flush_left(completion.text, _WIDE)}", StyleRole.PLAIN),
                         (f" {completion.note}", StyleRole.DIM)),
                        completion.text) for completion in completions]
        # possible continuations while text is typed; the added counters before
        items = [*follow, *there] if text else [*there, *follow]
        listing = self.query_one(Listing)
        listing.show(items)
        texts = [completion.text for completion in completions]
        if texts and listing.key not in texts:
            listing.select(texts[0])

    def _following(self, text: str) -> list[Completion]:
        """Possible continuations: events first, followed by turbostat's places."""
        host = self._additions.host
        try:
            sets = self._additions.sets()
        except UsageError as error:
            self.say(str(error))
            sets = {}
        counters = [Completion(word) for word in complete_added(host, text)] if self._additions.takes_places else []
        if is_turbostats(text):
            return counters
        events = complete_events(host, text, sets, search=self._search)
        known = {completion.text for completion in events}
        return [*events, *(counter for counter in counters if counter.text not in known
                        and counter.text.startswith(("perf/", "msr", "/", "pmt,")))]

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Add the typed counter, or show why it is wrong."""
        if not event.value:
            return
        try:
            reasons = dict(self._additions.add(event.value))
        except UsageError as error:
            self.say(str(error))
            return
        shown = [name for name, why in reasons.items() if why is None]
        lines = [f"{', '.join(shown)} {'is' if len(shown) == 1 else 'are'} shown"] if shown else []
        for name, why in reasons.items():
            if why is not None:  # not cleared: the typed text stays in the field for correction
                self._additions.remove(name)
                lines.append(f"{name} is not added: {why.sentence()}")
        self.say("\n".join(lines))
        if shown:
            self.query_one(Input).value = ""
            self._changed(shown[0])
        self.fill()

    def action_take(self) -> None:
        """Accept the completion under the cursor."""
        if (key := self.query_one(Listing).key) and not key.startswith(_REMOVE):
            self.put(key)

    def action_remove(self) -> None:
        """Remove the added counter under the cursor."""
        key = self.query_one(Listing).key
        if key.startswith(_REMOVE):
            name = key.removeprefix(_REMOVE)
            self._additions.remove(name)
            self.say(f"{name} is removed")
            self._changed(None)
            self.fill()


def _complete(text: str) -> str:
    """What Enter adds, if the text can stand as it is; else ""."""
    written = as_formula(text)
    try:
        requests = parse_requests(written)
    except UsageError:
        return ""
    if any(not ("/" in event or ":" in event or generic_event(event)) for request in requests
           for event in request.events):
        return ""
    names = ", ".join(column.name for request in requests for column in request.columns)
    return f"Enter adds {names}" if written == text else f"Enter adds {written}"


def _there(name: str, what: str, why: Unavailable | None) -> Item:
    role, meaning = (StyleRole.PLAIN, what) if why is None else (StyleRole.DIM, f"{what}: {why.sentence()}")
    return Item(((f"{' ' if why is None else '-'}{name}", role), (f"  {meaning}", StyleRole.DIM)), f"{_REMOVE}{name}")
