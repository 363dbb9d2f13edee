"""Encodes an event of a known PMU; imports only the part of the grammar that every start needs."""

from __future__ import annotations

from turbotui.events.errors import EventSyntaxError
from turbotui.events.syntax import Written, parse
from turbotui.events.terms import settings_of
from turbotui.machine.host import PerfAttr
from turbotui.machine.pmus import Pmu


def attr_of(pmu: Pmu, terms: str) -> PerfAttr:
    """Return the attribute that counts an event of a PMU, given by its name or by terms as between slashes.

    Raises:
        EventError: one of the classes of `turbotui.events.errors`.
    """
    (written, *more) = parse(f"{pmu.name}/{terms}/")
    if more or not isinstance(written, Written) or not written.terms:
        raise EventSyntaxError(terms, 0, "the terms of one event are expected")
    word, *others = settings_of(pmu, written.terms, core=False, extended=False).words
    config1, config2, config3, config4 = others
    return PerfAttr(pmu.type, word, config1, config2, config3, config4=config4)
