"""Screens, modals, and the tables of keys and themes that they are made from."""
