"""A few seconds of journal in memory, without what tells which machine it is of (docs/specs/journal.md 1 to 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from turbotui.features.gather.scrubbing import ANYBODY, Scrubber
from turbotui.machine.machine import Machine
from turbotui.quantities.signals import Raw, Signal
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.machine_facts import header_of
from turbotui.recording.stream_writer import StreamWriter
from turbotui.recording.tiers import FULL, SnapshotEncoder
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.snapshot import Snapshot
from turbotui.sources.source import Probe

K = TypeVar("K")


class ScrubbedJournal:
    """Records frames; every text of the machine in them is scrubbed before it is written.

    Args:
        machine: of the frames.
        name: of the machine, instead of its own.
        scrubber: takes secrets out.
    """

    def __init__(self, machine: Machine, name: str, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._data = bytearray()
        header = header_of(machine)
        uid = ANYBODY if header.privileges.uid else 0
        header = replace(
            header, name=name, boot_id="", session=name, privileges=replace(header.privileges, uid=uid),
            model=replace(header.model, name=self._text(header.model.name)),
        )
        self._stream = StreamWriter(self._data.extend, header, FULL)
        self._encoder = SnapshotEncoder(FULL)
        self._known: tuple[Capabilities, Capabilities] | None = None

    def take(self, frame: Frame) -> None:
        """Record the newer snapshot of a frame."""
        encoded = self._encoder.encode(self._snapshot(frame.newer), self._capabilities(frame.capabilities))
        if encoded is not None:
            self._stream.tick(encoded)

    def close(self) -> bytes:
        """Finish the journal, and return all of its bytes."""
        self._stream.end()
        return bytes(self._data)

    def _text(self, text: str) -> str:
        return self._scrubber.name(text)

    def _raw(self, raw: Raw) -> Raw:
        return self._text(raw) if isinstance(raw, str) else raw

    def _snapshot(self, snapshot: Snapshot) -> Snapshot:
        values = {name: [self._raw(one) for one in raws] if any(isinstance(one, str) for one in raws) else raws
                  for name, raws in snapshot.values.items()}
        failures = {where: self._text(why) for where, why in snapshot.failures.items()}
        return replace(snapshot, values=values, failures=failures)

    def _capabilities(self, found: Capabilities) -> Capabilities:
        """The capabilities of a frame, scrubbed once: the encoder knows them again by identity."""
        if self._known is None or self._known[0] is not found:
            scrubbed = replace(
                found,
                signals={name: self._signal(one) for name, one in found.signals.items()},
                probes={name: self._probe(one) for name, one in found.probes.items()},
                missing=self._reasons(found.missing),
                disbelieved=self._reasons(found.disbelieved),
                remarks={name: self._text(text) for name, text in found.remarks.items()},
            )
            self._known = found, scrubbed
        return self._known[1]

    def _signal(self, signal: Signal) -> Signal:
        return replace(signal, origin=self._text(signal.origin), constant=self._raw(signal.constant),
                       absent=self._reasons(signal.absent))

    def _probe(self, probe: Probe) -> Probe:
        return Probe({name: self._signal(one) if isinstance(one, Signal) else self._reason(one)
                      for name, one in probe.signals.items()}, self._text(probe.note))

    def _reasons(self, reasons: Mapping[K, Unavailable]) -> dict[K, Unavailable]:
        return {name: self._reason(why) for name, why in reasons.items()}

    def _reason(self, why: Unavailable) -> Unavailable:
        return replace(why, detail=self._text(why.detail), remedy=self._text(why.remedy))
