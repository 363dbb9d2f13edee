"""Code shared by verbs: options, opening a machine, and output formats."""
