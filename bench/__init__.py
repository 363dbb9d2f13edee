"""What turbotui costs, measured: `python -m bench` prints every figure that the project claims."""
