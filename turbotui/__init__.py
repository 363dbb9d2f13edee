"""turbotui: what a machine's CPUs and uncore really do, live in a terminal."""

__version__ = "0.2.0"
