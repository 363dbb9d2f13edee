"""Saved views: what a profile stores of the screens, and how screens apply it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from turbotui.app.prompt import Prompt
from turbotui.app.watch import Watch
from turbotui.errors import TurbotuiError
from turbotui.quantities.columns import CounterColumn
from turbotui.quantities.filters import FilterError, parse_filter
from turbotui.quantities.scope import RowId, Scope
from turbotui.widgets.profiles import Profile, Profiles
from turbotui.widgets.rows import levels_of
from turbotui.widgets.table_view import TableView

CounterView: TypeAlias = TableView[CounterColumn, RowId]
"""The settings of a counter table."""


def profile_of(watch: Watch, view: CounterView, screen: str, theme: str) -> Profile:
    """The current view of a screen as a profile."""
    return Profile(
        screen=screen,
        columns=tuple(column.id for column in watch.columns),
        added=watch.added_texts,
        sort="" if view.sort is None else view.sort.id,
        reverse=view.reverse,
        group=tuple(scope.value for scope in view.levels),
        filter=view.filter.text,
        interval=watch.interval,
        theme=theme,
        order=view.arrangement.order,
        widths=view.arrangement.widths,
    )


def view_of(profile: Profile, watch: Watch, view: CounterView, *, grouped: bool) -> CounterView:
    """A table's settings from a profile; settings that this machine does not have are unchanged.

    Args:
        grouped: whether the user can choose the table's levels.
    """
    view = replace(view, sort=watch.find(profile.sort), reverse=profile.reverse)
    try:
        view = replace(view, filter=parse_filter(profile.filter, watch.find))
    except FilterError:  # a column that this machine lacks; `absent_of` tells of it
        view = replace(view, filter=parse_filter("", watch.find))
    if not grouped:
        return view
    known = {scope.value: scope for scope in Scope}
    wanted = tuple(known[word] for word in profile.group if word in known)
    if Scope.CPU not in wanted:
        return view
    return replace(view, levels=levels_of(watch.session.machine.topology, wanted), folded=frozenset())


def absent_of(profile: Profile, watch: Watch) -> tuple[str, ...]:
    """Columns of a profile that this machine lacks, and a filter that uses such columns."""
    names = dict.fromkeys((*profile.columns, *([profile.sort] if profile.sort else [])))
    absent = [name for name in names if watch.find(name) is None]
    try:
        parse_filter(profile.filter, watch.find)
    except FilterError:
        absent.append(f"filter {profile.filter}")
    return tuple(absent)


def name_prompt(profile: Callable[[], Profile], notice: Callable[[str], None]) -> tuple[
        Prompt, Callable[[str | None], None]]:
    """The prompt for a name, and the function that saves under it.

    Args:
        notice: takes a sentence about the result.
    """
    profiles = Profiles(os.environ)

    def typed(text: str) -> str:
        try:
            return profiles.taken(text) if text else ""
        except TurbotuiError as error:
            return str(error)

    def done(text: str | None) -> None:
        if not text:
            return
        try:
            notice(f"Saved as {profiles.save(text, profile())}; turbotui --profile {text} shows it")
        except TurbotuiError as error:
            notice(str(error))

    return Prompt("save this view as", "", typed), done
