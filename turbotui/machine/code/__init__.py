"""Machine code that turbotui writes and runs itself: what this machine's cores and caches can do, without a compiler."""
