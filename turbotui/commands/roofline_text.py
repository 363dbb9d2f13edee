"""What `turbotui roofline` prints: tables, a plot, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from turbotui.analysis.roofline import storage
from turbotui.analysis.roofline.judging import Choice, flat_roof
from turbotui.analysis.roofline.live import Spot, moments_of, total_of
from turbotui.analysis.roofline.phases import Phase, find_phases, kinds_of
from turbotui.analysis.roofline.plot import Mark, Plot, build_plot
from turbotui.analysis.roofline.roofs import BINDING, NOTHING_BINDS, Bound, RoofSet, Verdict, verdict
from turbotui.commands.roofs_text import draw_plot

_MARKS = {"scalar": "s", "SSE": "x", "NEON": "x", "AVX": "a", "AVX-512": "z", "SVE": "z"}


@dataclass(frozen=True, slots=True)
class Result:
    """A run.

    Attributes:
        simulated: "SIMULATED machine NAME", or "".
        title: of the machine.
        spots: of every row and interval, oldest first.
        roofs: for each row's name.
        counted: how it was counted, for people.
        notes: what must be known beside the numbers.
        joules: energy of all packages over the run; None where it cannot be had.
        why_no_energy: then the reason.
        seconds: length of the run.
        status: exit status of the command.
    """

    simulated: str
    title: str
    spots: tuple[Spot, ...]
    roofs: dict[str, Choice]
    counted: str
    notes: tuple[str, ...]
    joules: float | None
    why_no_energy: str
    seconds: float
    status: int = 0

    @property
    def rows(self) -> dict[str, list[Spot]]:
        """Intervals by row."""
        found: dict[str, list[Spot]] = {}
        for spot in self.spots:
            found.setdefault(spot.name, []).append(spot)
        return found

    def drawn(self, spots: Sequence[Spot]) -> RoofSet | None:
        """The roofs of a row while so much works as it did on average over its intervals, of which there is one."""
        total = total_of(spots)
        return self.roofs[spots[0].name].under(None if total is None else total.working)


def text_of(result: Result, *, plot: bool, width: int, coloured: bool) -> str:
    """The whole report."""
    lines = [f"# {result.simulated}: nothing below was read from hardware"] if result.simulated else []
    lines += [f"{result.title}; {result.counted}"]
    lines += [f"roofs: {words}" for words in dict.fromkeys(choice.source for choice in result.roofs.values())]
    lines += ["", *_table(result), ""]
    main = _main(result)
    if main:
        lines += _phase_table(main, result.roofs[main[0].name])
    lines += _energy(result)
    lines += [f"note: {note}" for note in result.notes]
    roofs = result.drawn(main) if main else None
    if plot and roofs is not None:
        drawn = plot_of(roofs, main)
        lines += ["", drawn.title, draw_plot(drawn, width, coloured), *_legend(drawn)]
    return "\n".join(lines)


def plot_of(roofs: RoofSet, spots: Sequence[Spot]) -> Plot:
    """The roofs with every interval as a point."""
    marks = [Mark(spot.intensity or 0.0, spot.gflops, _MARKS.get(spot.dominant, "*")) for spot in spots]
    return build_plot(roofs, marks)


def _legend(plot: Plot) -> list[str]:
    used = {mark.label for mark in plot.points}
    words = [f"{mark} {'/'.join(name for name in _MARKS if _MARKS[name] == mark)}"
             for mark in dict.fromkeys(_MARKS.values()) if mark in used]
    lines = [f"  {number}  {line.name}" for number, line in enumerate(plot.lines, start=1)]
    meetings = "ridge points (o) [flop/byte]: " + ", ".join(mark.label for mark in plot.ridges)
    return [*lines, meetings, *(["intervals by dominating width: " + ", ".join(words)] if words else [])]


def _main(result: Result) -> list[Spot]:
    """The row whose course is shown: the last one, which is the whole machine or the command."""
    rows = result.rows
    return rows[list(rows)[-1]] if rows else []


def _table(result: Result) -> list[str]:
    lines = [["", "AI flop/B", "GFLOP/s", "GB/s", "width", "bound by", "of that roof", "below"]]
    unbound = False
    for name, spots in result.rows.items():
        total = total_of(spots)
        if total is None:
            continue
        mark = "~" if total.estimated else ""
        found = result.roofs[name].judge(total)
        lines.append([
            name, _number(total.intensity, mark), _number(total.gflops, mark), _number(total.gbytes, mark),
            total.dominant or "-", *_verdict_words(found),
        ])
        unbound |= found is not None and found.bound is Bound.NONE
    said = [f"{NOTHING_BINDS}: less than {100 * BINDING:.0f} % of the nearest roof is reached"] if unbound else []
    return [*_aligned(lines), *said]


def _number(value: float | None, mark: str = "") -> str:
    return "-" if value is None else f"{mark}{value:.4g}"


def _verdict_words(found: Verdict | None) -> list[str]:
    if found is None:
        return ["-", "-", "-"]
    if found.above:
        return [f"above {found.top}", f"{100 * found.reached:.1f} %", "-"]
    if found.bound is Bound.NONE:
        return [f"no roof (nearest: {found.ceiling})", f"{100 * found.reached:.1f} %",
                f"{100 * (1 - found.reached):.1f} %"]
    kind = "compute" if found.bound is Bound.COMPUTE else "memory"
    return [f"{found.ceiling} ({kind})", f"{100 * found.reached:.1f} %", f"{100 * (1 - found.reached):.1f} %"]


def _aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(line[at]) for line in lines) for at in range(len(lines[0]))]
    left = (0, 4, 5)
    return ["  ".join(word.ljust(width) if at in left else word.rjust(width)
                      for at, (word, width) in enumerate(zip(line, widths, strict=True))).rstrip() for line in lines]


def _phase_table(spots: Sequence[Spot], choice: Choice) -> list[str]:
    phases = find_phases(moments_of(spots))
    kinds = kinds_of(phases)
    if len(phases) < 2:
        return []
    whole = total_of(spots)
    single = None if whole is None else whole.single
    roofs = choice.under(None if whole is None else whole.working)
    used = None if whole is None else choice.used(whole.working)
    lines = [["behaviour", "AI flop/B", "GFLOP/s", "seconds", "width", "bound by", "of that roof", "below"]]
    for number, kind in enumerate(kinds, 1):
        lines.append([str(number), _number(kind.intensity), f"{kind.gflops:.4g}", f"{kind.seconds:.2f}",
                      kind.dominant or "-", *_verdict_words(_judged(kind, roofs, single, used))])
    steady = [phase for phase in phases if phase.intervals > 1]
    changes = [phase for phase in phases if phase.intervals == 1] if steady else []
    change = f"{sum(phase.seconds for phase in changes):.2f} s of change between them belong to none"
    course = ", ".join(f"{phase.start:.1f} s: {_kind_number(phase, kinds)}" for phase in steady[:12])
    more = f" and {len(steady) - 12} more" if len(steady) > 12 else ""
    return [f"phases of {spots[0].name}, by place and width", *_aligned(lines),
            *([change] if changes else []), *([f"course: {course}{more}"] if steady else []), ""]


def _judged(phase: Phase, roofs: RoofSet | None, single: float | None, used: float | None) -> Verdict | None:
    if roofs is None or not phase.intensity or not phase.gflops:
        return None
    flops = phase.gflops * 1e9
    return verdict(roofs, phase.intensity, flops, flat_roof(roofs, flops, phase.dominant, single), used=used)


def _kind_number(phase: Phase, kinds: Sequence[Phase]) -> str:
    """The behaviour nearest to a phase."""
    def distance(kind: Phase) -> float:
        return (abs((kind.intensity or 0.0) - (phase.intensity or 0.0)) + abs(kind.gflops - phase.gflops)
                + (1e9 if kind.dominant != phase.dominant else 0.0))

    return str(1 + min(range(len(kinds)), key=lambda at: distance(kinds[at])))


def _energy(result: Result) -> list[str]:
    if result.joules is None:
        return [f"energy: not known: {result.why_no_energy}"] if result.why_no_energy else []
    flops = sum(spot.gflops * spot.length for spot in _main(result))
    watts = result.joules / result.seconds if result.seconds else 0.0
    efficiency = f"; {flops / result.joules:.4g} GFLOP/s per W" if result.joules > 0 else ""
    return [f"energy of all packages: {result.joules:.1f} J, {watts:.1f} W{efficiency}"]


def json_of(result: Result) -> dict[str, object]:
    """Everything, in SI units."""
    rows = []
    for name, spots in result.rows.items():
        total = total_of(spots)
        choice = result.roofs[name]
        found = None if total is None else choice.judge(total)
        working = None if total is None else total.working
        rows.append({
            "row": name, "total": None if total is None else _spot_json(total),
            "verdict": None if found is None else {
                "bound": found.bound.value, "by": found.ceiling, "share": found.reached,
                "attainable_flops": found.attainable, "above_every_roof": found.above,
                "by_memory_counters": found.counted},
            "working": None if working is None else {
                "cores": working.cores, "cores_that_share_memory": working.beside,
                "memory_bytes_per_second": working.traffic, "memory_share_used": choice.used(working)},
            "intervals": [_spot_json(spot) for spot in spots],
            "phases": [{"start": phase.start, "seconds": phase.seconds, "flop_per_byte": phase.intensity,
                        "flops": phase.gflops * 1e9, "width": phase.dominant, "intervals": phase.intervals}
                       for phase in find_phases(moments_of(spots))],
            "roofs": choice.source,
        })
    sets = {id(choice.roofs): choice.roofs for choice in result.roofs.values() if choice.roofs is not None}
    return {
        "simulated": result.simulated, "machine": result.title, "counted": result.counted,
        "notes": list(result.notes), "seconds": result.seconds, "joules": result.joules,
        "why_no_energy": result.why_no_energy, "rows": rows, "roofs": [storage.to_json(one) for one in sets.values()],
    }


def _spot_json(spot: Spot) -> dict[str, object]:
    return {
        "end_seconds": spot.seconds, "seconds": spot.length, "flop_per_byte": spot.intensity,
        "flops": spot.gflops * 1e9, "bytes_per_second": None if spot.gbytes is None else spot.gbytes * 1e9,
        "width": spot.dominant, "bytes_by": None if spot.width is None else spot.width.value,
        "estimated": spot.estimated,
    }
