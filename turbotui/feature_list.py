"""`FEATURES`, the one list of features. Their verbs, keys and screens are imported when they are used.

It stands below all that asks for parts of features, and knows them by name: no import leads from here to a feature.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar, cast

from turbotui.feature import Command, Feature, kind_feature, part
from turbotui.installed_features import FAILED, failure_of, installed_features

P = TypeVar("P")

_FOLDERS_AND_KINDS: Final[tuple[str | Feature, ...]] = (
    "dashboard", "cpus", "overview", "stat", "why", "record", "doctor", "info", "power", "uncore", "roofline",
    "topdown", "tasks", "groups",
    kind_feature("interrupts", "Z", "turbotui.features.interrupts:INTERRUPTS",
                 "interrupts a second by source and CPU, the device of each, and the CPUs that may take them",
                 (("turbotui interrupts -n 1", "interrupts a second by source"),
                  ("turbotui interrupts --cpus -n 1", "and by CPU")), nested=True),
    kind_feature("memory", "N", "turbotui.features.memory:MEMORY",
                 "GB/s and cache of each L3, node and package, and pages that nodes had to fetch elsewhere",
                 (("turbotui memory -n 1", "which L3, node or package moves the most bytes"),
                  ("turbotui memory -n 1 --format json", "the same, for a script")), nested=True),
    kind_feature("batteries", "%", "turbotui.features.batteries:BATTERIES",
                 "charge, watts, time left and wear of batteries, also of a UPS and of peripherals",
                 (("turbotui batteries -n 1", "how long they last"),
                  ("turbotui batteries -n 1 --format json", "the same, for a script")),
                 gathers="turbotui.features.batteries:gathers"),
    kind_feature("cooling", "&", "turbotui.features.cooling:COOLING",
                 "temperatures of thermal zones, and how much fans and slowed processors cool them",
                 (("turbotui cooling -n 1", "whether the kernel slows anything down for heat"),
                  ("turbotui cooling -n 1 --format json", "the same, for a script")),
                 gathers="turbotui.features.cooling:gathers"),
    "spies", "score", "machines", "diff", "export", "fleet", "columns", "events", "replay", "gather", "collect",
    "serve", "mcp",
)
"""Folders of `turbotui.features`, and kinds of rows, each of which is a module there, which only its verb and its
screen import: in the order of their verbs in --help, and of their places in the help."""

_OWN: Final = tuple(entry if isinstance(entry, Feature)
                    else importlib.import_module(f"turbotui.features.{entry}").FEATURE
                    for entry in _FOLDERS_AND_KINDS)
INSTALLED, REFUSED = installed_features(_OWN)
"""The features of other packages, and a sentence for each that cannot be used."""

FEATURES: Final[tuple[Feature, ...]] = (*_OWN, *INSTALLED)
"""Every feature."""

COMMANDS: Final[tuple[Command, ...]] = tuple(command for feature in FEATURES for command in feature.commands)
"""Every verb."""


def parts_of(feature: Feature, name: str, kind: type[P]) -> tuple[P, ...]:
    """What a feature adds to a table; nothing, and a sentence in `FAILED`, if another package's cannot be used.

    Args:
        name: the attribute of `Feature` that refers to a tuple, or to its only member.
        kind: the class of the tuple's members.
    """
    reference = getattr(feature, name)
    try:
        named = part(reference) if reference else ()
        members = named if isinstance(named, tuple) else (named,)
        parts = tuple(member for member in members if isinstance(member, kind))
        if len(parts) < len(members):
            kinds = getattr(kind, "__name__", kind)  # a union of classes has no name
            raise TypeError(f"it has members that are no {kinds}")  # noqa: TRY301 - told below
    except (Exception, SystemExit) as error:  # noqa: BLE001 - raised again where it is turbotui's own
        failure_of(error, reference)
        return ()
    return parts


def installed_parts(name: str, kind: type[P]) -> Iterator[P]:
    """What the features of other packages add to a table."""
    return (part for feature in INSTALLED for part in parts_of(feature, name, kind))


def part_called(reference: str, kind: type[P], *arguments: object) -> tuple[P, ...]:
    """What a feature's function returns, if anything; nothing if another package's fails (`FAILED`).

    Args:
        reference: "module:name" of the function; "" if the feature has none.
        kind: the class of what is returned, or of its members; anything else is a failure.
        arguments: those of the function.
    """
    try:
        returned = cast("Callable[..., Iterable[P]]", part(reference))(*arguments) if reference else ()
        if kind is object or not reference:
            return ()
        members = (returned,) if isinstance(returned, kind) else tuple(returned)
        if not all(isinstance(member, kind) for member in members):
            raise TypeError(f"it returns what is no {kind.__name__}")  # noqa: TRY301 - told below
    except (Exception, SystemExit) as error:  # noqa: BLE001 - raised again where it is turbotui's own
        failure_of(error, reference)
        return ()
    return members


def refusals() -> tuple[str, ...]:
    """A sentence for each feature of another package, and each part of one, that cannot be used or has failed."""
    for name in ("keys", "sources", "columns", "exported", "rows"):
        tuple(installed_parts(name, object))
    return *REFUSED, *FAILED.values()
