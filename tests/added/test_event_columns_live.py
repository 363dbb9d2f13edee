"""Columns of events on simulated machines: their numbers compared with the model, rows and reasons."""

from __future__ import annotations

import errno
from typing import cast

import pytest
from added_columns import SYSTEM_ROW, Adding, adding, cell, cpu_row, package
from countinghost import CountingHost

from turbotui.machine.delegating_host import DelegatingHost
from turbotui.machine.host import Host
from turbotui.quantities.added import AddError
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.evidence import evidence
from turbotui.sampling.plan import make_plan
from turbotui.simulated import SimulatedHost, simulated_host

NEAR = 1e-6


def refused(here: Adding, text: str) -> Unavailable:
    (column, *_more) = here.add(text)
    why = here.why(column)
    assert why is not None
    return why


def test_core_events_are_counted_on_each_cpu_and_ratios_are_of_sums() -> None:
    with adding("sapphire-2s") as here:
        cycles, instructions = here.add("{cycles,instructions}")
        (ratio,) = here.add("MyIPC=instructions/cycles")
        (user,) = here.add("cycles:u,name=user")
        (speed,) = here.add("instructions,name=speed,rate")
        here.start()
        frame, before, after = here.interval(2.0)
        for cpu in (0, 5, 8):
            a, b = before.cpus[cpu], after.cpus[cpu]
            assert cell(frame, cycles, cpu_row(cpu)) == pytest.approx(b.cycles - a.cycles, rel=NEAR, abs=2)
            assert cell(frame, instructions, cpu_row(cpu)) == pytest.approx(
                b.instructions - a.instructions, rel=NEAR, abs=2)
            assert cell(frame, speed, cpu_row(cpu)) == pytest.approx((b.instructions - a.instructions) / 2.0, rel=1e-3)
            assert 0 < cell(frame, user, cpu_row(cpu)) < b.cycles - a.cycles
        second = [cpu for cpu, place in here.session.machine.topology.places.items() if place.package == 1]
        ran = sum(after.cpus[cpu].instructions - before.cpus[cpu].instructions for cpu in second)
        took = sum(after.cpus[cpu].cycles - before.cpus[cpu].cycles for cpu in second)
        assert cell(frame, instructions, package(frame, 1)) == pytest.approx(ran, rel=NEAR)
        assert cell(frame, ratio, package(frame, 1)) == pytest.approx(ran / took, rel=NEAR)
        assert not frame.estimated(ratio, SYSTEM_ROW)


def test_memory_controllers_are_summed_in_their_package_with_unit_and_scale() -> None:
    with adding("sapphire-2s") as here:
        (read,) = here.add("uncore_imc/cas_count_read/")
        (rate,) = here.add("GB=('uncore_imc/cas_count_read/'+'uncore_imc/cas_count_write/')/dt/1e9,unit=GB/s")
        assert (read.unit, read.scope, read.decimals) == ("MiB", Scope.PACKAGE, 2)
        assert (rate.unit, rate.scope) == ("GB/s", Scope.PACKAGE)
        here.start()
        frame, before, after = here.interval(2.0)
        for number in (0, 1):
            a, b = before.packages[number], after.packages[number]
            assert cell(frame, read, package(frame, number)) == pytest.approx(
                (b.read_bytes - a.read_bytes) / 2**20, rel=NEAR)
            both = b.read_bytes - a.read_bytes + b.written_bytes - a.written_bytes
            assert cell(frame, rate, package(frame, number)) == pytest.approx(both / 2e9, rel=1e-3)
            # a CPU shows what its package has
            assert frame.cell(read, cpu_row(number * 4)) == frame.cell(read, package(frame, number))
        evidences = evidence(frame, read, package(frame, 0))
        assert "uncore_imc_0" in evidences[0].signal.origin
        assert "the sum of 8 PMUs" in evidences[0].signal.origin


class OlderKernel(DelegatingHost):
    """A kernel before 6.15, which says 4 bytes of counts of 32 (commit 32c7f1150225)."""

    def read_text(self, path: str) -> str:
        return "3.814697266e-6\n" if path.endswith("bw_in_port0.scale") else super().read_text(path)


