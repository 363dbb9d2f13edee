"""The opening: what a user sees and can do before the machine is probed and Textual is imported.

The first thread writes plain escape sequences, and another thread does the slow work. Nothing here imports Textual,
asyncio or a source; a test checks the list of imports.
"""
