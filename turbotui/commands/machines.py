"""`turbotui machines`: the simulated machines."""

from __future__ import annotations

import argparse

from turbotui.machine.simulated import SHAPES
from turbotui.machine.simulated.applications import APPLICATIONS
from turbotui.untrusted import json_text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(arguments: argparse.Namespace) -> int:
    """List them."""
    rows = [
        {"name": shape.name, "packages": shape.packages, "cpus": shape.cpus, "summary": shape.summary}
        for shape in SHAPES.values()
    ]
    applications = [{"name": one.name, "summary": one.summary} for one in APPLICATIONS.values()]
    if arguments.json:
        print(json_text({"simulated": True, "machines": rows, "applications": applications}, indent=1))
        return 0
    width = max(len(str(row["name"])) for row in rows)
    print("SIMULATED machines for --machine NAME: models with known answers, nothing on them is measured")
    print(f"{'name':<{width}}  packages  CPUs  what it is")
    for row in rows:
        print(f"{row['name']:<{width}}  {row['packages']:>8}  {row['cpus']:>4}  {row['summary']}")
    print("\napplications for --machine NAME+APPLICATION, on every CPU instead of the machine's own load")
    for one in applications:
        print(f"{one['name']:<{width}}  {one['summary']}")
    return 0
