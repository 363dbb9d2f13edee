"""The comparison of two sides: order, reasons, notes, and checked limits."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from comparedsides import side

from turbotui.errors import UsageError
from turbotui.features.diff.comparing import compared, notes_of
from turbotui.features.diff.limits import checked, exit_status, parse_limit
from turbotui.quantities.columns import Value
from turbotui.quantities.scope import cpu_row


def noise(middle: float, count: int = 20, seed: int = 1) -> list[Value]:
    """Values around a middle, high and low in turn: each is independent of the one before."""
    draw = random.Random(f"{middle} {seed}")
    return [middle + (draw.random() if at % 2 else -draw.random()) / 2.0 for at in range(count)]


def test_what_differs_comes_first_by_its_effect() -> None:
    halves = [low if at % 3 else high for at, (low, high) in enumerate(zip(noise(50.0), noise(52.0), strict=True))]
    first = side(0, {"Busy%": noise(50.0), "IPC": noise(1.0), "PkgWatt": noise(100.0), "CorWatt": []})
    second = side(1, {"Busy%": halves, "IPC": noise(1.0, seed=2), "PkgWatt": noise(120.0), "CorWatt": noise(3.0)})
    columns = compared(first, second)
    assert [column.column.id for column in columns] == ["PkgWatt", "Busy%", "IPC", "CorWatt"]
    watts, _busy, ipc, cores = columns
    assert (watts.effect, watts.verdict, watts.size) == (1.0, "differs", "large")
    assert watts.percent == pytest.approx(20.0, abs=1.0)
    assert ipc.verdict == "no difference found"
    assert cores.verdict == "not compared"
    assert cores.why is not None
    assert "unknown in A" in cores.why.detail


def test_p_counts_what_else_was_compared_and_what_never_varies_does_not() -> None:
    first, second = noise(1.0, 6), [*noise(2.0, 5), 1.5]
    alone = compared(side(0, {"IPC": first}), side(1, {"IPC": second}))[0]
    still: dict[str, list[Value]] = {"TjMax": [100.0] * 6}
    beside = compared(side(0, {"IPC": first} | still), side(1, {"IPC": second} | still))
    busy = {"Busy%": noise(5.0, 6)}
    with_another = compared(side(0, {"IPC": first} | busy), side(1, {"IPC": second, "Busy%": noise(5.0, 6, 2)}))
    assert alone.p is not None
    p = {column.column.id: column.p for column in (*beside, *with_another)}
    assert next(column.p for column in beside if column.column.id == "IPC") == alone.p
    assert p["TjMax"] == 1.0
    assert p["IPC"] == pytest.approx(2 * alone.p)


def test_too_few_values_are_not_compared() -> None:
    column = compared(side(0, {"IPC": noise(1.0, 4)}), side(1, {"IPC": noise(9.0, 40)}))[0]
    assert column.p is None
    assert column.why is not None
    assert column.why.detail == "too few: 4 values in A, 40 in B, 5 each are needed"


def test_a_drift_is_not_called_the_same() -> None:
    rising: list[Value] = [50.0 + at / 10 for at in range(60)]
    column = compared(side(0, {"PkgTmp": noise(40.0, 60)}), side(1, {"PkgTmp": rising}))[0]
    assert column.effect == 1.0
    assert column.verdict == "not compared"
    assert column.why is not None
    assert "60 values of B count as 1.0" in column.why.detail
    result = checked(parse_limit("PkgTmp +5%"), [column])
    assert result.verdict == "not checked"
    assert exit_status([result]) == 6


def test_texts_and_other_quantities_say_so() -> None:
    first = side(0, {"Governor": ["powersave"], "Driver": ["acpi"], "EPP": [128.0] * 9})
    second = side(1, {"Governor": ["performance"], "Driver": ["acpi"], "EPP": ["power", "balance"]})
    columns = {column.column.id: column for column in compared(first, second)}
    reasons = {name: column.why.detail for name, column in columns.items() if column.why is not None}
    assert reasons == {
        "Governor": "another text: powersave in A, performance in B", "Driver": "a text: acpi in both",
        "EPP": "a text: a number in A, power, balance in B",
    }
    assert notes_of(first, second, list(columns.values())) == (
        "Governor is another text: powersave in A, performance in B",)
    watts = side(0, {"PkgWatt": noise(9.0)})
    key, series = next(iter(watts.series.items()))
    joules = replace(side(1, {}), series={key: replace(series, column=replace(series.column, unit="J"))})
    why = compared(watts, joules)[0].why
    assert why is not None
    assert why.detail == "another quantity: W of a package in A, J of a package in B"


def test_what_neither_ever_had_is_reported_only_if_somebody_asked() -> None:
    first, second = side(0, {"SMI": [None] * 9}), side(1, {"SMI": [None] * 9})
    assert compared(first, second) == ()
    assert [column.verdict for column in compared(first, second, {"SMI"})] == ["not compared"]


def test_rows_of_one_side_only_are_named() -> None:
    columns = compared(side(0, {"IPC": noise(1.0)}, row=cpu_row(0)), side(1, {"IPC": noise(1.0)}, row=cpu_row(1)))
    assert sorted(column.why.detail for column in columns if column.why is not None) == [
        "A has no such column or row", "B has no such column or row"]


def test_notes_tell_circumstances_gaps_and_too_little() -> None:
    first = side(0, {"IPC": noise(1.0, 5)} | {"Busy%": noise(1.0, 5), "CSW/s": noise(1.0, 5), "Migr/s": noise(1.0, 5),
                 "Load%": noise(1.0, 5), "IRQ/s": noise(1.0, 5), "Fault/s": noise(1.0, 5)},
                 left_out=1, circumstances={"kernel": "6.1", "microcode": "0x1", "machine": "box"})
    second = side(1, {key[0]: noise(2.0, 5) for key in first.series},
                  circumstances={"kernel": "6.2", "microcode": "", "machine": "box"})
    assert notes_of(first, second, compared(first, second)) == (
        "another kernel: 6.1 in A, 6.2 in B",
        "microcode: 0x1 in A, the other recording does not tell",
        "1 interval of A left out: longer or shorter than the others by more than a quarter",
        ("7 comparisons of so few values cannot tell a difference from chance: compare longer times, or name fewer "
         "columns with --columns"),
    )


@pytest.mark.parametrize(("text", "verdict", "status"), [
    ("PkgWatt +5%", "broken", 5), ("PkgWatt +25%", "kept", 0), ("PkgWatt -5%", "kept", 0),
    ("Bzy_MHz -2.5%", "broken", 5), ("Bzy_MHz - 40 %", "kept", 0),
    ("IPC +1%", "kept", 0), ("IPC -1%", "kept", 0), ("SMI +0%", "broken", 5),
    ("TSC_MHz +0%", "not checked", 6), ("CorWatt +0%", "not checked", 6), ("TjMax +0%", "kept", 0),
])
def test_limits(text: str, verdict: str, status: int) -> None:
    still: dict[str, list[Value]] = {"TjMax": [100.0] * 20}
    of_first: dict[str, list[Value]] = {
        "PkgWatt": noise(100.0), "Bzy_MHz": noise(3000.0), "IPC": noise(1.0), "SMI": [0] * 20,
        "CorWatt": noise(1.0)}
    of_second: dict[str, list[Value]] = {
        "PkgWatt": noise(120.0), "Bzy_MHz": noise(2000.0), "IPC": noise(1.0, seed=5), "SMI": [2, 3] * 10, "CorWatt": []}
    result = checked(parse_limit(text), compared(side(0, of_first | still), side(1, of_second | still)))
    assert result.verdict == verdict
    assert exit_status([result]) == status
    assert result.sentence.startswith(f'--limit "{text}" {verdict if verdict == "kept" else verdict.upper()}: ')
    assert result.limit.column in result.sentence.split(": ", 1)[1]


def test_a_broken_limit_outweighs_one_that_cannot_be_checked() -> None:
    first, second = side(0, {"PkgWatt": noise(100.0)}), side(1, {"PkgWatt": noise(120.0)})
    columns = compared(first, second)
    results = [checked(parse_limit(text), columns) for text in ("SMI +1%", "PkgWatt +5%")]
    assert [result.verdict for result in results] == ["not checked", "broken"]
    assert exit_status(results) == 5
    assert " % higher in B (median 100.0" in results[1].sentence


@pytest.mark.parametrize("text", ["", "PkgWatt", "PkgWatt 5%", "PkgWatt +5", "+5%", "PkgWatt +x%", "PkgWatt +-5%%"])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no limit"):
        parse_limit(text)


def test_signs_in_names_stay_in_names() -> None:
    assert parse_limit("C1+ +5%").column == "C1+"
    assert parse_limit("C1--5%").column == "C1-"
