"""The window of f on the uncore screen: sets the filters of one PMU, or of all of its kind, after a check."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Input, Static

from turbotui.app.list_window import ListWindow, SearchField
from turbotui.cell_widths import flush_left
from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.events.uncore.fields import Field, fields_of, read_value, settings_in_words
from turbotui.events.uncore.filters import bdf_value, check
from turbotui.features.uncore.counters import UncoreCounters
from turbotui.features.uncore.kinds import UncoreUnits, UnitRow
from turbotui.features.uncore.ports import PORTS_UNKNOWN, PortMap
from turbotui.widgets.cells import StyleRole
from turbotui.widgets.listing import Item, Listing

_DEVICE = ("src_bdf", "src_bdf_en")


@dataclass(frozen=True, slots=True)
class _Choice:
    """A line below a field that sets the field; choosing a device drops the root ports, and vice versa."""

    key: str
    set: bool
    text: str
    after: Mapping[str, int]


class FilterForm(ListWindow):
    """The form of filters: Space changes a switch, Enter takes a number; valid filters apply at once.

    The row under the cursor may be a sum, which stands for all its units.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "switch", "switch", priority=True),
        Binding("tab", "widen", "this or all", priority=True),
        Binding("delete", "reset", "default", priority=True),
        Binding("f10", "close", "close", priority=True, show=False),
    ]

    DEFAULT_CSS = """
    FilterForm > .window { width: 96; max-width: 100%; height: 80%; }
    FilterForm #answer { height: auto; max-height: 5; }
    """

    hint = "Space on/off · value Enter · Delete · Tab this/all · Esc close"

    def __init__(self, counters: UncoreCounters, ports: PortMap, units: UncoreUnits, row: UnitRow,
                 changed: Callable[[], None]) -> None:
        super().__init__()
        self._counters = counters
        self._ports = ports
        self._units = units
        self._row = row
        self._changed = changed
        self._fields = {field.name: field for field in fields_of(units.pmu)}
        self._row_pmus = tuple(dict.fromkeys(unit.pmu.name for unit in row.units))
        self._every = tuple(dict.fromkeys(unit.pmu.name for unit in units.units))
        self._pmus = self._row_pmus
        self._draft: dict[str, int] = dict(counters.settings(self._row_pmus[0]))

    def parts(self) -> Iterable[Widget]:
        """Lay out a field for numbers, the result of the last change, and the filters."""
        field = SearchField(placeholder="value", select_on_focus=False)
        return field, Static("what is not set passes", id="answer", markup=False), Listing()

    def _choices(self, field: Field) -> list[_Choice]:
        """Return the values that a field offers: each bit of a mask, each device below the root complex."""
        ports = () if self._row.is_sum else self._ports.of(self._row.units[0])
        value = self._draft.get(field.name, 0)
        if field.meaning.bits:
            known = {port.number: port.name for port in ports}
            numbers = sorted(known) if "_rp_" in field.name else range(field.width)
            without = {name: old for name, old in self._draft.items() if name not in _DEVICE}
            return [_Choice(f"{field.name}#{bit}", bool(value >> bit & 1),
                            f"{field.meaning.bits} {bit}  {known.get(bit, '')}",
                            {**without, field.name: value ^ 1 << bit}) for bit in numbers]
        if field.name != "src_bdf":
            return []
        without = {name: old for name, old in self._draft.items() if name not in {"src_rp_mask", *_DEVICE}}
        choices: list[_Choice] = []
        for address, text in ((address, text) for port in ports for address, text in port.devices.items()):
            number = bdf_value(address)
            here = value == number and bool(self._draft.get("src_bdf_en"))
            after = without if here else {**without, "src_bdf": number, "src_bdf_en": 1}
            choices.append(_Choice(f"src_bdf={address}", here, text, after))
        return choices

    def fill(self) -> None:
        """Show the filters with their values, and the devices and bits that fields offer."""
        count = len(self._pmus)
        name = self._pmus[0] if count == 1 else f"all {count} {self._units.kind.title} units"
        self.entitle(f"filters of {name}")
        part = ""
        items: list[Item] = []
        for field in self._fields.values():
            meaning = field.meaning
            if meaning.part != part:
                part = meaning.part
                parted = any(self._draft.get(own.name) for own in self._fields.values() if own.meaning.part == part)
                default = "" if parted else f"  (default: {meaning.default})"
                items.append(Item(((f"{part}{default}", StyleRole.TITLE),)))
            value = self._draft.get(field.name, 0)
            mark = ("[x]" if value else "[ ]") if field.is_switch else "   "
            shown = "" if field.is_switch else f"{flush_left(field.words_of(value), 18)} "
            bits = "" if field.is_switch else f" ({field.width} bits)"
            segments = ((f" {mark} ", StyleRole.KEY if value else StyleRole.DIM),
                        (flush_left(field.name, 17), StyleRole.PLAIN),
                        (shown, StyleRole.SORTED if value else StyleRole.DIM),
                        (f"{meaning.what}{bits}", StyleRole.DIM))
            items.append(Item(segments, field.name))
            for choice in self._choices(field):
                box = ("     [x] ", StyleRole.KEY) if choice.set else ("     [ ] ", StyleRole.DIM)
                items.append(Item((box, (choice.text, StyleRole.PLAIN)), choice.key))
        if self._ports.lacks_positions and "src_bdf" in self._fields:
            items.append(Item(((PORTS_UNKNOWN, StyleRole.DIM),)))
        self.query_one(Listing).show(items)

    def _field(self) -> Field | None:
        """Return the field under the cursor, or that of the choice under the cursor."""
        return self._fields.get(re.split("[#=]", self.query_one(Listing).key)[0])

    # Changing

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take a value for the field under the cursor."""
        field = self._field()
        if field is None or not event.value.strip():
            return
        if ":" in event.value and "src_bdf" in self._fields:
            field = self._fields["src_bdf"]  # only addresses have a colon
            self.query_one(Listing).select(field.name)
        try:
            value = read_value(self._units.pmu, field, event.value)
        except UsageError as error:
            self.say(f"{error}{self._near(event.value) if field.name == 'src_bdf' else ''}")
            return
        draft = {**self._draft, field.name: value}
        if field.name == "src_bdf" and value and "src_bdf_en" in self._fields:
            draft["src_bdf_en"] = 1  # without the enable bit, a device filter would count nothing
        if field.name in ("dst_addr_base", "dst_addr_mask") and value and "dst_addr_en" in self._fields:
            draft["dst_addr_en"] = 1
        self.query_one(Input).value = ""
        self._take(draft, self._hint(event.value, value) if field.name == "src_bdf" else "")

    def _hint(self, text: str, value: int) -> str:
        """Return a warning if a device to filter by is known not to be below this root complex."""
        if elsewhere := self._ports.elsewhere(text, self._row_pmus):
            return f"{text.strip()} is below {elsewhere}: nothing of it passes here"
        known = {bdf_value(address) for address in self._addresses()}
        if value and known and value not in known:
            return f"{text.strip()} = {value:#06x} is no device below this root complex now.{self._near(text)}"
        return ""

    def _addresses(self) -> list[str]:
        """Return the known devices below this root complex."""
        if self._row.is_sum:
            return []
        return [address for port in self._ports.of(self._row.units[0]) for address in (port.address, *port.devices)]

    def _near(self, text: str) -> str:
        """Return the most similar devices of this root complex, for a mistyped address."""
        near = difflib.get_close_matches(text, self._addresses(), n=3, cutoff=0.3)
        return f" Near it: {', '.join(f'{address} = {bdf_value(address):#06x}' for address in near)}." if near else ""

    def action_switch(self) -> None:
        """Turn the switch under the cursor on or off."""
        field, key = self._field(), self.query_one(Listing).key
        if field is None:
            return
        choice = next((choice for choice in self._choices(field) if choice.key == key), None)
        if choice is not None:
            self._take(choice.after)
        elif not field.is_switch:
            self.say(f"{field.name} takes a number of {field.width} bits: type it, then Enter")
        else:
            self._take({**self._draft, field.name: int(not self._draft.get(field.name))})

    def action_reset(self) -> None:
        """Put the field under the cursor back to its default."""
        if (field := self._field()) is not None:
            self._take({name: value for name, value in self._draft.items() if name != field.name})

    def action_widen(self) -> None:
        """Apply the filters to this PMU only, or to all PMUs of its kind."""
        self._pmus = self._every if self._pmus == self._row_pmus else self._row_pmus
        self._take(self._draft)

    def _take(self, draft: Mapping[str, int], hint: str = "") -> None:
        """Count with these filters if they are compatible; else say which conflict, and keep the old ones."""
        self._draft = {name: value for name, value in draft.items() if value}
        try:
            check(self._units.pmu, self._draft)
        except UsageError as error:
            self.say(f"! {error} Not taken yet: the counters continue as before.")
            self.fill()
            return
        words = settings_in_words(self._units.pmu, self._draft)
        is_single = len(self._pmus) == 1
        whom = self._pmus[0] if is_single else f"all {len(self._pmus)} {self._units.kind.title} units"
        self._counters.set_filters(self._pmus, self._draft)
        self._changed()
        counted = f"{whom} count{'s' if is_single else ''} {f'only {words}' if words else 'everything'}"
        self.say(f"{counted}. ! {hint}" if hint else counted)
        self.fill()

    def on_listing_chosen(self) -> None:
        """Switch on a click, too."""
        if (key := self.query_one(Listing).key) not in self._fields or self._fields[key].is_switch:
            self.action_switch()
