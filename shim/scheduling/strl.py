"""Space-time requests: who wants how many nodes of which set for how long, what it is worth, and as a linear program.

Nodes are *partitions*: no request tells those of one apart. Time is in quanta. A request may take parts of nodes: then
what is available is counted by resource type. `compile_requests` gives the arrays of
`mixed_integer`, and what its variables mean. Users write none of this: `request_wizard` does.

Source: Tumanov et al., "TetriSched", EuroSys 2016, sections 4 and 5; "alsched", SoCC 2012.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from shim.scheduling.durations import FloatArray
from shim.scheduling.snapshot import IntArray


@dataclass(frozen=True, slots=True)
class NodesFor:
    """So many nodes of some partitions from a quantum on (nCk): worth `value` if it gets exactly these.

    Attributes:
        tag: Whose it is; the caller's.
        size: What one takes of each resource type, in the units of what is available.
    """

    partitions: tuple[int, ...]
    count: int
    start: int
    length: int
    value: float
    tag: int = -1
    size: tuple[float, ...] = (1.0,)


@dataclass(frozen=True, slots=True)
class Linear:
    """Up to so many nodes (LnCk): each is worth an equal part of the value."""

    nodes: NodesFor


@dataclass(frozen=True, slots=True)
class Most:
    """One of some at most (max)."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Total:
    """All that can be (sum)."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Smallest:
    """All of them, worth what the least is (min)."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Scaled:
    """A multiple of what another is worth."""

    part: "Expression"
    factor: float


@dataclass(frozen=True, slots=True)
class Barrier:
    """Worth this if another is worth as much, else nothing."""

    part: "Expression"
    value: float


Expression = NodesFor | Linear | Most | Total | Smallest | Scaled | Barrier
_Terms = dict[int, float]


@dataclass(frozen=True, slots=True)
class CompiledLeaf:
    """A leaf of an expression in a program.

    Attributes:
        chosen: Number of the variable that says whether it is chosen; of LnCk, whether it may take anything.
        taken: Numbers of those that say how many nodes of each of its partitions it takes.
    """

    nodes: NodesFor
    chosen: int
    taken: tuple[int, ...]


@dataclass(slots=True)
class _Program:
    n_partitions: int
    n_quanta: int
    value: list[float] = field(default_factory=list)
    most: list[float] = field(default_factory=list)
    is_whole: list[int] = field(default_factory=list)
    entries: list[tuple[int, int, float]] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    uses: dict[tuple[int, int, int], _Terms] = field(default_factory=dict)
    leaves: list[CompiledLeaf] = field(default_factory=list)
    linear: dict[int, list[int]] = field(default_factory=dict)

    def variable(self, most: float, *, is_whole: bool = True) -> int:
        self.value.append(0.0)
        self.most.append(most)
        self.is_whole.append(int(is_whole))
        return len(self.value) - 1

    def row(self, terms: _Terms, low: float, high: float) -> None:
        self.entries += [(len(self.low), variable, factor) for variable, factor in terms.items()]
        self.low.append(low)
        self.high.append(high)

    def generate(self, expression: Expression, chosen: int) -> _Terms:
        """Rows of an expression, given the variable that says whether it is chosen; gives what it is worth."""
        match expression:
            case NodesFor():
                self._leaf(expression, chosen, is_exact=True)
                return {chosen: expression.value}
            case Linear(nodes):
                taken = self._leaf(nodes, chosen, is_exact=False)
                self.linear.setdefault(nodes.tag, []).extend(taken)
                return dict.fromkeys(taken, nodes.value / nodes.count)
            case Most(parts) | Total(parts):
                flags = [self.variable(1.0) for _ in parts]
                limit = 1.0 if isinstance(expression, Most) else float(len(parts))
                self.row({**dict.fromkeys(flags, 1.0), chosen: -limit}, -np.inf, 0.0)
                worth: _Terms = {}
                for part, flag in zip(parts, flags, strict=True):
                    for each, factor in self.generate(part, flag).items():
                        worth[each] = worth.get(each, 0.0) + factor
                return worth
            case Smallest(parts):
                least = self.variable(np.inf, is_whole=False)
                for part in parts:
                    worth = self.generate(part, chosen)
                    self.row({**worth, least: worth.get(least, 0.0) - 1.0}, 0.0, np.inf)
                return {least: 1.0}
            case Scaled(part, factor):
                return {each: factor * amount for each, amount in self.generate(part, chosen).items()}
            case Barrier(part, value):
                reached = self.variable(1.0)
                self.row({reached: 1.0, chosen: -1.0}, -np.inf, 0.0)
                worth = self.generate(part, chosen)
                self.row({**worth, reached: worth.get(reached, 0.0) - value}, 0.0, np.inf)
                return {reached: value}

    def _leaf(self, nodes: NodesFor, chosen: int, *, is_exact: bool) -> list[int]:
        taken = []
        for partition in nodes.partitions:
            variable = self.variable(float(nodes.count))
            taken.append(variable)
            for quantum in range(nodes.start, min(nodes.start + nodes.length, self.n_quanta)):
                for kind, amount in enumerate(nodes.size):
                    if amount > 0.0:
                        self.uses.setdefault((partition, quantum, kind), {})[variable] = amount
        self.row({**dict.fromkeys(taken, 1.0), chosen: -float(nodes.count)}, 0.0 if is_exact else -np.inf, 0.0)
        self.leaves.append(CompiledLeaf(nodes, chosen, tuple(taken)))
        return taken


def compile_requests(
    requests: Sequence[Expression], available: IntArray, counts: Mapping[int, int] = MappingProxyType({})
) -> tuple[Mapping[str, object], Sequence[CompiledLeaf]]:
    """Write the sum of all requests as a mixed-integer program.

    Parameters
    ----------
    requests : sequence of Expression
    available : int64 array of shape (n_partitions, n_quanta) or (n_partitions, n_quanta, n_types)
        Nodes that may be used, or what they have of each resource type.
    counts : mapping of a tag to a count
        Containers of which all LnCk of the tag have so many at most together: in the papers each is for nodes of its
        own.

    Returns:
    -------
    tuple
        Arrays for `mixed_integer`, and the leaves.
    """
    program = _Program(*available.shape[:2])
    amounts = available.reshape(*available.shape[:2], -1)
    everything = program.variable(1.0)
    for variable, factor in program.generate(Total(tuple(requests)), everything).items():
        program.value[variable] += factor
    for tag, taken in program.linear.items():
        if tag in counts:
            program.row(dict.fromkeys(taken, 1.0), -np.inf, float(counts[tag]))
    for place, terms in program.uses.items():
        program.row(terms, -np.inf, float(amounts[place]))
    rows, columns, entries = zip(*program.entries, strict=True) if program.entries else ((), (), ())
    most: FloatArray = np.array(program.most)
    arrays = {
        "value": np.array(program.value),
        "rows": np.array(rows, dtype=np.int64),
        "columns": np.array(columns, dtype=np.int64),
        "entries": np.array(entries, dtype=np.float64),
        "low": np.array(program.low),
        "high": np.array(program.high),
        "least": np.zeros(len(most)),
        "most": most,
        "is_whole": np.array(program.is_whole),
    }
    return arrays, program.leaves
