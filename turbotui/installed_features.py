"""Features of other packages, found by the entry points `turbotui.features` of what is installed (docs/plugins.md).

The files of entry points are read as they are: `importlib.metadata` takes 23 ms of a start for 60 packages, this 0.6.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Final, ParamSpec, TypeVar

from turbotui.dataclass import dataclass
from turbotui.errors import ending_behind
from turbotui.feature import Feature, part
from turbotui.untrusted import one_line

P = ParamSpec("P")
T = TypeVar("T")
GROUP: Final = "turbotui.features"
_MOST_BYTES: Final = 65_536  # of a file of entry points; pip's own has 100
_MOST: Final = 64  # features
_LONGEST: Final = 400  # characters of a sentence about a failure
_LINE: Final = r"\s*([\w.-]+)\s*=\s*([\w.]+:\w+)\s*"
_OWN: Final = __name__.partition(".")[0]
_PACKAGES: Final[dict[str, str]] = {}  # outermost module of an installed feature -> name and version of its package
FAILED: Final[dict[str, str]] = {}
"""The first error of each function of other packages that raised one, as a sentence."""


def package_of(module: str) -> str:
    """Name and version of the other package that a module, or "module:name", is of; "" for turbotui's own."""
    return _PACKAGES.get(module.partition(":")[0].partition(".")[0], "")


def failure_of(error: BaseException, module: str = "") -> str:
    """`foreign_failure`; raises the error itself if it is turbotui's own."""
    if not (sentence := foreign_failure(error, module)):
        raise error
    return sentence


def foreign_failure(error: BaseException, module: str = "") -> str:
    """A sentence about an error of another package, which is noted in `FAILED`; "" for one of turbotui's own.

    Args:
        error: as it was caught; the innermost call of another package in its traceback is named.
        module: what is wrong if the traceback has no call of another package.

    Raises:
        BaseException: a signal ended the program there.
    """
    if (ended := ending_behind(error)) is not None:
        raise ended
    package, place = _raiser(error) or (package_of(module), module)
    if not package:
        return ""
    sentence = one_line(f"{place} of the package {package} failed: {type(error).__name__}: {error}")[:_LONGEST]
    FAILED.setdefault(place, sentence)
    return sentence


def contained(call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T | None:
    """What a call returns that may be of another package; None if that fails, which is noted in `FAILED`."""
    try:
        return call(*arguments, **named)
    except Exception as error:  # noqa: BLE001 - raised again where it is turbotui's own
        failure_of(error, getattr(call, "__module__", ""))
        return None


def package_at(error: BaseException) -> str:
    """Name and version of the package that raised an error; "" if it is turbotui."""
    return (_raiser(error) or ("", ""))[0]


def _raiser(error: BaseException) -> tuple[str, str] | None:
    """The package and the function of the innermost call of another package."""
    raiser: tuple[str, str] | None = None
    at: TracebackType | None = error.__traceback__
    while at is not None:
        module = str(at.tb_frame.f_globals.get("__name__"))
        if package := package_of(module):
            raiser = package, f"{module}.{at.tb_frame.f_code.co_qualname}"
        at = at.tb_next
    return raiser


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A line of a package's entry_points.txt."""

    name: str  # of the feature
    reference: str  # "module:name" of its `Feature`
    package: str  # name and version of the package


def entry_points(folders: Iterable[str]) -> Iterator[EntryPoint]:
    """The entry points of the packages in these folders; of two packages of a name, those of the first."""
    known: set[str] = set()
    for folder in folders:
        try:
            names = sorted(name for name in os.listdir(folder) if name.endswith(".dist-info"))
        except OSError:
            continue  # an archive of modules, or a folder that is gone
        for name in names:
            package = name.removesuffix(".dist-info")
            if (distribution := package.partition("-")[0].lower()) in known:
                continue
            known.add(distribution)
            if not os.access(path := f"{folder}/{name}/entry_points.txt", os.R_OK):
                continue  # most packages have none, and the exception of open() takes three times as long
            try:
                with open(path, "rb") as file:
                    text = file.read(_MOST_BYTES)
            except OSError:
                continue
            section = text.decode("utf-8", "replace").partition(f"[{GROUP}]\n")[2].partition("\n[")[0]
            for line in section.splitlines():
                if (match := re.fullmatch(_LINE, line)) is not None:
                    yield EntryPoint(match[1], match[2], package)


def trusted_folders(path: Sequence[str]) -> Iterator[str]:
    """The folders of modules, without the working folder: it may be anybody's, and `python -m` puts it first."""
    working = _identity(".")
    return (folder for folder in path if folder and _identity(folder) != working)


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def installed_features(own: Sequence[Feature]) -> tuple[tuple[Feature, ...], list[str]]:
    """Import the features of other packages, and say why some of them cannot be used.

    Args:
        own: the features of turbotui, whose names, verbs, screens, keys of screens and places are taken.

    Returns:
        The features, and a sentence for each that is left out.
    """
    features: list[Feature] = []
    refused: list[str] = []
    taken = {word for feature in own for word in _claims(feature)}
    for entry in list(entry_points(trusted_folders(sys.path)))[:_MOST]:
        try:
            feature = part(entry.reference)
            claims = () if not isinstance(feature, Feature) else tuple(_claims(feature))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever another's module raises, turbotui starts
            refused.append(_refusal(entry, f"{type(error).__name__}: {error}"))
            continue
        if not isinstance(feature, Feature) or feature.name != entry.name:
            refused.append(_refusal(entry, f"{entry.reference} is no Feature of that name"))
        elif clash := sorted(taken.intersection(claims)):
            refused.append(_refusal(entry, f"another feature has the {clash[0]}"))
        else:
            taken.update(claims)
            features.append(feature)
            if (module := entry.reference.partition(":")[0].partition(".")[0]) != _OWN:
                _PACKAGES[module] = entry.package
    return tuple(features), refused


def _refusal(entry: EntryPoint, why: str) -> str:
    return one_line(f"the feature {entry.name} of the package {entry.package} is left out: {why}")


def _claims(feature: Feature) -> Iterator[str]:
    yield f"name {feature.name}"
    yield from (f"verb {command.name}" for command in feature.commands)
    for screen in feature.screens:
        yield from (f"screen {screen.id}", f"key {screen.number}")
    yield from (f"place {place.id}" for place in feature.places)
