"""Verdicts on packages in sentences: what an operator reads first."""

from __future__ import annotations

from collections.abc import Sequence

from turbotui.diagnosis.limit_history import LimitVerdict
from turbotui.diagnosis.limits import AT_CLOCK, HEAT, POWER_HOLDERS, EvidenceKind, Facts, Hold, Holder, LimitState
from turbotui.quantities.unavailable import Reason, Unavailable


def headline(verdicts: Sequence[LimitVerdict]) -> str:
    """One sentence about the whole machine: the package that needs attention most, and how many are like it."""
    if not verdicts:
        return "no package is measured"
    worst = max(verdicts, key=lambda verdict: verdict.weight)
    if len(verdicts) == 1:
        return sentence(worst)
    held = [verdict for verdict in verdicts if verdict.state is LimitState.HELD]
    if held:
        more = len(held) - 1
        if not more:
            return f"{sentence(worst)}; {_others(len(verdicts) - 1)} not"
        return f"{sentence(worst)}; {more} more {'is' if more == 1 else 'are'} held back"
    if worst.state is LimitState.UNKNOWN:
        return sentence(worst)
    seen = "nothing holds" if all(verdict.facts.well_known for verdict in verdicts) else "nothing is seen to hold"
    return f"{seen} the {len(verdicts)} packages back; the busiest is {name_of(worst)}: {_doing(worst.facts)}"


def _others(count: int) -> str:
    return "the other is" if count == 1 else f"the other {count} are"


def sentence(verdict: LimitVerdict) -> str:
    """The verdict on one package as a sentence, without its evidence."""
    name, facts = name_of(verdict), verdict.facts
    if verdict.state is LimitState.HELD and verdict.hold is not None:
        at = "" if facts.mhz is None else f" at {facts.mhz:,.0f} MHz"
        details = ", ".join(part for part in (_reached(facts, verdict.hold), _time(verdict)) if part)
        return f"{name} is held{at} by {_by(verdict)}" + (f" ({details})" if details else "")
    if verdict.state is LimitState.UNKNOWN:
        return _unknown_sentence(verdict)
    seen = "nothing holds" if facts.well_known else "nothing is seen to hold"
    text = f"{seen} {name} back: {_doing(facts)}"
    if verdict.state is LimitState.IDLE and facts.busy is not None:
        text = f"{seen} {name} back: it is idle, {facts.busy:.1f} % busy"
    elif verdict.state is LimitState.AT_TOP:
        text += f", {_top(facts)}"
    if verdict.earlier is not None:
        holder, share = verdict.earlier
        text += f"; {short(holder)} did for {_percent(share)} of the last {_span(verdict.window)}"
    return text


def holding(verdict: LimitVerdict, hold: Hold) -> str:
    """A holder as a sentence without the time: "package 0 is held at ... by ..."."""
    facts, possible = verdict.facts, verdict.facts.possible_mhz
    slower = facts.mhz is not None and possible is not None and facts.mhz < AT_CLOCK * possible
    of = f" of {possible:,.0f}" if slower else ""
    at = "" if facts.mhz is None else f" at {facts.mhz:,.0f}{of} MHz"
    by = _by(verdict) if hold.holder is Holder.PREFERENCE else hold.holder.value
    reached = _reached(facts, hold)
    return f"{name_of(verdict)} is held{at} by {by}" + (f" ({reached})" if reached else "")


def _by(verdict: LimitVerdict) -> str:
    if verdict.setting is not None:
        column, value = verdict.setting
        return f"a setting that saves energy: {column} is {value}"
    return "" if verdict.hold is None else verdict.hold.holder.value


def how_known(verdict: LimitVerdict) -> str:
    """The certainty of a verdict as a sentence, with the column behind it."""
    hold = verdict.hold
    if hold is None:
        missing = verdict.missing_evidence()
        if verdict.state is LimitState.UNKNOWN or not missing:
            return ""
        which = "are late in this interval" if all(_is_late(why) for _, why in missing) else "cannot be read here"
        return f"without {_listed([what for what, _ in missing])}, which {which}"
    text = f"{hold.evidence}: {hold.sure.value}"
    return f"{text}; also {_listed([short(other.holder) for other in verdict.others])}" if verdict.others else text


def _listed(words: Sequence[str]) -> str:
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)


def name_of(verdict: LimitVerdict) -> str:
    """The package's name, such as "package 0"."""
    return f"package {verdict.row.key[0]}"


