"""What numbers mean: diagnosis of a machine's sources."""
