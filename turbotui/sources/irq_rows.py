"""Tables of interrupt counts with a row per source and a column per CPU, as totals that never wrap.

/proc/interrupts and /proc/softirqs have the same shape. Every cell is an unsigned int in the kernel and wraps at 2**32
(kstat_irqs and kstat_softirqs, linux/kernel_stat.h; irq_cpustat_t, asm/hardirq.h), so cells are subtracted modulo
2**32 one by one before they are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import dropwhile
from operator import add, sub

from turbotui.quantities.plain_numbers import whole_number

_CELL = 1 << 32  # a cell is an unsigned int
_LONGEST = 10  # digits of a cell
_NO_CPU = -1  # the place of a column is counted, whatever its title says
_HALF = 1 << 31  # a cell that decreases from above this has wrapped; from below, it was restarted


def header_cpus(line: str) -> tuple[int, ...]:
    """CPU numbers of the columns, from the table's first line: "CPU0 CPU2 ..."; offline CPUs may have no column."""
    numbers = (whole_number(word[3:]) for word in line.split() if word.startswith("CPU"))
    return tuple(_NO_CPU if cpu is None else cpu for cpu in numbers)


def table_rows(text: str) -> tuple[str, Iterator[tuple[str, str]]]:
    """The header line, and for each row its label without the colon and the rest of its line."""
    header, _, body = text.partition("\n")
    return header, _rows(body)


def _rows(body: str) -> Iterator[tuple[str, str]]:
    for line in body.split("\n"):
        label, colon, rest = line.partition(":")
        if colon:
            yield label.strip(), rest


def cpu_key(label: str, cpu: int) -> str:
    """The key of a CPU's row inside that of a source, among rows of the kind `interrupts`."""
    return f"{label}:{cpu}"


def counts_and_text(rest: str, columns: int, known: str | None = None) -> tuple[list[int], str] | None:
    """The counts of a row that has one for each column, and the text behind them.

    Args:
        rest: the line without its label.
        columns: how many CPUs the header has.
        known: the text of the row when it was last read; None at first.

    Returns:
        None for rows with fewer counts (ERR, MIS, Arm's FIQ), and for those with a count between theirs and the known
        text ("0 IO-APIC 5-edge"): of a CPU that came while the kernel wrote the table, and whose each is nobody knows.
    """
    words = rest.split(None, columns)
    text = words.pop().rstrip() if len(words) > columns else ""
    if known is not None and text != known and text.endswith(known):
        more = text.removesuffix(known).split()
        if more and all(map(str.isdecimal, more)):
            return None
    digits = "".join(words)
    # one look at all of them together takes a sixth of the time of their conversion
    if len(words) < columns or not (digits.isdigit() and digits.isascii()) or len(digits) > columns * _LONGEST:
        return None
    return list(map(int, words)), text


def trailing_text(rest: str) -> str:
    """The text of a row after its counts."""
    return " ".join(dropwhile(str.isdecimal, rest.split()))


def growth_of(before: Sequence[int], cells: Sequence[int]) -> tuple[list[int], list[int]]:
    """The increase of each cell of a row, and the places of cells that were restarted, whose increase is unknown (0).

    A cell that decreased from below 2**31 did not wrap but was restarted.
    """
    growth = list(map(sub, cells, before))
    if min(growth, default=0) >= 0:
        return growth, []
    fell = [place for place, step in enumerate(growth) if step < 0 and before[place] < _HALF]
    return [0 if step < 0 and old < _HALF else step % _CELL for old, step in zip(before, growth, strict=True)], fell


