"""Machine code that turbotui writes and runs itself: what cores and caches can do, found without a compiler."""
