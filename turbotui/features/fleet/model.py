"""The nodes of a fleet at a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from turbotui.dataclass import dataclass
from turbotui.quantities.unavailable import Unavailable


@dataclass(frozen=True, slots=True)
class Oddity:
    """A finding: something unusual about a node."""

    column: str  # the column that shows it
    words: str  # a sentence without its subject: "412 MHz slower than its peers (2,588, median 3,000)"
    weight: float  # the oddity, from 1 (worth a look) to 10 (the oddest)
    basis: str = ""  # a description of the comparison


@dataclass(frozen=True, slots=True)
class FleetNode:
    """A node at a moment."""

    name: str  # the values of the labels that name nodes, with blanks between them
    labels: Mapping[str, str] = field(default_factory=dict)  # the labels of its series, "model" included
    # by the columns' ids, in their units; without columns of which the server has no value
    values: Mapping[str, float] = field(default_factory=dict)
    age: float | None = None  # seconds since the node's last sample; None if no sample tells its time
    gone: bool = False  # whether the server has no current value, so that these are the last known ones
    findings: tuple[Oddity, ...] = ()  # the oddest first
    peers: str = ""  # what the node was compared with, or why it was not
    trend: str = ""  # a picture of its last hour; "" if there is none
    members: int = 0  # the number of nodes of a row for a label's value; 0 for a node
    lacks: Mapping[str, Unavailable] = field(default_factory=dict)  # of such a row, why values are not of all nodes
    # values that the server gave and no machine can have, which are not in `values`
    impossible: Mapping[str, float] = field(default_factory=dict)

    @property
    def odd(self) -> float:
        """The oddity of the node: the sum of all findings."""
        return sum(finding.weight for finding in self.findings)

    @property
    def why(self) -> str:
        """All findings in a sentence; "" for an inconspicuous node."""
        return "; ".join(finding.words for finding in self.findings)

    @property
    def simulated(self) -> bool:
        """Whether the node's numbers are simulated."""
        return self.labels.get("simulated") == "true" or self.labels.get("kind") == "SIMULATED"


@dataclass(frozen=True, slots=True)
class FleetCost:
    """The cost of a reading for the server and the network."""

    queries: int  # the number of queries
    sent: int  # bytes received over the network
    unpacked: int  # bytes of JSON in them
    seconds: float  # the time until the last answer


@dataclass(frozen=True, slots=True)
class FleetReading:
    """All nodes at a moment."""

    server: str  # its URL, for people
    nodes: Sequence[FleetNode]  # the oddest first
    wall_ns: int  # the time of the reading, in ns since 1970, by this machine's clock
    window: float  # the window of rates in seconds
    notes: tuple[str, ...]  # the server's warnings, and remarks about the nodes
    cost: FleetCost
    queries: Mapping[str, str]  # PromQL of each column, by its id
    recorded: bool = False  # whether the reading is from a recording

    @property
    def odd(self) -> int:
        """The number of nodes with a finding."""
        return sum(bool(node.findings) for node in self.nodes)
