"""The balance of power: counted parts against the platform's figure, the rest, and contradictions; arithmetic only."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.features.power.consumers import BalanceRole, Consumer, consumers_of
from turbotui.quantities.by_key import lists_by_key
from turbotui.quantities.catalog import Catalog
from turbotui.quantities.meters import KINDS, PLATFORM_RANK
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame

_SLACK: Final = 0.02  # share by which readings at different instants may differ
_LEAST_WATTS: Final = 1.0
_APART: Final = 0.25  # share beyond which two figures of the whole machine contradict each other
_LONG: Final = 3.0  # a figure averaged over more intervals, or older, is of another time
_OLD_SECONDS: Final = 10.0  # firmware makes a battery's numbers every few seconds


@dataclass(frozen=True, slots=True)
class PlatformFigure:
    """A figure of the whole machine's power."""

    kind: str  # a word of `PLATFORM_RANK`
    name: str  # for people: "psys", "power supplies", "BAT0"
    watts: float | None  # the figure; None if unknown now
    members: tuple[Consumer, ...]  # the meters whose sum the figure is


@dataclass(frozen=True, slots=True)
class Balance:
    """The distribution of the power of an interval."""

    consumers: tuple[Consumer, ...]  # all consumers, outer ones before inner ones
    counted: float | None  # the sum of watts, each part once; None if no part is known
    unknown: tuple[Consumer, ...]  # the parts of the sum without a number now
    platform: PlatformFigure | None  # the figure that the sum is compared with; None if there is none
    platforms: tuple[PlatformFigure, ...]  # all figures of the whole machine, the best first
    elsewhere: float | None  # watts of the platform that no part counts; None if unknown
    why: Unavailable | None  # the reason for that None
    # sentences about figures that contradict each other, or are of different times
    contradictions: tuple[str, ...] = ()
    seconds: float = 0.0  # length of the interval
    wall_ns: int = field(default=0, compare=False)  # end of the interval

    @property
    def total(self) -> float | None:
        """The machine's power: the platform's figure, else the counted sum."""
        return self.counted if self.total_figure is None else self.total_figure.watts

    @property
    def total_figure(self) -> PlatformFigure | None:
        """The figure behind the total; None if the total is the counted sum."""
        figure = self.platform
        return None if figure is None or figure.watts is None or _exceeds(self.counted, figure.watts) else figure

    @property
    def parts(self) -> tuple[Consumer, ...]:
        """The consumers that are added up."""
        return tuple(consumer for consumer in self.consumers if consumer.role is BalanceRole.COUNTED)

    @property
    def lost(self) -> tuple[Consumer, ...]:
        """The unknown parts without those that sleep, which take next to nothing."""
        return tuple(consumer for consumer in self.unknown
                     if consumer.why is None or consumer.why.reason is not Reason.ASLEEP)

    def within(self, name: str) -> tuple[Consumer, ...]:
        """Return the consumers that a consumer contains."""
        return tuple(consumer for consumer in self.consumers
                     if consumer.role is BalanceRole.INSIDE and consumer.inside == name)


def balance_of(frame: Frame, catalog: Catalog, model: tuple[int | None, int | None]) -> Balance:
    """Compute the balance of an interval."""
    consumers = consumers_of(frame, catalog, model)
    return replace(balanced(consumers, frame.seconds or 0.0), wall_ns=frame.newer.wall_ns)


def balanced(consumers: Sequence[Consumer], seconds: float) -> Balance:
    """Compute the balance of consumers over an interval of this many seconds."""
    parts = [consumer for consumer in consumers if consumer.role is BalanceRole.COUNTED]
    known = [part.watts for part in parts if part.watts is not None]
    counted = math.fsum(known) if known else None
    platforms = tuple(_platforms(consumers))
    speaking = [figure for figure in platforms if figure.watts is not None]
    # A figure below the counted sum is not of the whole machine, so the next one is tried.
    platform = next((figure for figure in speaking if not _exceeds(counted, figure.watts)),
                    speaking[0] if speaking else None)
    balance = Balance(tuple(consumers), counted, tuple(part for part in parts if part.watts is None), platform,
                      platforms,
                      None, None, seconds=seconds)
    elsewhere, why = _elsewhere(balance)
    balance = replace(balance, elsewhere=elsewhere, why=why)
    return replace(balance, contradictions=tuple(text for rule in _RULES for text in rule(balance)))


def _exceeds(counted: float | None, whole: float | None) -> bool:
    """Tell whether parts exceed their whole by more than readings at different instants explain."""
    return counted is not None and whole is not None and counted > whole * (1.0 + _SLACK) + _LEAST_WATTS


def _platforms(consumers: Sequence[Consumer]) -> Iterator[PlatformFigure]:
    by_kind = lists_by_key((consumer.kind, consumer) for consumer in consumers if consumer.role is BalanceRole.PLATFORM)
    for kind in PLATFORM_RANK:
        if not (members := tuple(by_kind.get(kind, ()))):
            continue
        watts = [member.watts for member in members]
        known = [watt for watt in watts if watt is not None]
        total = math.fsum(known) if len(known) == len(watts) else None
        if kind == "battery" and (total is None or total <= 0):
            total = None  # on mains power a battery reports its charging power
        name = members[0].name if len(members) == 1 else "power supplies" if kind == "psu" else (
            f"{len(members)} {'batteries' if kind == 'battery' else f'{kind}s'}")
        yield PlatformFigure(kind, name, total, members)


