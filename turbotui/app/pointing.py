"""What one screen points out on another: a CPU whose tasks are wanted, or CPUs on which a task ran."""

from __future__ import annotations

from turbotui.dataclass import dataclass


@dataclass(slots=True)
class Pointing:
    """The latest thing pointed at."""

    cpu: int | None = None  # the CPU whose tasks the tasks screen shows; None for all
    cpus: tuple[int, ...] = ()  # CPUs to highlight on the map and to pin in the tables of CPUs
    who: str = ""
    came_from: str = ""  # the screen to which Esc returns; "" for none

    def at_cpu(self, cpu: int, came_from: str) -> None:
        """Ask which tasks run on a CPU."""
        self.cpu, self.came_from = cpu, came_from

    def at_cpus(self, cpus: tuple[int, ...], who: str, came_from: str) -> None:
        """Highlight the CPUs of a task."""
        self.cpus, self.who, self.came_from = cpus, who, came_from

    def clear(self) -> str:
        """Stop pointing; returns the screen to return to."""
        back, self.cpu, self.cpus, self.who, self.came_from = self.came_from, None, (), "", ""
        return back
