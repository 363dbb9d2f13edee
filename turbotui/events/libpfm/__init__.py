"""libpfm4, optional at run time: tables of event names for hundreds of CPU models."""

from turbotui.events.libpfm.errors import LibpfmAbsentError, PfmError
from turbotui.events.libpfm.library import Libpfm, split_list

__all__ = ["Libpfm", "LibpfmAbsentError", "PfmError", "split_list"]
