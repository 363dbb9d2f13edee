"""Counts a command or a machine for the roofline, and finds the roofs; without output."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError, StoppedError, signal_status
from turbotui.features.roofline import storage
from turbotui.features.roofline.beside import MachineReadings
from turbotui.features.roofline.command import TIME_SLICE, follow
from turbotui.features.roofline.level_points import level_notes
from turbotui.features.roofline.live import RooflinePoint, read_points
from turbotui.features.roofline.measuring import Measuring, ShowProgress, machine_title
from turbotui.features.roofline.region_points import Regions, points_of_totals
from turbotui.features.roofline.result import Result
from turbotui.features.roofline.roof_tables import roof_notes
from turbotui.features.roofline.roofs import RoofSet
from turbotui.features.roofline.sharing import ONE_CPU, working_of
from turbotui.features.roofline.traffic import MemoryTraffic
from turbotui.features.roofline.verdicts import LevelRoofs, core_weights, roofs_for
from turbotui.features.tasks.region_counting import RegionCounting
from turbotui.features.tasks.region_totals import RegionTotals, regions_of
from turbotui.machine.core_metrics import CountedCoreType, core_types_of
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine
from turbotui.machine.region_pipes import MarkPipe
from turbotui.machine.signal_guard import ending_signals
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.catalog.roofline import measured_definitions
from turbotui.quantities.metric_definitions import MetricDefinition
from turbotui.quantities.roofline import NO_FLOPS, Sizing, WidthModel
from turbotui.quantities.scope import SYSTEM_ROW, RowId, Scope, cpu_row
from turbotui.quantities.sentences import several
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.rows import FindRows
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.energy import EnergyMeter, energy_signals
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampled import frames_of
from turbotui.sampling.selection import why_absent
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES
from turbotui.sources.roofline import why_uncounted

BY_MIX: Final = Sizing()
"""The default model of an access's bytes: the mix of widths of floating-point instructions."""
_INTERRUPTED = "interrupted: this is what was counted until then"
_SHARES: Final = "--by function runs it all the same, for the shares of its functions and regions in its time"


def count_command(machine: Machine, words: Sequence[str], interval: float = 1.0, *,
                  core_types: tuple[CountedCoreType, ...] | None = None, sizing: Sizing = BY_MIX, theory: bool = False,
                  levels: bool = False, functions: bool = False) -> Result:
    """Run a command and count it.

    Args:
        machine: this machine.
        interval: seconds between two points.
        core_types: core types, each with a definition that counts operations; None for the machine's.
        functions: whether to sample its functions; then the command runs even if operations cannot be counted.

    Raises:
        MachineError: the events cannot be counted here, or for this user; the command was not run.
        TurbotuiError: the command cannot be run.
    """
    uncounted: Unavailable | None = None
    if core_types is None:
        uncounted = why_uncounted(machine)
        if uncounted is not None and not functions:
            raise MachineError(f"the command was not run: {uncounted.sentence()}. {_SHARES}")
        counting = () if uncounted is not None else core_types_of(machine)
        core_types = tuple(core_type for core_type in counting if core_type.definition.flops)
    if levels:
        core_types = tuple(replace(kind, definition=kind.definition.with_levels) for kind in core_types)
    beside = MachineReadings(machine, interval)
    try:
        followed = follow(machine, core_types, words, interval, sizing=sizing, ready=beside.start, functions=functions)
    finally:
        beside.stop()
    energy = beside.energy()
    joules = energy.total(len(machine.topology.instances(Scope.PACKAGE)))
    many = followed.busy > ONE_CPU
    row = SYSTEM_ROW if many else cpu_row(machine.topology.cpus[0])
    choice = roofs_for(machine, row, os.environ, theory=theory)
    working = working_of(machine.topology, followed.busy if many else 1.0, beside.traffic)
    cores = f"{working.cores:.1f} cores" if many else "one core"
    notes = [_INTERRUPTED] if followed.interrupted else []
    notes.append(f"the command kept {followed.busy:.1f} CPUs busy: compared with the roofs of {cores}, and with all of "
                 "the memory's, whatever else ran")
    if followed.user_only:
        notes.append("only user mode is counted: kernel.perf_event_paranoid hides the kernel's part from this user")
    if joules is not None:
        notes.append("energy is that of the packages, with everything else that ran")
    if followed.sets > 1:
        notes.append(
            f"~ more events than counters: {followed.sets} sets, multiplexed every {1e3 * TIME_SLICE:.0f} ms; what a "
            "set did not count is joined from its neighbouring time slices by instructions")
    if uncounted is not None:
        notes.append(f"operations and bytes are not known: {uncounted.sentence()}")
    elif not followed.points:
        notes.append("it ended before every set of events had a time slice" if followed.sets > 1 else
                     "it ended before anything was counted")
    seconds = followed.points[-1].seconds if followed.points else 0.0
    definitions = tuple(dict.fromkeys(core_type.definition for core_type in core_types))
    points = tuple(replace(point, working=working) for point in followed.points)
    notes += _notes(definitions, points, [choice], scaled=followed.sets == 1)
    notes += [*followed.regions.notes, *followed.functions.notes, *level_notes(points, wanted=levels)]
    notes += [beside.note] if beside.note else []
    regions = replace(followed.regions, points=tuple(
        replace(region, point=None if region.point is None else replace(region.point, working=working))
        for region in followed.regions.points))
    return Result(machine.host.name, machine.host.kind, machine_title(machine), points,
                  {point.name: choice for point in points}, _counted(definitions, sizing, points), tuple(notes),
                  joules, energy.reason(joules), seconds,
                  followed.status or (signal_status(followed.interrupted) if followed.interrupted else 0), energy.span,
                  regions, choice, levels, followed.functions)


