"""Why something is not known, as JSON of a recording has it: a list of kind, detail and remedy."""

from __future__ import annotations

from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.recording.said import Said


def reason_facts(why: Unavailable | None) -> list[str] | None:
    """A reason as a recording keeps it; None where there is none."""
    return None if why is None else [why.reason.value, why.detail, why.remedy]


def reason_from(said: Said) -> Unavailable:
    """The reason of `reason_facts`; a kind of a later version stands for "not read".

    Raises:
        DamagedError: it is none.
    """
    parts = said.items()
    if len(parts) != 3:
        raise DamagedError(f"{said.where} of the recording is no reason")
    return Unavailable(parts[0].one_of(Reason, Reason.NOT_READ), parts[1].text(), parts[2].text())
