"""Declares and evaluates the options that choose the server and the question."""

from __future__ import annotations

import argparse
import os
import re
from typing import Final

from turbotui.errors import UsageError
from turbotui.features.fleet.engine import FleetQuestion
from turbotui.features.fleet.outliers import NodeLimits
from turbotui.features.fleet.server import ServerAccess, basic, bearer
from turbotui.quantities.plain_numbers import decimal_number, integer

VARIABLE: Final = "TURBOTUI_PROMETHEUS"
"""The environment variable with the default server."""
_MOST: Final = 1e9
_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
_DURATION: Final = re.compile(r"([0-9]{1,6})(s|m|h)\Z")
_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0}


def add_server_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options for the server, and for how nodes are named."""
    server = parser.add_argument_group("the server")
    server.add_argument("--prometheus", metavar="URL", help=f"the server, http://HOST:9090 (default: ${VARIABLE})")
    server.add_argument("--user", metavar="NAME", help="user for basic authentication, with --password-file")
    server.add_argument("--password-file", metavar="FILE", help="the user's password, in a file")
    server.add_argument("--bearer-file", metavar="FILE", help="a bearer token, in a file")
    server.add_argument("--ca", metavar="FILE",
                        help="certificates (PEM) of the authority that signed the server's, instead of the system's")
    server.add_argument("--tenant", metavar="ID", help="the tenant of Mimir, sent as X-Scope-OrgID")
    server.add_argument("--timeout", metavar="SECONDS", help="the time to wait for an answer (10)")
    nodes = parser.add_argument_group("the nodes")
    nodes.add_argument("--node", metavar="LABELS",
                       help='labels that name a node, comma separated (instance; "cluster,instance" where several '
                       "clusters are behind the server)")
    nodes.add_argument("--peers", metavar="LABELS",
                       help="nodes that have the same values of these labels are compared with each other (model)")
    nodes.add_argument("--select", metavar="MATCHERS",
                       help="only nodes whose series have these labels, as PromQL has it: 'rack=\"r7\",env!=\"test\"'")
    nodes.add_argument("--window", metavar="TIME",
                       help="the time over which rates are computed, at least two scrapes (2m)")


def access_of(arguments: argparse.Namespace) -> ServerAccess:
    """Return the access to the server that a command line names.

    Raises:
        UsageError: no server is named, or a file with its credentials cannot be read.
    """
    url = arguments.prometheus or os.environ.get(VARIABLE, "")
    if not url:
        raise UsageError(f"--prometheus URL names the server, as http://127.0.0.1:9090, or the variable {VARIABLE}, or "
                         "server in the table [fleet] of your settings")
    if (arguments.user is None) != (arguments.password_file is None):
        raise UsageError("--user NAME and --password-file FILE go together")
    if arguments.user is not None and arguments.bearer_file is not None:
        raise UsageError("--user and --bearer-file are two ways to say who asks: give one of them")
    if not re.fullmatch(r"[\x21-\x7e]*", arguments.tenant):
        raise UsageError("--tenant: printable ASCII without blanks")
    credentials = "" if arguments.bearer_file is None else bearer(arguments.bearer_file)
    if arguments.user is not None:
        credentials = basic(arguments.user, arguments.password_file)
    return ServerAccess(url, credentials, arguments.tenant, arguments.ca, positive(arguments.timeout, "--timeout"))


def question_of(arguments: argparse.Namespace, limits: NodeLimits) -> FleetQuestion:
    """Return the question of a command line.

    Raises:
        UsageError: a word is no valid label, time or matcher.
    """
    try:
        seconds = parse_window(arguments.window)
    except UsageError as error:
        raise UsageError(f"--window{error}") from None
    select = arguments.select.strip().strip("{}")
    if select and not re.match(r'\s*[a-zA-Z_][a-zA-Z0-9_]*\s*(=~|!~|!=|=)\s*["\']', select):
        raise UsageError(f"--select {arguments.select!r}: matchers as PromQL has them, 'rack=\"r7\"'")
    return FleetQuestion(parse_labels(arguments.node, "--node"), arguments.window, seconds,
                         select, parse_labels(arguments.peers, "--peers"), limits=limits)


def parse_window(text: str) -> float:
    """Parse the window of rates to seconds. Raises UsageError if it is none."""
    if (match := _DURATION.match(text)) is None:
        raise UsageError(f' "{text}": a time such as 90s, 5m or 1h')
    return integer(match[1]) * _SECONDS[match[2]]


def parse_labels(text: str, option: str) -> tuple[str, ...]:
    """Parse names of labels, separated by commas. Raises UsageError if a name is invalid, or there is none."""
    labels = tuple(filter(None, (word.strip() for word in text.split(","))))
    for word in labels:
        if not _LABEL.match(word):
            raise UsageError(f"{option}: {word!r} is no name of a label")
    if not labels:
        raise UsageError(f"{option}: at least one label")
    return labels


def positive(text: str, option: str) -> float:
    """Parse a positive number from the command line. Raises UsageError if it is none."""
    value = decimal_number(text)
    if value is None or not 0 < value < _MOST:
        raise UsageError(f'{option} "{text}" is no number above 0 and below {_MOST:g}')
    return value
