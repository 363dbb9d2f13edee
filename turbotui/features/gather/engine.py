"""Reads a machine as the verbs and screens do, keeps what was read, scrubs it, and packs it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeVar

from turbotui.dataclass import dataclass
from turbotui.errors import InternalError
from turbotui.events.encoder import EventEncoder
from turbotui.events.engines import OwnEngine
from turbotui.events.listing import own_listing
from turbotui.events.uncore.discovery import find_units
from turbotui.events.uncore.root_ports import read_root_ports
from turbotui.feature_list import FEATURES, part_called
from turbotui.features.gather.scrubbing import ANYBODY, Scrubbed, Scrubber, scrub
from turbotui.features.gather.secrets import find_secrets, harmless_names
from turbotui.machine.caches import read_caches
from turbotui.machine.core_metrics import core_types_of
from turbotui.machine.gathered.archive import pack
from turbotui.machine.gathered.documents import documents_of, parse_gathered, removals_in
from turbotui.machine.gathered.noting_host import NotingHost
from turbotui.machine.host import Host, HostError
from turbotui.machine.linux import LinuxHost
from turbotui.machine.machine import Machine, read_machine
from turbotui.machine.memory import read_memory
from turbotui.machine.pmus import list_pmus, read_pmu
from turbotui.quantities.signals import Raw, Signal
from turbotui.quantities.unavailable import Unavailable
from turbotui.recording.machine_facts import header_of
from turbotui.recording.stream_writer import StreamWriter
from turbotui.recording.tiers import FULL, SnapshotEncoder
from turbotui.sampling.capabilities import Capabilities
from turbotui.sampling.frame import Frame
from turbotui.sampling.sampled import frames_of
from turbotui.sampling.session import Session
from turbotui.sampling.snapshot import Snapshot
from turbotui.sources import SOURCES
from turbotui.sources.source import Probe
from turbotui.tables.envelope import Envelope, FeatureReport, timestamp
from turbotui.tables.formats import Writer

GoesOn = Callable[[int, int], bool]
"""A function called with the number of intervals so far and of all, which says whether more are wanted."""
K = TypeVar("K")


class ScrubbedJournal:
    """Records frames under another name, scrubbing every text of the machine before it is written."""

    def __init__(self, machine: Machine, name: str, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._data = bytearray()
        header = header_of(machine)
        uid = ANYBODY if header.privileges.uid else 0
        header = replace(header, name=name, boot_id="", session=name, privileges=replace(header.privileges, uid=uid),
                         model=replace(header.model, name=self._text(header.model.name)))
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
        values = {name: [self._raw(raw) for raw in raws] if any(isinstance(raw, str) for raw in raws) else raws
                  for name, raws in snapshot.values.items()}
        failures = {where: self._text(why) for where, why in snapshot.failures.items()}
        return replace(snapshot, values=values, failures=failures)

    def _capabilities(self, capabilities: Capabilities) -> Capabilities:
        """Return the scrubbed capabilities of a frame, cached because the encoder compares them by identity."""
        if self._known is None or self._known[0] is not capabilities:
            scrubbed = replace(
                capabilities,
                signals={name: self._signal(signal) for name, signal in capabilities.signals.items()},
                probes={name: self._probe(probe) for name, probe in capabilities.probes.items()},
                missing=self._reasons(capabilities.missing),
                disbelieved=self._reasons(capabilities.disbelieved),
                remarks={name: self._text(text) for name, text in capabilities.remarks.items()},
            )
            self._known = capabilities, scrubbed
        return self._known[1]

    def _signal(self, signal: Signal) -> Signal:
        return replace(signal, origin=self._text(signal.origin), constant=self._raw(signal.constant),
                       absent=self._reasons(signal.absent))

    def _probe(self, probe: Probe) -> Probe:
        return Probe({name: self._signal(signal) if isinstance(signal, Signal) else self._reason(signal)
                      for name, signal in probe.signals.items()}, self._text(probe.note))

    def _reasons(self, reasons: Mapping[K, Unavailable]) -> dict[K, Unavailable]:
        return {name: self._reason(why) for name, why in reasons.items()}

    def _reason(self, why: Unavailable) -> Unavailable:
        return replace(why, detail=self._text(why.detail), remedy=self._text(why.remedy))


_ALSO_SHOWN: Final = ("/proc/sys/kernel/osrelease", "/proc/cmdline")
"""Files that only screens read."""
NAME: Final = "gathered"
"""The machine's name in its file."""
JOURNAL: Final = "recording"
"""The archive's file with some seconds of journal."""


