"""The events of a request as counters that are opened together, encoded without sampling options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from turbotui.errors import UsageError
from turbotui.events.encoded import FLAGS, EncodedEvent
from turbotui.events.engines import open_engine
from turbotui.events.errors import ModifierError
from turbotui.events.kinds_of_core import with_pmu_names
from turbotui.machine.host import HostError, PerfAttr
from turbotui.machine.machine import Machine
from turbotui.machine.topology import Topology
from turbotui.quantities.added import AddError
from turbotui.quantities.event_columns import EventRequest
from turbotui.sources.event_places import Bundle

MOST_EVENTS = 64
"""Maximum number of columns of one pattern, because each takes a descriptor on every CPU."""
_COUNTING = ("pinned", "exclusive", "exclude_user", "exclude_kernel", "exclude_hv", "exclude_idle", "exclude_host",
             "exclude_guest")
_KEPT_FLAGS = sum(1 << FLAGS[name] for name in _COUNTING)
"""Attribute fields that matter for counting; the kernel refuses some of those for sampling."""
RINGS = sum(1 << FLAGS[name] for name in _COUNTING if name.startswith("exclude_"))
"""Flags that distinguish modes, which an uncore PMU cannot do."""


def counting(event: EncodedEvent) -> PerfAttr:
    """The attribute without sampling options: the count is the same, and the kernel refuses some of them."""
    flags = event.attr.flags & _KEPT_FLAGS
    return replace(event.attr, flags=flags, sample_period=0, branch_sample_type=0, sample_max_stack=0,
                   aux_sample_size=0)


def counted(events: Sequence[EncodedEvent]) -> Sequence[EncodedEvent]:
    """The events, after checking that counting can provide what they ask for.

    Raises:
        ModifierError: an event asks for a latency, which would be shown as a count.
    """
    for event in events:
        if event.retire_latency:
            raise ModifierError(f"{event.string} asks by R for the mean retirement latency, which perf samples "
                                "(TPEBS); only counts are to be had here, without R.")
    return events


def expanded(machine: Machine, request: EventRequest) -> EventRequest:
    """The request with a column for each event that a text in it stands for.

    A pattern stands for several events (`sched:sched_*`, `imc/cas_count_*/`), and so does a code on several kinds of
    core.

    Raises:
        AddError: there are too many events, or several where one is needed.
    """
    try:
        engine = open_engine(machine.host)
        named = [(item, tuple(dict.fromkeys(event.string for event in with_pmu_names(engine.encode(item)))))
                 for item in request.items]
    except (UsageError, HostError):
        return request  # opening it finds the same mistake and reports it
    if all(set(strings) == set(events) for (_item, strings), events in zip(named, request.by_item, strict=True)):
        return request
    members = tuple(event for _item, strings in named for event in strings)
    several = next(((item, strings) for item, strings in named if len(strings) > 1), None)
    if several is not None and any(column.formula is not None for column in request.columns):
        raise AddError(f"{several[0]} stands for {len(several[1])} events ({_some(several[1])}), and a formula needs "
                       "one: write the events one by one")
    if len(members) > MOST_EVENTS:
        raise AddError(f"{request.text} stands for {len(members)} events, and at most {MOST_EVENTS} are added at once: "
                       "write a narrower pattern")
    return request.with_events(members, tuple(each for item, strings in named
        for each in ((item,) if item.rstrip().endswith("}") or "{" in item else strings)))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")


def bundles_of(machine: Machine, request: EventRequest) -> list[Bundle]:
    """Encode the items of a request.

    Raises:
        EventError: one cannot be encoded.
        LibpfmAbsentError, PfmError: one is in libpfm's grammar.
    """
    engine = open_engine(machine.host)
    encoded = [with_pmu_names(counted(engine.encode(item))) for item in request.items]
    if request.together:
        return _joined(machine.topology, request.events, encoded)
    bundles: list[Bundle] = []
    for item, events in zip(request.items, encoded, strict=True):
        grouped = [event for event in events if event.group is not None]
        for number in dict.fromkeys(event.group for event in grouped):
            members = [event for event in grouped if event.group == number]
            # A counter of the kernel's own always runs, so it loses nothing when opened alone; below a leader of
            # another PMU that is not the core's it stays 0 for ever (Linux 6.18).
            for pmu in dict.fromkeys(event.pmu for event in members):
                own = tuple((event.string, event) for event in members if event.pmu == pmu)
                bundles.append(Bundle(own, any(member.weak for member in members)))
        bundles += [Bundle(((item, event),)) for event in events if event.group is None]
    return [bundle for bundle in bundles if _is_measured(machine.topology, bundle.first)]


def _joined(topology: Topology, texts: Sequence[str], encoded: Sequence[Sequence[EncodedEvent]]) -> list[Bundle]:
    """Events of a formula, those of one PMU in a group that may be split."""
    bundles: list[Bundle] = []
    together: dict[tuple[str, ...], list[tuple[str, Sequence[EncodedEvent]]]] = {}
    for text, events in zip(texts, encoded, strict=True):
        here = [event for event in events if _is_measured(topology, event)]
        pmus = tuple(event.pmu for event in here)
        if len(set(pmus)) == len(pmus):
            together.setdefault(pmus, []).append((text, here))
        else:
            bundles += [Bundle(((text, event),)) for event in here]
    for pmus, members in together.items():
        bundles += [Bundle(tuple((text, events[index]) for text, events in members), weak=True)
                    for index in range(len(pmus))]
    return bundles


def _is_measured(topology: Topology, event: EncodedEvent) -> bool:
    """Whether a kind of core is watched at all; uncore PMUs find their place or report that they have none."""
    return event.uncore or not event.cpus or not topology.places.keys().isdisjoint(event.cpus)
