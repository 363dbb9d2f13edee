"""Machine code that turbotui generates and runs to measure cores and caches without a compiler."""
