"""`turbotui uptime`: a row for each number of /proc/uptime."""

import argparse

from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.formats import add_format_arguments, print_tables
from turbotui.commands.sessions import open_host
from turbotui.tables.envelope import Envelope
from turbotui_uptime.rows import uptime_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_machine_arguments(parser)
    add_format_arguments(parser, ("uptime",))


def run(arguments: argparse.Namespace) -> int:
    host = open_host(arguments)
    print_tables(arguments, Envelope(host.name, host.kind, host.wall_ns()), (uptime_table(host),))
    return 0
