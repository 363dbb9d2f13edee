"""Events encoded for all units of a kind of PMU at once equal those encoded for each unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from file_machines import INTEL, pmu, tree

from turbotui.events.devices import names_instance
from turbotui.events.encoded import EncodedEvent
from turbotui.events.encoder import EventEncoder
from turbotui.events.errors import UnknownTermError
from turbotui.events.event_tables.devices import VendorDevices
from turbotui.events.event_tables.model import VendorEvent, VendorMetric, VendorRows, VendorTables
from turbotui.events.syntax import EventTerm
from turbotui.machine.linux import LinuxHost
from turbotui.machine.pmus import Pmu

IMC = {"event": "config:0-7", "umask": "config:8-15"}
NEWER = {"event": "config:0-7", "umask": "config:32-39"}
READS = {"reads": "event=0x4,umask=0x3", "reads.unit": "MiB", "reads.scale": "6.1e-5"}
ROWS = (
    VendorEvent("unc_m_act", "uncore_imc", "event=0x1,umask=0x2", per_package=True, brief="Activates"),
    VendorEvent("unc_m_rd", "uncore_imc", "event=0x5,umask=0xcf", unit="Bytes", scale=64.0),
    VendorEvent("unc_m_rd", "uncore_hbm", "event=0x6,umask=0xcf"),
    VendorEvent("unc_m_own", "uncore_imc_1", "event=0x7"),
    VendorEvent("unc_m_own", "uncore_imc", "event=0x8"),
    VendorEvent("unc_m_rev", "uncore_imc", "event=0x9", compat="rev2"),
    VendorEvent("reads", "uncore_imc", "event=0x44"),
    VendorEvent("unc_m_new", "uncore_imc", "event=0x1,thresh=2"),
    VendorEvent("inst", "default_core", "event=0xc0"),
)
TEXTS = ("unc_m_act", "unc_m_rd", "unc_m_own", "unc_m_rev", "reads", "imc/unc_m_own/", "imc/event=unc_m_own,umask=0x1/",
         "imc/event=1,umask=2,name=x/", "imc/event=1,cpu=0/", "imc/event=1,cpu=uncore_imc_2/", "uncore_*/event=3/",
         "unc_m_act:P", "imc/unc_m_act/u", "inst", "{imc/unc_m_act/,imc/unc_m_rd/}", "clockticks", "imc_*/clockticks/")


class CountingHost(LinuxHost):
    """Counts how often each file is read."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.read: Counter[str] = Counter()

    def read_text(self, path: str) -> str:
        self.read[path] += 1
        return super().read_text(path)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> CountingHost:
    """Units that are alike, one with other fields, one with an event of the kernel's, one of another version."""
    clock = {"clockticks": "event=0x0"}
    root = tmp_path_factory.mktemp("kinds")
    tree(root, {
        **pmu("cpu", 4, INTEL, caps__max_precise="3"),
        **pmu("uncore_imc_0", 20, IMC, clock, cpumask="0,56", associated_cpus="0-3", caps__max_precise="1"),
        **pmu("uncore_imc_1", 21, IMC, clock, cpumask="0,56", associated_cpus="4-7", caps__max_precise="2"),
        **pmu("uncore_imc_2", 22, NEWER, clock, cpumask="1,57"),
        **pmu("uncore_imc_3", 23, IMC, {**clock, **READS}, cpumask="0,56"),
        **pmu("uncore_imc_4", 24, IMC, clock, cpumask="2,58", identifier="rev2"),
        **pmu("uncore_imc_5", 25, {**IMC, "thresh": "config:24-31"}, clock, cpumask="0,56"),
        **pmu("uncore_hbm_0", 40, IMC, clock, cpumask="0"), **pmu("uncore_hbm_1", 41, IMC, clock, cpumask="0"),
        **pmu("software", 1, {}),
    })  # fmt: skip
    return CountingHost(str(root))


def _same(row: VendorEvent) -> VendorEvent:
    return row


def _none(row: object) -> VendorMetric:
    raise AssertionError(row)


BY_NAME = {row.name: [event for event in ROWS if event.name == row.name] for row in ROWS}
TABLES = VendorTables("made", VendorRows(BY_NAME, _same), VendorRows({}, _none))


def encoder(host: LinuxHost) -> EventEncoder:
    return EventEncoder(host, None, VendorDevices(host, TABLES))


class OneByOne(VendorDevices):
    """No PMU is like another one."""

    def alike(self, pmus: Sequence[Pmu], terms: Sequence[EventTerm]) -> Sequence[Sequence[Pmu]]:
        return [(pmu,) for pmu in pmus]


@pytest.mark.parametrize("text", TEXTS)
def test_all_units_at_once_are_each_by_itself(host: LinuxHost, text: str) -> None:
    at_once = encoder(host)
    alone = EventEncoder(host, None, OneByOne(host, TABLES))
    events = at_once.encode(text)
    assert events == alone.encode(text)
    assert all(type(event) is EncodedEvent and hash(event) == hash(replace(event)) for event in events)
    with pytest.raises(AttributeError):
        events[-1].pmu = "another"  # type: ignore[misc]


@pytest.mark.parametrize("word", ["imc", "uncore_imc", "imc_2", "im", "uncore_", "", "i?c*", "cpu", "hbm_"])
def test_a_word_finds_the_units_that_it_names(host: LinuxHost, word: str) -> None:
    devices = encoder(host).devices
    found = [item.name for item in devices.matching(word)]
    assert found == ([word] if word in devices.names else [one for one in devices.names if names_instance(word, one)])


def test_what_tells_units_apart(host: LinuxHost) -> None:
    codes = {event.pmu: event.attr.config for event in encoder(host).encode("unc_m_own")}
    assert codes == {"uncore_imc_1": 7} | {f"uncore_imc_{number}": 8 for number in (0, 2, 3, 4, 5)}
    assert {event.pmu: event.attr.config for event in encoder(host).encode("unc_m_act")}["uncore_imc_2"] == 2 << 32 | 1
    assert {event.pmu: event.attr.config for event in encoder(host).encode("reads")}["uncore_imc_3"] == 0x304
    assert [event.pmu for event in encoder(host).encode("unc_m_rev")] == ["uncore_imc_4"]
    assert [event.pmu for event in encoder(host).encode("unc_m_new")] == ["uncore_imc_5"]
    precise = {event.pmu: event.attr.flags for event in encoder(host).encode("unc_m_act:P")}
    assert len({precise["uncore_imc_0"], precise["uncore_imc_1"], precise["uncore_imc_3"]}) == 3


def test_a_refusal_names_the_first_unit(host: LinuxHost) -> None:
    with pytest.raises(UnknownTermError, match="The PMU uncore_imc_0 has no event or term 'gone'"):
        encoder(host).encode("imc/gone/")


def test_no_file_is_read_twice(host: CountingHost) -> None:
    host.read.clear()
    once = encoder(host)
    for _ in range(2):
        for text in TEXTS:
            once.encode(text)
    assert host.read
    assert [path for path, times in host.read.items() if times > 1] == []
