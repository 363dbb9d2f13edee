"""Shared by verbs: options, how a machine is opened, and the formats of output."""
