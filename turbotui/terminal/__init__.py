"""The dashboard's terminal: what goes to it, what comes from it, job control, and its end."""
