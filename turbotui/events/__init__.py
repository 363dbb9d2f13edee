"""Event strings and their encodings: perf's grammar over sysfs, and libpfm4 where it is installed."""

from turbotui.events.encoded import EncodedEvent
from turbotui.events.encoder import EventEncoder, encode_event

__all__ = ["EncodedEvent", "EventEncoder", "encode_event"]
