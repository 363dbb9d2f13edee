"""Uncore PMUs as panels: what is counted of each, what is derived from it, and where every number comes from."""
