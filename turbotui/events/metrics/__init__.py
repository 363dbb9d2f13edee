"""Metrics of a vendor's tables: perf's expressions, and what is counted for them on one machine."""
