"""Event strings and their encodings: perf's grammar over sysfs, and libpfm4 where it is installed."""
