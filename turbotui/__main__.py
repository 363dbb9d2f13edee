"""Run the command line: `python -m turbotui`, or this file, whose folder then is the package, wherever that lies."""

import sys

if not __package__:  # turbotui starts itself so (machine/own_program.py): nothing of sys.path decides what turbotui is
    import importlib.util
    import os

    spec = importlib.util.spec_from_file_location("turbotui", os.path.join(os.path.dirname(__file__), "__init__.py"))
    if spec is None or spec.loader is None:  # never for the name of a Python file
        raise ImportError(__file__)
    sys.modules["turbotui"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["turbotui"])

from turbotui.cli import main

if __name__ == "__main__":
    sys.exit(main())
