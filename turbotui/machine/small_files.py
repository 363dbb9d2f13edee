"""Files and directories of a machine that may not be there, or not for this user: what is absent is empty."""

from __future__ import annotations

from turbotui.machine.host import Host, HostError
from turbotui.untrusted import one_line


def text_of(host: Host, path: str) -> str:
    """The text of a file now, made visible; "" if it cannot be read."""
    try:
        return host.read_text(path)
    except HostError:
        return ""


def line_of(host: Host, path: str) -> str:
    """The text of a file of one line now, without blanks around it; "" if it cannot be read."""
    return one_line(text_of(host, path))


def names_in(host: Host, path: str) -> tuple[str, ...]:
    """Names in a directory, sorted and made visible; none if it cannot be listed."""
    try:
        return host.list_dir(path)
    except HostError:
        return ()
