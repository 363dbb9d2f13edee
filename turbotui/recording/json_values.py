"""Typed access to the values of JSON records, because a recording comes from outside and may hold anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from enum import Enum
from itertools import pairwise
from typing import Final, TypeVar

from turbotui.quantities.documents import DocumentError, parse_json, values_in
from turbotui.quantities.plain_numbers import integer
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.recording.framing import DamagedError
from turbotui.untrusted import in_cell, json_text

_MOST_VALUES: Final = 1_000_000
"""Values and keys of a record's document: twice those of a layout of 4,096 CPUs with every column."""
_VALUES_A_BYTE: Final = 8
"""Values and keys for each packed byte: documents of 1,024 CPUs at rest have 1.9."""
_FREE_VALUES: Final = 512  # of any record
_BYTES_A_VALUE: Final = 256
"""Bytes for each value that a document may have: an event has 64, and up to 1,000 characters of at most 12 bytes."""
_USUAL_BYTES: Final = 32
"""Bytes of text that count as a value in what records hold together: a layout has 9 a value, kept files 26 to 60."""
_EARNED_A_BYTE: Final = 2
"""Values for each packed byte of all layouts together: those of 22 to 224 CPUs have 0.7 to 0.8, of 1,024 CPUs 1.8."""
_CELLS_A_BYTE: Final = 8
"""Cells for each packed byte of a tick: ticks of idle machines have 0.9, of tiers with rounded clocks 1.5."""
_FREE_CELLS: Final = 1024  # of any tick
_MOST_DENSE_CELLS: Final = 1 << 21
"""Cells of all ticks together beyond these, which take as long as five megabytes of a usual recording."""
_MOST_REASONS: Final = 1 << 16
"""Different reasons of all layouts together; 224 CPUs with every uncore counter have 4,000."""
_LONGEST_KEY: Final = 80  # characters of a key in a message
T = TypeVar("T")
U = TypeVar("U")
E = TypeVar("E", bound=Enum)