class RowTotals:
    """Totals per CPU of groups of rows, which grow by each cell's increase modulo 2**32.

    They begin at the sums of the cells as first seen. A row that appears later counts in full, because its counts began
    after the last look. A cell that decreased from below 2**31 did not wrap but was restarted (a device that returned
    under the same number): nobody knows how much it counted, so the CPU's totals go down by one, which leaves their
    increase unknown this time. A row that vanishes keeps its total.

    Args:
        cpus: the CPUs to total, in this order.
        classify: the groups to which a row belongs, by its label and the text after its counts; () to skip the row.

    Attributes:
        torn: rows that had fewer or more counts in the last table than the header has CPUs, some of which came or went
            while the kernel wrote it; what they counted is added by the next table.
    """

    def __init__(self, cpus: Sequence[int], classify: Callable[[str, str], tuple[Hashable, ...]]) -> None:
        self.torn: set[str] = set()
        self._cpus = tuple(cpus)
        self._classify = classify
        self._header = ""
        self._columns: tuple[int, ...] = ()
        self._places: list[int | None] = []
        self._lines: dict[str, str] = {}
        self._cells: dict[str, list[int]] = {}
        self._groups: dict[str, tuple[Hashable, ...]] = {}
        self._texts: dict[str, str] = {}  # behind the counts of rows, as last read
        self._totals: dict[Hashable, list[int]] = {}
        self._restarted: set[tuple[Hashable, int]] = set()

    def follow(self, cpus: Sequence[int]) -> None:
        """Total these CPUs from now on; each total continues."""
        self._cpus = tuple(cpus)
        self._find_places()

    def update(self, text: str) -> None:
        """Add the current table; a line that did not change since the last time is not parsed."""
        header, rows = table_rows(text)
        if header != self._header:
            self._new_header(header)
        lines = self._lines
        seen: set[str] = set()
        self._restarted.clear()
        torn, self.torn = self.torn, set()
        before = dict(self._totals)
        growth: dict[tuple[Hashable, ...], list[int]] = {}  # most rows are devices', and are added up first
        for label, rest in rows:
            # PowerPC prints two rows named LOC (arch/powerpc/kernel/irq.c): the second is a row of its own.
            name = f"{label}'" if label in seen else label
            seen.add(name)
            if lines.get(name) != rest or name in torn:
                lines[name] = rest
                groups, steps = self._take(name, label, rest)
                if groups:
                    sums = growth.get(groups)
                    growth[groups] = steps if sums is None else list(map(add, sums, steps))
        for groups, sums in growth.items():
            for group in groups:
                totals = self._totals.get(group)
                self._totals[group] = list(sums) if totals is None else list(map(add, totals, sums))
        for group, place in self._restarted:
            if group in before:
                totals = self._totals[group] = list(self._totals[group])
                totals[place] = max(0, before[group][place] - 1)

    def classify_anew(self) -> None:
        """Classify rows again; new groups begin at the sums of the cells as last seen, others continue."""
        known = frozenset(self._totals)
        text_of = {name: trailing_text(rest) for name, rest in self._lines.items()}
        for name, text in text_of.items():
            groups = self._groups[name] = self._classify(name.rstrip("'"), text)
            cells = self._cells.get(name)
            for group in groups if cells is not None else ():
                if group not in known and cells is not None:
                    totals = self._totals.get(group)
                    self._totals[group] = list(cells) if totals is None else list(map(add, totals, cells))
        wanted = {group for groups in self._groups.values() for group in groups}
        self._totals = {group: totals for group, totals in self._totals.items() if group in wanted}
        self._lines = {name: rest for name, rest in self._lines.items() if name in self._cells}

    def first_number(self, label: str) -> int | None:
        """The first number of a row as it stands now, for rows that count the whole machine; None: no such row."""
        words = self._lines.get(label, "").split(None, 1)
        return whole_number(words[0]) if words else None

    def restarted(self, group: Hashable) -> frozenset[int]:
        """Positions of CPUs whose total of a group lacks what a cell that was restarted had counted."""
        if not self._restarted:
            return frozenset()
        return frozenset(position for position, place in enumerate(self._places) if (group, place) in self._restarted)

    def totals(self, group: Hashable) -> list[int | None] | None:
        """The totals of one group in the order of `cpus`; None for a CPU without a column; None without such a row."""
        if (totals := self._totals.get(group)) is None:
            return None
        return [None if place is None else totals[place] for place in self._places]

    def _take(self, name: str, label: str, rest: str) -> tuple[tuple[Hashable, ...], list[int]]:
        """Keep the cells of a row, and return its groups and their increases; no groups if there is nothing to add."""
        width = len(self._columns)
        if (groups := self._groups.get(name)) is None:
            groups = self._groups[name] = self._classify(label, trailing_text(rest))
        before = self._cells.get(name)
        counts = counts_and_text(rest, width, self._texts.get(name)) if groups else None
        if counts is None:
            if before is not None and groups:
                self.torn.add(name)
            return (), []
        cells, self._texts[name] = counts
        self._cells[name] = cells
        if before is None:
            return groups, cells
        growth, fell = growth_of(before, cells)
        self._restarted.update((group, place) for group in groups for place in fell)
        return groups, growth

    def _new_header(self, header: str) -> None:
        """Move each CPU's cells and totals to its new column after CPUs came or went.

        A CPU whose column is new has no earlier cells to compare with. Its totals begin, as at the start, with the
        cells of its column: zero cells and zero totals give just that.
        """
        columns = header_cpus(header)
        old = {cpu: place for place, cpu in enumerate(self._columns)}

        def moved(values: list[int]) -> list[int]:
            return [values[old[cpu]] if cpu in old else 0 for cpu in columns]

        self._cells = {label: moved(cells) for label, cells in self._cells.items()}
        self._totals = {group: moved(totals) for group, totals in self._totals.items()}
        self._lines.clear()
        self._header = header
        self._columns = columns
        self._find_places()

    def _find_places(self) -> None:
        place = {cpu: position for position, cpu in enumerate(self._columns)}
        self._places = [place.get(cpu) for cpu in self._cpus]
