"""Gathered machines: what a program read of a machine, noted, kept in a file and read again as a recorded machine."""
