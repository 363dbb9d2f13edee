"""The accounts of sampled threads: found by number, named, added up, and put together by name where there are many."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from turbotui.analysis.tasks.accounts import RUN, Account, Mark, places_of
from turbotui.analysis.tasks.timeline import Timeline
from turbotui.analysis.tasks.turns import Turns
from turbotui.machine.tasks.sets import Choice

ENDED: Final = 4_000
"""Threads that ended and keep a row of their own; older ones are put together by name."""
ALIVE: Final = 4_000
"""Threads that live and keep a row of their own; those that ran least are put together by name."""
_NAMES: Final = 1_000  # names that those are put together by; the rest is one row
_LATE_NS: Final = 2_000_000_000  # after a thread's end by which its last counts have come, or never will
_SILENT_NS: Final = 60_000_000_000  # after which a thread without samples has ended, where records were lost
LOST: Final = -2
"""What nobody can be named for."""
OTHERS: Final = -3
"""Who is no descendant of what is watched."""
IN_NO_ROW: Final = {0: "idle", OTHERS: "others"}
"""Accounts of whole CPUs that are no row: nobody's work, or that of others than a watched command, by thread number."""
_UNNAMED: Final = {0: "idle", -1: "(ending)", LOST: "(lost samples)", OTHERS: "(others)"}
_MANY: Final = "(many names)"
_GONE: Final = 4_096  # threads whose names are remembered after their end


class Quiet(NamedTuple):
    """What is kept of a thread that lives and is put together with others.

    Attributes:
        home: the account that it is part of.
        places: where it was seen.
    """

    home: Account
    places: int