def test_the_scale_that_older_kernels_say_wrongly_is_put_right() -> None:
    with adding("icelake-2s", around=OlderKernel) as here:
        (column,) = here.add("uncore_iio_free_running/bw_in_port0/")
        here.start()
        frame, before, after = here.interval(2.0)
        written = after.packages[0].io_written_bytes - before.packages[0].io_written_bytes
        assert cell(frame, column, package(frame, 0)) == pytest.approx(0.6 * written / 2**20, rel=NEAR)
        assert "this kernel says 3.8147e-06, wrongly" in evidence(frame, column, package(frame, 0))[0].signal.origin


def test_a_formula_over_a_signal_of_the_catalog() -> None:
    with adding("sapphire-2s") as here:
        (column,) = here.add("nJ=1e9*energy.pkg/instructions,unit=nJ,decimals=2")
        (busy,) = here.add("C%=100*cycles/tsc")
        assert column.scope is Scope.PACKAGE
        here.start()
        frame, before, after = here.interval(4.0)
        joules = sum(b.joules - a.joules for a, b in zip(before.packages, after.packages, strict=True))
        ran = sum(b.instructions - a.instructions for a, b in zip(before.cpus, after.cpus, strict=True))
        assert cell(frame, column, SYSTEM_ROW) == pytest.approx(1e9 * joules / ran, rel=1e-4)
        took = sum(b.cycles - a.cycles for a, b in zip(before.cpus, after.cpus, strict=True))
        ticks = sum(b.tsc - a.tsc for a, b in zip(before.cpus, after.cpus, strict=True))
        assert cell(frame, busy, SYSTEM_ROW) == pytest.approx(100.0 * took / ticks, rel=1e-4)


def test_each_kind_of_core_has_its_own_pmu() -> None:
    with adding("laptop") as here:
        (both,) = here.add("cycles,name=both")
        (big,) = here.add("cpu_core/cycles/,name=big")
        here.start()
        frame, before, after = here.interval(2.0)
        kinds = {cpu: place.core_type for cpu, place in here.session.machine.topology.places.items()}
        for cpu, kind in kinds.items():
            took = after.cpus[cpu].cycles - before.cpus[cpu].cycles
            assert cell(frame, both, cpu_row(cpu)) == pytest.approx(took, rel=NEAR, abs=2)
            if kind == "P":
                assert cell(frame, big, cpu_row(cpu)) == pytest.approx(took, rel=NEAR, abs=2)
                continue
            assert frame.cell(big, cpu_row(cpu)) is None
            why = frame.why(big, cpu_row(cpu))
            assert why is not None
            assert "cpu_core" in why.detail
            assert f"cpu {cpu}" in why.detail
        ran = sum(after.cpus[cpu].cycles - before.cpus[cpu].cycles for cpu, kind in kinds.items() if kind == "P")
        assert cell(frame, big, SYSTEM_ROW) == pytest.approx(ran, rel=NEAR)
        assert not frame.partial(big, SYSTEM_ROW)


def test_counters_that_share_their_time_are_estimated_and_marked() -> None:
    with adding("sapphire-2s", frozenset(range(4))) as here:
        texts = [f"cpu/event=0xd1,umask={umask:#x}/,name=m{umask}" for umask in (1, 2, 4, 8, 0x10, 0x20)]
        texts += [f"cpu/event=0xd0,umask={umask:#x}/,name=n{umask}" for umask in (0x81, 0x82, 0x83)]
        (branches,) = here.add("branches")
        for text in texts:
            here.add(text)
        here.start()
        frame, before, after = here.interval(2.0)
        real = after.cpus[1].branches - before.cpus[1].branches
        assert frame.estimated(branches, cpu_row(1))
        assert cell(frame, branches, cpu_row(1)) == pytest.approx(real, rel=1e-4)


def test_a_sum_over_pmus_that_share_their_time_is_estimated_from_each() -> None:
    with adding("sapphire-2s") as here:
        columns = [here.add(f"uncore_imc/cas_count_read/,name=r{number}")[0] for number in range(5)]
        (counter_column,) = here.add("uncore_imc_3/cas_count_write/,name=one")
        here.start()
        frame, before, after = here.interval(2.0)
        for column in columns:
            moved = after.packages[1].read_bytes - before.packages[1].read_bytes
            assert frame.estimated(column, package(frame, 1))
            assert cell(frame, column, package(frame, 1)) == pytest.approx(moved / 2**20, rel=1e-4)
        moved = after.packages[0].written_bytes - before.packages[0].written_bytes
        assert cell(frame, counter_column, package(frame, 0)) == pytest.approx(moved / 8 / 2**20, rel=1e-4)


