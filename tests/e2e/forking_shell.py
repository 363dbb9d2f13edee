"""A shell that knows one command, the dashboard, and forks it from a process that has imported it.

For tests that start it often: with an interpreter of its own, each start costs three times as much.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def _run(words: list[str]) -> None:
    """Offer the prompt, and run the command line in the foreground for every line that is typed, whatever it says."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # sent to who takes the terminal back from another group (termios(3))
    while True:
        os.tcsetpgrp(0, os.getpgrp())
        print("shell:", end="", flush=True)
        sys.stdin.readline()
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpgrp())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            print("\N{ESCAPE}[H\N{ESCAPE}[2J", end="", flush=True)
            sys.argv = ["turbotui", *words]
            sys.exit(main())
        os.waitpid(child, 0)


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[levels]) for levels in (1, 2)]
    from forkedpty import import_the_dashboard

    from turbotui.cli import main

    import_the_dashboard()
    _run(sys.argv[1:])