class AccountBook:
    """Accounts of threads, which a ledger fills.

    Args:
        choice: how the threads are sampled.
        roots: by the identifier of a sample: the thread whose set took it (`Follower.roots`, which grows).
        timeline: where slices are drawn.
        ended: how many threads that ended keep an account of their own.
        alive: how many that live do.
        turns: what is shared with the ledgers of sets that take turns; None where none does.

    Attributes:
        names: of what is counted.
        lost: samples that found no room.
        timeline: where slices are drawn.
        newest: time of the latest record.
    """

    def __init__(self, choice: Choice, roots: Mapping[int, int], timeline: Timeline | None, *, ended: int,
                 alive: int, turns: Turns | None) -> None:
        self.choice = choice
        self.names = choice.names
        self.lost = 0
        self.timeline = timeline or Timeline()
        self.newest = 0
        self._run = self.names.index(RUN)
        self._early: dict[int, list[int]] = {}
        self._keep, self._keep_alive = ended, alive
        self._crowd = min(ended, alive)
        self._turns = turns
        self._serials = itertools.count() if turns is None else turns.serials
        self._accounts: dict[tuple[int, int], Account] = {}
        self._by_tid: dict[int, list[Account]] = {}
        self._finished: list[Account] = []
        self._together: dict[str, Account] = {}
        self._quiet: dict[tuple[int, int], Quiet] = {}
        self._last: dict[tuple[int, int, int], tuple[int, ...]] = {}
        # by root and thread, or by whole CPU and -1: ns for which the counters were to count
        self._enabled: dict[tuple[int, int], int] = {}
        self._unseen: set[tuple[int, int]] = set()
        self._known: dict[int, str] = {}
        self._gone: deque[int] = deque()
        self._twice: set[int] = set()
        self._roots = roots
        self._roots_seen, self._with_sets = 0, frozenset[int]()
        self._kept: set[int] | None = None

    def name(self, tid: int, name: str) -> None:
        """A thread's name as /proc has it."""
        if name:
            self._known[tid] = name

    def rename(self, tid: int, name: str) -> None:
        """A thread's name as /proc has it now, where none was known."""
        self.name(tid, name)
        for account in self._by_tid.get(tid, ()):
            account.name = account.name or name

    def nameless(self) -> list[tuple[int, int]]:
        """Processes and threads that live and whose names are not known."""
        return [(one.pid, one.tid) for one in self._accounts.values() if not one.name and not one.ended and one.pid > 0]

    def accounts(self) -> list[Account]:
        """One for each thread; a number that was used again has several.

        Left out are sets that another root's set counts already: of threads made between the open of one and the look
        for others. They saw the same counts again.
        """
        everyone = (*self._together.values(), *self._finished, *self._accounts.values())
        if not self._twice:
            return list(everyone)
        return [one for one in everyone if one.root not in self._twice]

    def sums(self) -> tuple[int, ...]:
        """Over all accounts, those that are no row too."""
        totals = [0] * len(self.names)
        for account in self.accounts():
            for number, value in enumerate(account.totals):
                totals[number] += value
        return tuple(totals)

    def sums_since(self, since: Mapping[int, Mark]) -> tuple[int, ...]:
        """Over all accounts that are rows, what was counted since marks; of an account without one, all."""
        totals = [0] * len(self.names)
        for account in self.accounts():
            if account.tid not in IN_NO_ROW:
                mark = since.get(account.serial)
                for number, value in enumerate(account.totals):
                    totals[number] += value - (0 if mark is None else mark.totals[number])
        return tuple(totals)

    def apart(self, since: Mapping[int, Mark] | None = None) -> dict[str, tuple[int, ...]]:
        """Of the accounts that are no row, by what they are: what was counted since marks, or since the beginning."""
        found = {}
        for tid, what in IN_NO_ROW.items():
            account = self._accounts.get((-1, tid))
            if account is not None:
                mark = (since or {}).get(account.serial)
                old = (0,) * len(self.names) if mark is None else mark.totals
                found[what] = tuple(new - before for new, before in zip(account.totals, old, strict=True))
        return found

    def marks(self) -> dict[int, Mark]:
        """What every account has now, by its serial number."""
        self._early.clear()
        return {one.serial: one.mark() for one in self.accounts()}

    def early(self) -> Mapping[int, Sequence[int]]:
        """By the serial number of an account: what was booked since `marks` and happened before the interval began."""
        return self._early

    @property
    def together(self) -> int:
        """How many threads are put together with others, and have no row of their own."""
        return sum(one.threads for one in self._together.values())

    @property
    def crowded(self) -> bool:
        """Whether it is time to `tidy`."""
        return len(self._accounts) + len(self._finished) > self._crowd

    def tidy(self) -> dict[int, int]:
        """Put the oldest of very many ended threads together by name, and forget old parts of the timeline.

        A thread that has a set of its own keeps its account, for the last read of that set is still to come; so does
        one whose last counts are still to come.

        Returns:
            The serial number of each account that is no more, and of the one that it is part of now: differences to
            earlier marks need it.
        """
        self.timeline.forget()
        ended: list[tuple[int, int]] = []
        alive: list[tuple[int, int]] = []
        for key, account in self._accounts.items():
            # who is no thread goes on for ever, and would be one among those put together
            if account.root != account.tid and account.tid not in _UNNAMED and account.root not in self._twice:
                (ended if self._over(account) else alive).append(key)
        moved: dict[int, int] = {}
        surplus = len(ended) + len(self._finished) - self._keep
        if surplus > 0:
            old, self._finished = self._finished[:surplus], self._finished[surplus:]
            for key in ended[: surplus - len(old)]:
                old.append(self._forget(key))
            for account in old:
                if account.root not in self._twice:  # it may have become so since it ended
                    self._join(account, moved)
        if len(alive) > self._keep_alive:
            least = heapq.nsmallest(len(alive) - self._keep_alive, alive,
                                    key=lambda key: self._accounts[key].totals[self._run])
            for key in least:
                self._silence(key, moved)
        if moved and self._turns is not None:
            places = self._turns.places
            for tid in [tid for tid in places if tid not in self._by_tid]:
                del places[tid]
        self._crowd = len(self._accounts) + len(self._finished) + max(1, min(self._keep, self._keep_alive) // 8)
        return moved

    def _over(self, account: Account) -> bool:
        """Whether nothing more of it is to come."""
        if not account.ended:  # its end may have been lost
            return bool(self.lost) and 0 < account.seen_ns < self.newest - _SILENT_NS
        return account.closed or not self.choice.last or self.newest - account.ended_ns > _LATE_NS

    def _join(self, account: Account, moved: dict[int, int]) -> Account:
        """Put an account together with others of its name; returns what it is part of now."""
        name = account.name if account.name in self._together or len(self._together) < _NAMES else _MANY
        home = self._together.get(name)
        self.timeline.drop(account.serial)
        if home is None:
            account.shrink(name)
            self._together[name] = account
            return account
        home.swallow(account, self._run)
        moved[account.serial] = home.serial
        early = self._early.pop(account.serial, None)
        if early is not None:
            before = self._early.get(home.serial, [0] * len(early))
            self._early[home.serial] = [one + more for one, more in zip(before, early, strict=True)]
        return home

    def _silence(self, key: tuple[int, int], moved: dict[int, int]) -> None:
        """Put a thread that lives together with others; what it counted last is kept, so that it can go on."""
        account = self._accounts.pop(key)
        self._leave(account)
        places = account.places
        self._quiet[key] = Quiet(self._join(account, moved), places)

    def _speak(self, account: Account) -> None:
        """A thread that was put together with others has an account again, from now on."""
        quiet = self._quiet.pop((account.root, account.tid), None)
        if quiet is not None:
            quiet.home.threads -= 1
            account.places = quiet.places

    def _forget_names(self, tid: int) -> None:
        """Bound what is known of threads that have ended and never had an account."""
        self._gone.append(tid)
        if len(self._gone) > _GONE:
            old = self._gone.popleft()
            if old not in self._by_tid:
                self._known.pop(old, None)
                self._forget_quiet(old)
            if self._kept is not None:
                self._kept.discard(old)

    def _forget(self, key: tuple[int, int]) -> Account:
        account = self._accounts.pop(key)
        if self._leave(account) and account.ended:
            self._known.pop(account.tid, None)
        self._forget_last(key, account.places)
        return account

    def _leave(self, account: Account) -> bool:
        """It is not found by its number any more; returns whether nobody is."""
        same = self._by_tid[account.tid]
        same.remove(account)
        if not same:
            del self._by_tid[account.tid]
        return not same

    def _forget_quiet(self, tid: int) -> None:
        """A thread that was put together with others has ended, or its number begins a new life."""
        if self._quiet:
            self._look_at_roots()
            for root in (-1, *self._with_sets):
                quiet = self._quiet.pop((root, tid), None)
                if quiet is not None:
                    self._forget_last((root, tid), quiet.places)

    def _forget_last(self, key: tuple[int, int], places: int) -> None:
        self._enabled.pop(key, None)
        for cpu in (*places_of(places), -1):
            self._last.pop((*key, cpu), None)

    def _account(self, root: int, pid: int, tid: int) -> Account:
        account = self._accounts.get((root, tid))
        if account is None:
            name = self._known.get(tid) or _UNNAMED.get(tid, "")
            account = Account(next(self._serials), pid, tid, root, name, [0] * len(self.names))
            self._accounts[root, tid] = account
            self._by_tid.setdefault(tid, []).append(account)
            self._unseen.discard((root, tid))
            self._speak(account)
            if root not in (tid, -1) and self._has_set(tid):
                self._twice.add(tid)
        return account

    def _has_set(self, tid: int) -> bool:
        self._look_at_roots()
        return tid in self._with_sets

    def _look_at_roots(self) -> None:
        if len(self._roots) != self._roots_seen:
            self._roots_seen, self._with_sets = len(self._roots), frozenset(self._roots.values())
