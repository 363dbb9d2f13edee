"""A signal whose source changes between two ticks has no difference in that interval."""

from __future__ import annotations

import errno

import pytest
from watched_machines import frames_of_machine

from turbotui.quantities.catalog import catalog_for
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.quantities.unavailable import Reason
from turbotui.simulated import SHAPES, SimulatedHost


def test_watts_are_of_one_counter_when_perf_is_refused_after_a_hot_plug() -> None:
    def between(host: SimulatedHost, number: int) -> None:
        if number == 2:  # sources are looked for anew when CPUs come or go
            kind = int(host.read_text("/sys/bus/event_source/devices/power/type"))
            for config in range(1, 6):
                host.fail(("perf", kind, config), errno.EACCES)
            host.set_online(1, online=False)

    _, frames = frames_of_machine("laptop-old", 5, columns=("PkgWatt",), between=between)
    watts, sources, whys = [], [], []
    for frame in frames:
        column = catalog_for(frame.capabilities.signals).by_id["PkgWatt"]
        watts.append(frame.cell(column, SYSTEM_ROW))
        sources.append(frame.capabilities.provider["energy.pkg"].id)
        whys.append(frame.why(column, SYSTEM_ROW))
    assert sources[0] == "perf-power"
    assert sources[-1] != "perf-power"
    changed = next(at for at, item in enumerate(sources) if item != "perf-power")
    assert watts[changed] is None
    why = whys[changed]
    assert why is not None
    assert why.reason is Reason.FIRST_TICK
    power = SHAPES["laptop-old"].power
    for number, value in enumerate(watts):
        if number not in (0, changed):
            assert isinstance(value, float), (number, whys[number])
            assert 0.0 < value < 2 * power.pl2
    assert watts[-1] == pytest.approx(watts[changed - 1], rel=0.9)
