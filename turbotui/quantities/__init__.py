"""Scopes, units, raw signals and derived columns: definitions that do not depend on a machine."""
