from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from file_machines import hybrid, xeon

from turbotui.events import errors as faults
from turbotui.events.devices import Devices
from turbotui.events.encoded import EncodedEvent, flag_names, precise_of
from turbotui.events.encoder import EventEncoder, encode_event
from turbotui.machine.pmus import EventError


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> EventEncoder:
    return EventEncoder(xeon(tmp_path_factory.mktemp("xeon")))


@pytest.fixture(scope="module")
def both_cores(tmp_path_factory: pytest.TempPathFactory) -> EventEncoder:
    return EventEncoder(hybrid(tmp_path_factory.mktemp("hybrid")))


def one(encoder: EventEncoder, text: str) -> EncodedEvent:
    (event,) = encoder.encode(text)
    return event


def words(event: EncodedEvent) -> tuple[int, ...]:
    attr = event.attr
    result = (attr.type, attr.config, attr.config1, attr.config2, attr.config3, attr.config4)
    return result[: max(index for index, word in enumerate(result) if word or index < 2) + 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cycles", (0, 0)),
        ("cpu-cycles", (0, 0)),
        ("idle-cycles-backend", (0, 8)),
        ("ref-cycles", (0, 9)),
        ("branches", (0, 4)),
        ("cs", (1, 3)),
        ("cgroup-switches", (1, 11)),
        # docs/specs/perf.md 11: [run with perf 6.1]
        ("L1-dcache-load-misses", (3, 0x10000)),
        ("LLC-stores", (3, 0x102)),
        ("dTLB-loads", (3, 3)),
        ("branch-loads", (3, 5)),
        ("node-prefetch-misses", (3, 0x10206)),
        ("node-stores", (3, 0x106)),
        ("L1-dcache", (3, 0)),
        ("l1d-miss", (3, 0x10000)),
        ("LLC-misses-write", (3, 0x10102)),
        ("d-tlb-speculative-read", (3, 0x203)),
        ("r1a8", (4, 0x1A8)),
        ("rFFFFFFFFFFFFFFFF", (4, (1 << 64) - 1)),
        ("cpu/r1a8/", (4, 0x1A8)),
        ("cpu//", (4, 0)),
        ("cpu/event=0xc0,umask=1/", (4, 0x1C0)),
        ("cpu/event=192/", (4, 0xC0)),
        ("cpu/cpu-cycles/", (4, 0x3C)),
        ("cpu/event=cpu-cycles/", (4, 0x3C)),
        ("cpu/CPU-CYCLES/", (4, 0x3C)),
        ("cpu/shout/", (4, 0x9)),
        ("cpu/edgy,inv,cmask=2/", (4, 0x2840001)),
        ("cpu/mem-loads/", (4, 0x1CD, 3)),
        ("cpu/mem-loads,ldlat=0x20/", (4, 0x1CD, 0x20)),
        ("cpu/ldlat=0x20,mem-loads/", (4, 0x1CD, 0x20)),
        ("cpu/open,umask=5/", (4, 0x501)),
        ("cpu/config=0x1a8,config1=7,config2=8,config3=9,config4=10/", (4, 0x1A8, 7, 8, 9, 10)),
        ("cpu/branches/", (0, 4)),
        ("cpu/L1-dcache-loads/", (3, 0)),
        ("mem-loads", (4, 0x1CD, 3)),
        ("wide/low=0xf,high=9,split=0xb/", (40, 0, 0, 1 | 1 << 4 | 1 << 9, 0xF, 9 << 60)),
        ("sched:sched_switch", (2, 314)),
        ("1:3", (1, 3)),
        ("0x4:0x1a8", (4, 0x1A8)),
        ("15:2", (15, 2)),
        ("mem:0x1000", (5, 0, 0x1000, 4)),
        ("mem:4096/8:w", (5, 0, 0x1000, 8)),
        ("mem:0x1000:x", (5, 0, 0x1000, 8)),
    ],
)
def test_words_of_the_attribute(encoder: EventEncoder, text: str, expected: tuple[int, ...]) -> None:
    assert words(one(encoder, text)) == expected


