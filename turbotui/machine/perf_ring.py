"""The ring buffer of a sampling perf event, and the identifier in its records.

The control page is struct perf_event_mmap_page of uapi linux/perf_event.h (Linux 6.18). Only `Ring` touches memory
shared with the kernel.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import struct
from typing import Final

from turbotui.machine.host import HostError
from turbotui.machine.perf_records import WORD

_ID: Final = 0x80082407  # PERF_EVENT_IOC_ID, _IOR('$', 7, __u64 *)
SET_OUTPUT: Final = 0x2405  # PERF_EVENT_IOC_SET_OUTPUT, _IO('$', 5)
WHOLE_GROUP: Final = 1  # PERF_IOC_FLAG_GROUP

_HEAD: Final = 1024  # perf_event_mmap_page.data_head; data_tail, data_offset and data_size follow it
_TAIL: Final = 1032  # bytes before data_head are reserved, so these offsets hold for every kernel
_OFFSET: Final = 1040


def unrolled(ring: bytes | mmap.mmap, start: int, size: int, tail: int, head: int) -> bytes:
    """The bytes between two positions of a ring, joined where they wrap.

    Args:
        size: of the ring in bytes, a power of two.
        tail: position of the first byte, counted since the ring was created.
        head: position after the last byte.
    """
    place = tail % size
    if place + head - tail <= size:
        return ring[start + place : start + place + head - tail]
    return ring[start + place : start + size] + ring[start : start + (head % size)]


class Ring:
    """The mapped ring of one perf event.

    Args:
        pages: of data, a power of two.

    Raises:
        HostError: EPERM beyond the memory that this user may lock, EINVAL for inherited events that are not of one CPU.
    """

    def __init__(self, descriptor: int, pages: int) -> None:
        try:
            self._map = mmap.mmap(descriptor, (pages + 1) * mmap.PAGESIZE)
        except OSError as error:
            raise HostError(error.errno or errno.EIO, f"mmap of a ring of {pages} pages") from error
        self._start, self.size = struct.unpack_from("QQ", self._map, _OFFSET)
        self._tail = ctypes.c_uint64.from_buffer(self._map, _TAIL)  # one store of 8 bytes, never torn

    @property
    def waiting(self) -> int:
        """Bytes that the kernel has written and nobody has consumed."""
        head: int = WORD.unpack_from(self._map, _HEAD)[0]
        return head - self._tail.value

    def look(self, most: int) -> bytes:
        """The bytes in the ring in the order of writing, up to a number; the last record may be incomplete."""
        tail = self._tail.value
        return unrolled(self._map, self._start, self.size, tail, tail + min(most, self.waiting))

    def give_back(self, size: int) -> None:
        """Release the oldest bytes to the kernel."""
        self._tail.value += size

    def take(self) -> bytes:
        """Consume everything that is there, in whole records."""
        data = self.look(self.size)
        self.give_back(len(data))
        return data

    def close(self) -> None:
        """Unmap the ring."""
        del self._tail  # the map cannot be closed while a view into it exists
        self._map.close()


def event_id(descriptor: int) -> int:
    """The identifier in the samples of a perf event, which threads that inherit the event keep.

    Raises:
        HostError: not a perf event.
    """
    answer = bytearray(8)
    try:
        fcntl.ioctl(descriptor, _ID, answer)
    except OSError as error:
        raise HostError(error.errno or errno.EIO, "identifier of a perf event") from error
    number: int = WORD.unpack(answer)[0]
    return number
