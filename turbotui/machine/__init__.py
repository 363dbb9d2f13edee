"""The machine floor: hosts, topology, CPU model, platforms, PMUs. The only layer that touches the machine."""
