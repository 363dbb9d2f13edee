"""The window of the functions behind a point of the roofline screen, sampled while the window is open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from turbotui.app.text_window import TextWindow
from turbotui.cell_widths import cut, flush_right
from turbotui.dataclass import dataclass
from turbotui.features.roofline.function_points import FunctionPoint
from turbotui.features.roofline.function_watch import LONGEST, FunctionWatch, SampledFunctions
from turbotui.features.roofline.screen_view import SIZINGS, RoofView
from turbotui.machine.cpulist import format_cpulist
from turbotui.machine.ip_sampling import SampledCode
from turbotui.machine.machine import Machine
from turbotui.machine.topology import Topology
from turbotui.quantities.roofline import Sizing
from turbotui.quantities.sentences import as_sentence
from turbotui.quantities.unavailable import Unavailable
from turbotui.widgets.cells import UNKNOWN

_SHARES: Final = 15
"""Characters of the shares at the left, with the space behind them."""
_PLACES: Final = 27
"""Characters of intensity and rates, if they are sampled."""
_LEAST: Final = 12
_NARROW: Final = 40
"""The width of names below which the function precedes its file if both do not fit."""


@dataclass(frozen=True, slots=True)
class SampledPlace:
    """The CPUs or thread of a point, for sampling."""

    name: str  # the name for people
    code: SampledCode  # the CPUs or the thread whose instruction pointers are sampled
    where: str  # a description of the CPUs or the thread


def place_of(view: RoofView, topology: Topology) -> SampledPlace | None:
    """Return the CPUs or the thread of the point under the cursor; None if it is several threads, or gone.

    Without a point, as when no operations are counted, these are all CPUs.
    """
    if (point := view.under_cursor) is None:
        return SampledPlace("the whole machine", SampledCode.of_cpus(topology.cpus), "all CPUs")
    if point.task:
        rows = () if view.report is None else view.report.rows
        tid = next((row.tid or row.pid for row in rows if row.key == point.task), None)
        return None if tid is None else SampledPlace(point.name, SampledCode.of_thread(tid), f"thread {tid}")
    instance = topology.instance(point.row)
    if instance is None or not instance.cpus:
        return None
    noun = "CPU" if len(instance.cpus) == 1 else "CPUs"
    return SampledPlace(point.name, SampledCode.of_cpus(instance.cpus), f"{noun} {format_cpulist(instance.cpus)}")


@dataclass()
class FunctionsReady(Message, bubble=False):
    """The result of a sampling so far, from its thread."""

    result: SampledFunctions
    watch: FunctionWatch


class FunctionsWindow(TextWindow):
    """A window with functions, their shares of time, and their operations and bytes.

    Args:
        place: the CPUs or the thread to sample.
        uncounted: why operations and bytes are unknown; None if they are sampled.
    """

    KEYS = "r sample again · y copy · Esc close"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("r", "again", "sample again"),
                                             Binding("f", "close", "close", show=False)]

    def __init__(self, machine: Machine, place: SampledPlace, sizing: Sizing, uncounted: Unavailable | None) -> None:
        super().__init__(self._lines)
        self._machine = machine
        self._place = place
        self._sizing = sizing
        self._uncounted = uncounted
        self._watch: FunctionWatch | None = None
        self.result = SampledFunctions()

    def on_mount(self) -> None:
        """Begin to sample."""
        self.action_again()

    def on_unmount(self) -> None:
        """End the sampling."""
        if self._watch is not None:
            self._watch.stop()

    def action_again(self) -> None:
        """Drop the result, and sample again."""
        if self._watch is not None:
            self._watch.stop()
        watch: FunctionWatch | None = None

        def publish(functions: SampledFunctions) -> None:
            if watch is not None:
                self.post_message(FunctionsReady(functions, watch))

        watch = self._watch = FunctionWatch(self._machine, self._place.code, self._sizing, publish, self._uncounted)
        self.result = SampledFunctions()
        self.show_frame()
        watch.start()

    def on_functions_ready(self, message: FunctionsReady) -> None:
        """Show the newest table."""
        if message.watch is self._watch:
            self.result = message.result
            self.show_frame()

    def _lines(self, width: int) -> tuple[str, list[str]]:
        return f"functions of {self._place.name}", list(function_lines(self.result, self._place, width))


def open_functions(machine: Machine, view: RoofView, uncounted: Unavailable | None) -> FunctionsWindow | str:
    """Make the window for the point under the cursor, or return why there is none."""
    place = place_of(view, machine.topology)
    if (point := view.under_cursor) is not None and point.is_region:
        return "Functions are sampled of CPUs and threads, not of a region: turbotui roofline --by function -- COMMAND"
    if place is None:
        return "This point's thread is gone: its functions cannot be sampled any more"
    return FunctionsWindow(machine, place, SIZINGS[view.sizing], uncounted)


def function_lines(sampled: SampledFunctions, place: SampledPlace, width: int) -> Iterator[str]:
    """Format what is sampled and its cost, the table, and notes."""
    if sampled.why is not None:
        yield f"Not sampled: {sampled.why.detail}"
        if sampled.why.remedy:
            yield f"to do: {sampled.why.remedy}"
        return
    if not sampled.functions.points:
        yield f"sampling {place.where} for {LONGEST:.0f} s: an interrupt each millisecond of CPU time"
        if sampled.seconds:
            yield ""
            yield f"nothing ran there in {sampled.seconds:.1f} s"
        return
    state = "over" if sampled.over else "goes on"
    yield (f"{place.where}: {sampled.functions.samples:,} samples in {sampled.seconds:.1f} s ({state}); reading "
           f"and naming them took {sampled.cost:.2f} s of CPU time")
    if len(sampled.tasks) > 1:
        yield "tasks: " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in sampled.tasks)
    if sampled.uncounted is not None:
        yield as_sentence(f"no intensity: {sampled.uncounted.sentence()}")
    yield ""
    counted = any(point.flops is not None for point in sampled.functions.points)
    room = max(_LEAST, width - _SHARES - (_PLACES if counted else 0))
    yield f"{'share':>7}{'±':>6}" + (f"{'flop/B':>9}{'GF/s':>9}{'GB/s':>9}" if counted else "") + "  function"
    for function_point in sampled.functions.points:
        yield _row(function_point, sampled.seconds, room, counted=counted)
    yield ""
    yield from (note.removeprefix("functions: ") for note in sampled.functions.notes)


def _row(point: FunctionPoint, seconds: float, room: int, *, counted: bool) -> str:
    rates = ((point.intensity, 1.0), (point.flops, 1e9 * seconds), (point.bytes, 1e9 * seconds)) if counted else ()
    cells = "".join(flush_right(UNKNOWN if value is None else f"{value / unit:.3g}", 9) for value, unit in rates)
    file = f"  {point.file}" if point.file and (room >= _NARROW
                                                or len(point.name) + len(point.file) + 2 <= room) else ""
    name = cut(point.name, max(2, room - len(file)))
    return f"{100 * point.share:>5.1f} %{100 * point.error:>6.1f}{cells}  {name}{file}"[:_SHARES + _PLACES + room]