@pytest.mark.parametrize(("access", "kind"), [("r", 1), ("w", 2), ("rw", 3), ("wr", 3), ("x", 4)])
def test_access_of_a_breakpoint(encoder: EventEncoder, access: str, kind: int) -> None:
    assert one(encoder, f"mem:0x10:{access}:u").attr.bp_type == kind
    assert flag_names(one(encoder, f"mem:0x10:{access}:u").attr.flags)["exclude_kernel"] == 1


def test_a_breakpoint_without_access_may_have_modifiers(encoder: EventEncoder) -> None:
    event = one(encoder, "mem:0x10:u")
    assert event.attr.bp_type == 3
    assert flag_names(event.attr.flags)["exclude_kernel"] == 1


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        # as perf since 6.13: exclude_guest is set by G and H alone
        ("u", {"exclude_kernel": 1, "exclude_hv": 1}),
        ("k", {"exclude_user": 1, "exclude_hv": 1}),
        ("h", {"exclude_user": 1, "exclude_kernel": 1}),
        ("ukh", {}),
        ("p", {"precise_ip": 1}),
        ("ppp", {"precise_ip": 3}),
        ("P", {"precise_ip": 3}),
        ("G", {"exclude_host": 1}),
        ("H", {"exclude_guest": 1}),
        ("GH", {}),
        ("uG", {"exclude_kernel": 1, "exclude_hv": 1, "exclude_host": 1}),
        ("I", {"exclude_idle": 1}),
        ("D", {"pinned": 1}),
        ("e", {"exclusive": 1}),
        ("uD", {"exclude_kernel": 1, "exclude_hv": 1, "pinned": 1}),
        ("W", {}),
        ("S", {}),
    ],
)
def test_modifiers_are_bits(encoder: EventEncoder, letters: str, expected: dict[str, int]) -> None:
    for text in (f"cycles:{letters}", f"cpu/event=1/{letters}", f"cpu/event=1/:{letters}", f"r1:{letters}"):
        assert flag_names(one(encoder, text).attr.flags) == expected, text


def test_modifiers_that_are_no_bits(encoder: EventEncoder) -> None:
    event = one(encoder, "cycles:SbRW")
    assert (event.sample_read, event.bpf, event.retire_latency, event.weak) == (True, True, True, True)


def test_without_modifiers_everything_is_counted(encoder: EventEncoder) -> None:
    assert one(encoder, "cycles").attr.flags == 0


def test_default_rings_give_way_to_letters_and_spare_uncore_pmus(tmp_path_factory: pytest.TempPathFactory) -> None:
    encoder = EventEncoder(xeon(tmp_path_factory.mktemp("rings")), rings="k")
    assert flag_names(one(encoder, "cycles").attr.flags) == {"exclude_user": 1, "exclude_hv": 1}
    assert "exclude_user" not in flag_names(one(encoder, "cycles:u").attr.flags)
    assert one(encoder, "power/energy-pkg/").attr.flags == 0


def test_terms_that_every_event_takes(encoder: EventEncoder) -> None:
    event = one(encoder, "cycles/period=1000,name=mine,call-graph=dwarf,max-stack=9/u")
    assert (event.name, event.attr.sample_period, event.attr.sample_max_stack) == ("mine", 1000, 9)
    assert event.options == (("call-graph", "dwarf"),)
    event = one(encoder, "cpu/event=1,freq=99,no-inherit,overwrite/")
    assert flag_names(event.attr.flags) == {"freq": 1, "write_backward": 1}
    assert flag_names(one(encoder, "cs/inherit/").attr.flags) == {"inherit": 1}
    assert one(encoder, "cpu/event=1,branch_type=any|u/").attr.branch_sample_type == 0b1001
    assert one(encoder, "cpu/event=1,@tracing=x/").options == (("@tracing", "x"),)
    assert one(encoder, "cpu/event=1,name='a, b'/").name == "a, b"
    assert one(encoder, "cpu/event=1,cpu=3/").cpus == (3,)