def _unknown_sentence(verdict: LimitVerdict) -> str:
    name, facts = name_of(verdict), verdict.facts
    if facts.mhz is None:
        doing = "" if facts.busy is None else f": {facts.busy:.0f} % busy"
        late = any(_is_late(facts.why[clock]) for clock in ("Bzy_MHz", "CurMHz") if clock in facts.why)
        clock = "is late in this interval" if late else "cannot be read here"
        return f"whether anything holds {name} back cannot be told{doing}, and its clock {clock}"
    possible = facts.number("Turbo1") or facts.top_mhz
    of = f" of {possible:,.0f}" if possible else ""
    lacking = {what: why for what, why in verdict.missing_evidence() if what in {"throttle reasons", "power limits"}}
    text = f"what holds {name} at {facts.mhz:,.0f}{of} MHz cannot be told"
    if lacking and all(map(_is_late, lacking.values())):
        return f"{text}: {_listed(tuple(lacking))} are late in this interval"
    return f"{text}: no {' or '.join(lacking)} can be read here" if lacking else text


def _is_late(why: Unavailable) -> bool:
    """Whether a number is missing only because its CPUs did not answer in time."""
    return why.reason is Reason.LATE


def _doing(facts: Facts) -> str:
    busy = "" if facts.busy is None else f"{facts.busy:.0f} % busy"
    clock = "" if facts.mhz is None else f"at {facts.mhz:,.0f} MHz"
    if clock and facts.number("Bzy_MHz") is None:
        clock += " as cpufreq sees it"
    return f"{busy} {clock}".strip() or "nothing more is known"


def _top(facts: Facts) -> str:
    everyone, single = facts.number("TurboAll"), facts.number("Turbo1") or facts.top_mhz
    if facts.fastest is not None and single is not None and facts.fastest[0] >= AT_CLOCK * single:
        return f"its fastest CPU at {facts.fastest[0]:,.0f} of {single:,.0f} MHz"
    return "its turbo clock for all cores" if everyone is not None else "its highest clock"


def _reached(facts: Facts, hold: Hold) -> str:
    """The number that reached its limit."""
    watts, limits = facts.number("PkgWatt"), {Holder.PL1: "PL1", Holder.PL2: "PL2"}
    if hold.holder in limits and watts is not None:
        limit = facts.limit(limits[hold.holder])
        return f"{watts:,.0f} W" if limit is None else f"{watts:,.0f} of {limit:,.0f} W"
    if hold.holder is Holder.POWER and watts is not None:
        known = ((name, facts.limit(name)) for name in ("PL1", "PL2"))
        return ", ".join([f"{watts:,.0f} W", *(f"{name} {limit:,.0f} W" for name, limit in known if limit is not None)])
    if hold.holder in {Holder.HEAT, Holder.PROCHOT} and facts.celsius is not None:
        hottest = facts.amount("TjMax")
        return facts.amount(*HEAT) + (f", tj_max {hottest}" if hottest else "")
    if hold.holder is Holder.POLICY and facts.cap_mhz is not None:
        top = "" if facts.top_mhz is None else f" of {facts.top_mhz:,.0f}"
        return f"scaling_max_freq {facts.cap_mhz:,.0f}{top} MHz"
    return ""


def _time(verdict: LimitVerdict) -> str:
    if verdict.hold is None or verdict.setting is not None or not verdict.window:
        return ""
    what = "power limits " if verdict.hold.holder in POWER_HOLDERS else ""
    return f"{what}{_percent(verdict.share)} of the last {_span(verdict.window)}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.01 else "less than 1 %"


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 120 else f"{seconds:.0f} s" if seconds >= 9.5 else f"{seconds:.1f} s"


def short(holder: Holder) -> str:
    """A holder in as few words as possible."""
    return holder.value.split(":", maxsplit=1)[0]


INFERRED_MARK = "~"
"""Precedes what is only inferred, as `~` marks estimated cells."""


def mark(verdict: LimitVerdict) -> str:
    """A mark for a verdict that needs attention: held back, by evidence or by inference."""
    if verdict.state is not LimitState.HELD or verdict.hold is None:
        return "?" if verdict.state is LimitState.UNKNOWN else " "
    return INFERRED_MARK if verdict.hold.sure is EvidenceKind.INFERRED else "▲"
