"""Counters of single threads, sampled at each switch-out and every 50 ms of run time, by perf_event_open(2) alone."""
