"""Simulated machines of few cores: every package, kind of core, module and L3 slice is there, seldom twice.

What a machine's sources, registers, columns and units are does not depend on how many cores it has, and what a test
that looks at every row costs does.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace

from turbotui.simulated import SHAPES, ManualClock, SimulatedHost
from turbotui.simulated.named import named_shape
from turbotui.simulated.shapes import Block, MachineShape

_CORES = 4
"""Number of cores kept of a package with one L3: every kind of work runs on them."""
_SLICES = 2
"""L3 slices of a package that has several."""


def small_shape(shape: MachineShape) -> MachineShape:
    """A machine that has few cores, and is otherwise the same; one that has few already is what it was."""
    if len(shape.blocks) > 1 or shape.hypervisor:
        return shape
    return replace(shape, blocks=tuple(_fewer(block) for block in shape.blocks))


def _fewer(block: Block) -> Block:
    if block.l3 < block.cores:
        return replace(block, cores=min(block.cores, _SLICES * block.l3))
    cores = min(block.cores, max(_CORES, _SLICES * block.module))
    return replace(block, cores=cores, l3=cores)


@functools.cache
def small_shapes() -> Mapping[str, MachineShape]:
    """All machines, with few cores."""
    return {name: small_shape(shape) for name, shape in SHAPES.items()}


def small_host(name: str, clock: ManualClock, seed: int = 1) -> SimulatedHost:
    """Return what `simulated_host` returns, with few cores."""
    shape, strain = named_shape(name)
    host = SimulatedHost(small_shape(shape), clock, seed)
    host.strain_by(strain)
    return host
