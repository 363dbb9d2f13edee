"""Which thread of a simulated machine is where: work of one kind on one CPU is done by one thread at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turbotui.dataclass import dataclass
from turbotui.simulated.basis import CPU_BUSY, CPU_CYCLES, CPU_WORK, Form
from turbotui.simulated.kernel_counts import MIGRATIONS

if TYPE_CHECKING:
    from turbotui.simulated.model import Model

FIRST_PID: Final = 10_000
_STRIDE: Final = 10_000  # numbers of threads that a process has to give away
_PAIR: Final = 2  # places between which a thread moves


def process_of(kind: int) -> int:
    """The process that does a kind of work."""
    return FIRST_PID + kind * _STRIDE


def of_kind(form: Form, kind: int) -> Form:
    """The part of a CPU's count that one kind of work makes."""
    mine = {first + kind for first in (CPU_BUSY, CPU_CYCLES, CPU_WORK)}
    return tuple((index, weight) for index, weight in form if index in mine)


@dataclass(slots=True)
class _Place:
    """The work of one kind on one CPU.

    Attributes:
        kind, cpu: which.
        owner: the thread that is there, by the CPU that it began on.
        moves: counts the threads of this kind that came to the CPU.
        moved: those of them that have been carried out.
    """

    kind: int
    cpu: int
    owner: int
    moves: Form
    moved: int


class Threads:
    """The threads of the kinds of work that somebody watches; one object for all who watch.

    Every method is called with the model's lock held.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._places: dict[tuple[int, int], _Place] = {}
        self._wandering = model.wandering

    def follow(self, kind: int, now: float) -> None:
        """Let the threads of this kind change places from now on."""
        moves = of_kind(MIGRATIONS, kind)
        for place in self._model.layout.places:
            key = kind, place.cpu
            if key not in self._places:
                moved = int(self._model.cpu[place.cpu].value(moves, now))
                self._places[key] = _Place(kind, place.cpu, place.cpu, moves, moved)

    def owner(self, kind: int, cpu: int) -> int:
        """The thread that does this kind of work there, by the CPU that it began on."""
        return self._places[kind, cpu].owner

    def move(self, now: float) -> None:
        """Let threads change places, as many as came to CPUs since the last time; who has no partner yet waits.

        So does one whose place is taken by the busy thread that wanders: that one goes where the model says.
        """
        due_by_kind: dict[int, list[_Place]] = {}
        for one in self._places.values():
            if one.moves and (one.cpu, one.kind) != self._wandering and int(
                    self._model.cpu[one.cpu].value(one.moves, now)) > one.moved:
                due_by_kind.setdefault(one.kind, []).append(one)
        for due in due_by_kind.values():
            for one, other in zip(due[::2], due[1::2], strict=False):
                one.owner, other.owner = other.owner, one.owner
                one.moved += 1
                other.moved += 1
        source, self._wandering = self._wandering, self._model.wandering
        if source is not None and self._wandering is not None and source != self._wandering:
            goal, kind = self._wandering
            ends = [one for one in self._places.values() if one.kind == kind and one.cpu in (goal, source[0])]
            if len(ends) == _PAIR:
                ends[0].owner, ends[1].owner = ends[1].owner, ends[0].owner