def count_machine(machine: Machine, interval: float = 1.0, intervals: int = 10, *,
                  cpus: frozenset[int] | None = None, by: Scope | None = None, sizing: Sizing = BY_MIX,
                  theory: bool = False, levels: bool = False, regions: MarkPipe | None = None) -> Result:
    """Count everything that runs on a machine; signals that end a process end that early.

    Args:
        interval: seconds between two points.
        by: a scope whose instances have rows beside the machine's.
        theory: whether measured roofs are passed over.
        levels: whether the bytes of memory levels are counted too.
        regions: the FIFO of programs that mark regions; None for none.

    Raises:
        MachineError: events that a point needs cannot be counted here.
    """
    session = Session(machine, SOURCES, interval, LinuxHost(), cpus)
    definitions = measured_definitions(session.capabilities.signals)
    if not definitions and regions is None:  # the regions' times are known even without counters
        raise MachineError(f"nothing to place on the roofline: {session.capabilities.why_missing(NO_FLOPS).sentence()}")
    groups = {"roofline", "levels"} if levels else {"roofline"}
    columns = [column.id for column in session.catalog.columns
               if groups.intersection(column.groups)
               and why_absent(column, session.capabilities, machine.topology) is None]
    session.want(columns, energy_signals(session.capabilities))
    traffic = MemoryTraffic(machine, by_cache=True)
    session.read_also(traffic.sources(), traffic.signals())
    frames = frames_of(session, intervals)
    counting = None if regions is None else RegionCounting(machine, regions)
    try:
        if counting is not None:
            counting.start()
        with ending_signals(lambda: session.stop(wait_seconds=0.0)) as ended:
            result = _placed(machine, frames, session.capabilities, session.catalog, traffic=traffic, by=by,
                             sizing=sizing, theory=theory)
    finally:
        if counting is not None:
            counting.stop()
    if counting is not None:
        result = _with_regions(result, machine, counting.totals(), sizing, theory=theory)
        if not definitions:
            why = session.capabilities.why_missing(NO_FLOPS).sentence()
            result = replace(result, notes=(*result.notes, f"operations and bytes are not known: {why}"))
        if not result.regions.points:
            result = replace(result, notes=(*result.notes, "no program marked a region in the FIFO while it was read"))
    result = replace(result, levels=levels, notes=(*result.notes, *level_notes(result.points, wanted=levels)))
    if not ended.number:
        return result
    return replace(result, notes=(_INTERRUPTED, *result.notes), status=signal_status(ended.number))


