"""Widgets, drawn from frames and columns and never from sources; every colour is a component class."""
