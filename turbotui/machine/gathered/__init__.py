"""Gathered machines: a program's readings of a machine, kept in a file, and read again as a recorded machine."""
