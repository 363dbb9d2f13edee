"""Frames as text, for any stdout."""