def test_a_kind_of_core_that_is_not_watched_has_nothing_to_count() -> None:
    with adding("laptop", frozenset({21})) as here:
        why = refused(here, "cpu_core/cycles/")
        assert why.reason is Reason.OFFLINE
        assert "none of the CPUs that count it is watched" in why.detail


def test_a_pmu_of_a_package_that_is_not_watched_says_so() -> None:
    with adding("vera-2s", frozenset({0})) as here:
        why = refused(here, "nvidia_ucf_pmu_1/slc_bytes_rd/")
        assert "nvidia_ucf_pmu_1 counts for CPUs 4-7,12-15" in why.detail


def test_a_level_is_shown_as_it_is_now_and_temperatures_are_not_summed() -> None:
    with adding("sapphire-2s", frozenset({0, 1})) as here:
        (column,) = here.add("msr/cpu_thermal_margin/")
        assert column.unit == "C"
        here.start()
        frame, _before, after = here.interval(1.0)
        margin = 96 - after.cpus[0].celsius
        assert cell(frame, column, cpu_row(0)) == pytest.approx(margin, abs=1.5)
        assert frame.cell(column, SYSTEM_ROW) is None


@pytest.mark.parametrize(("text", "part"), [
    ("instrctions", "did you mean instructions"),
    ("X=instrctions/cycles", "did you mean instructions"),
    ("cycles:x", "x"),
    ("cpu/event=0x1ff/", "8 bits"),
    ("{uncore_imc/clockticks/,cs}", "once for each of"),
    ("X=power/cycles", "power"),
    ("X=energy.nonsense/cycles", "no signal is called energy.nonsense"),
    ("X='power/energy-pkg/'+cycles", "joins"),
    ("cycles/", "position"),
])
def test_what_is_wrong_on_every_machine_is_refused_with_one_sentence(text: str, part: str) -> None:
    with adding("sapphire-2s", frozenset({0})) as here:
        with pytest.raises(Exception, match=r"(?s).*") as caught:
            here.add(text)
        assert part in str(caught.value)
        assert "\n" not in str(caught.value)
        assert here.session.events == ()
        assert not any(column.groups == ("added",) for column in here.session.catalog.columns)


def test_what_this_machine_lacks_is_a_column_with_a_reason() -> None:
    with adding("sapphire-2s", frozenset({0, 8})) as here:
        assert "no PMU 'uncore_gone'" in refused(here, "uncore_gone/clockticks/").sentence()
        assert "did you mean" in refused(here, "uncore_imc/cas_count_rad/").sentence()
        assert "config=0x9999" in refused(here, "cpu/config=0x9999/").sentence()
        assert refused(here, "skl::INST_RETIRED:ANY").detail
        why = refused(here, "{branches,branch-misses,r81d0,r82d0,r83d0,r1d1,r8d1,r2d1,r10d1,r4d1}")
        assert why.reason is Reason.IN_USE
        assert ":W" in why.remedy
        (column, *_rest) = here.add("{branches,branch-misses,r81d0,r82d0,r83d0,r1d1,r8d1,r2d1,r20d1,r4d1}:W")
        assert here.why(column) is None


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EINVAL, errno.EACCES])
def test_a_group_that_may_be_taken_apart_does_without_an_event_that_the_kernel_refuses(number: int) -> None:
    with adding("sapphire-2s", frozenset({0, 8})) as here:
        host = here.session.machine.host
        assert isinstance(host, SimulatedHost)
        host.fail(("perf", 4, 0x1D1), number)  # as r1d1
        whole = here.add("{instructions,r1d1}")
        cycles, missing, branches = here.add("{cycles,r1d1,branches}:W")
        whys = [here.why(column) for column in (*whole, missing)]
        assert all(why is not None and "perf r1d1: " in why.detail for why in whys)
        here.start()
        frame, before, after = here.interval(1.0)
        for cpu in (0, 8):
            a, b = before.cpus[cpu], after.cpus[cpu]
            assert cell(frame, cycles, cpu_row(cpu)) == pytest.approx(b.cycles - a.cycles, rel=NEAR, abs=2)
            assert cell(frame, branches, cpu_row(cpu)) > 0
            assert frame.cell(missing, cpu_row(cpu)) is None


