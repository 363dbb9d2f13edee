"""Measures the costs of turbotui: `python -m bench` prints every figure that the project claims."""
