"""What turbotui costs, measured: `python -m turbotui.bench` prints every figure that the project claims."""