def test_events_that_the_kernel_refuses_each_have_their_own_reason() -> None:
    with adding("sapphire-2s", frozenset({0, 8})) as here:
        host = here.session.machine.host
        assert isinstance(host, SimulatedHost)
        host.fail(("perf", 4, 0x1D1), errno.ENOENT)
        host.fail(("perf", 4, 0x2D1), errno.EINVAL)
        unavailable, other = (here.why(column) for column in here.add("{r1d1,r2d1}:W"))
        assert unavailable is not None
        assert "perf r1d1: this PMU has no such event" in unavailable.detail
        assert other is not None
        assert "perf r2d1: the kernel does not offer it" in other.detail


def test_a_formula_whose_events_do_not_fit_one_group_is_split() -> None:
    with adding("sapphire-2s", frozenset({0})) as here:
        events = "branches+r81d0+r82d0+r83d0+r01d1+r08d1+r02d1+r10d1+r04d1+r20d1"
        (column,) = here.add(f"Sum={events}")
        assert here.why(column) is None
        here.start()
        frame, _before, _after = here.interval(1.0)
        assert cell(frame, column, cpu_row(0)) > 0
        assert frame.estimated(column, cpu_row(0))


def test_a_divisor_of_zero_is_named() -> None:
    with adding("sapphire-2s", frozenset({0})) as here:
        (column,) = here.add("X=cycles/'alignment-faults'")
        here.start()
        frame, _before, _after = here.interval(1.0)
        assert frame.cell(column, cpu_row(0)) is None
        why = frame.why(column, cpu_row(0))
        assert why is not None
        assert "alignment-faults is 0 in this interval" in why.detail


def test_switches_of_user_mode_alone_would_always_be_none() -> None:
    with adding("sapphire-2s", frozenset({0})) as here:
        assert "stays 0" in refused(here, "cs:u").detail
        (column,) = here.add("cs:k")
        assert here.why(column) is None


def test_without_permission_the_remedy_is_reported() -> None:
    def around(host: SimulatedHost) -> Host:
        host.set_privileges(uid=1000, capabilities=0)
        return host

    with adding("sapphire-2s", frozenset({0}), around) as here:
        why = refused(here, "cycles")
        assert why.reason is Reason.NOT_PERMITTED
        assert "perf_event_paranoid" in why.sentence()


def test_a_pmu_is_opened_on_its_own_cpu_even_when_that_one_is_not_watched() -> None:
    watched: list[CountingHost] = []

    def around(host: SimulatedHost) -> Host:
        watched.append(CountingHost(host))
        return cast("Host", watched[0])

    with adding("vera-2s", frozenset({3, 5}), around) as here:
        (column,) = here.add("nvidia_ucf_pmu/slc_bytes_rd/")
        here.start()
        frame, before, after = here.interval(1.0)
        opened = {cpu for attr, cpu, _group in watched[0].attrs if attr.config == 0x113}
        assert opened == {0, 4}
        moved = after.packages[1].read_bytes - before.packages[1].read_bytes
        assert cell(frame, column, package(frame, 1)) == pytest.approx(moved * 1.8, rel=NEAR)


def test_a_package_is_not_divided_by_some_of_its_cpus() -> None:
    with adding("sapphire-2s", frozenset(range(8))) as here:
        for text in ("E=energy.pkg/instructions", "M='uncore_imc/cas_count_read/'/instructions"):
            why = refused(here, text)
            assert "not watched" in why.detail
            assert "--cpu" in why.remedy


def test_no_descriptor_left_costs_a_column_with_its_reason() -> None:
    with adding("sapphire-2s", frozenset({0, 1})) as here:
        (column,) = here.add("cycles")
        (other,) = here.add("page-faults,name=pf")
        here.start()
        here.host.fail(("perf", 0, 0), errno.EMFILE)
        here.session.want(["pf"])
        here.interval(1.0)
        here.session.want(["cycles", "pf"])
        here.interval(1.0)
        frame, _before, _after = here.interval(1.0)
        assert frame.cell(column, cpu_row(0)) is None
        why = frame.why(column, cpu_row(0))
        assert why is not None
        assert why.reason is Reason.NO_DESCRIPTORS
        assert frame.cell(other, cpu_row(0)) is not None


