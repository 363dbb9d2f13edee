"""The one place that opens, multiplexes, reads and scales perf counters, whatever they count for.

Events that fill a ring (samples, switches) are opened by those who read the ring, in `machine/`.
"""
