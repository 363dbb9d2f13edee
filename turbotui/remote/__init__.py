"""Readings sent from one process to another: the bytes of a journal through a pipe, a socket or ssh.

In the collector, `backlog` holds and sends them, and `requests` receives the signals that a reader shows. In the
screen's process, `links` bring the bytes, `incoming` makes frames of them, and `session` is what a dashboard needs.
"""