@dataclass(frozen=True, slots=True)
class GatheredArchive:
    """A gathered machine, ready to be written."""

    packed: bytes
    scrubbed: Scrubbed  # the content of the archive
    documents: Mapping[str, int]  # the size of each file in it, in bytes
    notes: tuple[str, ...]  # sentences that the user must know before giving the file away


def gather(host: Host, environment: Mapping[str, str], interval: float = 1.0, intervals: int = 1,
           goes_on: GoesOn = lambda *_step: True) -> GatheredArchive:
    """Read a machine, and pack the readings without anything that identifies the machine.

    Args:
        interval: seconds between two readings of the counters.
        goes_on: told of the intervals so far and of all; false to go without the rest.

    Raises:
        MachineError: the machine cannot be read.
        InternalError: a secret remains in the data to be written.
    """
    noting = NotingHost(host)
    scrubber = Scrubber(find_secrets(host, environment))
    reports, journal, count = read_everything(noting, scrubber, interval, intervals, goes_on)
    scrubbed = scrub(noting.gathered(timestamp(host.wall_ns())), scrubber)
    own = {name: scrubber.text(text)[0].encode() for name, text in reports.items()} | {JOURNAL: journal.close()}
    documents = {**documents_of(scrubbed.machine, scrubbed.changed), **own}
    packed, long = pack(documents)
    if long:  # their names are in about.json, which is part of the archive
        left_out = dict.fromkeys(long, "its path is too long for tar")
        kept = {path: data for path, data in scrubbed.machine.files.items() if f"root{path}" not in left_out}
        machine = replace(scrubbed.machine, files=kept, left_out={**scrubbed.machine.left_out, **left_out})
        scrubbed = Scrubbed(machine, scrubbed.changed)
        documents = {**documents_of(machine, scrubbed.changed), **own}
        packed, _ = pack(documents)
    for name, data in documents.items():
        if name != JOURNAL and scrubber.holds_secrets(name, data):  # the journal is already packed
            raise InternalError(f"{name} would hold a name or number that is to be scrubbed; nothing was written")
    words = harmless_names(host)
    notes = (f"{', '.join(words)}: a name here and a word of the kernel's files, so it stays",) if words else ()
    if count < intervals:
        notes = (*notes, f"stopped: {count} of {intervals} intervals were recorded")
    return GatheredArchive(packed, scrubbed, {name: len(data) for name, data in documents.items()}, notes)


def received(packed: bytes) -> GatheredArchive:
    """The archive that another machine's turbotui gathered.

    Raises:
        GatheredError: the bytes are no gathered machine.
    """
    machine, others = parse_gathered(packed)
    changed = removals_in(others)
    documents = {**{f"root{path}": len(data) for path, data in machine.files.items()},
                 **{name: len(data) for name, data in others.items()}}
    return GatheredArchive(packed, Scrubbed(machine, changed), documents, ())


def read_everything(host: Host, scrubber: Scrubber, interval: float, intervals: int,
                    goes_on: GoesOn = lambda *_step: True) -> tuple[Mapping[str, str], ScrubbedJournal, int]:
    """Read everything that doctor, info, stat and the screens read, and record all counters for some intervals.

    Returns:
        The reports of features by the names of their files, the recording, and its number of intervals.

    Raises:
        MachineError: the machine cannot be read.
    """
    machine = read_machine(host)
    session = Session(machine, SOURCES, interval, LinuxHost())
    reports: dict[str, str] = {}
    for feature in FEATURES:
        part_called(feature.gathers, object, machine)
        for report in part_called(feature.report, FeatureReport, machine, session.capabilities):
            lines: list[str] = []
            writer = Writer("json", lines.extend)
            writer.write(Envelope(NAME, host.kind, host.wall_ns(), facts=report.facts, notes=report.notes),
                         report.tables)
            writer.end()
            reports[f"{feature.name}.json"] = "".join(f"{line}\n" for line in lines)
    for name in list_pmus(host):
        read_pmu(host, name)
    for _ in own_listing(OwnEngine(EventEncoder(host))):
        pass
    find_units(machine)
    read_root_ports(host)
    read_memory(host)
    tuple(core_types_of(machine))
    for cpu in machine.topology.cpus:
        read_caches(host, cpu)
    for path in _ALSO_SHOWN:
        try:
            host.read_text(path)
        except HostError:
            continue  # the host has kept the errno
    session.want(session.catalog.by_id)
    journal = ScrubbedJournal(machine, NAME, scrubber)
    count = 0
    with contextlib.closing(frames_of(session, intervals)) as frames:
        for count, frame in enumerate(frames):
            journal.take(frame)
            if not goes_on(count, intervals):
                break
    return reports, journal, count
