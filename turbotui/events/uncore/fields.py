"""The filter fields of uncore PMUs: what each means, its default, and its values as people write them.

NVIDIA's: nvidia-tegra410-pmu.rst, nvidia-tegra241-pmu.rst. Those of other PMUs are offered by name: what they do
depends on the event, and stands in the processor's uncore manual.
"""

from __future__ import annotations

from collections.abc import Mapping

from turbotui.dataclass import dataclass
from turbotui.events.options import read_number
from turbotui.events.terms import place
from turbotui.events.uncore.filters import bdf_value
from turbotui.machine.pmus import EventError, Pmu, TermFormat
from turbotui.quantities.facts import FactFile, FactRows

_SELECTING = frozenset({"event", "umask", "type", "eventid", "umask_ext", "event_ext", "eventtype"})
"""Fields that select an event, and so are not filters."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a filter field: a table of `uncore_filters.toml`, which says what its keys are."""

    part: str
    what: str
    default: str
    bits: str = ""  # "" for a field that is no mask


_MEANINGS_FILE = FactFile("machine/data/uncore_filters.toml")
_MEANINGS = FactRows(_MEANINGS_FILE, lambda name: _MEANINGS_FILE.row(Meaning, name, _MEANINGS_FILE.find(name) or {}))
_OTHER = Meaning("other", "see the processor's uncore manual", "0")


@dataclass(frozen=True, slots=True)
class Field:
    """One filter of a PMU."""

    where: TermFormat
    meaning: Meaning

    @property
    def name(self) -> str:
        """The name of the format file."""
        return self.where.name

    @property
    def width(self) -> int:
        """The width of the field in bits."""
        return len(self.where.bits)

    @property
    def is_switch(self) -> bool:
        """Whether the field is one bit: a switch."""
        return self.width == 1

    def words_of(self, value: int) -> str:
        """Format a value for people."""
        if self.is_switch:
            return "on" if value else "off"
        if not value:
            return "—"
        if self.name == "src_bdf":
            return f"{value:#06x} = {value >> 8:02x}:{value >> 3 & 0x1F:02x}.{value & 7}"
        if self.meaning.bits:
            numbers = ", ".join(str(bit) for bit in range(self.width) if value >> bit & 1)
            return f"{value:#x} = {self.meaning.bits} {numbers}"
        return f"{value:#x}"


def fields_of(pmu: Pmu) -> tuple[Field, ...]:
    """Return the filters of a PMU: first those in the table of meanings, in its order, then the others."""
    order = list(_MEANINGS)
    names = [name for name in pmu.formats if name not in _SELECTING]
    names.sort(key=lambda name: (order.index(name) if name in _MEANINGS else len(order), name))
    return tuple(Field(pmu.formats[name], _MEANINGS.get(name, _OTHER)) for name in names)


def settings_in_words(pmu: Pmu, settings: Mapping[str, int]) -> str:
    """Describe on one line the filters that are not at their defaults; "" if there are none."""
    fields = {field.name: field for field in fields_of(pmu)}
    return ", ".join(f"{name} {fields[name].words_of(value)}" for name, value in settings.items())


def read_value(pmu: Pmu, field: Field, text: str) -> int:
    """Parse the value that a user wrote; "" stands for the default.

    Raises:
        EventError: the text is no value of the field: no number, no PCI address, or more bits than the field has.
    """
    text = text.strip().lower()
    if field.is_switch and text in ("on", "off"):
        return int(text == "on")
    if not text or text == "—":
        return 0
    if field.name == "src_bdf" and ":" in text:
        return bdf_value(text)
    number = read_number(text, f"the filter {field.name}")
    try:
        place(pmu.name, field.where, number)
    except EventError as error:
        largest = (1 << field.width) - 1
        raise EventError(f"{str(error).rstrip('.')}; the nearest value is {largest:#x}.") from error
    return number
