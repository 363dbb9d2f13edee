"""Read simulated machines from `machines.toml` and the files beside it, each when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Final, TypeVar

from turbotui.quantities.facts import FactFile, FactRows
from turbotui.quantities.rows import WrongKindError, each, make_row, number, text, texts, valued, whole, wholes
from turbotui.simulated.shapes import (
    Block,
    CoreType,
    IdleState,
    Isa,
    LoadPhase,
    LoadSchedule,
    MachineShape,
    OtherDevices,
    Power,
    Role,
)
from turbotui.simulated.workloads import KINDS_OF_WORK

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    _RowT = TypeVar("_RowT", bound=DataclassInstance)

MACHINES: Final = FactFile("simulated/machines.toml")
CORE_TYPES: Final = FactFile("simulated/core_types.toml")
LOADS: Final = FactFile("simulated/loads.toml")
CPU_FLAGS: Final = FactFile("simulated/cpu_flags.toml")


def _machine(name: str) -> MachineShape:
    values = MACHINES.inherited(name)
    parts = {key: {field.name: values.pop(field.name) for field in fields(kind) if field.name in values}
             for key, kind in (("power", Power), ("around", OtherDevices))}
    lacks, more = texts(values.pop("lacks", [])), text(values.pop("more_flags", ""))
    words = (word for group in texts(values["flags"])
             for line in texts(CPU_FLAGS.inherited(group)["words"]) for word in line.split())
    values |= {"name": name, "flags": " ".join((*(word for word in words if not word.startswith(lacks)),
                                                *more.split())), **parts}
    return MACHINES.row(
        MachineShape, name, values, isa=valued(Isa), crystal=wholes, blocks=each(_listed(Block)),
        core_types=lambda written: tuple(map(_core_type, texts(written))),
        schedule=lambda written: _schedule(text(written)), power=_tabled(Power), around=_tabled(OtherDevices),
        package_states=each(_state), domains=lambda written: frozenset(texts(written)),
    )


def _core_type(name: str) -> CoreType:
    return CORE_TYPES.row(CoreType, name, CORE_TYPES.inherited(name), bins=each(wholes), idle=each(_listed(IdleState)))


def _schedule(name: str) -> LoadSchedule:
    work, span = _work, each(number)
    role = _listed(Role, kind=work, level=span, on=span, rest_level=span, rest=span)
    return LOADS.row(LoadSchedule, name, LOADS.inherited(name), roles=each(role),
                     phases=each(_listed(LoadPhase, kind=work)), hot_kind=work, hot_stay=span)


def _work(written: object) -> int:
    if written not in KINDS_OF_WORK:
        raise WrongKindError(f"one of {', '.join(KINDS_OF_WORK)}")
    return KINDS_OF_WORK.index(text(written))


def _state(written: object) -> tuple[int, float]:
    if not isinstance(written, list) or len(written) != 2:
        raise WrongKindError("a state and its share")
    return whole(written[0]), number(written[1])


def _tabled(kind: type[_RowT]) -> Callable[[object], _RowT]:
    """Make a reader of a table with the fields of a dataclass."""
    return lambda written: make_row(kind, written if isinstance(written, dict) else {})


def _listed(kind: type[_RowT], /, **readers: Callable[[object], object]) -> Callable[[object], _RowT]:
    """Make a reader of a list with the fields of a dataclass in their order; the last may be left out."""
    names = [field.name for field in fields(kind)]

    def read(written: object) -> _RowT:
        if not isinstance(written, list) or len(written) > len(names):
            raise WrongKindError(f"a list: {', '.join(names)}")
        return make_row(kind, dict(zip(names, written, strict=False)), **readers)

    return read


SHAPES: Final[Mapping[str, MachineShape]] = FactRows(MACHINES, _machine)
"""The simulated machines by the word that names them on the command line."""