class JsonValue:
    """A value of a JSON document, read by its expected type.

    Every method raises DamagedError if the value has another type.

    Args:
        place: the document's name, or the value's key or position in the value around it.
        within: the value around it; None for a document.
        size: bytes of a document's text; 0 for a value within one.
    """

    __slots__ = ("_place", "_within", "size", "value")

    def __init__(self, value: object, place: str | int, within: JsonValue | None = None, size: int = 0) -> None:
        self.value = value
        self.size = size
        self._place = place
        self._within = within

    @property
    def where(self) -> str:
        """The value's place in the document, for error messages."""
        place, within = self._place, self._within
        if within is None:
            return str(place)
        return f"{within.where}[{place}]" if isinstance(place, int) else f"{within.where}.{place[:_LONGEST_KEY]}"

    def __getitem__(self, key: str) -> JsonValue:
        entries = self._of(dict)
        if key not in entries:
            raise DamagedError(f"{self.where} of the recording has no {key!r}")
        return JsonValue(entries[key], key, self)

    def get(self, key: str) -> JsonValue | None:
        """Return the value of a key; None for a missing key or null."""
        value = self._of(dict).get(key)
        return None if value is None else JsonValue(value, key, self)

    def optional(self, key: str, read: Callable[[JsonValue], T], otherwise: U) -> T | U:
        """Return the value of a key by its reader; `otherwise` for a missing key or null, as older recordings have."""
        value = self.get(key)
        return otherwise if value is None else read(value)

    def items(self) -> Sequence[JsonValue]:
        """Return the values of a list."""
        return [JsonValue(value, at, self) for at, value in enumerate(self._of(list))]

    def item(self, number: int) -> JsonValue:
        """Return a value of a list."""
        items = self._of(list)
        if not 0 <= number < len(items):
            raise DamagedError(f"{self.where} of the recording has {len(items)} values, and none is number {number}")
        return JsonValue(items[number], number, self)

    def entries(self) -> Mapping[str, JsonValue]:
        """Return the values of an object by their keys."""
        return {in_cell(key): JsonValue(value, key, self) for key, value in self._of(dict).items()}

    def numbers(self) -> Mapping[str, int]:
        """Return the values of an object of integers by their keys; faster than `entries`."""
        entries: dict[str, int] = self._of(dict)
        if any(type(number) is not int for number in entries.values()):
            raise DamagedError(f"{self.where} of the recording is no object of int alone")
        return {in_cell(key): number for key, number in entries.items()}

    def text(self) -> str:
        """Return the value as a text of one line; line breaks and TABs are marked, as the recorded machine's were."""
        return in_cell(self._of(str))

    def document(self) -> str:
        """Return the value as a text that may have several lines, such as the content of a file."""
        return self._of(str)

    def flag(self) -> bool:
        """Return the value as a boolean."""
        return self._of(bool)

    def integer(self) -> int:
        """Return the value as an integer."""
        if isinstance(self.value, bool):
            raise self._wrong("int")
        return self._of(int)

    def number(self) -> float:
        """Return the value as a number."""
        return float(self.integer()) if isinstance(self.value, int) else self._of(float)

    def integers(self) -> tuple[int, ...]:
        """Return the value as a list of integers."""
        return tuple(value.integer() for value in self.items())

    def runs(self, most: int) -> list[int]:
        """Return ascending numbers below `most` from the runs of `runs_of`."""
        runs = [run.integers() for run in self.items()]
        # ascending and apart, so that there are no more numbers than `most`
        pairs = all(len(run) == 2 and 0 <= run[0] <= run[1] < most for run in runs)
        if not pairs or any(run[1] >= following[0] for run, following in pairwise(runs)):
            raise DamagedError(f"{self.where} of the recording are no positions of {most} rows")
        return [number for first, last in runs for number in range(first, last + 1)]

    def texts(self) -> tuple[str, ...]:
        """Return the value as a list of texts."""
        return tuple(value.text() for value in self.items())

    def lines(self) -> list[str]:
        """Return the value as a list of texts of one line each; faster than `texts`."""
        return [in_cell(text) for text in self.values(str)]

    def values(self, kind: type[T]) -> list[T]:
        """Return the value as a list of values of exactly one type, texts as the document has them."""
        items: list[T] = self._of(list)
        if any(type(item) is not kind for item in items):
            raise DamagedError(f"{self.where} of the recording is no list of {kind.__name__} alone")
        return items

    def values_or_none(self, kind: type[T]) -> list[T | None]:
        """Return the value as a list of values of exactly one type or null."""
        items: list[T | None] = self._of(list)
        if any(item is not None and type(item) is not kind for item in items):
            raise DamagedError(f"{self.where} of the recording is no list of {kind.__name__} or null")
        return items

    def rows(self, many: int, read: Callable[[JsonValue], T]) -> list[dict[str, T]]:
        """Return `many` rows from an object of columns, each row's values by name; null values are left out."""
        rows: list[dict[str, T]] = [{} for _ in range(many)]
        for name, column in self.entries().items():
            cells = column.items()
            if len(cells) != many:
                raise DamagedError(f"{column.where} of the recording has {len(cells)} values for {many} rows")
            for row, cell in zip(rows, cells, strict=True):
                if cell.value is not None:
                    row[name] = read(cell)
        return rows

    def expect_columns(self, many: int, *columns: Sized) -> None:
        """Raise a `DamagedError` unless each of the columns read from the value is of `many` rows."""
        if any(len(column) != many for column in columns):
            raise DamagedError(f"{self.where} of the recording has columns of different lengths")

    def one_of(self, kind: type[E], otherwise: E | None = None) -> E:
        """Return the value as a member of an enumeration.

        Args:
            otherwise: the result for an unknown text, because a later version may have more members.
        """
        try:
            return kind(self.value)
        except ValueError:
            if otherwise is not None and isinstance(self.value, str):
                return otherwise
            raise self._wrong(kind.__name__) from None

    def _of(self, kind: type[T]) -> T:
        if not isinstance(self.value, kind):
            raise self._wrong(kind.__name__)
        return self.value

    def _wrong(self, kind: str) -> DamagedError:
        shown = type(self.value).__name__ if isinstance(self.value, (dict, list)) else f"{str(self.value)[:40]!r}"
        return DamagedError(f"{self.where} of the recording is no {kind}: {shown}")


def packed(document: Mapping[str, object]) -> bytes:
    """Convert a JSON document to the payload of a record."""
    from turbotui.recording.compression import pack  # noqa: PLC0415 - many import this module, few write or read

    return pack(json_text(document, compact=True).encode())


def unpacked(payload: bytes, where: str, most: int = _MOST_VALUES) -> JsonValue:
    """Parse the JSON document of a payload, of `most` values. Raises DamagedError if it is none."""
    return _document(payload, where, most)[0]


