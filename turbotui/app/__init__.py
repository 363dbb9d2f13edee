"""The application: its keys, themes, windows, and what every screen has."""
