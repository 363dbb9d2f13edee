"""Measures bandwidth over size on this machine: loads, streaming stores, and loads from the memory of other nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from turbotui.dataclass import dataclass
from turbotui.errors import MachineError, StoppedError
from turbotui.features.roofline.curve import FIRST, BandwidthCurve, CurvePoint, curve_sizes, find_plateaus
from turbotui.features.roofline.measuring import QUICK, ShowProgress, available_memory
from turbotui.machine.caches import read_caches
from turbotui.machine.code.isas import assembler_of, runnable_isas
from turbotui.machine.code.kernel_threads import KernelThreads
from turbotui.machine.code.shapes import LoopShape, Mix
from turbotui.machine.host import HostKind
from turbotui.machine.machine import Machine
from turbotui.quantities.precision import Precision
from turbotui.quantities.scope import Scope

_CLOCK: LoopShape = LoopShape(0, 64)
_SHAPE_AT = 1  # of the assembler's loop shapes the middle one, which reads every level well
_FIRST_STREAMED = 256 << 10  # streaming stores bypass caches, so small sets only show the cost of a walk's end
_NO_NODES = "one NUMA node: there is no remote memory"


@dataclass(frozen=True, slots=True)
class _Variant:
    """A kernel and the node of its memory; None for the threads' own node."""

    mix: Mix
    node: int | None = None
    word: str = ""


def measure_curves(machine: Machine, choices: Sequence[tuple[str, tuple[int, ...]]], *,
                   check: Callable[[], None] = lambda: None,
                   progress: ShowProgress = lambda *_step: None) -> tuple[BandwidthCurve, ...]:
    """Measure every variant over every size, for each set of CPUs.

    Args:
        check: called while no thread runs a kernel; StoppedError ends the measurement with the points until then.
        progress: called before each curve.

    Raises:
        MachineError: not this machine, or it cannot be measured here.
        StoppedError: by `check`, before there is a point.
    """
    if machine.host.kind is not HostKind.REAL:
        raise MachineError(f"bandwidth of a {machine.host.kind.value} machine cannot be measured: --sweep is for this "
                           "machine")
    todo = [(word, cpus, variant) for word, cpus in choices for variant in _variants(machine, cpus)]
    points = []
    for number, (word, cpus, variant) in enumerate(todo):
        progress(number, len(todo), f"{word} {variant.word}")
        curve, stopped = _curve(machine, word, cpus, variant, check)
        points += [curve] if curve.points else []
        if stopped is not None and not points:
            raise stopped
        if stopped is not None:
            break
    return tuple(points)


def _variants(machine: Machine, cpus: Sequence[int]) -> Iterator[_Variant]:
    yield _Variant(Mix.LOADS, None, Mix.LOADS.word)
    yield _Variant(Mix.STREAMING, None, Mix.STREAMING.word)
    nodes = machine.topology.instances(Scope.NODE)
    near = {number for number, node in enumerate(nodes) if set(node.cpus) & set(cpus)}
    if len(nodes) > 1 and len(near) == 1:
        for node in nodes:
            if not set(node.cpus) & set(cpus):
                yield _Variant(Mix.LOADS, int(node.label), f"loads from node {node.label}")


def _curve(machine: Machine, word: str, cpus: tuple[int, ...], variant: _Variant,
           check: Callable[[], None]) -> tuple[BandwidthCurve, StoppedError | None]:
    """A curve, and what stopped it; its points are those until then."""
    assembler = assembler_of(machine.model)
    if not (isas := runnable_isas(machine.model)):
        raise MachineError("the flags in /proc/cpuinfo name no floating-point instructions that kernels exist for")
    flags = machine.model.flags
    shape = assembler.memory[variant.mix][_SHAPE_AT]
    kernel = assembler.write_memory(isas[-1], Precision.DOUBLE, variant.mix, shape, flags)
    caches = read_caches(machine.host, cpus[0])
    sizes = list(curve_sizes(caches, len(cpus), available_memory(machine),
                             _FIRST_STREAMED if variant.mix is Mix.STREAMING else FIRST))
    notes = () if len(machine.topology.instances(Scope.NODE)) > 1 else (_NO_NODES,)
    with KernelThreads(machine.host, cpus, assembler.write_clock(_CLOCK), variant.node) as threads:

        def rate(size: int) -> CurvePoint:
            check()
            best = threads.measure(kernel, size, QUICK.trial_seconds, 2 * QUICK.trial_rounds,
                                   shared=len(cpus) > 1).best
            return CurvePoint(size, best.rate, best.disturbed)

        points: list[CurvePoint] = []
        stopped: StoppedError | None = None
        try:
            points.extend(map(rate, sizes))
        except StoppedError as error:
            stopped = error
            notes = (*notes, f"STOPPED: {word} {variant.word} has {len(points)} of {len(sizes)} sizes, and is the last")
    plateaus = find_plateaus(points, caches) if points else ()
    return BandwidthCurve(word, variant.word, tuple(points), plateaus, notes), stopped