def test_unit_scale_and_kind_come_from_the_side_files(encoder: EventEncoder) -> None:
    event = one(encoder, "power/energy-pkg/")
    assert (event.unit, event.scale, event.per_package, event.snapshot) == ("Joules", 2.0**-32, True, False)
    assert (event.cpus, event.uncore) == ((0, 18), True)
    assert one(encoder, "power/level/").snapshot
    assert one(encoder, "cpu-clock").unit == "ns"
    assert one(encoder, "energy-pkg").pmu == "power"


def test_names_of_several_pmus(encoder: EventEncoder) -> None:
    def pmus(text: str) -> list[str]:
        return [event.pmu for event in encoder.encode(text)]

    both = ["uncore_imc_0", "uncore_imc_1"]
    for name in ("uncore_imc", "imc", "uncore_imc_*", "imc_?", "imc_[01]"):
        assert pmus(f"{name}/event=4/") == both, name
    assert pmus("uncore_imc_1/event=4/") == ["uncore_imc_1"]
    assert pmus("imc_1/event=4/") == ["uncore_imc_1"]
    assert pmus("uncore_cha/event=1/") == ["uncore_cha_a1f", "uncore_cha_b2e"]
    assert pmus("uncore_type_0_1/event=1/") == ["uncore_cha_b2e"]
    assert pmus("cas_count_read") == both
    assert len({event.string for event in encoder.encode("imc/event=4/")}) == 1
    with pytest.raises(faults.UnknownPmuError):
        encoder.encode("uncore_im/event=4/")


def test_tracepoint_patterns(encoder: EventEncoder) -> None:
    assert [event.name for event in encoder.encode("sched:*")] == ["sched:sched_switch", "sched:sched_wakeup"]
    assert [event.attr.config for event in encoder.encode("*:*_[he]*")] == [77]
    assert flag_names(encoder.encode("sched:sched_switch:u")[0].attr.flags)["exclude_kernel"] == 1


def test_lists_and_groups(encoder: EventEncoder) -> None:
    events = encoder.encode("cs, {cycles,instructions:k}:u ,set{cpu/event=1/,r2}:W")
    assert [event.group for event in events] == [None, 0, 0, 1, 1]
    assert [event.leader for event in events] == [True, True, False, True, False]
    assert [event.weak for event in events] == [False, False, False, True, True]
    # the group's letters come on top: k, then u as well
    assert flag_names(events[2].attr.flags) == {"exclude_hv": 1}


def test_only_a_leader_is_pinned(encoder: EventEncoder) -> None:
    leader, member = encoder.encode("{cycles,instructions}:D")
    assert (flag_names(leader.attr.flags), flag_names(member.attr.flags)) == ({"pinned": 1}, {})


def test_hardware_leads_software(encoder: EventEncoder) -> None:
    assert [event.string for event in encoder.encode("{cs,cycles,faults}")] == ["cycles", "cs", "faults"]


def test_precision_adds_up_over_a_group(encoder: EventEncoder) -> None:
    assert precise_of(encoder.encode("{cycles:p}:pp")[0].attr.flags) == 3
    with pytest.raises(faults.ModifierError):
        encoder.encode("{cycles:pp}:pp")


def test_a_group_over_instances_is_a_group_for_each(encoder: EventEncoder) -> None:
    events = encoder.encode("{imc/cas_count_read/,imc/clockticks/}")
    assert [(event.pmu, event.group, event.leader) for event in events] == [
        ("uncore_imc_0", 0, True), ("uncore_imc_0", 0, False), ("uncore_imc_1", 1, True), ("uncore_imc_1", 1, False),
    ]  # fmt: skip


def test_braces_around_events_of_several_pmus_are_a_group_for_each(encoder: EventEncoder) -> None:
    events = encoder.encode("{imc_0/event=4/,cs,cycles,imc_1/event=4/,imc_0/clockticks/},{cycles,instructions}")
    assert [(event.string, event.pmu, event.group, event.leader, event.regrouped) for event in events] == [
        ("imc_0/event=4/", "uncore_imc_0", 0, True, True), ("imc_0/clockticks/", "uncore_imc_0", 0, False, True),
        ("cs", "software", 0, False, False), ("cycles", "cpu", 1, True, True),
        ("imc_1/event=4/", "uncore_imc_1", 2, True, True), ("cycles", "cpu", 3, True, False),
        ("instructions", "cpu", 3, False, False),
    ]  # fmt: skip


