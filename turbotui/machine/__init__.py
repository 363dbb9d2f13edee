"""The machine: hosts, topology, CPU model, platforms, PMUs; no other layer accesses the machine."""
