"""The window of bandwidth over the size of the working set, measured on request, with named plateaus."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from turbotui.app.text_window import TextWindow
from turbotui.dataclass import dataclass
from turbotui.errors import TurbotuiError
from turbotui.features.roofline.curve import BandwidthCurve
from turbotui.features.roofline.curve_measuring import measure_curves
from turbotui.features.roofline.curve_tables import curve_bars, size_text
from turbotui.features.roofline.measuring import threads_of
from turbotui.machine.host import ForwardedHost
from turbotui.machine.machine import Machine
from turbotui.threads import NamedThread

_COST: Final = ("Loads and streaming stores of one thread on CPU {cpu} over ever larger working sets, as turbotui "
                "roofs --sweep measures them.")
_BUSY: Final = "It takes about ten seconds, in which that CPU and its memory are busy: what runs there is slowed down."
_ELSEWHERE: Final = "This machine is read by a collector elsewhere: measure it there, by turbotui roofs --sweep"
_STOPPED: Final = "stopped"


@dataclass(frozen=True, slots=True)
class MeasuredCurves:
    """The result of a measurement so far."""

    doing: str = ""  # the present step; "" before the beginning and after the end
    curves: tuple[BandwidthCurve, ...] = ()  # the curves, once all are measured
    why: str = ""  # the error; "" if there is none


@dataclass()
class CurvesReady(Message, bubble=False):
    """The result of a measurement so far, from its thread."""

    result: MeasuredCurves


class CurveWindow(TextWindow):
    """A window that measures on Enter only, because a measurement disturbs other work.

    Args:
        machine: the machine; only the one that this runs on can be measured.
    """

    KEYS = "Enter measure · y copy · Esc close"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "measure", "measure"),
                                             Binding("c", "close", "close", show=False)]

    def __init__(self, machine: Machine) -> None:
        super().__init__(self._lines)
        self._machine = machine
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.result = MeasuredCurves()

    def on_unmount(self) -> None:
        """End the measurement as soon as no thread runs a kernel."""
        self._stop.set()

    def action_measure(self) -> None:
        """Begin, unless a measurement is running."""
        if self._thread is None or not self._thread.is_alive():
            self.result = MeasuredCurves("measuring")
            self.show_frame()
            self._thread = NamedThread(target=self._run, name="curve", daemon=True)
            self._thread.start()

    def on_curves_ready(self, message: CurvesReady) -> None:
        """Show the result so far."""
        self.result = message.result
        self.show_frame()

    def _run(self) -> None:
        machine = self._machine

        def check() -> None:
            if self._stop.is_set():
                raise TurbotuiError(_STOPPED)

        def progress(done: int, total: int, what: str) -> None:
            self.post_message(CurvesReady(MeasuredCurves(f"measuring {what}, {done + 1} of {total}")))

        if isinstance(machine.host, ForwardedHost):
            self.post_message(CurvesReady(MeasuredCurves(why=_ELSEWHERE)))
            return
        try:
            curves = measure_curves(machine, [("one", threads_of(machine, "one", None))], check=check,
                                    progress=progress)
        except TurbotuiError as error:
            measured = MeasuredCurves(why=str(error))
        else:
            measured = MeasuredCurves(curves=curves)
        self.post_message(CurvesReady(measured))

    def _lines(self, width: int) -> tuple[str, list[str]]:
        return "bandwidth over size", list(window_lines(self.result, threads_of(self._machine, "one", None), width))


def window_lines(measured: MeasuredCurves, cpus: Sequence[int], width: int) -> Iterator[str]:
    """Format the cost of a measurement, or the plateaus by cache, then every size as a bar."""
    if measured.why:
        yield f"Not measured: {measured.why}"
        return
    if not measured.curves:
        yield _COST.format(cpu=cpus[0] if cpus else "?")
        yield _BUSY
        yield ""
        yield f"{measured.doing} …" if measured.doing else "Enter begins."
        return
    for curve in measured.curves:
        levels = [f"{flat.level} {flat.rate / 1e9:.4g} GB/s ({size_text(flat.first)} to {size_text(flat.last)})"
                  for flat in curve.plateaus]
        yield f"{curve.kernel}: {', '.join(levels) if levels else 'no plateau'}"
    if any(point.disturbed for curve in measured.curves for point in curve.points):
        yield "? other work ran on that CPU meanwhile"
    for curve in measured.curves:
        yield ""
        yield from curve_bars(curve, width)
    yield from dict.fromkeys(f"note: {note}" for curve in measured.curves for note in curve.notes)
