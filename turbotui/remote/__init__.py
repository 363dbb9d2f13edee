"""Readings on their way from one process to another: the bytes of a journal, through a pipe, a socket or ssh.

On the side of the collector `backlog` holds and sends them, `requests` hears which signals a reader shows. On the side
of the screen `links` bring them, `incoming` makes frames of them, and `session` is what a dashboard needs.
"""
