"""The values of a recording's documents are bounded together, and what was refused is never parsed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from turbotui.recording.compression import pack
from turbotui.recording.framing import DamagedError, Record, RecordKind
from turbotui.recording.json_values import Allowance
from turbotui.recording.row_streams import FIRST_STREAM
from turbotui.recording.stream_reader import KnownLayouts, StreamReader

VALUES = 500  # of a document: so many are free of proportion to its bytes


def documents() -> Iterator[bytes]:
    """Payloads of a few bytes, each unlike the others."""
    for number in range(10_000):
        yield pack(json.dumps([number, *[0] * VALUES]).encode())


def use_up(allowance: Allowance) -> tuple[list[bytes], bytes]:
    """Payloads that were let in until one was refused, and that one."""
    let_in: list[bytes] = []
    for payload in documents():
        try:
            allowance.unpacked(payload, "a layout")
        except DamagedError:
            return let_in, payload
        let_in.append(payload)
    raise AssertionError("nothing was refused")


def test_a_million_values_and_two_for_each_byte_are_let_in() -> None:
    let_in, _refused = use_up(Allowance())
    assert 0 <= 1_000_000 + 2 * sum(map(len, let_in)) - VALUES * len(let_in) <= VALUES


def test_what_was_let_in_can_be_read_again_and_what_was_refused_is_not_parsed() -> None:
    allowance = Allowance()
    let_in, refused = use_up(allowance)
    for _time in range(2):
        assert allowance.unpacked(let_in[-1], "a layout").items()[0].value == len(let_in) - 1
        with pytest.raises(DamagedError, match="it and those before it hold too many values"):
            allowance.unpacked(refused, "a layout")
    small = pack(b"[1]")
    assert allowance.unpacked(small, "a layout").value == [1], "its bytes pay for it"


def _files(layouts: KnownLayouts, payload: bytes) -> list[str]:
    return [str(item) for item in StreamReader(layouts).take(Record(RecordKind.FILES, 0, 0, payload))]


def _layout(layouts: KnownLayouts, payload: bytes) -> list[str]:
    with pytest.raises(DamagedError) as error:
        layouts.read(payload)
    return [str(error.value)]


def _row_layout(layouts: KnownLayouts, payload: bytes) -> list[str]:
    reader = StreamReader(layouts)
    return [str(item) for item in reader.take(Record(RecordKind.ROW_LAYOUT, FIRST_STREAM, 0, payload))]


@pytest.mark.parametrize("read", [_files, _layout, _row_layout])
def test_layouts_rows_and_files_of_a_recording_share_the_values(
    read: Callable[[KnownLayouts, bytes], list[str]],
) -> None:
    layouts, payload = KnownLayouts(), next(documents())
    assert "holds more than" not in read(layouts, payload)[0]
    shared = KnownLayouts()
    use_up(shared.allowance)
    unlike = pack(json.dumps([*[1] * VALUES, 0]).encode())
    assert "it holds more than" in read(shared, unlike)[0]
