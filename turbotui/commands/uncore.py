"""`turbotui uncore`: what memory controllers, fabrics and links do: a panel for each kind of uncore PMU."""

from __future__ import annotations

import argparse
import queue

from turbotui.analysis.uncore.absence import why_none
from turbotui.analysis.uncore.board import Board
from turbotui.analysis.uncore.panels import Panel, typed_metric
from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.uncore_text import panel_lines, report
from turbotui.commands.watching import label, open_host, parse_interval
from turbotui.errors import InternalError, UsageError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.machine.uncore.fields import fields_of, read_value
from turbotui.machine.uncore.filters import check
from turbotui.sampling.frame import Frame
from turbotui.sampling.session import Session
from turbotui.untrusted import json_text

_INTERVAL = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    parser.add_argument("-i", "--interval", metavar="SECONDS", help="panels for every interval, not only once")
    parser.add_argument("-n", "--intervals", metavar="N", type=int, help="end after so many (default interval: 1 s)")
    parser.add_argument("-k", "--kind", metavar="WORD", action="append", default=[],
                        help="only kinds of PMU whose name has this in it; may be given several times")
    parser.add_argument("-e", "--event", metavar="PMU/EVENT/", action="append", default=[],
                        help="show this event too, on every PMU of its kind; an event is a name or terms")
    parser.add_argument("-f", "--filter", metavar="PMU/FIELD=VALUE,.../", action="append", default=[],
                        help="count only what passes, on this PMU or on all of a kind; src_bdf takes 27:01.1 too")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, one an interval")


def run(arguments: argparse.Namespace) -> int:
    """Print panels until the intervals are over or SIGINT comes."""
    if arguments.intervals is not None and arguments.intervals < 1:
        raise UsageError(f"-n {arguments.intervals}: at least one interval")
    seconds = parse_interval(arguments.interval or str(_INTERVAL))
    once = arguments.interval is None and arguments.intervals is None
    machine = read_machine(open_host(arguments))
    board = Board(machine)
    if not board.panels:
        why = why_none(machine)
        if arguments.json:
            print(json_text({"machine": machine.host.name, "panels": [], "why": why.sentence()}))
        else:
            print(why.sentence())
        return 0
    panels = _chosen(board, arguments.kind)
    for text in arguments.event:
        panel, _pmus, event = _aimed(board, text)
        board.show(panel, (*board.shown(panel), typed_metric(panel, event)))
    for text in arguments.filter:
        _filter(board, text)
    board.keep(panels)
    _watch(machine, board, seconds, 1 if once else arguments.intervals, as_json=arguments.json)
    return 0


def _watch(machine: Machine, board: Board, seconds: float, intervals: int | None, *, as_json: bool) -> None:
    frames: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
    session = Session(machine, (), seconds, LinuxHost())
    session.read_also(board.sources(), board.signals())
    session.start(frames.put, intervals=intervals, on_end=lambda: frames.put(None))
    mark = label(machine.host)
    try:
        while (frame := frames.get()) is not None:
            if frame.older is None:
                continue
            if as_json:
                print(json_text(report(board, frame, machine)), flush=True)
                continue
            if mark:
                print(f"# {mark}: nothing below was read from hardware")
            for panel in board.panels:
                print("\n".join(panel_lines(board, panel, frame)) + "\n", flush=True)
    except KeyboardInterrupt:
        pass  # that is how a person ends it
    finally:
        session.stop()
    if session.failure is not None:
        raise InternalError(f"{type(session.failure).__name__}: {session.failure}") from session.failure


def _chosen(board: Board, words: list[str]) -> tuple[Panel, ...]:
    if not words:
        return board.panels
    found = tuple(
        panel for panel in board.panels
        if any(word.lower() in (panel.kind.id + " " + panel.kind.title).lower() for word in words)
    )  # fmt: skip
    if not found:
        kinds = ", ".join(panel.kind.id for panel in board.panels)
        raise UsageError(f"--kind {' '.join(words)}: no kind of uncore PMU here has that name; there are {kinds}")
    return found


def _aimed(board: Board, text: str) -> tuple[Panel, tuple[str, ...], str]:
    """The panel, the PMUs and the rest of PMU/REST/."""
    name, slash, rest = text.rstrip("/").partition("/")
    if not slash or not rest:
        raise UsageError(f"{text!r}: write PMU/.../, such as {board.panels[0].pmu.name}/.../")
    for panel in board.panels:
        names = tuple(dict.fromkeys(unit.pmu.name for unit in panel.units))
        if name in names:
            return panel, (name,), rest
        if name == panel.kind.id:
            return panel, names, rest
    kinds = ", ".join(panel.kind.id for panel in board.panels)
    raise UsageError(f"{text!r}: there is no uncore PMU {name!r} here, and no kind of that name; there are {kinds}")


def _filter(board: Board, text: str) -> None:
    panel, pmus, rest = _aimed(board, text)
    fields = {field.name: field for field in fields_of(panel.pmu)}
    settings: dict[str, int] = dict(board.settings(pmus[0]))
    for part in rest.split(","):
        name, equals, value = part.partition("=")
        if name not in fields:
            raise UsageError(f"{text!r}: {pmus[0]} has no filter {name!r}; it has {', '.join(fields) or 'none'}")
        settings[name] = read_value(panel.pmu, fields[name], value if equals else "1")
    check(panel.pmu, settings)
    board.set_filters(pmus, settings)