def test_descriptors_are_planned_for_every_counter_of_every_pmu() -> None:
    with adding("sapphire-2s") as here:
        here.add("{uncore_imc/cas_count_read/,uncore_imc/cas_count_write/}")
        wanted = frozenset(name for name in here.session.capabilities.signals if name.startswith("added."))
        plan = make_plan(here.session.machine, here.session.capabilities, wanted)
        assert plan.descriptors == 2 * 8 * 2


def test_eight_events_on_256_cpus_cost_one_read_a_cpu_and_interval() -> None:
    watched: list[CountingHost] = []

    def around(host: SimulatedHost) -> Host:
        watched.append(CountingHost(host))
        return cast("Host", watched[0])

    with adding("", frozenset(range(256)), around, lambda clock: simulated_host("big-8s", clock)) as here:
        columns = here.add("{cycles,instructions,branches,branch-misses,r81d0,r82d0,r01d1,r08d1}")
        here.start()
        here.interval(1.0)
        before = watched[0].calls["read"]
        frame, _before, _after = here.interval(1.0)
        # a read that was interrupted is read again: at most three, whatever else runs here
        assert 256 <= watched[0].calls["read"] - before <= 768
        for column in columns:
            assert cell(frame, column, cpu_row(255)) >= 0


def test_the_same_text_again_is_the_same_column_and_removing_takes_it_away() -> None:
    with adding("sapphire-2s", frozenset({0})) as here:
        first = here.add("{cycles,instructions}")
        assert here.add("{cycles,instructions}") == first
        assert [name for name, _text in here.session.by_hand()] == ["cycles", "instructions"]
        assert here.session.typed() == ("{cycles,instructions}",)
        here.session.remove("cycles")
        assert here.session.catalog.get("cycles") is None
        assert [name for name, _text in here.session.by_hand()] == ["instructions"]
        here.session.remove("instructions")
        assert here.session.by_hand() == ()
        assert here.session.typed() == ()
        (again,) = here.add("cs,name=cycles")
        here.start()
        frame, _before, _after = here.interval(1.0)
        assert frame.cell(again, cpu_row(0)) is not None


def test_turbostats_grammar_says_too_why_the_other_socket_has_no_such_counter() -> None:
    with adding("vera-2s") as here:
        (column,) = here.add("perf/nvidia_ucf_pmu_0/slc_bytes_rd/,package,mine")
        here.start()
        frame, _before, _after = here.interval(1.0)
        assert cell(frame, column, package(frame, 0)) > 0
        why = frame.why(column, package(frame, 1))
        assert why is not None
        assert why.reason is Reason.NO_HARDWARE
        assert "nvidia_ucf_pmu_0 counts for CPUs 0-3,8-11" in why.detail


def test_filters_that_exclude_each_other_are_reported_before_the_kernel_refuses_them() -> None:
    pmu = "nvidia_pcie_pmu_0_rc_4"
    item, other = (f"{pmu}/rd_req,src_bdf={device},src_bdf_en=1/" for device in ("0x108", "0x110"))
    with adding("vera-2s", frozenset({0})) as here:
        for text in (f"{pmu}/rd_req,src_bdf=0x108,src_bdf_en=1,src_rp_mask=1/", f"{{{item},{other}}}"):
            with pytest.raises(AddError):
                here.add(text)
        here.add(item)
        with pytest.raises(AddError, match="one src_bdf at a time, not by 0x0108, 0x0110"):
            here.add(other)
        here.add(f"{pmu}/cycles/")  # no filter touches the cycle counter
        here.add(other.replace("rc_4", "rc_3"))
        why = refused(here, "nvidia_ucf_pmu_0/slc_hit_rd/u")
        assert "cannot tell user from kernel mode" in why.detail
        assert why.remedy == "write it without modifiers"


