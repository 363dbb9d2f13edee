"""Why a signal has no number in one frame, derived from the two snapshots."""

from __future__ import annotations

from turbotui.machine.host import RECORDED_COUNTER
from turbotui.quantities.signals import Behavior, Signal
from turbotui.quantities.unavailable import Reason, Unavailable
from turbotui.quantities.units import Unit
from turbotui.sampling.answers import SHARED
from turbotui.sampling.interval import Interval
from turbotui.sampling.plan import reading_cpus

_WIDE = 64  # bits of a counter that does not wrap
_NO_DESCRIPTOR = ("(EMFILE)", "(ENFILE)")  # the end of a HostError's text


def problem(interval: Interval, signal: Signal, cpus: tuple[int, ...]) -> Unavailable | None:
    """Why a signal has no number on these CPUs in this interval; None if it has one."""
    if signal.behavior is Behavior.CONSTANT:
        return next(iter(interval.unbelieved(signal.id).values()), None)
    origin = signal.origin.format(cpu=cpus[0])
    read = signal.read_as
    if (raw := interval.newer.values.get(read)) is None:
        return Unavailable(Reason.NOT_READ, f"{origin} was not read in this interval: it is read while it is shown")
    positions = {interval.topology.index(signal.scope, cpu) for cpu in cpus}
    if all(raw[position] is None for position in positions):
        return _why_unread(interval, signal, origin, positions)
    if signal.behavior is not Behavior.COUNTER:
        return _why_no_level(interval, signal, positions)
    if interval.older is None or read not in interval.older.values:
        return Unavailable(Reason.FIRST_TICK, "needs two readings; known after the next interval")
    before = interval.older_values(read)
    if before is None or all(before[position] is None for position in positions):
        return Unavailable(Reason.FIRST_TICK, "was not read in the interval before")
    deltas = interval.deltas(signal.id)
    if any(deltas[position] is not None for position in positions):
        return None
    return _why_no_difference(interval, signal, origin, positions)


def _why_no_level(interval: Interval, signal: Signal, positions: set[int]) -> Unavailable | None:
    levels, doubted = interval.levels(signal.id), interval.unbelieved(signal.id)
    if signal.unit is Unit.TEXT or any(levels[position] is not None for position in positions):
        return None
    reason = next((doubted[position] for position in sorted(positions) if position in doubted), None)
    if reason is None and signal.unit is Unit.CELSIUS:
        return Unavailable(
            Reason.OUT_OF_RANGE,
            f"{signal.origin.format(cpu=interval.topology.cpus[0])} has all bits set: the sensor's readout is"
            " saturated")
    return reason


def _why_no_difference(interval: Interval, signal: Signal, origin: str, positions: set[int]) -> Unavailable:
    doubted = interval.unbelieved(signal.id)
    reason = next((doubted[position] for position in sorted(positions) if position in doubted), None)
    if reason is not None:
        return reason
    if signal.width_bits < _WIDE and positions & interval.newer.unsure.get(signal.id, frozenset()):
        return Unavailable(
            Reason.OUT_OF_RANGE,
            f"{origin} may have wrapped more than once, or been set: it was not looked at for longer than the"
            f" {signal.wrap_seconds:.0f} s in which it can wrap, or moved by more than it can have counted")
    if signal.running:
        return Unavailable(Reason.NEVER_RAN, f"{origin} never got a hardware counter in this interval")
    return Unavailable(Reason.WENT_BACK, f"{origin} went down: reset, suspend or hot-plug")


def _why_unread(interval: Interval, signal: Signal, origin: str, positions: set[int]) -> Unavailable:
    provider, newer = interval.capabilities.provider[signal.id], interval.newer
    if provider.shared:
        readers = {SHARED}
        if SHARED in newer.late:
            return Unavailable(Reason.LATE, f"{provider.title} was not read in time")
    else:
        reading = reading_cpus(signal, interval.topology)
        readers = {reading[position] for position in positions}
        nowhere = [signal.absent[reader] for reader in sorted(readers) if reader in signal.absent]
        if len(nowhere) == len(readers):
            return nowhere[0]
    late, gone = newer.late & readers, newer.failed & readers
    if late:
        return Unavailable(Reason.LATE, f"cpu {min(late)} did not answer in time")
    if gone:
        return Unavailable(Reason.OFFLINE, f"cpu {min(gone)} went offline")
    failures = (newer.failures.get((provider.id, reader)) for reader in sorted(readers))
    detail = next((text for text in failures if text), "")
    if detail.endswith(_NO_DESCRIPTOR):
        return Unavailable(Reason.NO_DESCRIPTORS, f"{origin} could not be opened: no file descriptor is left",
                           "raise the limit (ulimit -n), hide other columns, or watch fewer CPUs (--cpu)")
    if detail.startswith(RECORDED_COUNTER):
        return Unavailable(Reason.RECORDED, f"{origin} opened on the machine; on a recorded one nothing counts")
    what = f": {detail}" if detail else ", or holds no number that it can have"
    return Unavailable(Reason.FAILED, f"{origin} could not be read this time{what}")
