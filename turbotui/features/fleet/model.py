"""The nodes of a fleet at a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from turbotui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Oddity:
    """A finding: something unusual about a node.

    Attributes:
        column: the column that shows it.
        words: a sentence without its subject: "412 MHz slower than its peers (2,588, median 3,000)".
        weight: the oddity, from 1 (worth a look) to 10 (the oddest).
        basis: a description of the comparison.
    """

    column: str
    words: str
    weight: float
    basis: str = ""


@dataclass(frozen=True, slots=True)
class FleetNode:
    """A node at a moment.

    Attributes:
        name: the values of the labels that name nodes, with blanks between them.
        labels: the labels of its series, "model" included.
        values: by the columns' ids, in their units; without columns of which the server has no value.
        age: seconds since the node's last sample; None if no sample tells its time.
        gone: whether the server has no current value, so that these are the last known ones.
        findings: the oddest first.
        peers: what the node was compared with, or why it was not.
        trend: a picture of its last hour; "" if there is none.
        members: the number of nodes of a row for a label's value; 0 for a node.
        impossible: values that the server gave and no machine can have, which are not in `values`.
    """

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    age: float | None = None
    gone: bool = False
    findings: tuple[Oddity, ...] = ()
    peers: str = ""
    trend: str = ""
    members: int = 0
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
    """The cost of a reading for the server and the network.

    Attributes:
        queries: the number of queries.
        sent: bytes received over the network.
        unpacked: bytes of JSON in them.
        seconds: the time until the last answer.
    """

    queries: int
    sent: int
    unpacked: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FleetReading:
    """All nodes at a moment.

    Attributes:
        server: its URL, for people.
        nodes: the oddest first.
        wall_ns: the time of the reading, in ns since 1970, by this machine's clock.
        window: the window of rates in seconds.
        notes: the server's warnings, and remarks about the nodes.
        cost: the cost of the reading.
        queries: PromQL of each column, by its id.
        recorded: whether the reading is from a recording.
    """

    server: str
    nodes: Sequence[FleetNode]
    wall_ns: int
    window: float
    notes: tuple[str, ...]
    cost: FleetCost
    queries: Mapping[str, str]
    recorded: bool = False

    @property
    def odd(self) -> int:
        """The number of nodes with a finding."""
        return sum(bool(node.findings) for node in self.nodes)
