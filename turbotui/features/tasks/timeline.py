"""Where threads ran: their run time by CPU in short bins of time, from which any window can be drawn."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import takewhile
from typing import Final, NamedTuple

from turbotui.cell_widths import flush_right
from turbotui.dataclass import dataclass

_BIN_NS: Final = 10_000
_OUT_OF_ORDER: Final = 100  # bins
_MOST_BINS: Final = 4096  # of a timeline without a horizon, which then doubles its bins
_MOST_ENTRIES: Final = 60_000  # of all threads together, 20 bytes each; then the bins double too
_UNBINNED: Final = 8_192  # slices that are in no bin yet, 32 bytes each
_WORDS: Final = 4  # of such a slice

STAYS: Final = "━"
IDLE: Final = "·"
"""What is drawn where a thread stays on its CPU, and where it does not run."""

NO_SLICE: Final = "when threads ran is not known: none was seen to leave its CPU or to end"
"""Why a timeline is empty."""

class RunSlice(NamedTuple):
    """A time for which a thread ran on a CPU without a break, to the resolution of a timeline."""

    cpu: int
    # start, end: ns of the perf clock
    start: int
    end: int
    thread: int


@dataclass(frozen=True, slots=True)
class Stretch:
    """The CPU and share of time of one cell of a drawn lane."""

    cpu: int  # where the thread ran longest in this time
    share: float  # of this time that it ran, on whatever CPU; 0 to 1
    others: bool  # whether it ran on other CPUs as well


@dataclass(slots=True)
class _Line:
    """The run time of a thread, an entry for a bin and a CPU, in the order in which they came.

    There are two of a bin and CPU where entries of earlier bins came in between, from another CPU's ring. Packed they
    take a fifth of a dictionary, of which 224 CPUs filled 4.5 MB.
    """

    bins: array[int] = field(default_factory=lambda: array("q"))
    cpus: array[int] = field(default_factory=lambda: array("i"))  # -1: not known
    ran: array[int] = field(default_factory=lambda: array("q"))  # ns

    def add(self, number: int, cpu: int, ran: int) -> int:
        """Add run time, and return the number of entries that came."""
        at = len(self.bins) - 1
        while at >= 0 and self.bins[at] >= number:  # the last entry, nearly always
            if self.cpus[at] == cpu and self.bins[at] == number:
                self.ran[at] += ran
                return 0
            at -= 1
        self.bins.append(number)
        self.cpus.append(cpu)
        self.ran.append(ran)
        return 1

    def forget(self, limit: int) -> int:
        """Forget the first entries, those of bins before a limit, and return their number."""
        old = sum(1 for _number in takewhile(limit.__gt__, self.bins))
        del self.bins[:old], self.cpus[:old], self.ran[:old]
        return old

    def entries(self) -> Iterator[tuple[int, int, int]]:
        """Yield bin, CPU and ns, the last entry first."""
        return zip(reversed(self.bins), reversed(self.cpus), reversed(self.ran), strict=True)


class Timeline:
    """The run time of threads by bin and CPU; a thread is identified by any number that no other thread ever gets.

    Args:
        bin_ns: resolution.
        horizon_ns: what is older than the newest by more is forgotten; None keeps everything, at a resolution that
            halves as often as needed.
        most: entries kept, of a thread on a CPU in a bin; beyond, the resolution halves. 0 keeps nothing.
    """

    def __init__(self, bin_ns: int = _BIN_NS, horizon_ns: int | None = None, most: int = _MOST_ENTRIES) -> None:
        self._bin_ns = bin_ns
        self._most = most
        self._entries = 0
        self._start = self._end = 0
        self._horizon = horizon_ns
        self._lines: dict[int, _Line] = {}
        self._unbinned = array("q")  # thread, CPU, start and end of each slice that is in no bin yet

    @property
    def bin_ns(self) -> int:
        """The resolution."""
        self._fill_bins()
        return self._bin_ns

    @property
    def start(self) -> int:
        """When the first thread ran, in ns of the perf clock; 0 before anything was added."""
        self._fill_bins()
        return self._start

    @property
    def end(self) -> int:
        """Likewise when the last one ran."""
        self._fill_bins()
        return self._end

    def add(self, thread: int, cpu: int, start: int, end: int) -> None:
        """Add run time of a thread on a CPU, from `start` to `end` in ns of the perf clock."""
        if self._most:
            self._unbinned.extend((thread, cpu, start, end))
            if len(self._unbinned) >= _WORDS * _UNBINNED:
                self._fill_bins()

    def _fill_bins(self) -> None:
        """Put slices into their bins: many at a time, because nobody looks at most of them."""
        words, self._unbinned = iter(self._unbinned), array("q")
        for thread, cpu, start, end in zip(words, words, words, words, strict=True):
            if start < self._start or not self._start:
                self._start = start
            self._end = max(self._end, end)
            if self._horizon is None:
                while (self._end - self._start) // self._bin_ns >= _MOST_BINS:
                    self._coarsen()
            elif end < self._end - self._horizon:
                continue
            if self._entries > self._most:
                self._shrink()
            if (line := self._lines.get(thread)) is None:
                line = self._lines[thread] = _Line()
            self._add(line, cpu, start, end)

    def _shrink(self) -> None:
        """Halve the resolution until half of the capacity is free; enlarge it if threads have few entries each."""
        before = 0
        while self._entries > self._most // 2 and self._entries != before:
            before = self._entries
            self._coarsen()
        self._most = max(self._most, 2 * self._entries)

    def drop(self, thread: int) -> None:
        """Forget a thread."""
        self._fill_bins()
        if (line := self._lines.pop(thread, None)) is not None:
            self._entries -= len(line.bins)

    def _add(self, line: _Line, cpu: int, start: int, end: int) -> None:
        size = self._bin_ns
        first, last = start // size, end // size
        if first == last:
            self._entries += line.add(first, cpu, end - start)
            return
        if self._horizon is not None:
            first = max(first, (self._end - self._horizon) // size)
        for number in range(first, last + 1):
            if (part := min(end, (number + 1) * size) - max(start, number * size)) > 0:
                self._entries += line.add(number, cpu, part)

    def forget(self) -> None:
        """Drop bins beyond the horizon, and threads without any bin left."""
        if self._horizon is None:
            return
        ends = self._unbinned[_WORDS - 1::_WORDS]
        begin = max(self._end, max(ends, default=0)) - self._horizon
        del self._unbinned[:_WORDS * sum(1 for _end in takewhile(begin.__gt__, ends))]
        limit = begin // self._bin_ns
        for thread, line in [each for each in self._lines.items() if not each[1].bins or each[1].bins[0] < limit]:
            self._entries -= line.forget(limit)
            if not line.bins:
                del self._lines[thread]

    def total(self) -> int:
        """Return the run time of all threads in ns."""
        self._fill_bins()
        return sum(sum(line.ran) for line in self._lines.values())

    def line(self, threads: frozenset[int], start: int, end: int, places: int) -> list[Stretch | None]:
        """Return the window from `start` to `end` divided into cells; None where none of the threads ran."""
        self._fill_bins()
        busy: list[dict[int, float]] = [{} for _ in range(places)]
        for thread in threads:
            for place, cpu, ran in self._placed(self._lines.get(thread, _Line()), start, end, places):
                busy[place][cpu] = busy[place].get(cpu, 0) + ran
        length = max(1, end - start) / places
        return [_stretch(by_cpu, length) for by_cpu in busy]

    def _placed(self, line: _Line, start: int, end: int, places: int) -> Iterator[tuple[int, int, float]]:
        """Yield the place, the CPU and the ns of what ran in each cell; a bin is divided evenly among its places."""
        size, span = self._bin_ns, max(1, end - start)
        early = start // size - _OUT_OF_ORDER
        soonest, latest = self._start - start, self._end - start  # nothing ran before the timeline begins, nor beyond
        for number, cpu, ran in line.entries():
            if number < early:
                break  # bins are added in the order of time, but for rings that were taken one after the other
            at = number * size - start
            begin, stop = max(at, soonest), min(at + size, latest)
            first, last = begin * places // span, (stop * places - 1) // span
            if first >= last:
                if 0 <= first < places:
                    yield first, cpu, ran
                continue
            share = ran / (stop - begin)
            for place in range(max(0, first), min(last + 1, places)):
                yield place, cpu, share * (min(stop, (place + 1) * span / places) - max(begin, place * span / places))

    def slices(self) -> Iterator[RunSlice]:
        """Return when each thread ran, CPU by CPU in the order of time.

        Within a bin the order of threads is not known: who ran in the bin before is first, who runs in the next one is
        last, and idle time lies before the last one.
        """
        self._fill_bins()
        by_cpu: dict[int, dict[int, dict[int, int]]] = {}
        for thread, line in self._lines.items():
            for number, cpu, ran in line.entries():
                threads = by_cpu.setdefault(cpu, {}).setdefault(number, {})
                threads[thread] = threads.get(thread, 0) + ran
        for cpu, numbers in sorted(by_cpu.items()):
            open_slice: RunSlice | None = None
            for number, threads in sorted(numbers.items()):
                for start, end, thread in self._laid_out(number, threads, numbers.get(number + 1, {}), open_slice):
                    if open_slice is not None and (open_slice.end, open_slice.thread) == (start, thread):
                        open_slice = open_slice._replace(end=end)
                        continue
                    if open_slice is not None:
                        yield open_slice
                    open_slice = RunSlice(cpu, start, end, thread)
            if open_slice is not None:
                yield open_slice

    def _laid_out(self, number: int, ran: Mapping[int, int], following: Container[int],
                  before: RunSlice | None) -> list[tuple[int, int, int]]:
        """Start, end and thread of the slices in a bin."""
        begin = number * self._bin_ns
        first = before.thread if before is not None and before.end == begin else -1
        order = sorted(ran, key=lambda thread: (thread != first, thread in following, -ran[thread], thread))
        whole = sum(ran.values())
        scale = min(1.0, self._bin_ns / whole) if whole else 0.0  # threads that leave and come overlap by some ns
        columns, at = [], 0.0
        for thread in order:
            length = ran[thread] * scale
            if thread in following and thread == order[-1] and (thread != first or len(order) == 1):
                at = self._bin_ns - length  # it goes on in the next bin
            columns.append((begin + round(at), begin + round(at + length), thread))
            at += length
        return columns

    def running(self, start: int, end: int, places: int) -> list[float]:
        """The mean number of threads that ran in each cell of the window from `start` to `end`."""
        self._fill_bins()
        running = [0.0] * places
        for line in self._lines.values():
            for place, _cpu, ran in self._placed(line, start, end, places):
                running[place] += ran
        return [ran * places / max(1, end - start) for ran in running]

    def _coarsen(self) -> None:
        self._bin_ns *= 2
        self._entries = 0
        for thread, line in self._lines.items():
            wider: dict[tuple[int, int], int] = {}
            for number, cpu, ran in zip(line.bins, line.cpus, line.ran, strict=True):
                wide = number >> 1, cpu
                wider[wide] = wider.get(wide, 0) + ran
            self._lines[thread] = _Line(array("q", [number for number, _cpu in wider]),
                                        array("i", [cpu for _number, cpu in wider]), array("q", wider.values()))
            self._entries += len(wider)


def place_width(highest: int) -> int:
    """Return the characters of a cell for CPUs up to this number; numbers of several digits are preceded by a blank."""
    digits = len(str(highest))
    return digits if digits == 1 else digits + 1


def place_texts(stretches: Sequence[Stretch | None], cell: int) -> Iterator[str]:
    """Return the texts of the cells of a lane: the CPU's number, or a point where the thread did not run.

    Args:
        cell: characters of each.
    """
    before = -1
    for stretch in stretches:
        cpu = -1 if stretch is None else stretch.cpu
        if stretch is None:
            yield flush_right(IDLE, cell)
        elif cell > 1 and cpu == before:
            # numbers of several digits would run together
            yield STAYS * cell
        else:
            yield flush_right(str(cpu), cell)
        before = cpu


def _stretch(by_cpu: dict[int, float], length: float) -> Stretch | None:
    if not by_cpu:
        return None
    cpu = max(by_cpu, key=lambda number: (by_cpu[number], -number))
    return Stretch(cpu, min(1.0, sum(by_cpu.values()) / length), len(by_cpu) > 1)
