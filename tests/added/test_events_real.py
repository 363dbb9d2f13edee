"""Events added on the machine that runs the tests, compared with /proc; missing features are skipped."""

from __future__ import annotations

import threading

import pytest
from patience import PATIENCE, least_disturbed

from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import read_machine
from turbotui.quantities.scope import SYSTEM_ROW
from turbotui.sampling.frame import Frame
from turbotui.sampling.selection import why_absent
from turbotui.sampling.session import Session
from turbotui.sources import SOURCES

pytestmark = pytest.mark.real


def switches() -> int:
    with open("/proc/stat", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("ctxt"))


@least_disturbed
def test_switches_clocks_and_formulas_of_this_machine() -> None:
    host = LinuxHost()
    session = Session(read_machine(host), SOURCES, 0.5, host)
    columns = [column for text in ("cs", "{cpu-clock,faults}", "Rate=cs/dt", "msr/tsc/", "mem:0x10:rw,name=bp")
               for column in session.add_all(text)]
    for column in columns:
        why = why_absent(column, session.capabilities, session.machine.topology)
        if why is not None:
            pytest.skip(why.sentence())
    session.want([column.id for column in columns])
    frames: list[Frame] = []
    done = threading.Event()
    before: list[int] = []

    def take(frame: Frame) -> None:
        frames.append(frame)
        before.append(switches())
        if len(frames) == 3:
            done.set()

    session.start(take, intervals=2)
    assert done.wait(PATIENCE)
    session.stop()
    frame = frames[-1]
    cells = {column.id: frame.cell(column, SYSTEM_ROW) for column in columns}
    counted = cells["cs"]
    assert isinstance(counted, int)
    real = before[2] - before[1]
    # the two are not read at the same moment: what happened in between is the difference
    assert counted == pytest.approx(real, rel=0.25, abs=300)
    seconds, rate = frame.seconds, cells["Rate"]
    assert seconds is not None
    assert isinstance(rate, float)
    # few switches happen on a quiet machine, and the two are two counters, read one after the other
    assert rate == pytest.approx(counted / seconds, rel=0.25, abs=100)
    clock = cells["cpu-clock"]
    assert isinstance(clock, int)
    cpus = len(session.machine.topology.cpus)
    assert clock == pytest.approx(cpus * seconds * 1e9, rel=0.05)
    assert cells["bp"] == 0
