"""Uncore PMUs beyond what sysfs says of them: rules of their filters, and the root complexes of PCI Express."""
