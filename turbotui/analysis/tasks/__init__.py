"""What each thread, process and command did, from samples at its switches (KerMon without a kernel patch)."""
