"""Events and metrics from CPU vendors' tables: perf's built-in tables, or a directory of JSON files."""