def test_a_pmu_may_be_given_by_the_number_of_its_type(encoder: EventEncoder, both_cores: EventEncoder) -> None:
    named = one(encoder, "imc_1/event=4/")
    numbered = one(encoder, f"{named.attr.type}/event=4/")
    assert (numbered.pmu, numbered.attr, numbered.cpus) == (named.pmu, named.attr, named.cpus)
    by_type = {event.attr.type: event.pmu for event in both_cores.encode("cpu/event=1/")}
    assert len(by_type) == 2
    assert {one(both_cores, f"{number}/event=1/").pmu for number in by_type} == {*by_type.values()}
    with pytest.raises(faults.UnknownPmuError):
        encoder.encode("4711/event=1/")


def test_hybrid_machines_get_every_kind_of_core(both_cores: EventEncoder) -> None:
    events = both_cores.encode("cycles")
    assert [(event.pmu, event.attr.config, event.cpus[0]) for event in events] == [
        ("cpu_atom", 10 << 32, 8),
        ("cpu_core", 4 << 32, 0),
    ]
    assert [event.attr.config for event in both_cores.encode("LLC-loads")] == [10 << 32 | 2, 4 << 32 | 2]
    assert [(event.attr.type, event.attr.config) for event in both_cores.encode("r1a8")] == [(10, 0x1A8), (4, 0x1A8)]
    assert [event.pmu for event in both_cores.encode("cpu/slots/")] == ["cpu_core"]
    assert words(one(both_cores, "cpu_atom/instructions/")) == (0, 10 << 32 | 1)
    assert words(one(both_cores, "cpu_core/cpu-cycles/")) == (4, 0x3C)
    groups = both_cores.encode("{cycles,instructions,cs}")
    assert [(event.group, event.string) for event in groups] == [
        (0, "cycles"), (0, "instructions"), (0, "cs"), (1, "cycles"), (1, "instructions"), (1, "cs"),
    ]  # fmt: skip
    assert groups[2].cpus == tuple(range(8, 12))


