"""Positions of the CPUs' marks on the map: packages in boxes, caches and kinds apart. Nothing here knows Textual."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.machine.topology import Topology
from turbotui.quantities.scope import RowId, Scope

CELLS: Final = (16, 10, 4, 3, 2, 1)
"""Possible characters of a CPU: number and value beside the mark, the number only, marks of 3, 2, 1 (with a gap)."""
KIND_WORDS: Final = {"LP": "LP-E"}
"""Kinds of core whose name differs from what people say."""
TALL: Final = (4, 3, 2)
"""Lines of a mark where there is so much room that one line would leave most of it empty."""

_NAME_WIDTH: Final = 16  # room for a package's name in its frame
_BETWEEN: Final = 3  # characters between two blocks, with a rule in the middle


@dataclass(frozen=True, slots=True)
class Box:
    """One package on the map."""

    name: str  # in words; it is cut where there is no room
    # x, y, width, height: with its frame
    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Caption:
    """The words above a block of cores, and the rule that continues after them."""

    x: int
    y: int
    width: int
    text: str


@dataclass(frozen=True, slots=True)
class MapRule:
    """A vertical line between two blocks, `height` lines high."""

    x: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class MapPlan:
    """Layout of the map."""

    cell: int  # characters of a CPU, its gap included
    places: dict[int, tuple[int, int]]  # CPU -> character and line of its mark
    boxes: tuple[Box, ...]  # packages
    captions: tuple[Caption, ...]  # of blocks, if there is room for them
    rules: tuple[MapRule, ...]  # between blocks
    # width, height: characters and lines in use
    width: int
    height: int
    folded: bool = False  # whether the CPUs of a core share one mark
    tall: int = 1  # lines of a mark


@dataclass(frozen=True, slots=True)
class CoreBlock:
    """Cores of one kind behind one cache on one node."""

    name: str  # what distinguishes the blocks of a package; "" for a single block
    cores: tuple[tuple[int, ...], ...]  # the CPUs of each


@dataclass(frozen=True, slots=True)
class _Look:
    """How spacious a layout is."""

    cell: int
    captions: bool
    airy: bool  # whether an empty line stands between lines of sibling threads
    folded: bool = False
    tall: int = 1

    def gap(self, deep: int) -> int:
        """Empty lines between two lines of cores with so many CPUs each."""
        return int(self.airy and deep * self.tall > 1)


@dataclass(frozen=True, slots=True)
class _Inside:
    """The layout of a package's blocks from its upper left corner."""

    places: dict[int, tuple[int, int]]
    captions: tuple[Caption, ...]
    rules: tuple[MapRule, ...]
    width: int
    height: int


def blocks_of(topology: Topology, package: RowId) -> list[CoreBlock]:
    """The blocks of a package in the order of their first CPU, named by what distinguishes them."""
    cores = topology.instances(Scope.CORE)
    blocks: dict[tuple[str, int, int], list[tuple[int, ...]]] = {}
    for position in topology.parts(package, Scope.CORE):
        cpus = cores[position].cpus
        node, cache = topology.index(Scope.NODE, cpus[0]), topology.index(Scope.L3, cpus[0])
        blocks.setdefault((topology.places[cpus[0]].core_type or "", node, cache), []).append(cpus)
    names = [tuple(_words(topology, key)) for key in blocks]
    distinct = [at for at in range(_WORDS) if len({words[at] for words in names}) > 1]
    if distinct and len({words[_CACHE] for words in names} - {_NO_CACHE}) < 2:  # all that have an L3 have the same
        names = [words if words[_CACHE] == _NO_CACHE else (*words[:_CACHE], "") for words in names]
    return [CoreBlock(" · ".join(words[at] for at in distinct if words[at]), tuple(members))
            for words, members in zip(names, blocks.values(), strict=True)]


_WORDS: Final = 3
_CACHE: Final = 2  # of them
_NO_CACHE: Final = "no L3"


def _words(topology: Topology, key: tuple[str, int, int]) -> Iterator[str]:
    """Kind, node and cache of a block."""
    kind, node, cache = key
    yield KIND_WORDS.get(kind, kind) or "other"
    yield f"node {topology.instances(Scope.NODE)[node].label}"
    instance = topology.instances(Scope.L3)[cache]
    yield topology.chiplets.get(instance.row.key) or (_NO_CACHE if instance.label < 0 else f"L3 {instance.label}")


def package_name(topology: Topology, package: RowId) -> str:
    """A package's name, with its node if there are several and each package has its own."""
    instance = topology.instance(package)
    name = f"package {package.key[0] if instance is None else instance.label}"
    if instance is not None and topology.varies(Scope.NODE):
        nodes = {topology.row(Scope.NODE, cpu) for cpu in instance.cpus}
        if len(nodes) == 1:
            name += f" · node {nodes.pop().key[0]}"
    return name


