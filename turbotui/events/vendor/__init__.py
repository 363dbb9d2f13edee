"""Events and metrics that a CPU's vendor names: perf's own tables, or a directory of their JSON files."""
