"""`turbotui power`: the machine's watts by consumer, compared with the platform's figure; batteries and fans."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.elsewhere import add_host_arguments
from turbotui.commands.formats import add_format_arguments, text_lines
from turbotui.commands.intervals import add_interval_arguments, open_output
from turbotui.commands.recorded import (
    add_span_arguments,
    open_replay,
    recorded_ones,
    replayed_frames,
    report_missing,
    watched_intervals,
)
from turbotui.commands.sessions import open_host
from turbotui.dataclass import dataclass
from turbotui.errors import MachineError, UsageError
from turbotui.features.batteries import BATTERIES
from turbotui.features.power.balance import Balance, balance_of, sentence
from turbotui.features.power.composed import elsewhere_target, sum_target
from turbotui.features.power.consumers import BalanceRole, Consumer, why_no_power
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.quantities.catalog import Catalog, catalog_for
from turbotui.quantities.catalog.meters import power_columns
from turbotui.quantities.columns import PERCENT, Column, CounterColumn, Value
from turbotui.quantities.meters import PREFIX, meters_of
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.tables import Cell, CellEvidence, RowTable
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.energy import ENERGY_SOURCES
from turbotui.sampling.frame import Frame
from turbotui.sampling.row_differences import RowDifferences
from turbotui.sampling.row_tables import row_table
from turbotui.sampling.sampled import frames_of
from turbotui.sampling.session import Session
from turbotui.sources import METER_SOURCES, SOURCES
from turbotui.tables.envelope import Envelope
from turbotui.tables.frame_evidence import frame_evidence

POWER, FANS = "power", "fans"
_BATTERIES: Final = BATTERIES.source.kind.id
_SOURCE: Final = "docs/specs/power.md 2.1"


@dataclass(frozen=True, slots=True)
class PowerRow:
    """A consumer, and the total for its share."""

    consumer: Consumer
    total: float | None  # watts of the machine
    seconds: float  # length of the interval


PowerColumn: TypeAlias = Column[PowerRow]


def _of(name: str) -> Callable[[PowerRow], Value]:
    return lambda row: getattr(row.consumer, name)


def _share(row: PowerRow) -> Value:
    watts = row.consumer.watts
    return None if watts is None or not row.total else 100.0 * watts / row.total


def _joules(row: PowerRow) -> Value:
    watts = row.consumer.watts
    return None if watts is None or not row.seconds else watts * row.seconds


COLUMNS: Final[tuple[PowerColumn, ...]] = (
    Column("Consumer", "", -1, (), _of("name"), width=12, priority=0, identity=True,
           help="Name of the consumer of power, or of the meter of the whole machine."),
    Column("Watt", "W", 2, (), _of("watts"), width=8, priority=0, document=_SOURCE,
           help="Power: the mean over the interval if there is a counter of energy, else the meter's value."),
    Column("Share", "%", 1, (), _share, width=5, priority=1, scale=PERCENT, document=_SOURCE,
           help="Power in percent of the power of the machine."),
    Column("Role", "", -1, (), lambda row: row.consumer.role.value, width=9, priority=2, document=_SOURCE,
           identity=True,  # a label in openmetrics, because only counted rows may be added up
           help="counted: added up; inside: a part of another row; platform: what the sum is held against."),
    Column("Inside", "", -1, (), lambda row: row.consumer.inside or None, width=9, priority=3, document=_SOURCE,
           help="The row whose watts contain these."),
    Column("Joule", "J", 2, (), _joules, width=9, priority=6, document=_SOURCE, help="Energy in the interval."),
    Column("Busy%", "%", 1, (), _of("busy"), width=5, priority=5, scale=PERCENT,
           document="kernel drivers/accel/ivpu/ivpu_sysfs.c",
           help="Share of the interval in which it was busy, for devices that report this instead of watts."),
    Column("MHz", "MHz", 0, (), _of("clock"), width=5, priority=5, document="kernel drivers/accel/ivpu/ivpu_sysfs.c",
           help="Clock, for devices that report it instead of watts."),
    Column("AvgOver", "s", 2, (), _of("averaged"), width=7, priority=6,
           document="kernel Documentation/hwmon/sysfs-interface.rst, power[1-*]_average_interval",
           help="Seconds over which the meter averages."),
    Column("Age", "s", 0, (), _of("age"), width=4, priority=6, document=_SOURCE,
           help="Seconds since the meter was read; of a battery, since turbotui saw its numbers change."),
    Column("Device", "", -1, (), _of("words"), width=24, priority=4, help="Name of the device in its driver."),
)

_WATTS: Final = frozenset({"Watt", "Share", "Joule"})
_NOT_ITS: Final = Unavailable(Reason.NOT_SET, "this row has no such value")


def power_table(balance: Balance, frame: Frame) -> RowTable[PowerRow]:
    """Make the table of consumers, with their sum and the watts elsewhere."""
    rows = [PowerRow(consumer, balance.total, balance.seconds)
            for consumer in (*balance.consumers, *totals(balance, frame))]

    def judge(column: PowerColumn, row: PowerRow, value: Value) -> Cell:
        if value is not None:
            lacks = row.consumer.role is BalanceRole.SUM or (column.id == "Share" and balance.total_figure is None)
            return Cell(value, partial=lacks and bool(balance.lost))
        return Cell(None, (row.consumer.why if column.id in _WATTS else None) or _NOT_ITS)

    def basis(column: PowerColumn, row: PowerRow) -> CellEvidence:
        target = row.consumer.target
        evidence = frame_evidence(frame, *target) if target is not None and column.id == "Watt" else CellEvidence()
        contradictions = balance.contradictions if row.consumer.role is BalanceRole.ELSEWHERE else ()
        return replace(evidence, remarks=(*contradictions, *evidence.remarks))

    return RowTable(POWER, "consumer", COLUMNS, rows, judge, basis)


def totals(balance: Balance, frame: Frame) -> tuple[Consumer, ...]:
    """Return the rows below the consumers, with the cells of their figures."""
    names = ", ".join(part.name for part in balance.parts if part.watts is not None)
    unread = Unavailable(Reason.NO_HARDWARE, "nothing here counts the watts of a part")
    against = "" if balance.platform is None else f"{balance.platform.name} less the sum"
    return (Consumer("sum", "sum", names, BalanceRole.SUM, balance.counted,
                     None if balance.counted is not None else unread,
        target=sum_target(frame, balance)), Consumer("elsewhere", "elsewhere", against, BalanceRole.ELSEWHERE,
        balance.elsewhere, balance.why, target=elsewhere_target(frame, balance)))


# Fans: a row for each, with the cell of its meter


@dataclass(frozen=True, slots=True)
class FanRow:
    """A fan and its revolutions a minute."""

    name: str
    label: str
    column: CounterColumn
    cell: Cell


FAN_COLUMNS: Final[tuple[Column[FanRow], ...]] = (
    Column("Fan", "", -1, (), lambda row: row.name, width=8, identity=True, help="Name of the row."),
    Column("RPM", "rpm", 0, (), lambda row: row.cell.value, width=6, help="Revolutions a minute.",
           document="kernel Documentation/hwmon/sysfs-interface.rst"),
    Column("Device", "", -1, (), lambda row: row.label, width=24, help="Name of the device in its driver."),
)


def fan_table(frame: Frame, catalog: Catalog) -> RowTable[FanRow]:
    """Make the table of fans."""
    fans = ((meter, catalog.get(f"{meter.column}RPM")) for meter in meters_of(frame.capabilities.signals))
    rows = [FanRow(meter.column, meter.label, column, Cell(
        value := frame.cell(column, SYSTEM_ROW), frame.why(column, SYSTEM_ROW) if value is None else None))
        for meter, column in fans if column is not None]
    return RowTable(FANS, "fan", FAN_COLUMNS, rows,
                    lambda column, row, value: row.cell if column.id == "RPM" else Cell(value),
                    lambda column, row: frame_evidence(frame, row.column, SYSTEM_ROW) if column.id == "RPM"
                    else CellEvidence())


_BATTERY_SIGNALS: Final = f"{PREFIX}battery."
_OWN_SOURCES: Final = ENERGY_SOURCES | METER_SOURCES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    add_host_arguments(parser)
    add_interval_arguments(parser)
    add_span_arguments(parser)
    add_format_arguments(parser, (POWER, _BATTERIES, FANS))


def run(arguments: argparse.Namespace) -> int:
    """Print tables until the intervals or the recording are over, or SIGINT comes.

    Raises:
        MachineError: nothing here tells of power.
        UsageError: the options contradict each other.
        TurbotuiError: nothing in the recording tells of power.
    """
    seconds, intervals = watched_intervals(arguments)
    if arguments.replay and arguments.interval:
        raise UsageError("--replay shows what was recorded: leave -i (--every) out")
    if arguments.replay or arguments.host:
        with open_replay(arguments, intervals=intervals, seconds=seconds, tables="power") as journal:
            frames = recorded_ones(arguments, replayed_frames(arguments, journal), lambda frame: None if why_no_power(
                frame.capabilities, catalog_for(frame.capabilities.signals)) else frame, "readings of power", POWER)
            _print(arguments, journal.machine, frames, intervals)
            report_missing(journal)
        return 0
    machine = read_machine(open_host(arguments))
    session = Session(machine, [source for source in SOURCES if source.id in _OWN_SOURCES], seconds, LinuxHost())
    if (why := why_no_power(session.capabilities, session.catalog)) is not None:
        raise MachineError(f"nothing here tells of power: {why.sentence()}; turbotui power --machine laptop-gpu shows "
                           "a simulated machine that has meters")
    # of batteries the balance has the watts; their rows have the rest
    session.want(column.id for column in power_columns(session.catalog.columns)
                 if column.unit == "W" or not any(need.startswith(_BATTERY_SIGNALS) for need in column.needs))
    session.read_rows(run, (BATTERIES.source,))
    _print(arguments, machine, (frame for frame in frames_of(session, intervals) if frame.older is not None), intervals)
    return 0


def _print(arguments: argparse.Namespace, machine: Machine, frames: Iterable[Frame], many: int | None) -> None:
    model = machine.model.family, machine.model.model
    with open_output(arguments, many).until_interrupted() as output:
        for frame in frames:
            catalog = catalog_for(frame.capabilities.signals)
            balance = balance_of(frame, catalog, model)
            rows: RowDifferences | Unavailable | None = frame.kind(_BATTERIES)
            notes = balance.contradictions
            if isinstance(rows, Unavailable):
                if any(consumer.kind == "battery" for consumer in balance.consumers):
                    notes = (*notes, f"no table of batteries: {rows.sentence()}"
                             + ("; record --tables power keeps them" if arguments.replay else ""))
                rows = None
            beside = row_table(BATTERIES, rows), fan_table(frame, catalog)
            tables: Sequence[RowTable[Any]] = power_table(balance, frame), *(table for table in beside if table.rows)
            envelope = Envelope(machine.host.name, machine.host.kind, frame.newer.wall_ns, frame.seconds,
                                facts={"balance": sentence(balance)}, notes=notes)
            shown = [table for table in tables if arguments.table in {"", table.name}]
            output.write(envelope, tables, partial(_text, envelope, balance, shown))


def _text(envelope: Envelope, balance: Balance, tables: Sequence[RowTable[Any]]) -> Iterator[str]:
    """Format the balance in one sentence, the tables without empty columns, contradictions, and reasons."""
    yield envelope.heading(POWER)
    yield sentence(balance)
    for table in tables:
        if table.name == POWER and not balance.consumers:
            continue
        yield ""
        columns = tuple(column for column in table.known_columns if column.default)
        yield from text_lines(envelope, replace(table, columns=columns))
    yield from (f"# ! {text}" if text in balance.contradictions else f"# {text}" for text in envelope.notes)
    yield from (f"# no watts of {consumer.name}: {consumer.why.sentence()}"
                for consumer in balance.unknown if consumer.why is not None)
    if balance.why is not None:
        yield f"# elsewhere is unknown: {balance.why.sentence()}"
    yield ""
