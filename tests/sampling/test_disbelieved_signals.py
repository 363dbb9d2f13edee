"""A signal that other sources contradict is withdrawn, with its reason, everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from scripted import FakeHost, FakeSource, counter, machine_of

from turbotui.features.doctor.model import diagnose
from turbotui.machine.machine import Machine
from turbotui.quantities.scope import Scope
from turbotui.quantities.signals import Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.capabilities import Capabilities, probe_sources
from turbotui.sources.source import Probe


def energy(name: str, scope: Scope = Scope.PACKAGE) -> Signal:
    return replace(counter(name, scope), unit=Unit.JOULE, origin=f"perf power/{name}/")


def machine(*, guest: bool) -> Machine:
    result = machine_of(FakeHost())
    return replace(result, model=replace(result.model, hypervisor=guest))


def capabilities(here: Machine, *offers: Sequence[Signal]) -> Capabilities:
    return probe_sources(here, [FakeSource(offer, lambda _cpu, _name: 0, id=f"source{number}")
                                for number, offer in enumerate(offers)])


PSYS = energy("energy.psys", Scope.SYSTEM)


def test_platform_energy_alone_is_no_offer_in_a_guest() -> None:
    here = machine(guest=True)
    result = capabilities(here, (PSYS, counter("tsc")), (PSYS,))
    assert set(result.signals) == {"tsc"}
    why = result.why_missing("energy.psys")
    assert why.reason is Reason.VIRTUALISED
    assert why.detail.startswith("perf power/energy.psys/: the only energy that this guest is offered")
    report = diagnose(here, result)
    assert [note for note in report.notes if note.startswith("energy.psys is not believed: perf power/")]
    assert [signal.usable for source in report.sources for signal in source.signals] == [False, True, False]


@pytest.mark.parametrize("other", ["energy.pkg", "energy.ram", "energy.core"])
def test_platform_energy_beside_another_is_an_offer(other: str) -> None:
    result = capabilities(machine(guest=True), (PSYS,), (energy(other),))
    assert set(result.signals) == {"energy.psys", other}
    assert not result.disbelieved


def test_platform_energy_of_a_real_machine_is_an_offer() -> None:
    assert set(capabilities(machine(guest=False), (PSYS,)).signals) == {"energy.psys"}


def test_smis_of_a_guest_are_reported_to_be_the_guests() -> None:
    smi = counter("smi")
    guest, real = (diagnose(here, capabilities(here, (smi,))) for here in (machine(guest=True), machine(guest=False)))
    assert [note for note in guest.notes if note.startswith("smi is of the guest:")]
    assert not [note for note in real.notes if "smi" in note]


def test_the_doctor_tells_of_the_permission_before_the_hardware() -> None:
    """At paranoid 3 most counters of a source were said to have no hardware, and the permission was not told."""
    here = machine(guest=False)
    absent = {f"c{number}": Unavailable(Reason.NO_HARDWARE, f"perf c{number}: no such event") for number in range(5)}
    refused = {f"p{number}": Unavailable(Reason.NOT_PERMITTED, f"perf p{number}: paranoid is 3", "ask")
               for number in range(2)}
    driver = {"d": Unavailable(Reason.NO_DRIVER, "perf d: not loaded", "modprobe d")}

    class Refusing(FakeSource):
        def probe(self, machine: Machine) -> Probe:
            return Probe(absent | driver | refused)

    (source,) = diagnose(here, probe_sources(here, [Refusing((), lambda _cpu, _name: 0)])).sources
    assert source.detail == "without p0, p1: not permitted: perf p0: paranoid is 3"
    assert source.remedy == "ask"
    refused.clear()
    (source,) = diagnose(here, probe_sources(here, [Refusing((), lambda _cpu, _name: 0)])).sources
    assert (source.detail, source.remedy) == ("no driver: perf d: not loaded", "modprobe d")
