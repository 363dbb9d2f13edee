from __future__ import annotations

import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prochost import machine_of, plain_topology

from turbotui.errors import InternalError
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sources.proc_stat import PATH, ProcStat, parse_stat

TEXT = """\
cpu  1831 0 1519 147348 111 0 22 9 5 1
cpu0 319 7 575 74425 8 3 4 2 5 1
cpu1 1511 0 943 72922 103 0 18 6 0 0
intr 93710 0 0 1 ctxt 5 cpu0 9
ctxt 200667
btime 1795203343
processes 4222
procs_running 3
procs_blocked 1
softirq 59480 0 11555 3 1680
"""
ALL = frozenset(
    f"stat.{word}"
    for word in (
        "user",
        "nice",
        "system",
        "idle",
        "iowait",
        "irq",
        "softirq",
        "steal",
        "guest",
        "guest_nice",
        "ctxt",
        "forks",
        "running",
        "blocked",
    )
)


def test_every_field_goes_to_its_own_signal() -> None:
    _, machine = machine_of({PATH: TEXT})
    reader = ProcStat().open_shared(machine, ALL)
    values = dict(zip(reader.signals, reader.read(), strict=True))
    cpu0 = {signal: row[0] for signal, row in values.items() if len(row) == 2}
    assert cpu0 == {
        "stat.user": 319, "stat.nice": 7, "stat.system": 575, "stat.idle": 74425, "stat.iowait": 8, "stat.irq": 3,
        "stat.softirq": 4, "stat.steal": 2, "stat.guest": 5, "stat.guest_nice": 1,
    }  # fmt: skip
    assert [values[f"stat.{word}"] for word in ("ctxt", "forks", "running", "blocked")] == [
        (200667,), (4222,), (3,), (1,),
    ]  # fmt: skip
    assert values["stat.steal"][1] == 6


def test_ticks_are_hundredths_of_a_second() -> None:
    _, machine = machine_of({PATH: TEXT})
    user = ProcStat().probe(machine).signals["stat.user"]
    assert isinstance(user, Signal)
    assert user.scope is Scope.CPU
    assert user.delta(319, 419) == pytest.approx(1.0)


def test_values_follow_the_topology_and_an_offline_cpu_has_none() -> None:
    text = "cpu0 1 0 0 0\ncpu2 3 0 0 0\nctxt 1\n"
    _, machine = machine_of({PATH: text}, plain_topology((0, 1, 2)))
    (user,) = ProcStat().open_shared(machine, frozenset({"stat.user"})).read()
    assert list(user) == [1, None, 3]


def test_an_old_kernel_lacks_the_columns_it_did_not_print_yet() -> None:
    host, machine = machine_of({PATH: "cpu0 1 2 3 4 5 6 7\ncpu1 1 2 3 4 5 6 7\nctxt 1\n"})
    probe = ProcStat().probe(machine)
    steal, forks = probe.signals["stat.steal"], probe.signals["stat.forks"]
    assert isinstance(steal, Unavailable)
    assert steal.reason is Reason.NO_DRIVER
    assert "2.6.11" in steal.remedy
    assert isinstance(forks, Unavailable)
    assert isinstance(probe.signals["stat.softirq"], Signal)
    (values,) = ProcStat().open_shared(machine, frozenset({"stat.steal"})).read()
    assert list(values) == [None, None]
    assert host.descriptors == {}


def test_without_proc_every_signal_says_why_and_reads_as_unknown() -> None:
    host, machine = machine_of({PATH: TEXT})
    reader = ProcStat().open_shared(machine, frozenset({"stat.user", "stat.ctxt"}))
    host.files[PATH] = errno.EACCES
    assert [list(row) for row in reader.read()] == [[None, None], [None]]
    probe = ProcStat().probe(machine)
    assert set(probe.signals) == ALL
    assert all(isinstance(s, Unavailable) and s.reason is Reason.NOT_PERMITTED for s in probe.signals.values())


@pytest.mark.parametrize(("second", "shown"), [(995, 1000), (1000, 1000), (1003, 1003), (700, 700)])
def test_idle_is_held_over_a_small_step_back_but_not_over_a_reset(second: int, shown: int) -> None:
    host, machine = machine_of({PATH: "cpu0 0 0 0 1000 0\n"}, plain_topology((0,)))
    reader = ProcStat().open_shared(machine, frozenset({"stat.idle"}))
    assert list(reader.read()[0]) == [1000]
    host.files[PATH] = f"cpu0 0 0 0 {second} 0\n"
    assert list(reader.read()[0]) == [shown]


def test_a_shared_source_is_not_opened_per_cpu() -> None:
    _, machine = machine_of({PATH: TEXT})
    with pytest.raises(InternalError, match="ProcStat"):
        ProcStat().open(machine, 0, ALL)
    assert ProcStat().descriptors(ALL, 1024) == 0


@given(
    st.dictionaries(
        st.integers(0, 8191), st.lists(st.integers(0, 2**63), min_size=4, max_size=10), min_size=1, max_size=40
    ),
    st.lists(st.integers(0, 2**32), max_size=50),
)
def test_any_table_is_taken_apart_into_what_it_was_made_of(cpus: dict[int, list[int]], interrupts: list[int]) -> None:
    lines = ["cpu  1 2 3 4", *(f"cpu{cpu} {' '.join(map(str, times))}" for cpu, times in cpus.items())]
    lines += ["intr " + " ".join(map(str, [7, *interrupts])), "ctxt 11", "processes 12", ""]
    stat = parse_stat("\n".join(lines))
    assert {cpu: list(map(int, fields)) for cpu, fields in stat.cpus.items()} == cpus
    assert stat.rows == {"ctxt": "11", "processes": "12"}


def test_a_thousand_cpus() -> None:
    rows = "".join(f"cpu{cpu} {cpu} 0 0 0 0 0 0 0 0 0\n" for cpu in range(1024))
    _, machine = machine_of(
        {PATH: f"cpu  0 0 0 0\n{rows}intr 5 {'0 ' * 50_000}\nctxt 9\n"}, plain_topology(range(1024))
    )
    user, ctxt = ProcStat().open_shared(machine, frozenset({"stat.user", "stat.ctxt"})).read()
    assert list(user) == list(range(1024))
    assert list(ctxt) == [9]


@pytest.mark.real
def test_this_machines_own_file() -> None:
    with open(PATH, encoding="ascii") as file:
        text = file.read()
    stat = parse_stat(text)
    whole = next(line for line in text.splitlines() if line.startswith("cpu ")).split()[1:]
    summed = [sum(int(fields[place]) for fields in stat.cpus.values()) for place in range(len(whole))]
    # The cpu row sums in nanoseconds before it rounds, so it may be ahead by a tick a CPU.
    assert all(0 <= int(all_cpus) - by_cpu <= len(stat.cpus) for all_cpus, by_cpu in zip(whole, summed, strict=True))
    assert int(stat.rows["ctxt"]) > 0


def test_a_damaged_field_is_unknown_and_the_others_are_read() -> None:
    _, machine = machine_of({PATH: TEXT.replace("1511 0 943", "1511 0 \ufffd").replace("200667", "20o667")})
    reader = ProcStat().open_shared(machine, ALL)
    values = dict(zip(reader.signals, reader.read(), strict=True))
    assert values["stat.system"] == [575, None]
    assert values["stat.user"] == [319, 1511]
    assert values["stat.ctxt"] == (None,)
