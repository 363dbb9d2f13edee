"""What is known of the nodes of a fleet at a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from turbotui.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something about a node that is not as it should be.

    Attributes:
        column: the column that shows it.
        words: a sentence without its subject: "412 MHz slower than its peers (2,588, median 3,000)".
        weight: how odd that is: 1 is worth a look, 10 is as odd as it gets.
        basis: what was compared with what, in words.
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
        labels: of its series, as the server has them; "model" among them.
        values: by the columns' ids, in their units; what the server has no value of is left out.
        age: seconds since the node's last sample; None where no sample says when it was made.
        gone: the server has no current value of it: these are the last ones that are known.
        findings: the oddest first.
        peers: what the node was compared with, or why it was not.
        trend: a picture of its last hour; "" where there is none.
        members: of a row that stands for nodes of one label, how many; 0 for a node.
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

    @property
    def odd(self) -> float:
        """How odd the node is, all findings together."""
        return sum(finding.weight for finding in self.findings)

    @property
    def why(self) -> str:
        """All findings in a sentence; "" for a node like the others."""
        return "; ".join(finding.words for finding in self.findings)

    @property
    def simulated(self) -> bool:
        """Whether its numbers were never measured."""
        return self.labels.get("simulated") == "true" or self.labels.get("kind") == "SIMULATED"


@dataclass(frozen=True, slots=True)
class FleetCost:
    """What a reading cost the server and the network.

    Attributes:
        queries: how many were asked.
        sent: bytes that came over the wire.
        unpacked: bytes of JSON in them.
        seconds: until the last answer was there.
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
        wall_ns: of the reading, in ns since 1970, by this machine's clock.
        window: seconds over which rates are.
        notes: what the server has against its own answer, and what one has to know of the nodes.
        cost: of the reading.
        queries: PromQL of each column, by its id.
        recorded: whether it is from a recording.
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
        """How many nodes have a finding."""
        return sum(bool(node.findings) for node in self.nodes)
