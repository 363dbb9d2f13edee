"""One process for each forced model: encodes every event, unit mask and modifier; prints one JSON object.

The processes are forked from one that has imported what they need, and has not begun to use the library. Below each
object it prints the status with which its process ended.
"""

from __future__ import annotations

import json
import os
import sys

from turbotui.events.libpfm import Libpfm, PfmError

MODIFIERS = (
    "u", "k", "e=1", "i", "c=1", "c=256", "period=7", "freq=9", "precise=2", "excl", "pinned", "cpu=1", "mg", "x",
)  # fmt: skip


def report(model: str, asked: list[str]) -> None:
    library = Libpfm(force=model)
    events = tried = encoded = 0
    faults: set[str] = set()
    words: list[tuple[str, int, int, int, int]] = []
    for pmu in library.pmus():
        for event in library.events(pmu):
            events += 1
            masks = [attribute.name for attribute in event.attributes if attribute.unit_mask]
            for place, suffix in enumerate(("", *(f":{mask}" for mask in masks))):
                string = f"{pmu.name}::{event.name}{suffix}"
                tails = ("", *(f":{modifier}" for modifier in MODIFIERS)) if place < 2 else ("",)
                for tail in tails:
                    tried += 1
                    try:
                        raw = library.raw_encoding(string + tail)
                        encoded += bool(raw.codes)
                    except PfmError as error:
                        faults.add(type(error).__name__)
                    try:
                        perf = library.perf_encoding(string + tail)
                    except PfmError as error:
                        faults.add(type(error).__name__)
                        continue
                    encoded += 1
                    if not tail:
                        words.append((string, perf.attr.type, perf.attr.config, perf.attr.config1, perf.idx))
    answers: list[list[str | int]] = []
    for string in asked:
        try:
            answers.append(["ok", *library.raw_encoding(string).codes])
        except PfmError as error:
            answers.append([type(error).__name__, error.text])
    result = {
        "present": [pmu.name for pmu in library.pmus()], "events": events, "tried": tried, "encoded": encoded,
        "faults": sorted(faults), "words": words, "asked": answers,
    }  # fmt: skip
    json.dump(result, sys.stdout)


def main(models: list[str], asked: list[str]) -> None:
    for model in models:
        child = os.fork()
        if child == 0:
            report(model, asked)
            sys.exit()
        _child, status = os.waitpid(child, 0)
        print(f"\n{os.waitstatus_to_exitcode(status)}", flush=True)


main(sys.argv[1].split(","), sys.argv[2:])
