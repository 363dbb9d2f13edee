"""Files of a machine that a recording keeps for the lines of `info` (docs/specs/journal.md 4.3)."""

from __future__ import annotations

from turbotui.machine.gathered.model import Gathered
from turbotui.recording.framing import DamagedError
from turbotui.recording.json_values import JsonValue
from turbotui.recording.recorded_host import KeptAnswers
from turbotui.untrusted import decoded


def kept_of(gathered: Gathered) -> KeptAnswers:
    """Return the answers that a `NotingHost` noted, without attempts to open counters."""
    words = {(path, offset): answer for path, answers in gathered.words.items() for offset, answer in answers.items()
             if isinstance(answer, bytes)}
    # firmware writes bytes, not text; made visible, they could not be parsed again
    words |= {(path, 0): data for path, data in gathered.files.items() if b"\0" in data}
    return KeptAnswers(texts={path: decoded(data) for path, data in gathered.files.items()},
        folders={**dict.fromkeys(gathered.present, ()), **gathered.folders}, words=words, refused=gathered.errors)


def kept_facts(kept: KeptAnswers) -> dict[str, object]:
    """Convert the answers of a host to JSON."""
    return {"texts": dict(kept.texts), "folders": {path: list(names) for path, names in kept.folders.items()},
            "words": [[name, offset, data.hex()] for (name, offset), data in kept.words.items()],
            "refused": dict(kept.refused)}


def kept_from(stored: JsonValue) -> KeptAnswers:
    """Restore the answers of `kept_facts`. Raises DamagedError if they are none."""
    words = {}
    for value in stored["words"].items():
        parts = value.items()
        if len(parts) != 3:
            raise DamagedError(f"{value.where} of the recording is no reading of a file")
        try:
            data = bytes.fromhex(parts[2].text())
        except ValueError:
            raise DamagedError(f"{value.where} of the recording holds no bytes") from None
        words[parts[0].text(), parts[1].integer()] = data
    return KeptAnswers(texts={path: text.document() for path, text in stored["texts"].entries().items()},
        folders={path: names.texts() for path, names in stored["folders"].entries().items()}, words=words,
        refused={path: number.integer() for path, number in stored["refused"].entries().items()})
