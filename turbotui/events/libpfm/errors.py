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

    def __init__(self, what: str, text: str, code: int | None = None) -> None:
        super().__init__(f"libpfm refuses {what!r}: {text}.")
        self.text = text
        if code is not None:
            self.code = code


class PfmNotSupportedError(PfmError):
    """PFM_ERR_NOTSUPP: an unknown operating system, or a PMU that the kernel does not have."""

    code = -1


class PfmInvalidError(PfmError):
    """PFM_ERR_INVAL: blanks, commas or a NUL in the string, or an unknown privilege level."""

    code = -2


class PfmNotInitializedError(PfmError):
    """PFM_ERR_NOINIT: the library was not initialised, or was terminated."""

    code = -3


class PfmNotFoundError(PfmError):
    """PFM_ERR_NOTFOUND: no active PMU model has the event."""

    code = -4


class PfmCombinationError(PfmError):
    """PFM_ERR_FEATCOMB: unit masks that exclude each other."""

    code = -5


class PfmUnitMaskError(PfmError):
    """PFM_ERR_UMASK: the event needs a unit mask."""

    code = -6


class PfmMemoryError(PfmError):
    """PFM_ERR_NOMEM."""

    code = -7


class PfmAttributeError(PfmError):
    """PFM_ERR_ATTR: an unknown unit mask or modifier, or one that does not go with this event or system."""

    code = -8


class PfmAttributeValueError(PfmError):
    """PFM_ERR_ATTR_VAL: a modifier's value is missing or out of its range."""

    code = -9


class PfmAttributeSetError(PfmError):
    """PFM_ERR_ATTR_SET: a modifier has another value already."""

    code = -10


class PfmTooManyError(PfmError):
    """PFM_ERR_TOOMANY: more than 64 attributes."""

    code = -11


class PfmTooSmallError(PfmError):
    """PFM_ERR_TOOSMALL: the caller's array has fewer slots than the event has codes."""

    code = -12


ERRORS: dict[int, type[PfmError]] = {
    each.code: each
    for each in (
        PfmNotSupportedError, PfmInvalidError, PfmNotInitializedError, PfmNotFoundError, PfmCombinationError,
        PfmUnitMaskError, PfmMemoryError, PfmAttributeError, PfmAttributeValueError, PfmAttributeSetError,
        PfmTooManyError, PfmTooSmallError,
    )
}
