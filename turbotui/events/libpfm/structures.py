"""The structures of perfmon/pfmlib.h and pfmlib_perf_event.h (libpfm 4.13), 64-bit; 32-bit follows from the types."""

from __future__ import annotations

import ctypes
from typing import Final

from turbotui.machine.perf_abi import PerfEventAttr

OS_NONE: Final = 0
OS_PERF_EVENT: Final = 1
OS_PERF_EVENT_EXT: Final = 2
PLM: Final = {"k": 0x01, "u": 0x08, "h": 0x10}  # PFM_PLM0, PFM_PLM3, PFM_PLMH


class RawArgument(ctypes.Structure):
    """pfm_pmu_encode_arg_t, 32 bytes: for PFM_OS_NONE."""

    _fields_ = (
        ("codes", ctypes.POINTER(ctypes.c_uint64)),
        ("fstr", ctypes.POINTER(ctypes.c_void_p)),
        ("size", ctypes.c_size_t),
        ("count", ctypes.c_int),
        ("idx", ctypes.c_int),
    )


class PerfArgument(ctypes.Structure):
    """pfm_perf_encode_arg_t, 40 bytes: for PFM_OS_PERF_EVENT and PFM_OS_PERF_EVENT_EXT."""

    _fields_ = (
        ("attr", ctypes.POINTER(PerfEventAttr)),
        ("fstr", ctypes.POINTER(ctypes.c_void_p)),
        ("size", ctypes.c_size_t),
        ("idx", ctypes.c_int),
        ("cpu", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("pad0", ctypes.c_int),
    )


class PmuInformation(ctypes.Structure):
    """pfm_pmu_info_t, 56 bytes; bit 0 of `flags`: the PMU is present, bit 1: it is the default."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("desc", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("pmu", ctypes.c_int),
        ("type", ctypes.c_int),
        ("nevents", ctypes.c_int),
        ("first_event", ctypes.c_int),
        ("max_encoding", ctypes.c_int),
        ("num_cntrs", ctypes.c_int),
        ("num_fixed_cntrs", ctypes.c_int),
        ("flags", ctypes.c_uint32),
    )


class EventInformation(ctypes.Structure):
    """pfm_event_info_t, 64 bytes; bit 0 of `flags`: the event can be sampled precisely."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("desc", ctypes.c_char_p),
        ("equiv", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("code", ctypes.c_uint64),
        ("pmu", ctypes.c_int),
        ("dtype", ctypes.c_int),
        ("idx", ctypes.c_int),
        ("nattrs", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("flags", ctypes.c_uint32),
    )


class AttributeInformation(ctypes.Structure):
    """pfm_event_attr_info_t, 64 bytes; bit 0 of `flags`: the unit mask is the default one."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("desc", ctypes.c_char_p),
        ("equiv", ctypes.c_char_p),
        ("size", ctypes.c_size_t),
        ("code", ctypes.c_uint64),
        ("type", ctypes.c_int),
        ("idx", ctypes.c_int),
        ("ctrl", ctypes.c_int),
        ("flags", ctypes.c_uint32),
        ("dfl", ctypes.c_uint64),
    )
