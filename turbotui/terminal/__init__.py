"""The dashboard's terminal: output, input, job control, and its end."""
