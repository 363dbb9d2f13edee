"""`turbotui info`: the configuration of the machine, line by line, with the source of each."""

from __future__ import annotations

import argparse

from turbotui.analysis.configuration import configuration
from turbotui.commands.arguments import add_machine_arguments
from turbotui.commands.watching import label, open_host
from turbotui.machine.machine import read_machine
from turbotui.untrusted import json_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_machine_arguments(parser)
    parser.add_argument("--json", action="store_true", help="as JSON, with the source of each line")
    parser.add_argument("-v", "--verbose", action="store_true", help="with the source of each line, and more of them")


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    host = open_host(arguments)
    sections = configuration(read_machine(host), detailed=arguments.verbose)
    if arguments.json:
        report = {
            "machine": host.name,
            "kind": host.kind.value,
            "sections": [
                {
                    "title": section.title,
                    "lines": [{"text": line.text, "source": line.origin} for line in section.lines],
                }
                for section in sections
            ],
        }
        print(json_text(report, indent=1))
        return 0
    if simulated := label(host):
        print(f"# {simulated}: nothing below was read from hardware")
    for section in sections:
        print(f"{section.title}:")
        for line in section.lines:
            print(f"  {line.text}" + (f"  [{line.origin}]" if arguments.verbose else ""))
    return 0
