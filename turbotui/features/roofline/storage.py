"""Stores measured roofs in a JSON file for each CPU model and number of CPUs, in the user's data directory.

Directory: $XDG_DATA_HOME/turbotui/roofs, ~/.local/share by default (XDG Base Directory Specification 0.8).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from turbotui.errors import TurbotuiError
from turbotui.features.roofline.roofs import Bandwidth, CoreGroup, Origin, Peak, RoofEvidence, RoofSet, alike_levels
from turbotui.machine.code.shapes import Mix, Operation
from turbotui.machine.given_files import GivenFileError, read_given
from turbotui.machine.machine import Machine
from turbotui.machine.own_files import data_folder, replace_file
from turbotui.quantities.documents import parse_json
from turbotui.quantities.precision import Precision
from turbotui.quantities.rows import WrongKindError, make_row, named, tables, text, valued
from turbotui.untrusted import json_text

FORMAT: Final = 2
"""The format's version; format 1 had disturbed roofs, wall-clock times, and L3 sizes by the hypervisor."""
_LARGEST: Final = 1 << 24  # most bytes of a file, which are hundreds of sets


def folder(environment: Mapping[str, str]) -> str:
    """Return the directory with stored roofs."""
    return os.path.join(data_folder(environment), "roofs")


def file_name(machine: Machine) -> str:
    """Return the file name for this model, stepping, number of CPUs, and virtual or not."""
    model = machine.model
    numbers = [str(number) for number in (model.family, model.model, model.stepping, model.implementer, model.part)
               if number is not None]
    words = [model.vendor, model.name, *numbers, f"{len(machine.topology.present)}cpus",
             "virtual" if model.hypervisor else ""]
    return re.sub(r"[^A-Za-z0-9.+]+", "-", " ".join(word for word in words if word)).strip("-") + ".json"


def to_json(roofs: RoofSet) -> dict[str, object]:
    """Convert a set of roofs to JSON in SI units, with keys named after attributes."""
    return {
        "machine": roofs.machine,
        "origin": roofs.origin.value,
        "threads": roofs.threads,
        "cpus": list(roofs.cpus),
        "hertz": roofs.hertz,
        "peaks": [_peak_json(peak) for peak in roofs.peaks],
        "integer_peaks": [_peak_json(peak) for peak in roofs.integer_peaks],
        "bandwidths": [
            {"level": slant.level, "mix": slant.mix.word, "isa": slant.isa, "bytes_per_second": slant.rate,
             **({"at_most": True} if slant.at_most else {}), **_evidence_json(slant.evidence)}
            for slant in roofs.bandwidths
        ],
        "cores": [{"kind": group.kind, "name": group.name, "cores": group.cores, "hertz": group.hertz}
                  for group in roofs.groups],
        "notes": list(roofs.notes),
        "when": roofs.when,
    }


def _peak_json(peak: Peak) -> dict[str, object]:
    return {"isa": peak.isa, "bits": peak.bits, "precision": peak.precision.word, "operation": peak.operation.value,
            "flops": peak.flops, **_evidence_json(peak.evidence)}


def _evidence_json(evidence: RoofEvidence | None) -> dict[str, object]:
    if evidence is None:
        return {}
    return {"evidence": {"median": evidence.median, "spread": evidence.spread, "rounds": evidence.rounds,
        "hertz": evidence.hertz, "shape": evidence.shape, "share": evidence.share, "bytes": evidence.bytes,
        "disturbed": evidence.disturbed, "disturbances": list(evidence.disturbances)}}


def from_json(value: Mapping[str, object]) -> RoofSet:
    """Restore the set that `to_json` wrote. Raises ValueError if the object is damaged."""
    roofs = make_row(RoofSet, _renamed(value, cores="groups"), origin=valued(Origin), peaks=tables("{}", _peak),
                     integer_peaks=tables("{}", _peak), bandwidths=tables("{}", _bandwidth),
                     groups=tables("{}", lambda group: make_row(CoreGroup, group)))
    # Also for sets stored by versions that did not look for similar levels.
    alike = alike_levels(roofs.bandwidths) if roofs.origin is Origin.MEASURED else ()
    return replace(roofs, notes=tuple(dict.fromkeys((*roofs.notes, *alike))))


def _peak(value: Mapping[str, object]) -> Peak:
    return make_row(Peak, value, precision=lambda word: named(Precision)(text(word).upper()),
                    operation=valued(Operation), evidence=_evidence)


def _bandwidth(value: Mapping[str, object]) -> Bandwidth:
    return make_row(Bandwidth, _renamed(value, bytes_per_second="rate"), mix=_mix, evidence=_evidence)


def _mix(value: object) -> Mix:
    known_mix = next((mix for mix in Mix if mix.word == value), None)
    if known_mix is None:
        raise WrongKindError(f"one of {', '.join(mix.word for mix in Mix)}")
    return known_mix


def _evidence(value: object) -> RoofEvidence:
    if not isinstance(value, dict):
        raise WrongKindError("an object")
    return make_row(RoofEvidence, {key: item for key, item in value.items() if key != "disturbed"})


def _renamed(value: Mapping[str, object], **names: str) -> dict[str, object]:
    return {names.get(key, key): item for key, item in value.items()}


def load(path: str) -> tuple[RoofSet, ...]:
    """Return the stored sets of a file; empty if it is missing, damaged, or of another format."""
    try:
        data = parse_json(read_given(path, _LARGEST).data)
        if not isinstance(data, dict) or data["format"] != FORMAT:
            return ()
        # disturbed sets are never stored; a file with one was edited by hand
        return tuple(roofs for roofs in tables("{}", from_json)(data["sets"]) if not roofs.disturbed)
    except (GivenFileError, ValueError, KeyError):
        return ()  # the roofs are measured and written again


def store(path: str, sets: Sequence[RoofSet]) -> None:
    """Write sets to a file in one step, keeping stored sets of other CPUs, and leaving out disturbed sets.

    Raises:
        TurbotuiError: the directory cannot be written.
    """
    sets = [roofs for roofs in sets if not roofs.disturbed]
    if not sets:
        return
    kept = [roofs for roofs in load(path) if roofs.threads not in {new.threads for new in sets}]
    data = {"format": FORMAT, "sets": [to_json(roofs) for roofs in (*kept, *sets)]}
    try:
        replace_file(path, json_text(data, indent=1))
    except OSError as error:
        raise TurbotuiError(f"the roofs cannot be stored in {path}: {error.strerror}; set XDG_DATA_HOME") from error
