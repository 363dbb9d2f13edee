"""The opening: what a person sees and can do before the machine is probed and Textual is imported.

Plain escape sequences on the first thread; what takes long happens on another one. Nothing here imports Textual,
asyncio or a source, and a test holds the list of what is imported.
"""
