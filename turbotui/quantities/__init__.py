"""The vocabulary: scopes, units, raw signals, derived columns. Imports nothing of the machine."""
