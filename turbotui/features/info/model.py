"""A machine's configuration, line by line, as turbostat prints it first (docs/specs/turbostat.md 5).

Every line whose source can be read is included, together with the source. `turbotui stat` prints the texts,
`turbotui info` and the info screen the sections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from turbotui import __version__
from turbotui.dataclass import dataclass
from turbotui.features.info import clocks, idle, kernel, power, processor, shape, telemetry, thermal
from turbotui.features.info.machine_facts import HeaderLine, MachineFacts
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.host import ForwardedHost
from turbotui.machine.machine import Machine
from turbotui.quantities.columns import Column
from turbotui.quantities.scope import Scope
from turbotui.quantities.tables import CellEvidence, RowTable
from turbotui.untrusted import one_line

_COMMAND_LINE = "/proc/cmdline"
_COMMAND_LINE_LENGTH = 2047  # characters that turbostat shows (docs/specs/turbostat.md 5, row 2)


@dataclass(frozen=True, slots=True)
class Section:
    """Lines about one subject."""

    title: str
    lines: tuple[HeaderLine, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """A row of the table: a section, and the function that makes its lines."""

    section: str
    lines: Callable[[MachineFacts], Iterable[HeaderLine]]
    beyond: bool = False  # whether turbostat lacks these lines


def _version(_facts: MachineFacts) -> Iterable[HeaderLine]:
    yield HeaderLine(f"turbotui version {__version__}", "turbotui")


def _command_line(facts: MachineFacts) -> Iterable[HeaderLine]:
    if (text := facts.text(_COMMAND_LINE)) is not None:
        yield HeaderLine(f"Kernel command line: {one_line(text)[:_COMMAND_LINE_LENGTH]}", _COMMAND_LINE)


def _places(facts: MachineFacts) -> Iterable[HeaderLine]:
    """Return lines with the topology of each measured CPU, for debugging; -1 for unknown values."""
    topology = facts.machine.topology
    for cpu in topology.cpus if facts.detailed else ():
        place = topology.places[cpu]
        siblings = format_cpulist(topology.instances(Scope.CORE)[topology.index(Scope.CORE, cpu)].cpus)
        yield HeaderLine(
            f"cpu {cpu} pkg {place.package} die {place.die} l3 {place.l3} node {place.node} module {place.module} "
            f"core {place.core} ht_id {place.smt} siblings {siblings}",
            f"/sys/devices/system/cpu/cpu{cpu}/topology")


def _kinds(facts: MachineFacts) -> Iterable[HeaderLine]:
    kinds = facts.machine.topology.kinds
    yield HeaderLine(kinds.sentence(), kinds.by or "nothing that was asked")


FACTS: tuple[Fact, ...] = (
    Fact("program", _version),
    Fact("program", _command_line),
    *(Fact("machine", lines, beyond=True) for lines in shape.FACTS),
    Fact("topology", _places),
    *(Fact("processor", lines) for lines in processor.FACTS),
    *(Fact("processor", lines, beyond=True) for lines in processor.LSCPU_FACTS),
    Fact("cores", _kinds, beyond=True),
    *(Fact("clocks", lines) for lines in clocks.FACTS),
    *(Fact("performance", lines) for lines in kernel.PERFORMANCE_FACTS),
    *(Fact("idle", lines) for lines in idle.FACTS),
    *(Fact("uncore", lines) for lines in kernel.UNCORE_FACTS),
    *(Fact("uncore", lines, beyond=True) for lines in kernel.EFFICIENCY_FACTS),
    *(Fact("power", lines) for lines in power.FACTS),
    Fact("power", power.meter_lines, beyond=True),
    *(Fact("thermal", lines) for lines in thermal.FACTS),
    *(Fact("telemetry", lines, beyond=True) for lines in telemetry.FACTS),
    *(Fact("prefetch", lines) for lines in processor.PREFETCH_FACTS),
)
"""Every line of the header, in turbostat's order."""


_OF_FILES: Final = frozenset(("performance", "idle", "uncore"))
"""Sections that also tell what is missing."""


def configuration(machine: Machine, *, detailed: bool = False, beyond: bool = True) -> tuple[Section, ...]:
    """Return the configuration of a machine by subject, in turbostat's order, without absent facts.

    Args:
        detailed: whether to include lines that turbostat shows only with --debug.
        beyond: whether to include lines that turbostat lacks.
    """
    facts = MachineFacts(machine, detailed=detailed)
    sections: dict[str, list[HeaderLine]] = {}
    far = machine.host if isinstance(machine.host, ForwardedHost) else None
    if far is not None:
        sections["files"] = [
            HeaderLine(f"{far.read_by}, which sends no files: turbotui info --host, or run there, has them", "")]
    for fact in (fact for fact in FACTS if beyond or not fact.beyond):
        if far is not None and fact.section in _OF_FILES:
            continue  # a recording lacks files that were not kept, which must not be reported as missing on the machine
        sections.setdefault(fact.section, []).extend(fact.lines(facts))
    sections["unknown"] = list(facts.unreadable())
    return tuple(Section(title, tuple(lines)) for title, lines in sections.items() if lines)


@dataclass(frozen=True, slots=True)
class ConfigurationLine:
    """A line of the configuration, with its section and its number in it from 1."""

    section: str
    number: int
    text: str
    source: str


COLUMNS: Final[tuple[Column[ConfigurationLine], ...]] = (
    Column("section", "", -1, (), lambda line: line.section, help="subject of the line", priority=0, identity=True),
    Column("line", "", 0, (), lambda line: line.number, help="number within the section", identity=True, default=False),
    Column("text", "", -1, (), lambda line: line.text, help="the line", priority=0),
    Column("source", "", -1, (), lambda line: line.source, help="register, file or instruction that was read"),
)


def whole_configuration(machine: Machine) -> tuple[Section, ...]:
    """Return the configuration with every line, for which everything is read."""
    return configuration(machine, detailed=True)


def preface(machine: Machine, detailed: bool) -> list[tuple[str, bool]]:
    """What turbostat prints first: lines, and whether --quiet keeps each (docs/specs/turbostat.md 5)."""
    sections = configuration(machine, detailed=detailed, beyond=False)
    return [(line.text, line.always) for section in sections for line in section.lines]


def configuration_table(sections: Sequence[Section]) -> RowTable[ConfigurationLine]:
    """Make a table with a row for each line."""
    lines = tuple(ConfigurationLine(section.title, number, line.text, line.origin)
                  for section in sections for number, line in enumerate(section.lines, 1))
    return RowTable("configuration", "line", COLUMNS, lines,
                    basis=lambda _, line: CellEvidence(remarks=(f"read from {line.source}",)))
