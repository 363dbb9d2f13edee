"""The header of a journal: the machine, the beginning, and turbotui's version (docs/specs/journal.md 4.1)."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from turbotui import __version__
from turbotui.dataclass import dataclass
from turbotui.machine.cpumodel import CpuModel
from turbotui.machine.host import NAMESPACES, HostKind, Privileges
from turbotui.machine.machine import Machine
from turbotui.machine.platforms import platform_of
from turbotui.machine.small_files import text_of
from turbotui.machine.topology import Topology
from turbotui.recording.framing import DamagedError, LaterFormatError
from turbotui.recording.json_values import JsonValue
from turbotui.recording.recorded_host import KeptAnswers, RecordedHost

FORMAT: Final = 2
"""The version of the format; a reader refuses later versions, whose records mean something else."""

_BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
_LONGEST_TIER: Final = 1e9  # seconds whose nanoseconds still fit an integer of the format
_NUMBERS: Final = ("family", "model", "stepping", "implementer", "part")


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a session: which machine was recorded, when, and how."""

    version: str  # of the turbotui that recorded
    name: str  # of the machine
    was: HostKind  # REAL or SIMULATED; RECORDED for a session over a tree of files
    model: CpuModel  # what the processor says it is
    privileges: Privileges  # of the process that recorded
    tcc: int | None
    boot_id: str  # the kernel's id of this boot of the machine; "" if the kernel does not tell it
    # wall_ns, now_ns: wall clock and monotonic clock at the session's beginning
    wall_ns: int
    now_ns: int
    session: str  # a number unique to this session, which the parts of a rotated journal share
    # seconds between ticks, and significant bits of increases; (0, 0): everything is recorded exactly
    tier: tuple[float, int] = (0.0, 0)
    command: tuple[str, ...] = ()  # the words of the command that ran during the recording; () for none
    # the `identity` of the recording that the session continues or begins; "" in files of turbotui 0.4
    recording: str = ""

    @property
    def identity(self) -> str:
        """The identity of the recording, which all its files share, whatever their names."""
        return self.recording or self.session

    def host(self, kept: KeptAnswers | None = None) -> RecordedHost:
        """Make the host of the recorded machine."""
        return RecordedHost(self.name, self.was, self.privileges, now_ns=self.now_ns, wall_ns=self.wall_ns, kept=kept)

    def machine(self, topology: Topology, kept: KeptAnswers | None = None) -> Machine:
        """Make the recorded machine, with what this version of turbotui knows of its processor."""
        return Machine(self.host(kept), topology, self.model, platform_of(self.model), self.privileges, self.tcc)

    def machine_words(self) -> str:
        """Describe the machine uniquely: its kind, its name and its processor."""
        processor = self.model.name or self.model.vendor or "processor unknown"
        return f"the {self.was.value} machine {self.name} ({processor})"


def header_of(machine: Machine, command: Sequence[str] = (), recording: str = "") -> Header:
    """Make the header of a session that begins now.

    Args:
        command: the words of the command that runs meanwhile; () for none.
        recording: the identity of the recording that the session continues; "" for a new one.
    """
    host = machine.host
    session = f"{time.time_ns():x}-{os.getpid():x}"
    return Header(version=__version__, name=host.name, was=host.kind, model=machine.model,
        privileges=machine.privileges, tcc=machine.tcc, boot_id=text_of(host, _BOOT_ID).strip(), wall_ns=host.wall_ns(),
        now_ns=host.now_ns(), session=session, command=tuple(command), recording=recording or session)


def header_facts(header: Header) -> dict[str, object]:
    """Convert a header to JSON."""
    facts = {**asdict(header), "format": FORMAT, "was": header.was.value}
    facts["model"] = {**asdict(header.model), "flags": sorted(header.model.flags)}
    return facts


def header_from(stored: JsonValue) -> Header:
    """Restore the header of `header_facts`.

    Raises:
        LaterFormatError: the header has a later format.
        DamagedError: it is none.
    """
    if stored["format"].integer() > FORMAT:
        raise LaterFormatError(
            f"the recording was made by turbotui {stored['version'].text()} in version {stored['format'].integer()} of "
            f"the format; this turbotui, {__version__}, reads versions up to {FORMAT}")
    return Header(
        version=stored["version"].text(), name=stored["name"].text(), was=stored["was"].one_of(HostKind),
        model=_model_from(stored["model"]),
        privileges=_privileges_from(stored["privileges"]),
        tcc=stored.optional("tcc", JsonValue.integer, None),
        boot_id=stored["boot_id"].text(), wall_ns=stored["wall_ns"].integer(), now_ns=stored["now_ns"].integer(),
        session=stored["session"].text(),
        tier=_tier_from(stored["tier"]),
        command=stored.optional("command", JsonValue.texts, ()),
        recording=stored.optional("recording", JsonValue.text, ""),
    )


def _privileges_from(stored: JsonValue) -> Privileges:
    """Restore the rights, the later ones of which recordings of earlier versions lack."""
    limits = stored.optional("descriptors", JsonValue.integers, ())
    spaces = stored.optional("namespaces", JsonValue.entries, {})
    return Privileges(
        stored["uid"].integer(), stored["capabilities"].integer(),
        stored.optional("perf_paranoid", JsonValue.integer, None), (limits[0], limits[-1]) if limits else None,
        {kind: spaces[kind].integer() for kind in NAMESPACES if kind in spaces},
        stored.optional("outer_uid", JsonValue.integer, None),
        *(stored.optional(name, JsonValue.flag, False) for name in ("seccomp", "no_new_privs", "renumbered")),
    )


def _tier_from(stored: JsonValue) -> tuple[float, int]:
    tier = stored.items()
    if len(tier) != 2:
        return 0.0, 0
    seconds, bits = tier[0].number(), tier[1].integer()
    if not 0.0 <= seconds <= _LONGEST_TIER:
        raise DamagedError(f"{stored.where} of the recording has {seconds:g} s between its readings")
    return seconds, bits


def _model_from(stored: JsonValue) -> CpuModel:
    return CpuModel(
        architecture=stored["architecture"].text(), vendor=stored["vendor"].text(), name=stored["name"].text(),
        microcode=stored["microcode"].text(), flags=frozenset(stored["flags"].texts()),
        hypervisor=stored["hypervisor"].flag(), mhz=stored.optional("mhz", JsonValue.number, None),
        **{name: stored.optional(name, JsonValue.integer, None) for name in _NUMBERS},
    )
