"""What several verbs share: options, how a machine is opened, and the formats of their output."""