def _elsewhere(balance: Balance) -> tuple[float | None, Unavailable | None]:
    counted, platform = balance.counted, balance.platform
    if counted is None:
        return None, Unavailable(Reason.NO_HARDWARE, "nothing here counts the watts of a part")
    if platform is None or platform.watts is None:
        silent = ", ".join(figure.name for figure in balance.platforms)
        detail = (f"the whole machine's watts cannot be read now from {silent}" if silent else
                  "nothing tells what the whole machine takes: no psys, power meter, supply or discharging battery")
        return None, Unavailable(Reason.NOT_SET if silent else Reason.NO_HARDWARE, detail)
    if _exceeds(counted, platform.watts):
        return None, Unavailable(Reason.CONTRADICTED, f"the parts, {counted:.1f} W, are more than the "
                                 f"{platform.watts:.1f} W of {platform.name}")
    for consumer in balance.lost:
        if consumer.why is None:
            return None, Unavailable(Reason.FAILED, f"a part is unknown, {consumer.name}")
        return None, replace(consumer.why, detail=f"a part is unknown, {consumer.name}: {consumer.why.detail}")
    return max(0.0, platform.watts - counted), None


# Contradictions


def _too_little(balance: Balance) -> Iterator[str]:
    for figure in balance.platforms:
        if figure.watts is None or balance.counted is None or not _exceeds(balance.counted, figure.watts):
            continue
        if figure.kind == "battery" and figure is not balance.platform:
            continue  # a battery's numbers are up to half a minute old, so they contradict nothing
        why = {"psys": "this board does not wire it to the whole platform",
               "battery": "another supply feeds the machine too, or its numbers are old",
               "module": "something counted lies outside the module"}.get(figure.kind,
                                                                          "its figure is of another time or "
                                                                          "of a part of the machine")
        yield f"the parts, {balance.counted:.1f} W, exceed {figure.name}, {figure.watts:.1f} W: {why}"


def _too_much_inside(balance: Balance) -> Iterator[str]:
    for outer in balance.consumers:
        inner = [consumer.watts for consumer in balance.within(outer.name)
                 if consumer.watts is not None and consumer.kind != "apu"]
        if outer.watts is not None and inner and _exceeds(math.fsum(inner), outer.watts):
            yield f"what lies inside {outer.name}, {math.fsum(inner):.1f} W, exceeds its {outer.watts:.1f} W"


def _at_odds(balance: Balance) -> Iterator[str]:
    """Describe two figures of the whole machine that differ.

    Modules (parts), batteries (other times) and figures that were already named as too small are left out.
    """
    speaking = [figure for figure in balance.platforms
                if figure.watts is not None and figure.kind not in {"module", "battery"}
                and not _exceeds(balance.counted, figure.watts)]
    for first, second in itertools.pairwise(speaking):
        low, high = sorted((first.watts or 0.0, second.watts or 0.0))
        if high - low > max(_APART * high, _LEAST_WATTS):
            yield (f"{first.name} says {first.watts:.1f} W of the whole machine, {second.name} says "
                   f"{second.watts:.1f} W")


def _other_time(balance: Balance) -> Iterator[str]:
    for member in balance.platform.members if balance.platform is not None and balance.seconds else ():
        if member.averaged is not None and member.averaged > _LONG * balance.seconds:
            yield f"{member.name} averages over {member.averaged:g} s, the parts over {balance.seconds:.1f} s"
        if member.age is not None and member.age > max(_OLD_SECONDS, _LONG * balance.seconds):
            seconds = f"{balance.seconds:.1f} s"
            yield f"{member.name} has said the same for {member.age:.0f} s, the parts are of the last {seconds}"


_RULES: Final[tuple[Callable[[Balance], Iterator[str]], ...]] = (_too_little, _too_much_inside, _at_odds, _other_time)
"""The kinds that the sentence names, in this order."""


def sentence(balance: Balance) -> str:
    """Describe the balance in one line."""
    if balance.total is None:
        return "Nothing here tells of power"
    parts = [f"{word} {watts:,.1f}" for word, watts in by_word(balance).items()]
    silent = [f"{consumer.name} {consumer.why.reason.value}"
              for consumer in balance.unknown if consumer.why is not None]
    rest = [f"elsewhere {balance.elsewhere:,.1f}"] if balance.elsewhere is not None else []
    origin = " counted" if balance.total_figure is None else f" by {balance.total_figure.name}"
    return f"{balance.total:,.1f} W{origin}: {', '.join([*parts, *rest, *silent]) or 'nothing counts its parts'}"


def by_word(balance: Balance) -> Mapping[str, float]:
    """Describe the counted watts by kind."""
    watts = lists_by_key((part.kind, part.watts) for part in balance.parts if part.watts is not None)
    return {_word(kind, len(each)): math.fsum(each) for kind, each in watts.items()}


def _word(kind: str, many: int) -> str:
    words = KINDS[kind].words if kind in KINDS else kind
    return words if many == 1 or kind == "memory" else f"{words}s"