@pytest.mark.parametrize(
    ("text", "fault", "says"),
    [
        ("cpv/event=1/", faults.UnknownPmuError, "did you mean cpu"),
        ("99:1", faults.UnknownPmuError, "type 99"),
        ("cylces", faults.UnknownEventError, "did you mean cycles"),
        ("pag-faults", faults.UnknownEventError, r"page-faults, faults, major-faults[^.?]*\?$"),
        ("power", faults.UnknownEventError, "power/EVENT/"),
        ("iTLB-stores", faults.UnknownEventError, "no event"),
        ("branch-prefetches", faults.UnknownEventError, "no event"),
        ("l1i-store", faults.UnknownEventError, "no event"),
        ("cpu/evnt=1/", faults.UnknownTermError, "did you mean event"),
        ("power/cycles/", faults.UnknownTermError, "no event or term 'cycles'"),
        ("cycles/event=1/", faults.UnknownTermError, "takes no term"),
        ("cpu/event=0x100/", faults.TermRangeError, r"8 bits \(config:0-7\) and takes at most 0xff"),
        ("wide/split=16/", faults.TermRangeError, r"4 bits \(config2:0,4,8-9\)"),
        ("cpu/config=0x10000000000000000/", faults.TermRangeError, "64 bits"),
        ("4:0x10000000000000000", faults.TermRangeError, "64 bits"),
        ("cpu/period=0x8000000000000000/", faults.TermRangeError, "63 bits"),
        ("cpu/inv=2/", faults.TermRangeError, "1 bits"),
        ("cpu/event/", faults.TermValueError, "A value is missing"),
        ("cpu/event=zwei/", faults.TermValueError, "neither decimal"),
        ("cpu/event=-1/", faults.TermValueError, "neither decimal"),
        ("cpu/period/", faults.TermValueError, "period=NUMBER"),
        ("cpu/branch_type=sideways/", faults.TermValueError, "no kind of branch"),
        ("cpu/open/", faults.MissingParameterError, "cpu/open,umask=NUMBER/"),
        ("cpu/event=?/", faults.MissingParameterError, "left open"),
        ("cycles:x", faults.ModifierError, "'x'"),
        ("cycles:uu", faults.ModifierError, "twice"),
        ("cycles:pppp", faults.ModifierError, "precision 4"),
        ("cycles:u:k", faults.ModifierError, "two colons"),
        ("cpu/event=1/z", faults.ModifierError, "'z'"),
        ("{cycles}:y", faults.ModifierError, "'y'"),
        ("mem:here", faults.TermValueError, "address"),
        ("mem:0x10/3", faults.BreakpointError, "1, 2, 4 or 8"),
        ("mem:0x10:rr", faults.BreakpointError, "each once"),
        ("mem:0x10:", faults.BreakpointError, "each once"),
        ("sched:sched_swich", faults.TracepointError, "did you mean sched_switch"),
        ("sced:sched_switch", faults.TracepointError, "did you mean sched"),
        ("{imc/event=1/,cs}", faults.GroupError, "2 PMUs"),
        ("power/energy-pkg,energy-ram/", faults.ConflictError, "energy-pkg/ and power/energy-ram/ are two"),
        ("cpu/event=1,period=1,freq=2/", faults.ConflictError, "both 'period' and 'freq'"),
        ("cpu/config=1,config=2/", faults.ConflictError, "'config' twice"),
        ("cpu/event=1,event=1/", faults.ConflictError, "'event' twice"),
        ("cpu/event=1,umask=1,umask=2/", faults.ConflictError, "'umask' twice"),
        ("cpu/event=1,name=a,name=b/", faults.ConflictError, "'name' twice"),
        ("cpu/event=1,cpu=0,cpu=1/", faults.ConflictError, "'cpu' twice"),
        ("cpu/event=1,inherit,no-inherit/", faults.ConflictError, "both 'inherit' and 'no-inherit'"),
        ("cpu/r1,r2/", faults.ConflictError, "r1 and r2 are two events"),
        ("cpu/r1,config=2/", faults.ConflictError, "another config"),
        ("cpu/r1c2,umask=3/", faults.ConflictError, "'config' and 'umask'"),
        ("cpu/config=0x1c2,umask=0/", faults.ConflictError, "'config' and 'umask'"),
        ("cpu/LLC-loads,dTLB-loads/", faults.ConflictError, "LLC-loads and dTLB-loads are two events"),
        ("cpu/LLC-loads,umask=1/", faults.UnknownTermError, "takes no term 'umask'"),
        ("cpu/LLC-loads,config=1/", faults.ConflictError, "LLC-loads is not counted with another config"),
        ("cycles/config=5/", faults.ConflictError, "cycles is not counted with another config"),
        ("cycles/config1=5,config1=6/", faults.ConflictError, "'config1' twice"),
        ("cycles/period=5,period=6/", faults.ConflictError, "'period' twice"),
        ("LLC-loads/config=0/", faults.ConflictError, "LLC-loads is not counted with another config"),
        ("r1c2/config=5/", faults.ConflictError, "r1c2 is not counted with another config"),
        ("power/energy-pkg,config=3/", faults.ConflictError, "energy-pkg/ is not counted with another config"),
        ("power/broken/", faults.DescriptionError, "scale"),
        ("power/stray/", faults.DescriptionError, "'nothing'"),
        ("duration_time", faults.NoCounterError, "perf itself.*seconds, dt"),
        ("MEM_INST_RETIRED:ALL_LOADS", faults.TracepointError, "libpfm"),
        ("mem:0x10/frobnicate=1/", faults.UnknownTermError, "frobnicate"),
        ("software/cycles/", faults.UnknownTermError, "cycles"),
    ],
)
def test_every_fault_has_its_class_and_one_sentence(
    encoder: EventEncoder, text: str, fault: type[EventError], says: str
) -> None:
    with pytest.raises(fault, match=says) as caught:
        encoder.encode(text)
    assert type(caught.value) is fault
    assert str(caught.value).endswith((".", "?"))
    assert not str(caught.value).endswith("?.")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0), ("cycles,", 7), (",cycles", 0), ("cycles instructions", 7), ("cpu/event=1", 11), ("cpu/", 3),
        ("cpu/event=/", 10), ("cpu/,/", 4), ("cpu/event=1,/", 12), ("{cycles", 7), ("{}", 1), ("{{cycles}}", 1),
        ("{cycles}:", 9), ("cycles:", 7), ("mem:", 4), ("cpu/name='x/", 9), ("cycles}", 6), ("1:2:", 4),
    ],
)  # fmt: skip
def test_bad_syntax_is_placed(encoder: EventEncoder, text: str, position: int) -> None:
    with pytest.raises(faults.EventSyntaxError) as caught:
        encoder.encode(text)
    assert caught.value.position == position
    assert f"position {position + 1}" in str(caught.value)


