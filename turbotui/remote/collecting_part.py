"""Parts of turbotui as archives for a machine on which turbotui is not installed.

A part is what a command line imports, found by following the imports in the text of modules: `COLLECTING` that of
`turbotui collect --requests`, `RECORDING` that of collectors whose reader gets all that a recording has, and of gather.
"""

from __future__ import annotations

import functools
import io
import os
import re
import zlib
from typing import Final

import turbotui
from turbotui.dataclass import dataclass
from turbotui.feature_list import FEATURES
from turbotui.remote import bootstrap

_FACTS: Final = ("machine/data", "quantities")  # folders whose tables of facts are read there
_RECORDED_FACTS: Final = ("events/sets", "features")
_UNREAD: Final = "quantities/verification.toml"  # for doctor and docs
_CATALOG: Final = "turbotui.quantities.catalog"  # imports its modules by name
_RECORDED: Final = ("kept", "gathers", "report", "waits", "recorded", "memory")  # of a `Feature`: by name, as above
_IMPORT: Final = re.compile(r"^ *(?:from (turbotui[\w.]*) import ([^#\n]*)|import (turbotui[\w.]*))", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ProgramPart:
    """What is sent to another machine."""

    title: str  # for people
    entries: tuple[str, ...]  # modules that are imported by name
    left_out: frozenset[str]  # modules and packages that stay behind: nothing there calls what they have
    recorded: bool = False  # whether it has what features record, and look up for recordings


_ALWAYS_LEFT_OUT: Final = frozenset((
    "turbotui.simulated",                   # --machine there wants an installation
    "turbotui.machine.gathered.host",       # as above
    "turbotui.remote.server",               # collect --socket
    "turbotui.remote.socket_file",          # as above
    "turbotui.remote.ssh",                  # --host there
    "turbotui.remote.collecting_part",      # as above
))
COLLECTING: Final = ProgramPart("collecting part", (
    "turbotui.cli", "turbotui.features.collect.verb"), _ALWAYS_LEFT_OUT | {
    "turbotui.features.record.engine",      # what a reader that cannot ask is sent
    "turbotui.commands.recording",          # as above
    "turbotui.diagnosis",                   # as above
    "turbotui.sampling.adding",             # a collector that is sent adds no columns
    "turbotui.sampling.adding_metrics",     # as above
    "turbotui.sampling.event_completion",   # as above
    "turbotui.sources.added",               # as above
    "turbotui.sources.event_bundles",       # as above
    "turbotui.sources.event_source",        # as above
    "turbotui.sources.event_trial",         # as above
    "turbotui.events.engines",              # as above
    "turbotui.events.event_tables",         # as above
    "turbotui.events.libpfm",               # as above
    "turbotui.events.metrics",              # as above
    "turbotui.events.set_files",            # as above
})
"""What answers a screen's requests."""
RECORDING: Final = ProgramPart("recording part", (
    *COLLECTING.entries, "turbotui.features.gather.verb", "turbotui.tables.json_lines"), _ALWAYS_LEFT_OUT | {
    "turbotui.app",                         # screens
    "turbotui.opening",                     # as above
    "turbotui.terminal",                    # as above
}, recorded=True)
"""What sends a recording, and what gathers a machine."""


@functools.cache
def packed_part(part: ProgramPart) -> bytes:
    """The archive as it is sent: its length in four bytes, then the compressed archive."""
    import zipfile  # noqa: PLC0415 - large, and few connections need it

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:  # as one stream it packs a fifth smaller
        for path, data in sorted(_files(part).items()):
            archive.writestr(zipfile.ZipInfo(f"turbotui/{path}"), data)
    packed = zlib.compress(file.getvalue(), zlib.Z_BEST_COMPRESSION)
    return len(packed).to_bytes(4, "big") + packed


def bootstrap_code() -> str:
    """The argument of `python3 -c` by which another machine receives the archive and starts it; one line."""
    return f"exec({_content(bootstrap.__file__).decode()!r}); start()"


def _files(part: ProgramPart) -> dict[str, bytes]:
    """Contents of the part's files, by their paths below the package."""
    left_packages = tuple(f"{name}." for name in part.left_out)
    package = os.path.abspath(turbotui.__path__[0])
    catalog = (name.removesuffix(".py") for name in os.listdir(f"{package}/quantities/catalog"))
    parts = ("rows", *(_RECORDED if part.recorded else ()))
    waiting = [*part.entries, *(f"turbotui.features.{feature.name}" for feature in FEATURES),
               *(getattr(feature, name).partition(":")[0] for feature in FEATURES for name in parts),
               *(f"{_CATALOG}.{name}" for name in catalog)]
    files: dict[str, bytes] = {}
    known = set(part.left_out)
    while waiting:
        module = waiting.pop()
        if module in known or not f"{module}.".startswith("turbotui.") or module.startswith(left_packages):
            continue
        known.add(module)
        below = module.removeprefix("turbotui").removeprefix(".").replace(".", "/")
        path = next((path for path in (f"{below}.py", f"{below}/__init__.py".removeprefix("/"))
                     if os.path.isfile(f"{package}/{path}")), "")
        if not path:
            continue  # the name of a function or a class
        files[path] = _content(f"{package}/{path}")
        waiting.append(module.rpartition(".")[0])
        for outer, names, alone in _IMPORT.findall(files[path].decode()):
            waiting += [outer or alone, *(f"{outer}.{name}" for name in re.findall(r"\w+", names))]
    for folder in (*_FACTS, *(_RECORDED_FACTS if part.recorded else ())):
        for inner, _folders, names in os.walk(f"{package}/{folder}"):
            paths = (os.path.relpath(f"{inner}/{name}", package) for name in names if name.endswith(".toml"))
            files |= {path: _content(f"{package}/{path}") for path in paths if path != _UNREAD}
    return files


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