def plan_map(topology: Topology, width: int, height: int) -> MapPlan:
    """The layout with the largest marks that fit, preferring names to size; if none fits, a mark for each core."""
    packages = {instance.row: blocks_of(topology, instance.row) for instance in topology.instances(Scope.PACKAGE)}
    named = any(len(blocks) > 1 for blocks in packages.values())
    looks = [_Look(cell, captions, airy)
             for captions in ((True, False) if named else (False,)) for airy in (True, False) for cell in CELLS]
    looks.append(_Look(1, captions=False, airy=False, folded=True))
    plan = MapPlan(1, {}, (), (), (), 0, 0)
    for look in looks:
        for across in range(min(len(packages), max(1, width // 8)), 0, -1):
            plan = _lay_out(topology, packages, width, across, look)
            if plan.height <= height and plan.width <= width:
                taller = (_lay_out(topology, packages, width, across, replace(look, tall=tall)) for tall in TALL)
                return next((candidate for candidate in taller if candidate.height <= height), plan)
    return plan


def _lay_out(topology: Topology, packages: dict[RowId, list[CoreBlock]], width: int, across: int,
             look: _Look) -> MapPlan:
    room = (width + 1) // across - 5
    insides = {row: _inside(blocks, room, look) for row, blocks in packages.items()}
    # as wide as the widest package and its name
    widest = max((inside.width for inside in insides.values()), default=0)
    outer = max(widest + 4, _NAME_WIDTH if room >= _NAME_WIDTH else 0)
    places: dict[int, tuple[int, int]] = {}
    boxes: list[Box] = []
    captions: list[Caption] = []
    rules: list[MapRule] = []
    rows, top = list(packages), 0
    for start in range(0, len(rows), across):
        line = rows[start : start + across]
        tall = max(insides[row].height for row in line) + 2
        for at, row in enumerate(line):
            left, inside = at * (outer + 1), insides[row]
            boxes.append(Box(package_name(topology, row), left, top, outer, tall))
            places |= {cpu: (left + 2 + x, top + 1 + y) for cpu, (x, y) in inside.places.items()}
            captions += [Caption(left + 2 + caption.x, top + 1 + caption.y, caption.width, caption.text)
                         for caption in inside.captions]
            rules += [MapRule(left + 2 + rule.x, top + 1 + rule.y, rule.height) for rule in inside.rules]
        top += tall
    return MapPlan(look.cell, places, tuple(boxes), tuple(captions), tuple(rules),
                   min(across, len(rows)) * (outer + 1) - 1, top, look.folded, look.tall)


def _inside(blocks: list[CoreBlock], room: int, look: _Look) -> _Inside:
    """Lay out blocks side by side in lines, as many as fit."""
    places: dict[int, tuple[int, int]] = {}
    captions: list[Caption] = []
    rules: list[MapRule] = []
    x = y = used = tall = 0
    on_line: list[int] = []
    for block in blocks:
        width, height = _size(block, room, look)
        if x and x + _BETWEEN + width > room:
            rules += [MapRule(at, y, tall) for at in on_line]
            y += tall + (look.airy and not look.captions)
            x, tall, on_line = 0, 0, []
        elif x:
            on_line.append(x + _BETWEEN // 2)
            x += _BETWEEN
        if look.captions:
            captions.append(Caption(x, y, width, block.name))
        _fill(block, places, (x, y + look.captions), width, look)
        x += width
        used, tall = max(used, x), max(tall, height)
    rules += [MapRule(at, y, tall) for at in on_line]
    return _Inside(places, tuple(captions), tuple(rules), used, y + tall)


def _size(block: CoreBlock, room: int, look: _Look) -> tuple[int, int]:
    """Characters and lines of a block, its caption included."""
    across = max(1, (room + (look.cell > 1)) // look.cell)
    lines = -(-len(block.cores) // across)
    deep = 1 if look.folded else max(len(core) for core in block.cores)
    width = min(across, len(block.cores)) * look.cell - (look.cell > 1)
    if look.captions:
        width = min(max(width, len(block.name)), max(room, look.cell))
    return width, lines * deep * look.tall + (lines - 1) * look.gap(deep) + look.captions


def _fill(block: CoreBlock, places: dict[int, tuple[int, int]], origin: tuple[int, int], width: int,
          look: _Look) -> None:
    """Positions of a block's CPUs, siblings below each other."""
    across = max(1, (width + (look.cell > 1)) // look.cell)
    deep = 1 if look.folded else max(len(core) for core in block.cores)
    for at, core in enumerate(block.cores):
        line, column = divmod(at, across)
        for depth, cpu in enumerate(core):
            places[cpu] = (origin[0] + column * look.cell,
                           origin[1] + line * (deep * look.tall + look.gap(deep)) + min(depth, deep - 1) * look.tall)
