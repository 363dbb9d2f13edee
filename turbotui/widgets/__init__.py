"""Widgets: they know frames and columns, not sources; every colour is a component class."""
