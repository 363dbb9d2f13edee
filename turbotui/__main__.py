"""Run the command line as `python -m turbotui`."""

import sys

from turbotui.cli import main

if __name__ == "__main__":
    sys.exit(main())
