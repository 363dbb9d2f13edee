"""Memory bandwidth by resctrl: the sum of all groups compared with the model, changing groups, reasons."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.host import HostError
from turbotui.machine.machine import read_machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Unavailable
from turbotui.simulated import ManualClock, simulated_host
from turbotui.sources.resctrl_bandwidth import TOTAL, ResctrlBandwidth

_FILE = "/sys/fs/resctrl{}/mon_data/mon_L3_{:02d}/mbm_total_bytes"


class _Files(DelegatingHost):
    """A host some of whose files have other contents; None means that they are gone."""

    texts: Mapping[str, str | None] = {}
    opened: Mapping[int, str] = {}

    def open_file(self, path: str) -> int:
        descriptor = super().open_file(path)
        self.opened = {**self.opened, descriptor: path}
        return descriptor

    def read_at(self, descriptor: int, size: int, offset: int = 0) -> bytes:
        text = self.texts.get(self.opened[descriptor])
        return super().read_at(descriptor, size, offset) if text is None else text.encode()

    def read_text(self, path: str) -> str:
        if path in self.texts:
            text = self.texts[path]
            if text is None:
                raise HostError(2, path)
            return text
        return super().read_text(path)


def test_the_sum_of_all_groups_is_what_the_packages_moved() -> None:
    clock = ManualClock(0)
    host = simulated_host("icelake-2s", clock, seed=3)
    machine = read_machine(host)
    signal = ResctrlBandwidth().probe(machine).signals[TOTAL]
    assert isinstance(signal, Signal)
    assert signal.scope is Scope.L3
    reader = ResctrlBandwidth().open_shared(machine, frozenset({TOTAL}))
    assert reader.signals == (TOTAL,)
    (first,) = reader.read()
    before = _groups(host)
    clock.advance(2.0)
    (second,) = reader.read()
    after = _groups(host)
    assert list(first) == [0, 0]
    # CTRL_MON groups alone: what is in their MON groups is in them
    assert list(second) == [after[at] - before[at] for at in range(2)]
    assert all(isinstance(value, int) and value > 1e6 for value in second)
    reader.close()


def _groups(host: object) -> list[int]:
    assert hasattr(host, "read_text")
    return [sum(int(host.read_text(_FILE.format(group, at))) for group in ("", "/batch")) for at in range(2)]


def test_a_group_without_a_number_makes_its_cache_unknown_and_a_counter_that_falls_adds_nothing() -> None:
    host = _Files(simulated_host("icelake-2s", ManualClock(0), seed=3))
    machine = read_machine(host)
    files = {_FILE.format(group, at): "1000" for group in ("", "/batch") for at in range(2)}
    host.texts = files
    reader = ResctrlBandwidth().open_shared(machine, frozenset({TOTAL}))
    assert reader.read() == [[0, 0]]
    host.texts = {**files, _FILE.format("", 0): "1500", _FILE.format("/batch", 1): "Unavailable"}
    assert reader.read() == [[500, None]]
    assert reader.unsure == {TOTAL: frozenset({1})}, "in longer intervals, too"  # type: ignore[attr-defined]
    host.texts = {**files, _FILE.format("", 0): "7", _FILE.format("/batch", 1): "1800"}
    assert reader.read() == [[None, 0]]  # the group was made anew: nobody knows what it had gained
    assert reader.read() == [[500, 0]]
    assert reader.unsure == {}  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "words"), [("laptop-old", "no resctrl"), ("icelake-2s", "no mbm_total_bytes here")])
def test_why_not(name: str, words: str) -> None:
    host = _Files(simulated_host(name, ManualClock(0), seed=3))
    host.texts = {"/sys/fs/resctrl/info/L3_MON/mon_features": "llc_occupancy\n"}
    why = ResctrlBandwidth().probe(read_machine(host)).signals[TOTAL]
    assert isinstance(why, Unavailable)
    assert words in why.detail


def test_a_group_without_an_assigned_counter_is_reported() -> None:
    host = _Files(simulated_host("icelake-2s", ManualClock(0), seed=3))
    host.texts = {_FILE.format("/batch", 0): "Unassigned\n"}
    why = ResctrlBandwidth().probe(read_machine(host)).signals[TOTAL]
    assert isinstance(why, Unavailable)
    assert "group /batch: resctrl says Unassigned" in why.detail
