"""Configurations of spies as a person would write them."""

from __future__ import annotations

from turbotui.quantities.spies import SpyPlan
from turbotui.untrusted import toml_text


def plan_text(plan: SpyPlan) -> str:
    lines = [f"reference = {toml_text(plan.reference)}"]
    for spy in plan.spies:
        sets = ["[" + ", ".join(toml_text(name) for name in events) + "]" for events in spy.sets]
        lines += ["", "[[spy]]", f"on = {toml_text(spy.on.text)}"]
        lines.append(f"events = {sets[0]}" if spy.split else f"sets = [{', '.join(sets)}]")
    return "\n".join(lines) + "\n"