def place_recorded(machine: Machine, frames: Iterable[Frame], capabilities: Capabilities, catalog: Catalog, *,
                   traffic: MemoryTraffic | None = None, by: Scope | None = None, sizing: Sizing = BY_MIX,
                   theory: bool = False, rows: FindRows | None = None) -> Result:
    """Make the result of recorded intervals.

    Args:
        traffic: the memory's recorded traffic; None to leave it out.
        rows: finds recorded rows, `Journal.rows`; None to leave out regions.

    Raises:
        MachineError: events that a point needs were not recorded.
    """
    definitions = measured_definitions(capabilities.signals)
    totals: list[RegionTotals] = []

    def noted() -> Iterator[Frame]:
        for frame in frames:
            newest = None if rows is None else regions_of(rows, frame)
            totals[:] = totals if newest is None else [newest]
            yield frame

    result = _placed(machine, noted(), capabilities, catalog, traffic=traffic, by=by, sizing=sizing, theory=theory)
    for total in totals:
        result = _with_regions(result, machine, total, sizing, theory=theory)
    why = "" if definitions else capabilities.why_missing(NO_FLOPS).sentence()
    if why and not result.regions.points:
        raise MachineError(f"nothing to place on the roofline: {why}")
    if not result.points and not result.regions.points:
        raise MachineError("nothing to place on the roofline: its events were not recorded in that time "
                           "(turbotui record -e roofline records them)")
    return result if not why else replace(result, notes=(f"operations and bytes are not known: {why}", *result.notes))


def _with_regions(result: Result, machine: Machine, totals: RegionTotals, sizing: Sizing, *, theory: bool) -> Result:
    regions = Regions(points_of_totals(totals, sizing, machine.topology), totals.notes())
    row = next((point.point.row for point in regions.points if point.point is not None), SYSTEM_ROW)
    return replace(result, regions=regions, region_roofs=roofs_for(machine, row, os.environ, theory=theory),
                   notes=(*result.notes, *regions.notes))


def _placed(machine: Machine, frames: Iterable[Frame], capabilities: Capabilities, catalog: Catalog, *,
            traffic: MemoryTraffic | None, by: Scope | None, sizing: Sizing, theory: bool) -> Result:
    definitions = measured_definitions(capabilities.signals)
    meter = EnergyMeter(capabilities)
    weights = core_weights(machine)
    rows = _rows(machine, by)
    flops = catalog.get("GFLOP/s")
    points: list[RooflinePoint] = []
    energy, passed, missed = meter.take(), 0.0, 0
    for frame in frames:
        if frame.older is None or flops is None:
            continue
        passed += frame.seconds or 0.0
        estimated = frame.estimated(flops, SYSTEM_ROW)
        reading = read_points(frame, rows, definitions, sizing, seconds=passed, estimated=estimated, weights=weights,
                              traffic=None if traffic is None else traffic.read(frame))
        points += reading.points
        meter.feed(frame)
        used = meter.take()
        if any(point.row == SYSTEM_ROW for point in reading.points):
            energy = energy.plus(used)
        else:
            missed += 1  # its energy belongs to unknown work
    seen = {point.name for point in points}
    silent = [name for _, name in rows if name not in seen]
    notes = [f"not counted, and left out: {', '.join(silent[:8])}{' ...' if len(silent) > 8 else ''}"] if silent else []
    if missed:
        notes.append(f"left out: {several(missed, 'interval')} that could not be read")
    if traffic is not None and traffic.note:
        notes.append(traffic.note)
    choices = _choices(machine, rows, theory=theory)
    joules = energy.total(len(machine.topology.instances(Scope.PACKAGE)))
    return Result(machine.host.name, machine.host.kind, machine_title(machine), tuple(points), choices,
        _counted(definitions, sizing, points), (*notes, *_notes(definitions, points, list(choices.values()))), joules,
        energy.reason(joules), energy.seconds or passed, 0, energy.span, part=energy.part)


def _rows(machine: Machine, scope: Scope | None) -> list[tuple[RowId, str]]:
    rows = [] if scope is None else [(instance.row, f"cpu {instance.cpus[0]}" if scope is Scope.CPU
        else f"{scope.value} {instance.label}" if scope is Scope.PACKAGE else f"core of cpu {instance.cpus[0]}")
        for instance in machine.topology.instances(scope) if instance.cpus]
    return [*rows, (SYSTEM_ROW, "machine")]


def _choices(machine: Machine, rows: Sequence[tuple[RowId, str]], *, theory: bool) -> dict[str, LevelRoofs]:
    """Return the roofs of each row; equal ones are made once."""
    known: dict[tuple[object, ...], LevelRoofs] = {}
    choices = {}
    for row, name in rows:
        instance = machine.topology.instance(row)
        cpu = instance.cpus[0] if instance is not None and instance.cpus else -1
        small = row.scope.rank < Scope.PACKAGE.rank
        place = machine.topology.row(Scope.PACKAGE, cpu) if small and cpu >= 0 else row
        key = (row.scope, machine.topology.places[cpu].core_type if cpu >= 0 else None, place)
        if key not in known:
            known[key] = roofs_for(machine, row, os.environ, theory=theory)
        choices[name] = known[key]
    return choices


