"""Opens a node's own dashboard by a command line made from the node's labels, or from a recording of it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

from turbotui.dataclass import dataclass
from turbotui.errors import UsageError
from turbotui.features.fleet.model import FleetNode
from turbotui.machine.own_program import environment_of_children, own_command
from turbotui.untrusted import guarded, one_line, original

USUAL: Final = "turbotui --host {address}"
_WORD: Final = re.compile(r"\{([a-zA-Z_][a-zA-Z0-9_]*)\}")
_OWN: Final = "turbotui"
_RECORDINGS: Final = (".ttj",)


@dataclass(frozen=True, slots=True)
class NodeOpener:
    """The settings for opening nodes."""

    # a command line in which {address} stands for the target without its port, {LABEL} for a label
    template: str = USUAL
    recordings: str = ""  # a directory with recordings of nodes, NAME.ttj, which take precedence; "" for none

    def words(self, node: FleetNode) -> Sequence[str]:
        """Return the command that opens a node.

        Raises:
            UsageError: the node lacks a label of the template, or the label cannot be a word of a command.
        """
        if self.recordings:
            return [*own_command(), "replay", self._recording(node)]
        words = [_WORD.sub(lambda match: _value(node, match[1]), word) for word in shlex.split(self.template)]
        return [*own_command(), *words[1:]] if words[0] == _OWN else words

    def _recording(self, node: FleetNode) -> str:
        names = [node.name, _address(node), node.labels.get("host", "")]
        for name in filter(None, map(original, names)):
            for ending in _RECORDINGS:
                path = os.path.join(self.recordings, f"{name}{ending}")
                if os.sep not in name and os.path.isfile(path):
                    return path
        raise UsageError(f"there is no recording of {node.name} in {self.recordings}: {names[0]}{_RECORDINGS[0]}")


def checked(template: str) -> str:
    """Check a template, and return it. Raises UsageError if the template is no command line."""
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise UsageError(f"--open: {error}") from error
    if not words:
        raise UsageError("--open: a command line, as 'turbotui --host admin@{address}'")
    return template


def run(words: Sequence[str]) -> str:
    """Run a command in this terminal until it ends, and return its error, or ""."""
    try:
        status = subprocess.call([original(word) for word in words],  # noqa: S603 - no shell; labels are single words
                                 env=environment_of_children(os.environ))
    except OSError as error:
        return f"{one_line(words[0])} cannot be started: {error.strerror}"
    return f"{one_line(' '.join(words[-2:]))} ended with status {status}" if status else ""


def _address(node: FleetNode) -> str:
    """Return a node's target without the port of "10.0.0.7:9177" or "[fe80::1]:9177"."""
    target = node.labels.get("instance", node.name)
    match = re.fullmatch(r"\[(.+)\](?::\d+)?|([^:]+)(?::\d+)?", target)
    return target if match is None else match[1] or match[2]


def _value(node: FleetNode, name: str) -> str:
    """Return the value of a name in a template.

    Raises:
        UsageError: the node has no such value, or one that a command would read as an option.
    """
    value = _address(node) if name == "address" else node.labels.get(name, "")
    if not value:
        raise UsageError(f"{node.name} has no label {name}: --open says how nodes are opened")
    if value.startswith("-") or not original(value).isprintable() or any(letter.isspace() for letter in value):
        raise UsageError(f"{node.name} cannot be opened: its {name} {value!r} is no name of a machine")
    return value


def wait_for_enter(sentence: str) -> None:
    """Show a sentence until it is read."""
    sys.stderr.write(guarded(sentence))
    sys.stderr.flush()
    sys.stdin.readline()
