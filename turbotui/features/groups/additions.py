"""perf events that the user adds to the groups screen, and removes again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Final

from turbotui.app.sessions import WatchedSession
from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.events.set_files import EventSet
from turbotui.features.groups.event_columns import quantity_of
from turbotui.features.groups.event_plans import EventPlan, added_plans
from turbotui.machine.host import Host
from turbotui.quantities.definition import CountedEvents
from turbotui.quantities.unavailable import Unavailable

_INTRODUCTION: Final = (
    "Counted while a task of the group runs, on every CPU, for the groups that can be seen.\n"
    "instructions  cycles:u  context-switches  task-clock  page-faults   then ,name=TITLE ,rate\n"
    "CPI=cycles/instructions  set:ipc"
)


@dataclass(frozen=True, slots=True)
class ChosenEvents:
    """Added events, which are the same if their columns are."""

    columns: tuple[tuple[str, str], ...]  # names and sources
    plans: tuple[EventPlan, ...] = field(compare=False)


class GroupAdditions:
    """Columns that the user adds; begins with those of `--add` that control groups can count."""

    introduction = _INTRODUCTION
    takes_places = False

    def __init__(self, session: WatchedSession) -> None:
        self._session = session
        self.host: Host = session.machine.host
        self.plans: tuple[EventPlan, ...] = ()
        for text in session.typed():
            with suppress(UsageError):  # a register, or a formula over signals that only CPUs have
                self.plans += self._made(text)

    @property
    def counted(self) -> tuple[CountedEvents, ...]:
        """The requests of the added events."""
        return tuple(plan.counted for plan in self.plans)

    def sets(self) -> Mapping[str, EventSet]:
        return self._session.find_sets()

    def there(self) -> Sequence[tuple[str, str, Unavailable | None]]:
        return [(column.name, column.source_text, _why(plan))
                for plan in self.plans for column in plan.counted.request.columns]

    @property
    def chosen(self) -> ChosenEvents:
        """What is added now, to which `show` returns."""
        return ChosenEvents(tuple((name, source) for name, source, _ in self.there()), self.plans)

    def show(self, chosen: ChosenEvents) -> None:
        """Have the events again that were chosen before."""
        self.plans = chosen.plans

    def add(self, text: str) -> Sequence[tuple[str, Unavailable | None]]:
        made = self._made(text)
        self.plans += made
        return [(column.name, _why(plan)) for plan in made for column in plan.counted.request.columns]

    def remove(self, name: str) -> None:
        """Remove a column with all columns of its request."""
        self.plans = tuple(plan for plan in self.plans if name not in _names(plan))

    def _made(self, text: str) -> tuple[EventPlan, ...]:
        taken = [name for plan in self.plans for name in _names(plan)]
        return added_plans(self._session.machine, self._session.capabilities, [text], self.sets(), taken)


def _names(plan: EventPlan) -> Sequence[str]:
    return [column.name for column in plan.counted.request.columns]


def _why(plan: EventPlan) -> Unavailable | None:
    request = plan.counted.request
    return next((plan.refused[quantity] for event in request.events
                 if (quantity := quantity_of(request, event)) in plan.refused), None)
