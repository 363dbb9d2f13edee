"""The application: its keys, themes and windows, and what all screens share."""
