"""A machine's counters as metrics in Prometheus's format, served by a collector without a screen."""
