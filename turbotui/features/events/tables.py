"""Tables of events: their perf_event_attr, their register codes, and the events that a machine can count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.events.encoded import FLAGS, BareCodes, EncodedEvent, flag_names
from turbotui.events.leaders import leader_first
from turbotui.events.listing import ListedEvent
from turbotui.machine.cpulist import format_cpulist
from turbotui.quantities.columns import Column, Value
from turbotui.quantities.sentences import yes_or_no
from turbotui.quantities.tables import Cell, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable


@dataclass(frozen=True, slots=True)
class EncodingRow:
    """One of the counters that an event string means."""

    number: int
    event: EncodedEvent
    added_leader: str = ""  # the event that counting opens before this one's group, because the kernel requires it

    @property
    def attr(self) -> dict[str, int]:
        """The members of perf_event_attr by the kernel's names: the encoding, and all members that are not zero."""
        attr = self.event.attr
        flags = flag_names(attr.flags)
        others = {"config4": attr.config4, "sample_freq" if "freq" in flags else "sample_period": attr.sample_period,
                  "bp_type": attr.bp_type, "branch_sample_type": attr.branch_sample_type,
                  "sample_max_stack": attr.sample_max_stack, "aux_sample_size": attr.aux_sample_size}
        always: dict[str, int] = {name: getattr(attr, name) for name in _ALWAYS}
        return {**always, **{name: value for name, value in others.items() if value}, **flags}


@dataclass(frozen=True, slots=True)
class Codes:
    """One event as register codes."""

    number: int
    event: BareCodes


@dataclass(frozen=True, slots=True)
class OfferedEvent:
    """An event that users can ask for."""

    event: ListedEvent
    tried: bool  # whether opening the event was tried
    refused: Unavailable | None = None  # why the event does not open


def _member(name: str) -> Column[EncodingRow]:
    return Column(name, "", 0, (), lambda row: row.attr.get(name, 0), hexadecimal=True, help=f"perf_event_attr.{name}")


_ALWAYS: Final = ("type", "config", "config1", "config2", "config3")
_SELDOM_SET: Final = ("config4", "sample_period", "sample_freq", "bp_type", "branch_sample_type", "sample_max_stack",
                      "aux_sample_size", *(name for name in FLAGS if name != "precise_ip_high"))
_FIRST: Final[tuple[Column[EncodingRow], ...]] = (
    Column("number", "", 0, (), lambda row: row.number,
           help="number of the counter in the whole string", identity=True),
    Column("string", "", -1, (), lambda row: row.event.string, help="the event as written", identity=True),
    Column("fstr", "", -1, (), lambda row: row.event.fstr, help="event string with all attributes"),
    Column("idx", "", 0, (), lambda row: row.event.index, help="libpfm's number of the event"),
    Column("pmu", "", -1, (), lambda row: row.event.pmu, help="PMU in sysfs; empty if the kernel chooses the core PMU"),
    Column("engine", "", -1, (), lambda row: row.event.engine, help="encoder of the event: own, tables or libpfm"),
    Column("name", "", -1, (), lambda row: row.event.name, help="name given by name=, else the string"),
)
_ENCODING: Final = tuple(map(_member, _ALWAYS))
_MEMBERS: Final = tuple(map(_member, _SELDOM_SET))
_MEANING: Final[tuple[Column[EncodingRow], ...]] = (
    Column("unit", "", -1, (), lambda row: row.event.unit, help="unit of count times scale; empty for a plain count"),
    Column("scale", "", -1, (), lambda row: row.event.scale, help="factor from counts to the unit"),
    Column("cpus", "", -1, (), lambda row: format_cpulist(row.event.cpus) or "all",
           help="CPUs on which the event is opened"),
    Column("group", "", 0, (), lambda row: row.event.group, help="number of its group in the string"),
    Column("leader", "", -1, (), lambda row: yes_or_no(row.event.leader), help="whether the event leads its group"),
)
_SELDOM: Final[tuple[Column[EncodingRow], ...]] = (
    Column("table", "", -1, (), lambda row: row.event.table, help="the vendor's tables that define the event"),
    Column("description", "", -1, (), lambda row: row.event.description, help="description in the vendor's table"),
    Column("cpu", "", 0, (), lambda row: None if row.event.cpu < 0 else row.event.cpu,
           help="CPU given by libpfm's cpu="),
    Column("snapshot", "", -1, (), lambda row: yes_or_no(row.event.snapshot),
           help="whether the value is a level and not a running count"),
    Column("per_package", "", -1, (), lambda row: yes_or_no(row.event.per_package),
           help="whether it is counted once for each package"),
    Column("regrouped", "", -1, (), lambda row: yes_or_no(row.event.regrouped),
           help="whether its braces held events of several PMUs and became a group for each"),
    Column("added_leader", "", -1, (), lambda row: row.added_leader,
           help="event that counting adds as the leader of its group, because the kernel requires it"),
    Column("weak", "", -1, (), lambda row: yes_or_no(row.event.weak), help="whether its group may be split"),
    Column("sample_read", "", -1, (), lambda row: yes_or_no(row.event.sample_read),
           help="whether it has the modifier S"),
    Column("bpf", "", -1, (), lambda row: yes_or_no(row.event.bpf), help="whether it has the modifier b"),
    Column("retire_latency", "", -1, (), lambda row: yes_or_no(row.event.retire_latency),
           help="whether it has the modifier R"),
    Column("options", "", -1, (), lambda row: ",".join(f"{name}={value}" for name, value in row.event.options),
           help="terms that only sampling or perf's own output use"),
)
_SAYS_NOTHING: Final[tuple[Value, ...]] = (None, 0, "", "no")


