"""A machine's counters as metrics for Prometheus and whoever reads its format: a collector without a screen."""
