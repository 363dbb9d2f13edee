"""The part of turbotui that collects, as one archive for a machine on which turbotui is not installed.

It is what `turbotui collect --requests` imports, found by following the imports in the text of modules.
"""

from __future__ import annotations

import functools
import io
import os
import re
import zlib
from typing import Final

import turbotui
from turbotui.feature_list import FEATURES
from turbotui.remote import bootstrap

_ENTRIES: Final = ("turbotui.cli", "turbotui.features.collect.verb")  # imported by name, as are kinds of rows
LEFT_OUT: Final = (
    "turbotui.simulated",                   # --machine there wants an installation
    "turbotui.machine.gathered.host",       # as above
    "turbotui.diagnosis",                   # what a reader that cannot ask is sent
    "turbotui.commands.recording",          # as above
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
    "turbotui.remote.server",               # collect --socket
    "turbotui.remote.socket_file",          # as above
)
"""Modules and packages that stay behind, although functions of the part import them: nothing there calls these."""
_LEFT_PACKAGES: Final = tuple(f"{name}." for name in LEFT_OUT)
_FACTS: Final = ("machine/data", "quantities")  # folders whose tables of facts are read there
_UNREAD: Final = "quantities/verification.toml"  # for doctor and docs
_CATALOG: Final = "turbotui.quantities.catalog"  # imports its modules by name
_IMPORT: Final = re.compile(r"^ *(?:from (turbotui[\w.]*) import ([^#\n]*)|import (turbotui[\w.]*))", re.MULTILINE)


@functools.cache
def packed_collector() -> bytes:
    """The archive as it is sent: its length in four bytes, then the compressed archive."""
    import zipfile  # noqa: PLC0415 - large, and few connections need it

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:  # as one stream it packs a fifth smaller
        for path, data in sorted(_files().items()):
            archive.writestr(zipfile.ZipInfo(f"turbotui/{path}"), data)
    packed = zlib.compress(file.getvalue(), zlib.Z_BEST_COMPRESSION)
    return len(packed).to_bytes(4, "big") + packed


def bootstrap_code() -> str:
    """The argument of `python3 -c` by which another machine receives the archive and starts it; one line."""
    return f"exec({_content(bootstrap.__file__).decode()!r}); start()"


def _files() -> dict[str, bytes]:
    """Contents of the part's files, by their paths below the package."""
    package = os.path.abspath(turbotui.__path__[0])
    catalog = (name.removesuffix(".py") for name in os.listdir(f"{package}/quantities/catalog"))
    waiting = [*_ENTRIES, *(f"turbotui.features.{feature.name}" for feature in FEATURES),
               *(feature.rows.partition(":")[0] for feature in FEATURES), *(f"{_CATALOG}.{name}" for name in catalog)]
    files: dict[str, bytes] = {}
    known = set(LEFT_OUT)
    while waiting:
        module = waiting.pop()
        if module in known or not f"{module}.".startswith("turbotui.") or module.startswith(_LEFT_PACKAGES):
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
    for folder in _FACTS:
        for inner, _folders, names in os.walk(f"{package}/{folder}"):
            paths = (os.path.relpath(f"{inner}/{name}", package) for name in names if name.endswith(".toml"))
            files |= {path: _content(f"{package}/{path}") for path in paths if path != _UNREAD}
    return files


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