def encoding_table(events: Sequence[EncodedEvent]) -> RowTable[EncodingRow]:
    """Return a table with a row for each counter, without the members of perf_event_attr that are zero in all rows."""
    rows = tuple(EncodingRow(number, event, _added_leader(event, events)) for number, event in enumerate(events))

    def is_filled(column: Column[EncodingRow]) -> bool:
        return any(column.compute(row) not in _SAYS_NOTHING for row in rows)

    columns = (*_FIRST, *_ENCODING, *filter(is_filled, _MEMBERS), *_MEANING, *filter(is_filled, _SELDOM))
    return RowTable("encodings", "event", columns, rows)


def _added_leader(event: EncodedEvent, events: Sequence[EncodedEvent]) -> str:
    group = [event] if event.group is None else [member for member in events if member.group == event.group]
    leader = leader_first(group)[0]
    return "" if leader.string else leader.fstr


_CODES: Final[tuple[Column[Codes], ...]] = (
    Column("number", "", 0, (), lambda codes: codes.number, help="number of the event in the whole string",
           identity=True),
    Column("string", "", -1, (), lambda codes: codes.event.string, help="the event as written", identity=True),
    Column("fstr", "", -1, (), lambda codes: codes.event.fstr, help="event string with all attributes"),
    Column("idx", "", 0, (), lambda codes: codes.event.index, help="libpfm's number of the event"),
    Column("pmu", "", -1, (), lambda codes: codes.event.pmu, help="PMU whose registers the codes are for"),
    Column("engine", "", -1, (), lambda codes: codes.event.engine, help="encoder of the event: own or libpfm"),
    Column("count", "", 0, (), lambda codes: len(codes.event.codes), help="number of its codes"),
)


def code_table(events: Sequence[BareCodes]) -> RowTable[Codes]:
    """Return a table with a row for each event, with as many columns of codes as the longest encoding needs."""
    rows = tuple(Codes(number, event) for number, event in enumerate(events))
    most = max((len(event.codes) for event in events), default=0)
    return RowTable("codes", "event", (*_CODES, *map(_code, range(most))), rows)


def _code(at: int) -> Column[Codes]:
    return Column(f"code{at}", "", 0, (), lambda codes: codes.event.codes[at] if at < len(codes.event.codes) else None,
                  hexadecimal=True, help="a word for a register: of an x86 core the event select, then the extra one")


LISTING_COLUMNS: Final[tuple[Column[OfferedEvent], ...]] = (
    Column("name", "", -1, (), lambda event: event.event.name,
           help="name of the event, as in event strings", identity=True),
    Column("pmu", "", -1, (), lambda event: event.event.pmu, help="PMU that counts it"),
    Column("type", "", -1, (), lambda event: event.event.kind,
           help="hardware, software, cache, pmu (of sysfs), tracepoint, vendor (of its tables) or model (libpfm's)"),
    Column("unit", "", -1, (), lambda event: event.event.unit, help="unit of its counts; empty for a plain count"),
    Column("engine", "", -1, (), lambda event: event.event.engine, help="encoder of the event: own, tables or libpfm"),
    Column("opens", "", -1, (), lambda event: yes_or_no(event.refused is None) if event.tried else None,
           help="whether opening a counter succeeded just now"),
    Column("description", "", -1, (), lambda event: event.event.description, help="description of what it counts"),
    Column("reason", "", -1, (), lambda event: "" if event.refused is None else event.refused.sentence(),
           help="reason for which it does not open"),
)
_NOT_TRIED: Final = Unavailable(Reason.NOT_READ, "nobody tried to open the event")


def listing_table(offers: Sequence[OfferedEvent]) -> RowTable[OfferedEvent]:
    """Return a table with a row for each name."""
    return RowTable("events", "event", LISTING_COLUMNS, offers, _judged)


def _judged(_column: Column[OfferedEvent], _offer: OfferedEvent, value: Value) -> Cell:
    return Cell(value, _NOT_TRIED if value is None else None)
