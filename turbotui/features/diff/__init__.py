"""What differs between two recordings, or two spans of them, by more than chance."""
