"""Why a number is not available. Every `None` in the data comes with one of these; zero means zero."""

from __future__ import annotations

from enum import Enum

from turbotui.dataclass import dataclass


class Reason(Enum):
    """Kinds of absence, by the word shown to people."""

    NO_HARDWARE = "no hardware"
    UNKNOWN_MODEL = "unknown model"
    NO_DRIVER = "no driver"
    NOT_PERMITTED = "not permitted"
    HIDDEN = "hidden"
    VIRTUALISED = "virtual machine"
    RECORDED = "recorded machine"
    IN_USE = "in use"
    OFFLINE = "offline"
    ASLEEP = "asleep"
    NO_DESCRIPTORS = "no descriptors"
    LATE = "late"
    INTERRUPTED = "interrupted"
    FIRST_TICK = "first interval"
    WENT_BACK = "went back"
    STANDS_STILL = "stands still"
    CONTRADICTED = "contradicted"
    NEVER_RAN = "never scheduled"
    OUT_OF_RANGE = "out of range"
    NOT_READ = "not read"
    NOT_SET = "not set"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why there is no value, in words for people, and what would change that."""

    reason: Reason  # the kind, for grouping and for tests
    detail: str  # what was tried, on what, and the result ("perf msr/aperf/: the kernel does not offer it here")
    remedy: str = ""  # the exact command or setting that would change it; "" if nothing can

    def sentence(self) -> str:
        """Reason, detail and remedy on one line."""
        text = f"{self.reason.value}: {self.detail}"
        return f"{text}; {self.remedy}" if self.remedy else text