def _document(payload: bytes, where: str, most: int) -> tuple[JsonValue, int]:
    """Return a document and the number of its values."""
    from turbotui.recording.compression import unpack  # noqa: PLC0415 - as above

    try:
        text = unpack(payload, _BYTES_A_VALUE * most)
        most = min(most, _FREE_VALUES + _VALUES_A_BYTE * len(payload))
        return JsonValue(parse_json(text, most), where, size=len(text)), values_in(text)
    except DocumentError as error:
        raise DamagedError(f"{where} of the recording is damaged: {error}") from error


class Allowance:
    """Limits what the records of a recording hold together: each alone may hold more than is needed.

    Layouts and kept files may hold a million values, or texts of 32 MB, and two values or 64 bytes more for each packed
    byte of what was let in. Ticks may hold two million cells beyond those in proportion to their bytes. What was let
    in once can be read again, and what was not is never parsed. Equal reasons of layouts are one object, and count
    once.
    """

    def __init__(self) -> None:
        self._left = _MOST_VALUES
        self._cells_left = _MOST_DENSE_CELLS
        self._dense: set[tuple[bytes, int]] = set()  # ticks that were let in, by payload and offset; each is short
        self._let_in: dict[int, bool] = {}  # by the payload's hash
        self._reasons: dict[tuple[str, str, str], Unavailable] = {}

    def lets_in(self, payload: bytes, offset: int, cells: int) -> bool:
        """Tell whether a tick of that many cells, at that offset of its file, may be decoded."""
        beyond = dense_cells(payload, cells)
        if beyond <= 0 or (payload, offset) in self._dense:
            return True
        self._cells_left = max(0, self._cells_left - beyond)
        if self._cells_left:
            self._dense.add((payload, offset))
        return self._cells_left > 0

    def reason(self, stored: JsonValue) -> Unavailable:
        """Restore the reason of `reason_facts`. Raises DamagedError if it is none, or one too many."""
        key = _reason_parts(stored)
        known = self._reasons.get(key)
        if known is None:
            if len(self._reasons) == _MOST_REASONS:
                raise DamagedError(f"{stored.where} of the recording: it and the layouts before it have more than"
                                   f" {_MOST_REASONS:,} reasons")
            known = self._reasons[key] = reason_from(stored)
        return known

    def unpacked(self, payload: bytes, where: str) -> JsonValue:
        """Parse the JSON document of a payload. Raises DamagedError if it is none, or no values are left for it."""
        key = hash(payload)
        if self._let_in.get(key):
            return unpacked(payload, where)
        left = self._left + _EARNED_A_BYTE * len(payload)
        if key in self._let_in:
            left = 0
        self._let_in[key] = False
        if left <= 0:
            raise DamagedError(f"{where} of the recording is damaged: it and those before it hold too many values")
        document, values = _document(payload, where, left)
        self._let_in[key], self._left = True, max(0, left - max(values, document.size // _USUAL_BYTES))
        return document


def dense_cells(payload: bytes, cells: int) -> int:
    """Return how many of a tick's cells are more than its bytes account for; none where the result is not positive."""
    return cells - _FREE_CELLS - _CELLS_A_BYTE * len(payload)


def whole(text: str) -> int:
    """Parse a key of an object as an integer. Raises DamagedError if it is none."""
    try:
        return integer(text)
    except ValueError:
        raise DamagedError(f"a number of the recording is none: {text[:40]!r}") from None


def runs_of(numbers: Iterable[int]) -> list[list[int]]:
    """Convert numbers to ascending runs of first and last: of all rows, one run."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def reason_facts(why: Unavailable | None) -> list[str] | None:
    """Convert a reason to JSON; None for no reason."""
    return None if why is None else [why.reason.value, why.detail, why.remedy]


def reason_from(stored: JsonValue) -> Unavailable:
    """Restore the reason of `reason_facts`; an unknown kind of a later version becomes "not read".

    Raises:
        DamagedError: it is none.
    """
    kind, detail, remedy = _reason_parts(stored)
    return Unavailable(_KINDS.get(kind, Reason.NOT_READ), in_cell(detail), in_cell(remedy))


def _reason_parts(stored: JsonValue) -> tuple[str, str, str]:
    parts = stored.value
    if not isinstance(parts, list) or [type(part) for part in parts] != _REASON:
        raise DamagedError(f"{stored.where} of the recording is no reason")
    kind, detail, remedy = parts
    return kind, detail, remedy


_REASON: Final = [str, str, str]
_KINDS: Final[Mapping[str, Reason]] = {reason.value: reason for reason in Reason}
