"""The contract of the catalog: every column, and their order."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from every_row import of_every
from rowinputs import Row

from turbotui.errors import UsageError
from turbotui.machine.machine import read_machine
from turbotui.quantities.catalog import STATIC_COLUMNS, Catalog, catalog_for, idle
from turbotui.quantities.columns import Category, CounterColumn
from turbotui.quantities.formula_text import formula_of
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Behavior, Reduce, Signal, SignalId
from turbotui.quantities.units import Unit
from turbotui.simulated import simulated_host
from turbotui.sources import SOURCES

GOLDEN = Path(__file__).with_name("columns.txt")
REFERENCE = Path(__file__).parents[2] / "../shared/reference/turbostat-columns.json"

_AGREED = """
    tsc aperf mperf smi base_hz tsc_hz tsc_tweak tj_max instructions cycles cache.references cache.misses
    cstate.core.c1 cstate.core.c3 cstate.core.c6 cstate.core.c7 cstate.module.c6 cstate.pkg.c2 cstate.pkg.c3
    cstate.pkg.c6 cstate.pkg.c7 cstate.pkg.c8 cstate.pkg.c9 cstate.pkg.c10 energy.pkg energy.cores energy.gpu
    energy.ram energy.psys energy.core limit.pkg.pl1 limit.pkg.pl2 temp.core temp.pkg temp.ccd throttle.core.count
    throttle.pkg.count throttle.core.time throttle.pkg.time stat.user stat.nice stat.system stat.idle stat.iowait
    stat.irq stat.softirq stat.steal stat.guest stat.guest_nice stat.booked stat.whole
    stat.ctxt stat.forks stat.running stat.blocked irq.total
    irq.nmi irq.loc irq.res irq.cal irq.tlb irq.trm irq.device irq.err irq.mis softirq.total softirq.hi softirq.timer
    softirq.net_tx softirq.net_rx softirq.block softirq.irq_poll softirq.tasklet softirq.sched softirq.hrtimer
    softirq.rcu cpufreq.cur cpufreq.min cpufreq.max cpufreq.hw_min cpufreq.hw_max cpufreq.base cpufreq.driver
    cpufreq.governor cpufreq.epp switches migrations faults clock.start clock.end clock.wall apic x2apic
    cache.l2.references cache.l2.hits cache.l2.misses c0.pkg.total c0.pkg.any c0.pkg.gfx c0.pkg.both throttled.pkg
    throttled.ram limit.pkg.pl4 epb hwp.epp reasons.core reasons.pkg reasons.hsw.core reasons.hsw.gfx reasons.hsw.ring
    reasons.hsx.core reasons.skl.core reasons.skl.gfx reasons.skl.ring limit.pkg.tdp turbo.single turbo.all
    gfx.idle gfx.cur gfx.act media.idle media.cur media.act lpi.cpu lpi.system uncore.cur pmt.die.c6 pmt.module.c1e
    hsmp.power hsmp.temp.vr hsmp.temp.hbm hsmp.c0 hsmp.gfx hsmp.hbm hsmp.fclk hsmp.uclk
    """
AGREED = frozenset(_AGREED.split())


def _probed() -> frozenset[SignalId]:
    """Every signal that any source could ever give: a probe names them all, with facts or with a reason."""
    machine = read_machine(simulated_host("guest"))
    return frozenset(name for source in SOURCES for name in source.probe(machine).signals)


SIGNALS = _probed()
_IDLE_SIGNAL = re.compile(r"cpuidle\.\d+\.(usage|above|below|rejected|latency|time|name)")


def _signal(name: str, constant: str | None = None) -> Signal:
    behavior = Behavior.COUNTER if constant is None else Behavior.CONSTANT
    return Signal(name, Scope.CPU, Unit.COUNT, behavior, Reduce.SUM, "", constant=constant)


STATES = {f"cpuidle.{state}.name": _signal(f"cpuidle.{state}.name", name)
          for state, name in enumerate(("POLL", "C1", "C1E", "C6"))}
FULL = {name: _signal(name) for name in SIGNALS if not _IDLE_SIGNAL.fullmatch(name)} | STATES
ALL_COLUMNS = (*STATIC_COLUMNS, *idle.cpuidle_columns(STATES))


def _case(column: CounterColumn) -> str:
    return f"{column.id} of {'+'.join(column.needs)}"


every_column = of_every(ALL_COLUMNS, _case)


@every_column
def test_a_column_says_what_it_is(column: CounterColumn) -> None:
    assert re.fullmatch(r"[A-Za-z0-9%_/+!.-]+", column.id), "an id is one word that --show can name"
    assert len(column.title) <= 12 or column.title == "Time_Of_Day_Seconds", "turbostat's own title is longer"
    assert column.help[0].isupper() or column.help[0].isdigit(), "help begins a sentence"
    assert column.help.endswith("."), "help ends one"
    assert len(column.help.split()) >= 3
    assert column.document, "every column cites where its meaning is written down"
    assert formula_of(column), "words, or arithmetic that can be written down"
    assert column.width > 0
    assert column.unit in {"", "MHz", "%", "W", "J", "nJ", "°C", "/s", "M/s", "s", "us",
                           "GFLOP/s", "GB/s", "flop/byte", "GFLOP/s/W"}
    assert column.decimals >= -1
    if column.thresholds is not None and not column.thresholds.low:
        assert column.thresholds.amber <= column.thresholds.red


def test_sources_give_what_was_agreed() -> None:
    assert not AGREED - SIGNALS


@every_column
def test_a_column_needs_signals_that_sources_know(column: CounterColumn) -> None:
    named = (*column.needs, *column.wants)
    assert not [name for name in named if name not in SIGNALS and not _IDLE_SIGNAL.fullmatch(name)]
    assert not set(column.needs) & set(column.wants)


@every_column
def test_a_formula_survives_zeros_and_the_unknown(column: CounterColumn) -> None:
    cell = column.compute(Row(anything=0.0))
    assert cell is None or isinstance(cell, float | int | str)
    assert column.compute(Row(anything=None)) is None, "of unknown signals nothing is known"


@every_column
def test_a_formula_asks_only_for_what_it_declares(column: CounterColumn) -> None:
    asked: set[str] = set()

    class Noting(Row):
        def delta(self, signal: str) -> float | None:
            asked.add(signal)
            return 1.0

        def value(self, signal: str) -> float | None:
            asked.add(signal)
            return 0.0

        def text(self, signal: str) -> str | None:
            asked.add(signal)
            return "x"

    column.compute(Noting())
    assert asked <= {*column.needs, *column.wants}


def test_ids_are_unique_on_any_machine() -> None:
    for signals in (FULL, STATES, {}, {name: FULL[name] for name in ("tsc", "mperf", "cstate.core.c6", "energy.core")}):
        ids = [column.id for column in catalog_for(signals).columns]
        assert len(ids) == len(set(ids))


def test_of_two_ways_to_a_column_the_first_that_works_is_taken() -> None:
    derived = catalog_for({name: FULL[name] for name in ("tsc", "mperf", "cstate.core.c6")}).by_id["CPU%c1"]
    assert "mperf" in derived.needs
    counted = catalog_for({name: FULL[name] for name in ("tsc", "mperf", "cstate.core.c6", "cstate.core.c1")})
    assert "cstate.core.c1" in counted.by_id["CPU%c1"].needs
    assert catalog_for({"energy.cores": FULL["energy.cores"]}).by_id["CorWatt"].scope is Scope.PACKAGE
    assert catalog_for({"energy.core": FULL["energy.core"]}).by_id["CorWatt"].scope is Scope.CORE


def test_the_columns_are_those_of_the_golden_list() -> None:
    selected = [column.id for column in catalog_for(FULL).columns]
    golden = GOLDEN.read_text(encoding="utf-8").split()
    difference = "\n".join(difflib.unified_diff(golden, selected, GOLDEN.name, "catalog", lineterm="", n=1))
    assert not difference, f"the catalog changed; if that is meant, change {GOLDEN.name} too:\n{difference}"


def test_columns_that_turbostat_has_stand_in_its_order() -> None:
    if not REFERENCE.exists():
        pytest.skip(f"{REFERENCE} is not beside this checkout")
    theirs = [entry["name"] for entry in json.loads(REFERENCE.read_text(encoding="utf-8"))["columns"]]
    for energy in ("energy.core", "energy.cores"):  # per core on AMD, per package on Intel: two places in the order
        signals = {name: signal for name, signal in FULL.items() if name not in {"energy.core", "energy.cores"}}
        selected = [column.id for column in catalog_for({**signals, energy: FULL[energy]}).columns]
        names = [name.removesuffix(" (per core)") for name in theirs]
        shared = [name for name in selected if name in names]
        places = [names.index(name) if energy == "energy.core" else len(names) - 1 - names[::-1].index(name)
                  for name in shared]
        assert len(shared) > 40
        assert places == sorted(places), f"{energy}: {shared}"


def test_columns_that_turbostat_has_are_selected_by_its_category_words() -> None:
    if not REFERENCE.exists():
        pytest.skip(f"{REFERENCE} is not beside this checkout")
    entries = json.loads(REFERENCE.read_text(encoding="utf-8"))["columns"]
    theirs = {entry["name"]: set(entry["categories"]) - {"(none)", "with --Joules"} for entry in entries}
    # the joule columns are in no category of turbostat, so that `--show power --Joules` loses them (spec 1.4: a defect)
    wrong = {column.id: theirs[column.id] - set(column.groups) for column in STATIC_COLUMNS
             if column.id in theirs and not column.id.endswith("_J") and not theirs[column.id] <= set(column.groups)}
    assert not wrong


def _select(catalog: Catalog, *words: str) -> list[str]:
    return [column.id for column in catalog.select(words)]


def test_words_select_names_and_categories() -> None:
    catalog = catalog_for(FULL)
    assert _select(catalog, "CPU", "Busy%") == ["CPU", "Busy%"]
    assert _select(catalog, "Busy%", "CPU") == ["CPU", "Busy%"], "print order, not the order asked"
    assert _select(catalog, "all") == [column.id for column in catalog.columns]
    assert set(_select(catalog, "topology")) >= {"Package", "Core", "CPU"}
    assert set(_select(catalog, "cpuidle")) == {"POLL", "POLL+", "C1-", "C1", "C1+", "C1E-", "C1E", "C1E+", "C6-", "C6"}
    assert {column.category for column in catalog.select(["thermal"])} == {Category.THERMAL}


@pytest.mark.parametrize("word", ["Buzy%", "busy%", "cpu"])
def test_an_unknown_word_is_refused_with_its_neighbours(word: str) -> None:
    with pytest.raises(UsageError, match=f'unknown column "{re.escape(word)}"; did you mean'):
        catalog_for(FULL).select([word])


def test_a_comma_too_many_is_refused() -> None:
    with pytest.raises(UsageError, match="a column without a name"):
        catalog_for(FULL).select(["CPU", ""])


def _has_arithmetic(column: CounterColumn) -> bool:
    return " x " in formula_of(replace(column, formula="")) or " / interval" in formula_of(replace(column, formula=""))


def test_no_column_says_its_arithmetic_a_second_time() -> None:
    """What is computed and what is written are one: words stand only where a reading is shown as it is, but for MHz."""
    twice = [column.id for column in ALL_COLUMNS if column.formula and _has_arithmetic(column)]
    assert not twice
