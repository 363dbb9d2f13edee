"""Rules on invented numbers: from which number on a cause is found, its cost, and its sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace

import pytest
from judged_frames import MadeFrame, made

from turbotui.diagnosis.diagnosis import MachineDiagnosis
from turbotui.diagnosis.rule_table import RULES
from turbotui.diagnosis.rules import Certainty, LookResults, NoFinding, Observed, PressedGroup, ThrottledGroup
from turbotui.features.interrupts import INTERRUPTS
from turbotui.quantities.catalog import STATIC_COLUMNS
from turbotui.quantities.scope import Scope
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.sampling.frame import Frame
from turbotui.sampling.rows import Columns, Row

BY_ID = {rule.id: rule for rule in RULES}


def found(rule: str, moment: MadeFrame) -> Observed:
    answer = BY_ID[rule].judge(moment)
    assert isinstance(answer, Observed), answer
    return answer


def test_every_rule_has_its_own_word_and_reads_columns_that_there_are() -> None:
    assert len(BY_ID) == len(RULES)
    known = {column.id for column in STATIC_COLUMNS}
    known |= {column.id for column in made("guest").catalog.columns}  # IdleExit% is made of the machine's states
    assert {name for rule in RULES for name in rule.columns} <= known


@pytest.mark.parametrize("rule", BY_ID)
def test_a_rule_that_knows_nothing_says_so(rule: str) -> None:
    settled = dict.fromkeys(("slow-cores", "quota"), NoFinding.CLEAR)  # one kind of cores, no quota
    settled["bandwidth"] = NoFinding.NOT_ASKED
    assert BY_ID[rule].judge(made()) is settled.get(rule, NoFinding.UNKNOWN)


def test_steal_is_reported_as_a_share_of_what_the_machine_wants() -> None:
    steal = found("steal", made(whole={"steal%": 10.0, "Load%": 40.0}))
    assert steal.lost == pytest.approx(0.25)
    assert steal.sure is Certainty.CERTAIN
    assert "25 % of the CPU time" in steal.sentence
    assert BY_ID["steal"].judge(made(whole={"steal%": 1.5, "Load%": 60.0})) is NoFinding.CLEAR


def test_idle_time_with_a_waiting_task_counts_where_little_else_is_done() -> None:
    def judge(**whole: float) -> Observed | NoFinding:
        return BY_ID["storage"].judge(made(whole={name + "%": value for name, value in whole.items()}, lacks="PSIio%"))

    much = judge(iowait=12.0, Load=4.0)
    assert isinstance(much, Observed)
    assert much.lost == pytest.approx(0.75)
    assert judge(iowait=4.0, Load=90.0) is NoFinding.CLEAR


def test_iowait_says_nothing_where_pressure_is_counted_and_was_not_read() -> None:
    assert BY_ID["storage"].judge(made(whole={"iowait%": 1.0, "Load%": 4.0})) is NoFinding.UNKNOWN


def test_pressure_is_believed_before_iowait() -> None:
    quiet = {"PSIio%": 2.0, "iowait%": 12.0, "Load%": 4.0}
    assert BY_ID["storage"].judge(made(whole=quiet)) is NoFinding.CLEAR
    waits = found("storage", made(whole={**quiet, "PSIio%": 60.0, "PSIioFull%": 20.0, "Blocked": 3.0}))
    assert waits.lost == pytest.approx(0.4)
    assert waits.sentence == ("Tasks wait for storage 60 % of the time, all of them at once 20 %; 3 wait at this "
                              "instant; iowait is 12.0 %")


def test_more_tasks_than_cpus_by_what_is_known() -> None:
    full = {"Load%": 99.0, "RunQ": 8.0}
    assert found("overload", made(whole=full)).lost == pytest.approx(4.0 / (4.0 + 3.96))
    assert found("overload", made(whole={**full, "PSIcpu%": 97.0, "RunDelay%": 1188.0})).lost == pytest.approx(0.75)
    assert found("overload", made(whole={"Load%": 100.0, "PSIcpu%": 90.0})).lost == pytest.approx(0.9 / 4.9)
    tail = "p99 of web's waits for a CPU is 8.3 ms; 71 % of it behind batch.slice on CPUs 4-7"
    assert found("overload", made(whole=full, seen=LookResults(tail=tail))).sentence.endswith(f"; {tail}")
    for running, queued in ((2.0, 0.5), (8.0, 2.0)):  # nobody waits at the instant; 4 do, and half of the time none
        half = found("overload", made(whole={"Load%": 100.0, "RunQ": running, "PSIcpu%": 50.0}))
        assert half.lost == pytest.approx(queued / (queued + 4.0))
    alone = found("overload", made(whole={"Load%": 100.0, "RunQ": 6.0, "PSIcpu%": 95.0}, measured=1))
    assert alone.lost == pytest.approx(1.9 / 5.9), "the run queue is that of all CPUs, measured or not"
    assert alone.sentence.startswith("6 tasks want to run on 4 CPUs, of which the one measured is 100 % busy; a task ")
    some = found("overload", made(whole={"Load%": 100.0, "RunDelay%": 100.0}, measured=1))
    assert some.lost == pytest.approx(4.0 / 8.0), "one waits for one CPU of four, all of which are full"
    assert some.sentence.endswith("; 1.0 wait on average for the one measured")
    assert some.sure is Certainty.LIKELY
    few = BY_ID["overload"].judge(made(whole={**full, "RunQ": 1.0, "PSIcpu%": 40.0, "RunDelay%": 100.0}))
    assert isinstance(few, Observed)
    assert few.sentence.startswith("5.0 tasks on average want to run on 4 CPUs"), few.sentence
    assert BY_ID["overload"].judge(made(whole={"Load%": 60.0, "RunQ": 9.0})) is NoFinding.CLEAR
    assert BY_ID["overload"].judge(made(whole={**full, "PSIcpu%": 4.0})) is NoFinding.CLEAR


def test_a_quota_is_reported_of_the_group_that_stands_still_most() -> None:
    own = {"Throttled%": 20.0, "Quota": 1.5}
    assert found("quota", made(whole=own)).sentence.startswith(
        "A CPU quota was used up in 20 % of its periods: this program's control group (1.50 CPUs), whose")
    db = LookResults(groups=True, throttled=ThrottledGroup("/db.service", 80.0, 2.0))
    quota = found("quota", made(whole=own, seen=db))
    assert quota.who == ("/db.service",)
    assert quota.lost == pytest.approx(0.4)
    counted = LookResults(groups=True, throttled=ThrottledGroup("/db.service", 80.0, 2.0, stood=1.0))
    assert found("quota", made(whole={"Load%": 75.0}, seen=counted)).lost == pytest.approx(0.25)  # of 4 CPUs 3 work
    less = LookResults(groups=True, throttled=ThrottledGroup("/db.service", 15.0, 2.0, stood=0.3))  # one period fewer
    assert found("quota", made(whole={**own, "Load%": 75.0}, seen=less)).who == ("/db.service",)
    assert BY_ID["quota"].judge(made(seen=LookResults(groups=True))) is NoFinding.CLEAR


def test_memory_that_is_short_and_swap_that_is_read_back() -> None:
    short = found("memory", made(whole={"PSImem%": 40.0, "PSImemFull%": 20.0, "MemAvail%": 2.0, "OOMKills": 1.0}))
    assert short.lost == pytest.approx(0.3)
    assert short.sentence == ("The kernel killed 1 task for want of memory; tasks wait for memory 40 % of the "
                              "time, all of them at once 20 %; 2 % of memory is available")
    assert found("memory", made(whole={"Reclaim/s": 900.0})).sentence.startswith("Tasks had to free memory 900 ")
    assert BY_ID["memory"].judge(made(whole={"Reclaim/s": 3.0})) is NoFinding.UNKNOWN, "a group's limit may hold tasks"
    back = found("swapping", made(whole={"SwapIn/s": 4000.0, "SwapOut/s": 3000.0}))
    assert back.lost == pytest.approx(0.4)
    waited = {"SwapIn/s": 2000.0, "SwapOut/s": 500.0, "PSIio%": 47.0, "PSIioFull%": 45.0, "MemAvail%": 1.0}
    for pages, first, more in ((2000.0, "swapping", True), (150.0, "storage", False)):
        both = [found(name, made(whole={**waited, "SwapIn/s": pages})) for name in ("swapping", "storage")]
        ranked = max(zip(both, ("swapping", "storage"), strict=True), key=lambda item: item[0].lost)
        assert (ranked[1], "swap space" in both[1].sentence) == (first, more), "waits for storage are those for pages"
    limit = found("swapping", made(whole={**waited, "MemAvail%": 86.0}))
    assert "a control group's limit" in limit.sentence
    assert "MemoryMax" in limit.remedy
    assert BY_ID["swapping"].judge(made(whole={"SwapIn/s": 3.0, "SwapOut/s": 900.0})) is NoFinding.CLEAR


def test_memory_that_is_short_while_much_is_left_is_a_group_s_limit() -> None:
    seen = LookResults(pressed={"memory": PressedGroup("/db.service", 40.0)})
    short = found("memory", made(whole={"PSImem%": 15.0, "PSImemFull%": 10.0, "MemAvail%": 95.0}, seen=seen))
    assert short.sentence.endswith("95 % of memory is available, so what is short is a control group's limit")
    assert "MemoryMax" in short.remedy
    assert short.who == ("/db.service (waits 40 % of the time)",)


def test_a_storm_of_interrupts_names_the_cpu_and_the_kind() -> None:
    rates = {0: 900.0, 1: 64_000.0, 2: 800.0, 3: 700.0}
    storm = found("interrupts", made(whole={"Load%": 20.0}, cpus={
        "IRQ/s": rates, "Timer/s": {1: 63_000.0}, "Dev/s": {1: 400.0}, "Busy%": {0: 0.0, 1: 20.0, 2: 0.0, 3: 0.0}}))
    assert storm.lost == pytest.approx(0.128)  # a CPU's time in interrupts holds up what runs there, however little
    assert storm.sentence.startswith("CPU 1 takes 64,000 interrupts a second")
    assert "most are timer interrupts (63,000/s; row LOC)" in storm.sentence
    assert BY_ID["interrupts"].judge(made(cpus={"IRQ/s": {0: 3000.0}})) is NoFinding.CLEAR


def test_the_device_behind_a_storm_is_named_with_its_part() -> None:
    def storm(device: str, cpu: int, count: int) -> str:
        columns = Columns(INTERRUPTS.source.kind, INTERRUPTS.source.quantities)
        ticks = []
        for second in (1, 2):
            columns.begin(0, second * 10**9)
            if second == 1:
                slots = [columns.birth(row) for row in (Row("57"), Row(f"57:{cpu}", parent="57"), Row("LOC"),
                                                        Row("LOC:1", parent="LOC"))]
            for slot, rate in zip(slots, (count, count, 90_000, 90_000), strict=True):
                assert slot is not None
                columns.put(slot, "count", rate * second)
                columns.put(slot, "gaps", 0)
                columns.put(slot, "device", device or Unavailable(Reason.NO_DRIVER, "no driver handles it now"))
                columns.read_at((slot,), second * 10**9)
            ticks.append(columns.tick())
        moment = made(cpus={"IRQ/s": {0: 0.0, 1: 100_000.0}, "Dev/s": {1: 60_000.0}})
        older, newer = (replace(moment.frame.newer, rows={"interrupts": tick}) for tick in ticks)
        return found("interrupts", replace(moment, frame=Frame(older, newer, moment.frame.capabilities))).sentence

    assert storm("nvme0q1", 1, 60_000).endswith("; interrupt 57 (nvme0q1) alone 60,000/s")
    assert storm("", 1, 60_000).endswith("interrupt 57 (no driver handles it) alone 60,000/s")
    assert "57" not in storm("nvme0q1", 0, 60_000), "another CPU takes them"
    assert "57" not in storm("nvme0q1", 1, 20_000), "too few to be the cause"
    assert {"interrupts", "memory"} == MachineDiagnosis(made().catalog).kinds()


def test_time_in_soft_interrupts_of_one_cpu_is_reported() -> None:
    soft = found("softirqs", made(whole={"irq%": 9.0, "Load%": 30.0},
                                  cpus={"irq%": {0: 33.0, 1: 1.0}, "NetRx/s": {0: 9000.0},
                                        "Busy%": {0: 60.0, 1: 20.0}}))
    assert soft.lost == pytest.approx((60.0 * 0.33 + 20.0 * 0.01) / 80.0)
    assert "network receive" in soft.sentence


@pytest.mark.parametrize(("rule", "whole", "cpus", "lacks"), [
    ("softirqs", {"irq%": 10.0, "Load%": 20.0}, {"irq%": {0: 40.0, 1: 0.0, 2: 0.0, 3: 0.0}}, ""),
    ("steal", {"steal%": 10.0, "Load%": 40.0}, {}, ""),
    ("storage", {"iowait%": 12.0, "Load%": 4.0}, {}, "PSIio%"),
])
def test_a_tick_or_two_of_a_short_interval_may_be_chance(
    rule: str, whole: dict[str, float], cpus: dict[str, dict[int, float]], lacks: str,
) -> None:
    assert BY_ID[rule].judge(made(whole=whole, cpus=cpus, lacks=lacks, seconds=0.05)) is NoFinding.CLEAR
    found(rule, made(whole=whole, cpus=cpus, lacks=lacks))


def test_one_cpu_of_very_many_is_not_looked_for() -> None:
    hot = {"irq%": {0: 90.0, 1: 1.0}}
    assert BY_ID["softirqs"].judge(made("sapphire-2s", whole={"irq%": 0.4, "Load%": 30.0}, cpus=hot)) is NoFinding.CLEAR
    assert found("softirqs", made("guest", whole={"irq%": 0.4, "Load%": 30.0}, cpus=hot)).sentence.endswith("CPU 0")


def test_wake_ups_that_wait_for_cpus_to_leave_idle_states() -> None:
    waiting = found("idle-exits", made(whole={"IdleExit%": 30.0, "Load%": 10.0}))
    assert waiting.sentence.startswith("CPUs take up to 30 % of their time to leave idle states, and work for 10 %")
    assert waiting.lost == pytest.approx(0.4)
    assert BY_ID["idle-exits"].judge(made(whole={"IdleExit%": 30.0, "Load%": 1.0})) is NoFinding.CLEAR


def test_one_saturated_cpu_while_others_idle() -> None:
    alone = found("one-cpu", made(cpus={"Busy%": {0: 1.0, 1: 99.5, 2: 2.0, 3: 0.0}}))
    assert alone.sentence.startswith("CPU 1 is 100 % busy while the other 3 are 1 % busy")
    assert (alone.lost, alone.news) == (0.0, True)
    assert BY_ID["one-cpu"].judge(made(cpus={"Busy%": dict.fromkeys(range(4), 99.0)})) is NoFinding.CLEAR
    of_two = found("one-cpu", made(cpus={"Busy%": {0: 1.0, 1: 99.5}}))
    assert of_two.sentence.startswith("CPU 1 is 100 % busy while the other CPU is 1 % busy")


def test_a_thread_that_wanders_is_found_by_its_own_time() -> None:
    wandering = {"Busy%": {0: 60.0, 1: 45.0, 2: 0.0, 3: 0.0}}
    assert BY_ID["one-cpu"].judge(made(cpus=wandering)) is NoFinding.CLEAR
    thread = found("one-cpu", made(cpus=wandering, seen=LookResults(busiest=("python3 4711", 0.99))))
    assert thread.sure is Certainty.CERTAIN
    assert "python3 4711, uses 99 % of a CPU" in thread.sentence
    assert thread.sentence.endswith("while the 4 CPUs together are 26 % busy")


@pytest.mark.parametrize(("waits", "words"), [
    ({"RunDelay%": 200.0}, "2.0 tasks wait for a CPU on average"),
    ({"PSIcpu%": 90.0}, "a task waits for a CPU 90 % of the time")])
def test_an_uneven_spread_is_a_loss_where_tasks_wait(waits: Mapping[str, float], words: str) -> None:
    busy = {"Busy%": {cpu: 99.0 if cpu < 4 else 0.0 for cpu in range(224)}}
    news = found("one-cpu", made("sapphire-2s", cpus=busy))
    assert news.sentence.startswith("4 CPUs are saturated while the other 220 are 0 % busy")
    assert news.news
    loss = found("one-cpu", made("sapphire-2s", cpus=busy, whole=waits))
    assert not loss.news
    queued = sum(waits.values()) / 100.0
    assert loss.lost == pytest.approx(queued / (queued + 3.96))
    assert loss.sentence.endswith(f"; {words}")
    tail = LookResults(tail="p99 of web's waits for a CPU is 8.3 ms")
    said = found("one-cpu", made("sapphire-2s", cpus=busy, whole=waits, seen=tail)).sentence
    assert said == f"{loss.sentence}; {tail.tail}", "who pushed matters where one CPU is short, too"
    assert found("one-cpu", made("sapphire-2s", cpus=busy, seen=tail)).sentence == news.sentence


def test_a_full_package_beside_an_idle_one() -> None:
    busy = {cpu: 97.0 if cpu % 112 < 56 else 10.0 for cpu in range(224)}
    full = found("one-group", made("sapphire-2s", cpus={"Busy%": busy}))
    assert full.sentence == "Package 0 is full, 97 % busy, while the other package is 10 % busy"
    assert BY_ID["one-group"].judge(made("sapphire-2s", cpus={"Busy%": dict.fromkeys(busy, 97.0)})) is NoFinding.CLEAR


def test_efficiency_cores_that_work_while_performance_cores_idle() -> None:
    types = {cpu: "P" if cpu < 12 else "E" for cpu in range(22)}
    busy = {cpu: 2.0 if cpu < 12 else 95.0 for cpu in range(22)}
    tops = {cpu: 4800.0 if cpu < 12 else 3800.0 for cpu in range(22)}
    chosen = found("slow-cores", made("laptop", cpus={"Busy%": busy, "TopMHz": tops}, words={"Type": types}))
    assert "10 efficiency cores work (3,800 of 4,800 MHz at most)" in chosen.sentence
    assert chosen.news, "work with pauses may lie there on purpose"
    busy[21] = 99.0
    slowed = found("slow-cores", made("laptop", cpus={"Busy%": busy, "TopMHz": tops}, words={"Type": types},
                                      seen=LookResults(busiest=("cc1 4711", 0.99))))
    assert not slowed.news
    assert slowed.lost == pytest.approx(1 - 3800 / 4800, abs=0.01)
    swapped = {cpu: 97.0 - percent for cpu, percent in busy.items()}
    assert BY_ID["slow-cores"].judge(made("laptop", cpus={"Busy%": swapped}, words={"Type": types})) is NoFinding.CLEAR


@pytest.mark.parametrize(("measured", "words"), [(None, "the machine 30,000"), (1, "1 measured CPU 30,000")])
def test_a_sum_of_the_measured_cpus_is_not_called_the_machines(measured: int | None, words: str) -> None:
    rates = {0: 30_000.0} if measured else {0: 12_000.0, 1: 18_000.0, 2: 0.0, 3: 0.0}
    assert words in found("interrupts", made(cpus={"IRQ/s": rates}, measured=measured)).sentence


def test_interrupts_of_firmware_are_by_the_time_of_each_cpus_own_readings() -> None:
    moment = made("sapphire-2s", cpus={"SMI": {0: 50.0, 1: 30.0}})
    assert "every CPU 50 times a second" in found("smi", moment).sentence
    rows = moment.frame.rows(Scope.CPU)
    late = SimpleNamespace(seconds=1.0, capabilities=SimpleNamespace(signals={"smi": None}), rows=lambda _scope: rows,
                           spans=lambda _name: [5.0, *[1.0] * (len(rows) - 1)])
    assert "every CPU 30 times a second" in found("smi", replace(moment, frame=late)).sentence  # type: ignore[arg-type]
