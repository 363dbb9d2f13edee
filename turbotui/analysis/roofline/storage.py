"""Measured roofs kept for the next time: a JSON file for each CPU model and number of CPUs, in the user's data folder.

Folder: $XDG_DATA_HOME/turbotui/roofs, ~/.local/share by default (XDG Base Directory Specification 0.8).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Final

from turbotui.analysis.roofline.roofs import Bandwidth, CoreGroup, Evidence, Origin, Peak, RoofSet, alike_levels
from turbotui.errors import TurbotuiError
from turbotui.machine.code.shapes import Mix, Operation
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.machine import Machine
from turbotui.machine.own_files import data_folder, replace_file
from turbotui.quantities.documents import parse_json
from turbotui.quantities.precision import Precision
from turbotui.untrusted import json_text

FORMAT: Final = 2
"""Format 1 had disturbed roofs among the others, timed by the wall clock, and an L3 as large as a hypervisor said."""
_LARGEST: Final = 1 << 24  # bytes of a file: hundreds of sets


def folder(environment: Mapping[str, str]) -> str:
    """Where roofs are kept."""
    return os.path.join(data_folder(environment), "roofs")


def file_name(machine: Machine) -> str:
    """A name for this model, stepping, number of CPUs and whether it is virtual."""
    model = machine.model
    numbers = [str(number) for number in (model.family, model.model, model.stepping, model.implementer, model.part)
               if number is not None]
    words = [model.vendor, model.name, *numbers, f"{len(machine.topology.present)}cpus",
             "virtual" if model.hypervisor else ""]
    return re.sub(r"[^A-Za-z0-9.+]+", "-", " ".join(word for word in words if word)).strip("-") + ".json"


def to_json(roofs: RoofSet) -> dict[str, object]:
    """A set of roofs in SI units, every key named after its attribute."""
    return {
        "machine": roofs.machine,
        "origin": roofs.origin.value,
        "threads": roofs.threads,
        "cpus": list(roofs.cpus),
        "hertz": roofs.hertz,
        "peaks": [
            {"isa": one.isa, "bits": one.bits, "precision": one.precision.word, "operation": one.operation.value,
             "flops": one.flops, **_evidence_json(one.evidence)}
            for one in roofs.peaks
        ],
        "bandwidths": [
            {"level": one.level, "mix": one.mix.word, "isa": one.isa, "bytes_per_second": one.rate,
             **({"at_most": True} if one.at_most else {}), **_evidence_json(one.evidence)}
            for one in roofs.bandwidths
        ],
        "cores": [{"kind": one.kind, "name": one.name, "cores": one.cores, "hertz": one.hertz}
                  for one in roofs.groups],
        "notes": list(roofs.notes),
        "when": roofs.when,
    }


def _evidence_json(evidence: Evidence | None) -> dict[str, object]:
    if evidence is None:
        return {}
    return {"evidence": {
        "median": evidence.median, "spread": evidence.spread, "rounds": evidence.rounds, "hertz": evidence.hertz,
        "shape": evidence.shape, "share": evidence.share, "bytes": evidence.bytes,
        "disturbed": evidence.disturbed, "disturbances": list(evidence.disturbances),
    }}


class _Reader:
    """Typed access to a JSON object; a wrong type is a ValueError."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            raise ValueError("not an object")  # noqa: TRY004 - one error for a damaged file
        self._value: dict[str, object] = value

    def text(self, key: str) -> str:
        found = self._value[key]
        if not isinstance(found, str):
            raise ValueError(f"{key} is not a text")  # noqa: TRY004 - as above
        return found

    def number(self, key: str) -> float:
        found = self._value[key]
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise ValueError(f"{key} is not a number")  # noqa: TRY004 - as above
        return float(found)

    def flag(self, key: str) -> bool:
        return self._value.get(key) is True

    def items(self, key: str, absent: Sequence[object] | None = None) -> Sequence[object]:
        if absent is not None and key not in self._value:
            return absent
        found = self._value[key]
        if not isinstance(found, list):
            raise ValueError(f"{key} is not a list")  # noqa: TRY004 - as above
        return found

    def evidence(self) -> Evidence | None:
        if "evidence" not in self._value:
            return None
        inner = _Reader(self._value["evidence"])
        return Evidence(inner.number("median"), inner.number("spread"), int(inner.number("rounds")),
                        inner.number("hertz"), inner.text("shape"), inner.number("share"), int(inner.number("bytes")),
                        tuple(str(one) for one in inner.items("disturbances")))


_PRECISIONS: Final = {one.word: one for one in Precision}
_MIXES: Final = {one.word: one for one in Mix}


def from_json(value: object) -> RoofSet:
    """The set that `to_json` wrote.

    Raises:
        ValueError: the object is damaged.
        KeyError: a key is missing.
    """
    data = _Reader(value)
    peaks = [
        Peak(one.text("isa"), int(one.number("bits")), _PRECISIONS[one.text("precision")],
             Operation(one.text("operation")), one.number("flops"), one.evidence())
        for one in map(_Reader, data.items("peaks"))
    ]
    bandwidths = [
        Bandwidth(one.text("level"), _MIXES[one.text("mix")], one.text("isa"), one.number("bytes_per_second"),
                  one.evidence(), at_most=one.flag("at_most"))
        for one in map(_Reader, data.items("bandwidths"))
    ]
    groups = [CoreGroup(one.text("kind"), one.text("name"), int(one.number("cores")), one.number("hertz"))
              for one in map(_Reader, data.items("cores", ()))]
    origin = Origin(data.text("origin"))
    said = [str(note) for note in data.items("notes")]
    # Sets stored by versions that did not look for alike levels say it too.
    alike = alike_levels(bandwidths) if origin is Origin.MEASURED else ()
    return RoofSet(
        machine=data.text("machine"),
        origin=origin,
        threads=data.text("threads"),
        cpus=tuple(int(str(cpu)) for cpu in data.items("cpus")),
        hertz=data.number("hertz"),
        peaks=tuple(peaks),
        bandwidths=tuple(bandwidths),
        notes=tuple(dict.fromkeys((*said, *alike))),
        when=data.text("when"),
        groups=tuple(groups),
    )


def load(path: str) -> tuple[RoofSet, ...]:
    """The stored sets of a file; empty where there is no file, or one that is damaged or of another format."""
    try:
        data = parse_json(read_given(path, _LARGEST).data)
        if not isinstance(data, dict) or data["format"] != FORMAT:
            return ()
        # what is disturbed is not stored; a file that has some of it was written by hand
        return tuple(one for one in map(from_json, data["sets"]) if not one.disturbed)
    except (GivenFileError, ValueError, KeyError, TypeError):
        return ()  # it is measured again and written afresh


def store(path: str, sets: Sequence[RoofSet]) -> None:
    """Write sets to a file, in one step, keeping stored sets of other choices of CPUs; disturbed sets are left out.

    Raises:
        TurbotuiError: the folder cannot be written.
    """
    sets = [one for one in sets if not one.disturbed]
    if not sets:
        return
    kept = [one for one in load(path) if one.threads not in {new.threads for new in sets}]
    data = {"format": FORMAT, "sets": [to_json(one) for one in (*kept, *sets)]}
    try:
        replace_file(path, json_text(data, indent=1))
    except OSError as error:
        raise TurbotuiError(f"the roofs cannot be stored in {path}: {error.strerror}; set XDG_DATA_HOME") from error
