"""libpfm4, optional at run time: tables of event names for hundreds of CPU models."""

from turbotui.machine.libpfm.errors import LibpfmAbsentError, PfmError
from turbotui.machine.libpfm.library import Libpfm, split_list

__all__ = ["Libpfm", "LibpfmAbsentError", "PfmError", "split_list"]