def _counted(definitions: Sequence[MetricDefinition], sizing: Sizing, points: Sequence[RooflinePoint]) -> str:
    models = {point.width for point in points if point.width is not None} or {sizing.model}
    words = " and ".join(sorted(f"{model.value}{f' ({sizing.given:g})' if model is WidthModel.GIVEN else ''}"
                                for model in models))
    if not definitions:
        return "operations and bytes are not counted"
    return f"counted as on {', '.join(definition.name for definition in definitions)}; bytes: {words}"


def _notes(definitions: Sequence[MetricDefinition], points: Sequence[RooflinePoint], choices: Sequence[LevelRoofs], *,
           scaled: bool = True) -> list[str]:
    notes = [f"{definition.name}: {definition.note}" for definition in definitions]
    notes += [f"{definition.name}: {definition.unverified}" for definition in definitions if definition.unverified]
    if any(point.levels for point in points):
        notes += [f"bytes of levels, {definition.name}: {definition.levels_note}" for definition in definitions
                  if definition.levels_note]
    if scaled and any(point.estimated for point in points):
        notes.append("~ more events than counters: the kernel multiplexed them, and each count is scaled by the "
                     "time in which it was on")
    sets = list(dict.fromkeys(choice.roofs for choice in choices if choice.roofs is not None))
    notes += [f"roofs: {note}" for note in roof_notes(sets)]
    if points and all(point.gbytes is None for point in points):
        notes.append("bytes are not known, so points have no intensity: --width BYTES gives the width of an access")
    return notes


# Roofs


@dataclass(frozen=True, slots=True)
class FoundRoofs:
    """The roofs of this machine."""

    sets: tuple[RoofSet, ...]  # one for each requested set of CPUs
    stored: str = ""  # the file with stored roofs; "" if all were measured now
    unsure: tuple[str, ...] = ()  # words of sets that are not stored, because other work disturbed them


def stored_roofs(machine: Machine) -> dict[tuple[str, tuple[int, ...]], RoofSet]:
    """Return the roofs that were measured on machines like this one, by the word of their threads and their CPUs."""
    return {(roofs.threads, roofs.cpus): roofs for roofs in storage.load(_path(machine))}


def _path(machine: Machine) -> str:
    return os.path.join(storage.folder(os.environ), storage.file_name(machine))


def find_roofs(machine: Machine, choices: Sequence[tuple[str, tuple[int, ...]]], *, quick: bool = False,
               fresh: bool = False, check: Callable[[], None] = lambda: None,
               progress: ShowProgress = lambda *_step: None) -> FoundRoofs:
    """Load stored roofs, measure the others, and store these.

    Args:
        quick: whether to measure only the widest arithmetic and loads, and store nothing.
        fresh: whether to measure all again.
        check: called while no thread runs a kernel; StoppedError ends the measurement with the roofs until then, of
            which whole sets alone are stored.
        progress: called before each step.

    Raises:
        MachineError: roofs cannot be measured here.
        StoppedError: by `check`, before there is a roof.
    """
    stored = {} if fresh else stored_roofs(machine)
    todo = [Measuring(machine, word, cpus, quick=quick, check=check) for word, cpus in choices
            if (word, cpus) not in stored]
    total, done = sum(measurement.steps for measurement in todo), 0
    sets: dict[tuple[str, tuple[int, ...]], RoofSet] = {}
    partial: set[tuple[str, tuple[int, ...]]] = set()
    for measuring in todo:
        try:
            roofs = measuring.run(progress, done, total)
        except StoppedError:
            if not sets and not stored:
                raise
            break
        done += measuring.steps
        sets[roofs.threads, roofs.cpus] = roofs
        if measuring.stopped:
            partial.add((roofs.threads, roofs.cpus))
            break
    path, whole = _path(machine), tuple(roofs for key, roofs in sets.items() if key not in partial)
    if whole and not quick:
        storage.store(path, whole)
    there = {**stored, **sets}
    return FoundRoofs(tuple(there[choice] for choice in choices if choice in there),
                      path if any(choice in stored and choice not in sets for choice in choices) else "",
                      () if quick else tuple(roof_set.threads for roof_set in whole if roof_set.disturbed))
