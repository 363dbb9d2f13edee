"""libpfm4's refusals, one class for each code, with the library's own text (perfmon/pfmlib.h, pfm_strerror(3))."""

from __future__ import annotations

from turbotui.errors import UsageError


class LibpfmAbsentError(UsageError):
    """libpfm4 is not installed, or has no tables for the requested machine."""


class PfmError(UsageError):
    """libpfm refused a call.

    Attributes:
        code: the library's negative number.
        text: the library's words.
    """

    code = 0

    def __init_subclass__(cls, *, code: int) -> None:
        cls.code = code
        ERRORS[code] = cls

    def __init__(self, what: str, text: str, code: int | None = None) -> None:
        super().__init__(f"libpfm refuses {what!r}: {text}.")
        self.text = text
        if code is not None:
            self.code = code


ERRORS: dict[int, type[PfmError]] = {}
"""The class of each code."""


class PfmNotSupportedError(PfmError, code=-1):
    """PFM_ERR_NOTSUPP: an unknown operating system, or a PMU that the kernel does not have."""


class PfmInvalidError(PfmError, code=-2):
    """PFM_ERR_INVAL: blanks, commas or a NUL in the string, or an unknown privilege level."""


class PfmNotInitializedError(PfmError, code=-3):
    """PFM_ERR_NOINIT: the library was not initialised, or was terminated."""


class PfmNotFoundError(PfmError, code=-4):
    """PFM_ERR_NOTFOUND: no active PMU model has the event."""


class PfmCombinationError(PfmError, code=-5):
    """PFM_ERR_FEATCOMB: unit masks that exclude each other."""


class PfmUnitMaskError(PfmError, code=-6):
    """PFM_ERR_UMASK: the event needs a unit mask."""


class PfmMemoryError(PfmError, code=-7):
    """PFM_ERR_NOMEM."""


class PfmAttributeError(PfmError, code=-8):
    """PFM_ERR_ATTR: an unknown unit mask or modifier, or one that does not go with this event or system."""


class PfmAttributeValueError(PfmError, code=-9):
    """PFM_ERR_ATTR_VAL: a modifier's value is missing or out of its range."""


class PfmAttributeSetError(PfmError, code=-10):
    """PFM_ERR_ATTR_SET: a modifier has another value already."""


class PfmTooManyError(PfmError, code=-11):
    """PFM_ERR_TOOMANY: more than 64 attributes."""


class PfmTooSmallError(PfmError, code=-12):
    """PFM_ERR_TOOSMALL: the caller's array has fewer slots than the event has codes."""
