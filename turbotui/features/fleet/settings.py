"""The table [fleet] of the user's settings, which supplies options that the command line omits."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError, nearest_or_all
from turbotui.features.fleet.columns import COLUMNS
from turbotui.features.fleet.opening import USUAL as USUAL_OPEN
from turbotui.features.fleet.opening import checked
from turbotui.features.fleet.outliers import USUAL, NodeLimits
from turbotui.features.fleet.server_options import parse_labels, parse_window, positive
from turbotui.quantities.rows import WrongKindError, number, text, texts
from turbotui.sampling.limits import INTERVAL_BOUNDS, LONGEST_INTERVAL, SHORTEST_INTERVAL

if TYPE_CHECKING:
    from turbotui.app.settings import PersonalSettings

TABLE: Final = "fleet"
_MINUTE: Final = 60.0


def _path(value: object) -> str:
    return os.path.expanduser(text(value))


def _labels(value: object) -> str:
    labels = text(value) if isinstance(value, str) else ",".join(texts(value))
    parse_labels(labels, "")
    return labels


def _window(value: object) -> str:
    parse_window(text(value))
    return text(value)


def _seconds(value: object) -> str:
    if not SHORTEST_INTERVAL <= number(value) <= LONGEST_INTERVAL:
        raise WrongKindError(f"a number of seconds, {INTERVAL_BOUNDS}")
    return f"{number(value):g}"


def _limit(value: object) -> float:
    return positive(f"{number(value)}", "")


def _column(value: object) -> str:
    known = {column.id.lower(): column.id for column in COLUMNS}
    if text(value).lower() not in known:
        raise WrongKindError(f"one of the columns {', '.join(known.values())}")
    return known[text(value).lower()]


@dataclass(frozen=True, slots=True)
class FleetSetting:
    """A value of the table [fleet]."""

    read: Callable[[object], str | float]  # converts the value for the program
    option: str  # the option's name among the arguments; "" for a limit of a node
    usual: str | None  # the default of the option
    says: str  # the value's line in docs/settings.md


SETTINGS: Final[Mapping[str, FleetSetting]] = {
    "server": FleetSetting(text, "prometheus", "", "URL of the server; `--prometheus` and the variable come first."),
    "user": FleetSetting(text, "user", None, "User for basic authentication, with `password_file`."),
    "password_file": FleetSetting(_path, "password_file", None, "A file with the user's password."),
    "bearer_file": FleetSetting(_path, "bearer_file", None, "A file with a bearer token."),
    "ca": FleetSetting(_path, "ca", "", "Certificates of the authority that signed the server's."),
    "tenant": FleetSetting(text, "tenant", "", "Of Mimir: sent as X-Scope-OrgID."),
    "timeout": FleetSetting(_seconds, "timeout", "10", "Seconds in which the server has to answer."),
    "node": FleetSetting(_labels, "node", "instance", "Labels that name a node."),
    "peers": FleetSetting(_labels, "peers", "model", "Nodes that have these labels in common are compared."),
    "select": FleetSetting(text, "select", "", "Only nodes whose series have these labels, as PromQL has it."),
    "window": FleetSetting(_window, "window", "2m", "Time over which rates are: two scrapes at least."),
    "refresh": FleetSetting(_seconds, "interval", "15", "Seconds from one reading to the next."),
    "sort": FleetSetting(_column, "sort", "", "The column to sort by, the greatest first, on the screen and in text."),
    "open": FleetSetting(lambda value: checked(text(value)), "open", USUAL_OPEN, "What Enter on a node runs."),
    "recordings": FleetSetting(_path, "recordings", "", "A folder with a recording of each node, which Enter replays."),
    "throttled": FleetSetting(_limit, "", None, "Percent of time held back by heat from which a node is odd (1)."),
    "slower": FleetSetting(_limit, "", None, "Percent below its own baseline from which a node is odd (5)."),
    "stale": FleetSetting(_limit, "", None, "Minutes without samples from which a node is odd (5)."),
}
"""Every value that [fleet] may have."""
_SERVERS: Final = frozenset({"user", "password_file", "bearer_file", "ca", "tenant"})
"""Options for the settings' server only, so that no other server receives its secrets."""


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """The valid values of the user's table [fleet]."""

    values: Mapping[str, str | float]  # by their names in the table
    problems: tuple[str, ...] = ()  # a sentence, with the line number, about each invalid value

    @property
    def limits(self) -> NodeLimits:
        """Return the limits for each node by itself, for checks without limits of their own."""
        limits = {name: float(self.values[name]) for name in ("throttled", "slower", "stale") if name in self.values}
        return NodeLimits(limits.get("throttled", USUAL.throttled), limits.get("slower", USUAL.below_baseline),
                          limits["stale"] * _MINUTE if "stale" in limits else USUAL.stale)


def fleet_settings(settings: PersonalSettings) -> FleetSettings:
    """Read the table [fleet] of the user's settings."""
    values: dict[str, str | float] = {}
    problems: list[str] = []
    for name, value in settings.fleet.items():
        known = SETTINGS.get(name)
        why = f"there is no setting {name} of a fleet{nearest_or_all(name, SETTINGS)}"
        if known is not None:
            try:
                values[name] = known.read(value)
                continue
            except (WrongKindError, UsageError) as error:
                why = f"{name} has to be {error}" if isinstance(error, WrongKindError) else f"{name}{error}"
        problems.append(settings.problem(name, why, (TABLE,)))
    return FleetSettings(values, tuple(problems))


def filled(arguments: argparse.Namespace, own: FleetSettings, *, server: str, is_text: bool) -> None:
    """Fill options that the command line omits from the settings, or with their defaults.

    Args:
        server: the server in the environment, which precedes the settings.
        is_text: whether people read the output; formats for scripts ignore the settings' order of rows.
    """
    named_elsewhere = bool(arguments.prometheus or server)
    for name, setting in SETTINGS.items():
        if not setting.option or getattr(arguments, setting.option) is not None:
            continue
        skipped = (name == "sort" and not is_text) or (named_elsewhere and name in _SERVERS | {"server"})
        value = None if skipped else own.values.get(name)
        setattr(arguments, setting.option, setting.usual if value is None else value)
