"""Balances of simulated machines, compared with their models."""

from __future__ import annotations

import pytest
from model_truth import SystemTruth, truth_of
from sampled_machine import Watched

from turbotui.features.power.balance import Balance, balance_of, sentence
from turbotui.features.power.verb import fan_table
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.unavailable import Reason
from turbotui.sampling.frame import Frame
from turbotui.simulated.shapes import BATTERY_SHARE, NPU_BUSY, SUPPLY_SHARE

SECONDS = 2.0


def balance(watched: Watched, frame: Frame) -> Balance:
    model = watched.machine.model
    return balance_of(frame, watched.catalog, (model.family, model.model))


def seen(shape: str, warm_up: float = 20.0) -> tuple[Watched, Frame, Balance, SystemTruth, SystemTruth]:
    watched = Watched(shape, warm_up=warm_up)
    truths = [truth_of(watched.host).system_truth()]
    frame = watched.frames(SECONDS, 1, lambda _number: truths.append(truth_of(watched.host).system_truth()))[0]
    return watched, frame, balance(watched, frame), truths[0], truths[-1]


def test_a_laptop_on_battery_adds_up() -> None:
    watched, frame, value, before, after = seen("laptop-gpu")
    watts = {consumer.name: consumer.watts for consumer in value.consumers}
    assert watts["psys"] == pytest.approx((after.platform_joules - before.platform_joules) / SECONDS, abs=0.01)
    assert watts["GPU0"] == pytest.approx((after.card_joules - before.card_joules) / SECONDS, abs=0.01)
    assert watts["GPU0"] == pytest.approx(34.0)
    assert value.counted == pytest.approx(sum(watts[name] or 0.0 for name in ("package", "memory", "GPU0")))
    assert value.counted is not None
    assert value.elsewhere == pytest.approx((watts["psys"] or 0.0) - value.counted)
    assert next(item for item in value.consumers if item.name == "NPU0").busy == pytest.approx(100 * NPU_BUSY, abs=0.1)
    assert value.contradictions == ()
    row = {column.id.removeprefix("Bat0"): frame.cell(column, SYSTEM_ROW) for column in watched.catalog.select(
        [f"Bat0{name}" for name in ("State", "Health%", "Cycles", "%", "Watt", "Left")])}
    assert row["State"] == "Discharging"
    assert row["Health%"] == pytest.approx(91.0, abs=0.1)
    assert row["Cycles"] == 214
    assert row["%"] == pytest.approx(80.0, abs=1.0)
    assert isinstance(row["Watt"], float)
    assert row["Left"] == pytest.approx(80.0 * float(str(row["%"])) / 100 / row["Watt"], rel=1e-3)
    assert row["Watt"] > 10.0 / BATTERY_SHARE
    assert len(fan_table(frame, watched.catalog).rows) == 2


def test_a_card_that_sleeps_is_not_read_and_said_to_sleep() -> None:
    watched, frame, result, _before, _after = seen("laptop-gpu", warm_up=30.0)
    card = next(consumer for consumer in result.consumers if consumer.name == "GPU0")
    assert card.watts is None
    assert card.why is not None
    assert card.why.detail == ("xe 0000:03:00.0 is suspended (power/runtime_status): reading it would wake it")
    assert result.unknown == (card,)
    column = watched.catalog.get("GPU0Watt")
    assert column is not None
    assert frame.why(column, SYSTEM_ROW) == card.why


def test_a_server_s_supplies_are_believed_and_its_psys_is_not() -> None:
    watched, _frame, result, _before, _after = seen("server-psu")
    assert result.platform is not None
    assert result.platform.kind == "psu"
    assert result.platform.watts == pytest.approx(truth_of(watched.host).system_watts() / SUPPLY_SHARE, rel=1e-6)
    psys = next(figure for figure in result.platforms if figure.kind == "psys")
    assert psys.watts is not None
    assert result.counted is not None
    assert psys.watts < result.counted
    assert any("exceed psys" in text for text in result.contradictions)


def test_grace_s_sockets_are_counted_once_and_held_against_the_meter() -> None:
    watched, _frame, result, _before, _after = seen("grace-2s")
    assert [consumer.name for consumer in result.parts] == ["Socket0", "Socket1"]
    assert [consumer.inside for consumer in result.consumers if consumer.kind == "rail"] == ["Socket0", "Socket1"]
    assert result.platform is not None
    assert result.platform.watts == pytest.approx(truth_of(watched.host).system_watts(), rel=1e-6)
    assert result.platform.members[0].averaged == 1.0


def test_what_only_root_may_read_is_listed_with_what_helps_and_the_battery_tells_the_total() -> None:
    watched = Watched("laptop-gpu", prepare=lambda host: host.set_privileges(uid=1000, capabilities=0, paranoid=2))
    result = balance(watched, watched.frames(SECONDS, 1)[0])
    package = next(consumer for consumer in result.consumers if consumer.name == "package")
    assert package.watts is None
    assert package.why is not None
    assert package.why.reason is Reason.NOT_PERMITTED
    assert package.why.remedy
    assert result.total_figure is not None
    assert result.total_figure.kind == "battery"
    assert "package not permitted" in sentence(result)