def test_a_name_with_a_hyphen_in_a_formula_is_told_to_stand_in_quotes() -> None:
    with adding("sapphire-2s") as watched, pytest.raises(AddError, match="stands in quotes in a formula"):
        watched.session.add_all("MPI=cache-misses/no_such_event")


def test_a_pattern_is_a_column_each_and_never_a_sum_of_unlike_things() -> None:
    with adding("sapphire-2s") as here:
        reads, writes = here.add("uncore_imc/cas_count_*/")
        (rate,) = here.add("uncore_imc/cas_count_wr*/,rate")
        here.start()
        frame, before, after = here.interval(2.0)
        assert [reads.id, writes.id, rate.id] == ["cas_count_read", "cas_count_write", "cas_count_write~2"]
        read = sum(after.packages[literal].read_bytes - before.packages[literal].read_bytes for literal in (0, 1))
        written = sum(after.packages[item].written_bytes - before.packages[item].written_bytes for item in (0, 1))
        assert cell(frame, reads, SYSTEM_ROW) * 2**20 == pytest.approx(read, rel=1e-3)
        assert cell(frame, writes, SYSTEM_ROW) * 2**20 == pytest.approx(written, rel=1e-3)
        assert cell(frame, rate, SYSTEM_ROW) * 2**20 == pytest.approx(written / 2.0, rel=1e-3)


@pytest.mark.parametrize(("text", "says"), [
    ("Sum='uncore_imc/cas_count_*/'/dt", "stands for 2 events"),
    ("X=uncore_imc/cas_count_*/", "cannot be the title of 2 columns"),
    ("uncore_imc/cas_count_*/,name=X", "cannot be the title of 2 columns"),
])
def test_a_pattern_is_no_single_number(text: str, says: str) -> None:
    with adding("sapphire-2s") as here, pytest.raises(AddError, match=says):
        here.add(text)


@pytest.mark.parametrize("text", ["cpu/topdown-retiring/", "topdown-retiring", "{topdown-retiring,slots}",
                                  "{cpu/topdown-retiring/,cycles}", "R=cpu/topdown-retiring/"])
def test_a_topdown_metric_is_counted_below_slots(text: str) -> None:
    """The kernel refuses it alone, so its leader is opened with it, and is no column."""
    with adding("sapphire-2s") as here:
        columns = here.add(text)
        (share,) = here.add("Share=100*'cpu/topdown-retiring/'/'cpu/slots/'")
        here.start()
        frame, _before, _after = here.interval(2.0)
        assert len(columns) == 1 + text.count(",")
        retiring = cell(frame, columns[0], SYSTEM_ROW)
        assert retiring > 0
        slots = [column for column in columns if "slots" in column.id]
        if slots:
            assert cell(frame, share, SYSTEM_ROW) == pytest.approx(100 * retiring / cell(frame, slots[0], SYSTEM_ROW),
                                                                   rel=1e-6)


def test_a_topdown_metric_in_turbostats_grammar_is_counted_below_slots() -> None:
    with adding("sapphire-2s") as here:
        (old,) = here.add("perf/cpu/topdown-retiring,cpu,delta,Old")
        (new,) = here.add("cpu/topdown-retiring/,name=New")
        here.start()
        frame, _before, _after = here.interval(2.0)
        assert cell(frame, old, cpu_row(3)) == pytest.approx(cell(frame, new, cpu_row(3)), rel=1e-6)


def test_formulas_without_a_counter_divide_by_the_interval() -> None:
    with adding("laptop") as here:
        (hertz,) = here.add("Hz=1/dt")
        (same,) = here.add("same=dt/dt")
        (warming,) = here.add("warming='temp.core'/dt")
        (never,) = here.add("never=1/(dt-dt)")
        here.start()
        frame, _before, _after = here.interval(2.0)
        degrees = frame.inputs(cpu_row(0)).value("temp.core")
        assert degrees
        for row in (SYSTEM_ROW, cpu_row(0)):
            assert cell(frame, hertz, row) == pytest.approx(0.5)
            assert cell(frame, same, row) == 1.0
        assert cell(frame, warming, cpu_row(0)) == pytest.approx(degrees / 2.0)
        assert frame.cell(never, SYSTEM_ROW) is None
        why = frame.why(never, SYSTEM_ROW)
        assert why is not None
        assert why.reason is Reason.OUT_OF_RANGE
