"""The threads' positions on a simulated machine: one thread at a time does one kind of work on one CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from turbotui.dataclass import dataclass
from turbotui.simulated.basis import CPU_BUSY, CPU_CYCLES, CPU_WORK, KINDS, Form
from turbotui.simulated.kernel_counts import MIGRATIONS

if TYPE_CHECKING:
    from turbotui.simulated.model import Model

FIRST_PID: Final = 10_000
_STRIDE: Final = 10_000  # thread numbers reserved for each process
_PAIR: Final = 2  # CPUs between which a thread moves
_EVERY: Final = 0.05  # seconds of machine time between two updates of positions while nobody samples


def process_of(kind: int) -> int:
    """Return the process of a kind of work."""
    return FIRST_PID + kind * _STRIDE


def thread_of(number: int) -> tuple[int, int] | None:
    """Return a thread's kind of work and first CPU by its number; None if no thread has the number."""
    kind, cpu = divmod(number - FIRST_PID, _STRIDE)
    return (kind, cpu) if 0 <= kind < KINDS else None


def of_kind(form: Form, kind: int) -> Form:
    """Return the part of a CPU's count that one kind of work causes."""
    integrals = {first + kind for first in (CPU_BUSY, CPU_CYCLES, CPU_WORK)}
    return tuple((index, weight) for index, weight in form if index in integrals)


@dataclass(slots=True)
class _Place:
    kind: int
    cpu: int
    owner: int  # the present thread, by the CPU that it began on
    moves: Form  # the number of threads of this kind that came to the CPU
    moved: int  # the number of these moves that were carried out


class ThreadCount:
    """The count of one thread, on whichever CPU it runs; the form is () on a CPU that lacks the counter."""

    __slots__ = ("_base", "_done", "_form", "_forms", "_model", "cpu")

    def __init__(self, model: Model, forms: Callable[[int], Form], cpu: int, now: float) -> None:
        self._model = model
        self._forms = forms
        self._done = 0.0
        self.cpu = cpu
        self._form = forms(cpu)
        self._base = model.cpu[cpu].value(self._form, now)

    def __call__(self, now: float) -> float:
        """Return the count at a machine time."""
        return self._done + self._model.cpu[self.cpu].value(self._form, now) - self._base

    def go(self, cpu: int, now: float) -> None:
        """Continue to count on another CPU."""
        self._done = self(now)
        self.cpu = cpu
        self._form = self._forms(cpu)
        self._base = self._model.cpu[cpu].value(self._form, now)


class Threads:
    """The threads of all watched kinds of work, shared by all watchers.

    Every method is called with the model's lock held.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._places: dict[tuple[int, int], _Place] = {}
        self._migrating = model.migrating
        self._looked = 0.0
        self._counts: dict[tuple[int, int], list[ThreadCount]] = {}

    def follow(self, kind: int, now: float) -> None:
        """Make the threads of this kind swap CPUs from now on."""
        moves = of_kind(MIGRATIONS, kind)
        for place in self._model.layout.places:
            key = kind, place.cpu
            if key not in self._places:
                moved = int(self._model.cpu[place.cpu].value(moves, now))
                self._places[key] = _Place(kind, place.cpu, place.cpu, moves, moved)

    def owner(self, kind: int, cpu: int) -> int:
        """Return the thread that does this kind of work on a CPU, by the CPU that it began on."""
        return self._places[kind, cpu].owner

    def count(self, kind: int, owner: int, forms: Callable[[int], Form], now: float) -> ThreadCount:
        """Begin a thread's count, which follows the thread to other CPUs.

        Args:
            owner: the thread, by the CPU that it began on.
            forms: returns the form of its work on a CPU; () if the CPU lacks the counter.
        """
        self.follow(kind, now)
        cpu = next(place.cpu for place in self._places.values() if (place.kind, place.owner) == (kind, owner))
        made = ThreadCount(self._model, forms, cpu, now)
        self._counts.setdefault((kind, owner), []).append(made)
        return made

    def forget(self, count: ThreadCount) -> None:
        """End a count."""
        for counts in self._counts.values():
            if count in counts:
                counts.remove(count)

    def look(self, now: float) -> None:
        """Make threads swap CPUs if it is time."""
        if now - self._looked >= _EVERY:
            self.move(now)

    def _swap(self, first: _Place, other: _Place, now: float) -> None:
        first.owner, other.owner = other.owner, first.owner
        for place in (first, other):
            for count in self._counts.get((place.kind, place.owner), ()):
                count.go(place.cpu, now)

    def move(self, now: float) -> None:
        """Swap as many threads as came to CPUs since the last call; a thread without a partner waits.

        A thread whose CPU the wandering busy thread occupies waits, too; the model decides where that thread goes.
        """
        self._looked = now
        due_by_kind: dict[int, list[_Place]] = {}
        for held in self._places.values():
            if held.moves and (held.cpu, held.kind) != self._migrating and int(
                    self._model.cpu[held.cpu].value(held.moves, now)) > held.moved:
                due_by_kind.setdefault(held.kind, []).append(held)
        for due in due_by_kind.values():
            for held, other in zip(due[::2], due[1::2], strict=False):
                self._swap(held, other, now)
                held.moved += 1
                other.moved += 1
        source, self._migrating = self._migrating, self._model.migrating
        if source is not None and self._migrating is not None and source != self._migrating:
            goal, kind = self._migrating
            ends = [place for place in self._places.values() if place.kind == kind and place.cpu in (goal, source[0])]
            if len(ends) == _PAIR:
                self._swap(ends[0], ends[1], now)
