"""Which thread of a simulated machine is where: work of one kind on one CPU is done by one thread at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from turbotui.dataclass import dataclass
from turbotui.simulated.basis import CPU_BUSY, CPU_CYCLES, CPU_WORK, KINDS, Form
from turbotui.simulated.kernel_counts import MIGRATIONS

if TYPE_CHECKING:
    from turbotui.simulated.model import Model

FIRST_PID: Final = 10_000
_STRIDE: Final = 10_000  # numbers of threads that a process has to give away
_PAIR: Final = 2  # places between which a thread moves
_EVERY: Final = 0.05  # seconds of machine time between two looks at who moves, where nobody samples


def process_of(kind: int) -> int:
    """The process that does a kind of work."""
    return FIRST_PID + kind * _STRIDE


def thread_of(number: int) -> tuple[int, int] | None:
    """The kind of work of a thread, and the CPU that it began on, by its number; None where nothing has that."""
    kind, cpu = divmod(number - FIRST_PID, _STRIDE)
    return (kind, cpu) if 0 <= kind < KINDS else None


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


class ThreadCount:
    """What one thread counts, on whichever CPU it is.

    Args:
        model: the machine.
        forms: what is counted on a CPU; () where that has no such counter.
        cpu: where the thread is.
        now: machine time.
    """

    __slots__ = ("_base", "_done", "_form", "_forms", "_model", "cpu")

    def __init__(self, model: Model, forms: Callable[[int], Form], cpu: int, now: float) -> None:
        self._model = model
        self._forms = forms
        self._done = 0.0
        self.cpu = cpu
        self._form = forms(cpu)
        self._base = model.cpu[cpu].value(self._form, now)

    def __call__(self, now: float) -> float:
        """The count at a machine time."""
        return self._done + self._model.cpu[self.cpu].value(self._form, now) - self._base

    def go(self, cpu: int, now: float) -> None:
        """Go on counting on another CPU."""
        self._done = self(now)
        self.cpu = cpu
        self._form = self._forms(cpu)
        self._base = self._model.cpu[cpu].value(self._form, now)


class Threads:
    """The threads of the kinds of work that somebody watches; one object for all who watch.

    Every method is called with the model's lock held.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._places: dict[tuple[int, int], _Place] = {}
        self._wandering = model.wandering
        self._looked = 0.0
        self._counts: dict[tuple[int, int], list[ThreadCount]] = {}

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

    def count(self, kind: int, owner: int, forms: Callable[[int], Form], now: float) -> ThreadCount:
        """What a thread counts from now on, wherever it goes.

        Args:
            kind: of its work.
            owner: the thread, by the CPU that it began on.
            forms: what is counted of its work on a CPU; () where that has no such counter.
            now: machine time.
        """
        self.follow(kind, now)
        cpu = next(one.cpu for one in self._places.values() if (one.kind, one.owner) == (kind, owner))
        made = ThreadCount(self._model, forms, cpu, now)
        self._counts.setdefault((kind, owner), []).append(made)
        return made

    def forget(self, count: ThreadCount) -> None:
        """End a count."""
        for mine in self._counts.values():
            if count in mine:
                mine.remove(count)

    def look(self, now: float) -> None:
        """Let threads change places where it is time."""
        if now - self._looked >= _EVERY:
            self.move(now)

    def _swap(self, one: _Place, other: _Place, now: float) -> None:
        one.owner, other.owner = other.owner, one.owner
        for place in (one, other):
            for count in self._counts.get((place.kind, place.owner), ()):
                count.go(place.cpu, now)

    def move(self, now: float) -> None:
        """Let threads change places, as many as came to CPUs since the last time; who has no partner yet waits.

        So does one whose place is taken by the busy thread that wanders: that one goes where the model says.
        """
        self._looked = now
        due_by_kind: dict[int, list[_Place]] = {}
        for one in self._places.values():
            if one.moves and (one.cpu, one.kind) != self._wandering and int(
                    self._model.cpu[one.cpu].value(one.moves, now)) > one.moved:
                due_by_kind.setdefault(one.kind, []).append(one)
        for due in due_by_kind.values():
            for one, other in zip(due[::2], due[1::2], strict=False):
                self._swap(one, other, now)
                one.moved += 1
                other.moved += 1
        source, self._wandering = self._wandering, self._model.wandering
        if source is not None and self._wandering is not None and source != self._wandering:
            goal, kind = self._wandering
            ends = [one for one in self._places.values() if one.kind == kind and one.cpu in (goal, source[0])]
            if len(ends) == _PAIR:
                self._swap(ends[0], ends[1], now)
