"""Widgets: drawn from frames and columns, never from sources; every colour is a component class."""
