"""The machine: hosts, topology, CPU model, platforms, PMUs. No other layer touches the machine."""