def test_without_tracefs_it_is_reported_what_to_do(both_cores: EventEncoder) -> None:
    with pytest.raises(faults.TracepointError, match="mount -t tracefs"):
        both_cores.encode("sched:sched_switch")


def test_words_of_the_command_line_are_no_paths(encoder: EventEncoder) -> None:
    for text in ("../devices/cpu/event=1/", "..:..", "sched:../sched/sched_switch"):
        with pytest.raises(EventError):
            encoder.encode(text)


def test_one_call_for_one_string(tmp_path_factory: pytest.TempPathFactory) -> None:
    assert encode_event(xeon(tmp_path_factory.mktemp("once")), "cs")[0].attr.config == 3


def test_the_canonical_string_means_the_same(encoder: EventEncoder) -> None:
    texts = ("cpu/mem-loads,ldlat=9/pp", "imc_1/cas_count_read/", "mem:0x10/2:wr:u", "cycles:k", "cpu/r1a8/u", "4:7")
    for text in texts:
        event = one(encoder, text)
        assert one(encoder, event.fstr).attr == event.attr, text


@pytest.mark.parametrize(("text", "plain"), [
    ("CS:k", "cs:k"), ("Task-Clock", "task-clock"), ("l1-DCACHE-loads", "L1-dcache-loads"),
    ("software/context-switches/", "cs"), ("software/FAULTS/u", "faults:u"), ("mem:0x1000/period=5/", "mem:0x1000"),
    ("mem:0x1000/4:rw/name=x/u", "mem:0x1000/4:rw:u"),
])
def test_other_spellings_are_the_same_counter(encoder: EventEncoder, text: str, plain: str) -> None:
    (event,), (same,) = encoder.encode(text), encoder.encode(plain)
    assert replace(event.attr, sample_period=0) == same.attr
    assert event.string == text


def test_terms_name_breakpoints_and_software_events(encoder: EventEncoder) -> None:
    for text in ("mem:0x1000/4:rw/name=mine,period=7/", "software/faults,name=mine,period=7/"):
        (event,) = encoder.encode(text)
        assert (event.name, event.attr.sample_period) == ("mine", 7)


def test_names_are_compared_only_for_whoever_reads_the_refusal(tmp_path: Path) -> None:
    """An engine that does not know a name is asked before another one: that takes no look at every name there is."""
    asked: list[str] = []

    class Counted(Devices):
        def event_names(self) -> tuple[str, ...]:
            asked.append("")
            return super().event_names()

    with pytest.raises(faults.UnknownEventError) as refusal:
        EventEncoder(xeon(tmp_path), devices=Counted.of(xeon(tmp_path))).encode("mem-laods")
    assert not asked
    assert str(refusal.value) == str(refusal.value) == "This machine has no event 'mem-laods'; did you mean mem-loads?"
    assert len(asked) == 1
