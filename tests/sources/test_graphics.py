from __future__ import annotations

import errno

import pytest
from prochost import Content, machine_of

from turbotui.machine.cpumodel import CpuModel
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.graphics import SIGNALS, Graphics

DRM = "/sys/class/drm"
EVERY = frozenset(SIGNALS)


def xe(card: str, name: str) -> dict[str, Content]:
    base = f"{DRM}/{card}/device/tile0"
    return {
        f"{base}/gt0/gtidle/name": f"{name}\n",
        f"{base}/gt0/gtidle/idle_residency_ms": "100\n",
        f"{base}/gt0/freq0/cur_freq": "300\n",
        f"{base}/gt0/freq0/act_freq": "0\n",
        f"{base}/gt1/gtidle/idle_residency_ms": "200\n",
        f"{base}/gt1/freq0/cur_freq": "1200\n",
        f"{base}/gt1/freq0/act_freq": "1150\n",
    }


def i915(card: str) -> dict[str, Content]:
    base = f"{DRM}/{card}/gt"
    return {
        f"{base}/gt0/rc6_residency_ms": "11\n",
        f"{base}/gt0/rps_cur_freq_mhz": "12\n",
        f"{base}/gt0/rps_act_freq_mhz": "13\n",
        f"{base}/gt1/rc6_residency_ms": "21\n",
        f"{base}/gt1/rps_cur_freq_mhz": "22\n",
        f"{base}/gt1/rps_act_freq_mhz": "23\n",
    }


def old(card: str) -> dict[str, Content]:
    base = f"{DRM}/{card}"
    return {f"{base}/power/rc6_residency_ms": "31\n", f"{base}/gt_cur_freq_mhz": "32\n",
            f"{base}/gt_act_freq_mhz": "33\n"}  # fmt: skip


def values(files: dict[str, Content]) -> dict[str, float | None]:
    _, machine = machine_of(files)
    source = Graphics()
    signals = source.probe(machine).signals
    reader = source.open(machine, 0, EVERY)
    result = {}
    for name, raw in zip(reader.signals, reader.read(), strict=True):
        signal = signals[name]
        if isinstance(signal, Unavailable):
            assert raw is None
            continue
        assert isinstance(signal, Signal)
        assert signal.scope is Scope.SYSTEM
        result[name] = signal.value(raw)
    return result


def test_xe_with_the_render_engine_first() -> None:
    assert values(xe("card0", "gt0-rc")) == {
        "gfx.idle": pytest.approx(0.1), "gfx.cur": 300e6, "gfx.act": 0.0,
        "media.idle": pytest.approx(0.2), "media.cur": 1200e6, "media.act": 1150e6,
    }  # fmt: skip


def test_xe_with_the_media_engine_first_is_the_other_way_round() -> None:
    result = values(xe("card0", "gt0-mc"))
    assert result["gfx.idle"] == pytest.approx(0.2)
    assert result["media.cur"] == 300e6


def test_i915_new_layout_wins_over_its_own_old_files() -> None:
    result = values({**i915("card1"), **old("card1")})
    assert result == {
        "gfx.idle": pytest.approx(0.011), "gfx.cur": 12e6, "gfx.act": 13e6,
        "media.idle": pytest.approx(0.021), "media.cur": 22e6, "media.act": 23e6,
    }  # fmt: skip


def test_i915_old_layout_has_no_media_engine() -> None:
    result = values(old("card0"))
    assert result == {"gfx.idle": pytest.approx(0.031), "gfx.cur": 32e6, "gfx.act": 33e6}
    _, machine = machine_of(old("card0"))
    why = Graphics().probe(machine).signals["media.idle"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NO_HARDWARE


def test_the_integrated_card_comes_before_a_plugged_one_with_a_lower_number() -> None:
    slot = {f"{DRM}/card1/device/uevent": "DRIVER=xe\nPCI_SLOT_NAME=0000:00:02.0\n"}
    plugged = {**xe("card0", "gt0-rc"), f"{DRM}/card0/device/uevent": "PCI_SLOT_NAME=0000:03:00.0\n"}
    assert values({**plugged, **i915("card1"), **slot})["gfx.cur"] == 12e6


def test_the_framebuffer_s_card_is_the_last_resort() -> None:
    elsewhere = "/sys/class/graphics/fb0/device/drm"
    behind: dict[str, Content] = {name.replace(DRM, elsewhere): "40\n" for name in old("card1")}
    assert (values(behind)["gfx.cur"], values(behind)["gfx.act"]) == (40e6, 40e6)
    assert values({**behind, **old("card2")})["gfx.cur"] == 32e6


def test_cards_are_taken_by_number_not_by_name() -> None:
    assert values({**old("card10"), **i915("card2")})["gfx.cur"] == 12e6


def test_a_connector_is_no_card() -> None:
    _, machine = machine_of({f"{DRM}/card0-eDP-1/status": "connected\n"})
    assert all(isinstance(signal, Unavailable) for signal in Graphics().probe(machine).signals.values())


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (CpuModel(architecture="x86_64", vendor="GenuineIntel", family=6, model=0x9A), Reason.NO_DRIVER),
        (CpuModel(architecture="x86_64", vendor="GenuineIntel", hypervisor=True), Reason.VIRTUALISED),
        (CpuModel(architecture="x86_64", vendor="AuthenticAMD"), Reason.NO_HARDWARE),
    ],
)
def test_without_graphics_the_reason_is_the_machine_s(model: CpuModel, reason: Reason) -> None:
    _, machine = machine_of({}, model=model)
    why = Graphics().probe(machine).signals["gfx.idle"]
    assert isinstance(why, Unavailable)
    assert why.reason is reason


def test_one_unreadable_file_costs_one_signal() -> None:
    files = {**i915("card0"), f"{DRM}/card0/gt/gt0/rps_act_freq_mhz": errno.EACCES}
    _, machine = machine_of(files)
    signals = Graphics().probe(machine).signals
    why = signals["gfx.act"]
    assert isinstance(why, Unavailable)
    assert why.reason is Reason.NOT_PERMITTED
    assert isinstance(signals["gfx.cur"], Signal)


def test_descriptors_are_what_is_open() -> None:
    host, machine = machine_of(i915("card0"))
    source = Graphics()
    source.probe(machine)
    wanted = frozenset({"gfx.idle", "media.act"})
    reader = source.open(machine, 0, wanted)
    assert len(host.descriptors) == source.descriptors(wanted, 1) == 2
    reader.close()
    assert not host.descriptors
