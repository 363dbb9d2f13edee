from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from treehost import TreeHost

from turbotui.machine.pmus import EventError, Pmu, PmuEvent, TermFormat, list_pmus, parse_format, read_pmu
from turbotui.sources.perf_source import attr_of

BASE = "/sys/bus/event_source/devices"

AMD = Pmu(
    name="cpu",
    type=4,
    formats={
        "event": TermFormat("event", 0, (*range(8), *range(32, 36))),
        "umask": TermFormat("umask", 0, tuple(range(8, 16))),
        "edge": TermFormat("edge", 0, (18,)),
        "inv": TermFormat("inv", 0, (23,)),
        "cmask": TermFormat("cmask", 0, tuple(range(24, 32))),
        "ldlat": TermFormat("ldlat", 1, tuple(range(16))),
        "threshold": TermFormat("threshold", 3, tuple(range(5, 17))),
    },
    events={
        "misses": PmuEvent("misses", "event=0x64,umask=0x9"),
        "edges": PmuEvent("edges", "event=0x1,edge"),
        "open": PmuEvent("open", "event=0x1,umask=?"),
    },
)


def test_terms_go_to_their_bits() -> None:
    attr = attr_of(AMD, "event=0x1c2,umask=0x2,cmask=3,inv=1,ldlat=0x10,threshold=1")
    # AMD's event select has its upper four bits in config[35:32] (AMD APM vol. 2, PERF_CTL).
    assert attr.config == 0x1_0380_02C2
    assert (attr.type, attr.config1, attr.config2, attr.config3) == (4, 0x10, 0, 1 << 5)


def test_a_name_brings_its_terms() -> None:
    assert attr_of(AMD, "misses").config == 0x0964
    assert attr_of(AMD, "edges").config == 1 << 18 | 1


def test_written_terms_win_over_those_of_a_name() -> None:
    assert attr_of(AMD, "misses,umask=0xff").config == 0xFF64
    assert attr_of(AMD, "umask=0xff,misses").config == 0xFF64


def test_words_of_the_attribute_can_be_given_whole() -> None:
    attr = attr_of(AMD, "config=0x123,config1=0x45,config2=6,config3=7")
    assert (attr.config, attr.config1, attr.config2, attr.config3) == (0x123, 0x45, 6, 7)


@pytest.mark.parametrize(
    ("event", "says"),
    [
        ("nonsense", "no event or term 'nonsense'"),
        ("event=0x1000", "does not fit"),
        ("umask=256", "does not fit"),
        ("inv=2", "does not fit"),
        ("event", "A value is missing for the term 'event'"),
        ("event=zwei", "neither decimal nor 0x"),
        ("event=-1", "neither decimal nor 0x"),
        ("event=1,,umask=2", "a term, name or name=value, is expected"),
        ("", "terms of one event are expected"),
        ("open", "needs a value for umask"),
        ("config=0x10000000000000000", "which has 64 bits"),
    ],
)
def test_what_cannot_be_encoded_is_reported(event: str, says: str) -> None:
    with pytest.raises(EventError, match=says):
        attr_of(AMD, event)


@pytest.mark.parametrize(
    ("text", "word", "bits"),
    [
        ("config:0-7\n", 0, tuple(range(8))),
        ("config:0-7,32-35", 0, (*range(8), *range(32, 36))),
        ("config1:0", 1, (0,)),
        ("config3:5-6", 3, (5, 6)),
        ("config:8-15,40-47", 0, (*range(8, 16), *range(40, 48))),
    ],
)
def test_formats(text: str, word: int, bits: tuple[int, ...]) -> None:
    assert parse_format("f", text) == TermFormat("f", word, bits)


@pytest.mark.parametrize("text", ["", "config", "config:", "config:64", "config:7-0", "config9:0", "attr:0-7"])
def test_formats_that_are_none(text: str) -> None:
    assert parse_format("f", text) is None


@given(st.sets(st.integers(0, 63), min_size=1), st.data())
def test_a_value_can_be_read_back_from_its_bits(bits: set[int], data: st.DataObject) -> None:
    place = TermFormat("f", 0, tuple(sorted(bits)))
    value = data.draw(st.integers(0, (1 << len(bits)) - 1))
    word = place.place(value)
    assert sum((word >> bit & 1) << index for index, bit in enumerate(place.bits)) == value
    assert word & ~sum(1 << bit for bit in bits) == 0


@given(st.sets(st.integers(0, 63), min_size=1, max_size=63))
def test_one_more_than_the_largest_value_is_refused(bits: set[int]) -> None:
    with pytest.raises(EventError):
        TermFormat("f", 0, tuple(sorted(bits))).place(1 << len(bits))


POWER = {
    "type": "23\n",
    "cpumask": "0,56\n",
    "format/event": "config:0-7\n",
    "events/energy-pkg": "event=0x02\n",
    "events/energy-pkg.scale": "2.3283064365386962890625e-10\n",
    "events/energy-pkg.unit": "Joules\n",
    "events/energy-odd": "event=0x03\n",
    "events/energy-odd.scale": "much\n",
    "events/energy-odd.snapshot": "1\n",
    "events/energy-odd.per-pkg": "1\n",
}


def tree(files: dict[str, str]) -> TreeHost:
    return TreeHost({f"{BASE}/power/{path}": text for path, text in files.items()})


def test_a_pmu_is_read_from_its_folder() -> None:
    pmu = read_pmu(tree(POWER), "power")
    assert pmu is not None
    assert (pmu.name, pmu.type, pmu.cpumask, pmu.cpus) == ("power", 23, (0, 56), ())
    assert set(pmu.events) == {"energy-pkg", "energy-odd"}
    assert pmu.events["energy-pkg"] == PmuEvent("energy-pkg", "event=0x02", 2.0**-32, "Joules")
    odd = pmu.events["energy-odd"]
    assert math.isnan(odd.scale)
    assert odd.snapshot
    assert odd.per_package
    assert attr_of(pmu, "energy-pkg").config == 2


def test_what_is_missing_is_left_empty() -> None:
    pmu = read_pmu(tree({"type": "5\n", "cpumask": "not a list\n"}), "power")
    assert pmu == Pmu("power", 5)


@pytest.mark.parametrize("files", [{"cpumask": "0\n"}, {"type": "\n"}, {"type": "x\n"}])
def test_without_a_type_there_is_no_pmu(files: dict[str, str]) -> None:
    assert read_pmu(tree(files), "power") is None


def test_pmus_are_listed() -> None:
    assert list_pmus(tree(POWER)) == ("power",)
    assert list_pmus(TreeHost({"/proc/stat": ""})) == ()
