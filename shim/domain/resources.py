"""Resource vectors: memory, virtual cores and whatever else a cluster counts; and what a task needs of its node."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_NONE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ResourceVector:
    """An amount of each resource type.

    Attributes:
        memory_mib: Memory in MiB (`memory-mb` of YARN).
        vcores: Virtual cores.
        others: Further resource types by name, in the unit that the cluster counts them in.
    """

    memory_mib: int = 0
    vcores: int = 0
    others: Mapping[str, int] = field(default_factory=lambda: _NONE, hash=False)

    def __hash__(self) -> int:
        """Of all types: amounts that differ only in `others` must not meet in one place of a table, however many."""
        others = frozenset(self.others.items()) if self.others else 0
        return hash((self.memory_mib, self.vcores, others))

    def __add__(self, other: "ResourceVector") -> "ResourceVector":
        if not self.others and not other.others:  # as nearly always
            return ResourceVector(self.memory_mib + other.memory_mib, self.vcores + other.vcores, _NONE)
        names = {*self.others, *other.others}
        return ResourceVector(
            self.memory_mib + other.memory_mib,
            self.vcores + other.vcores,
            {name: self.others.get(name, 0) + other.others.get(name, 0) for name in sorted(names)},
        )

    def __sub__(self, other: "ResourceVector") -> "ResourceVector":
        negated = {name: -amount for name, amount in other.others.items()}
        return self + ResourceVector(-other.memory_mib, -other.vcores, negated)

    def times(self, count: int) -> "ResourceVector":
        others = {name: amount * count for name, amount in self.others.items()}
        return ResourceVector(self.memory_mib * count, self.vcores * count, others)

    def fits_in(self, room: "ResourceVector") -> bool:
        """True if `room` has at least the same amount of every resource type of this vector."""
        return (
            self.memory_mib <= room.memory_mib
            and self.vcores <= room.vcores
            and all(amount <= room.others.get(name, 0) for name, amount in self.others.items())
        )

    def dominant_share_of(self, capacity: "ResourceVector") -> float:
        """Largest share of any resource type of `capacity`; types that `capacity` lacks are ignored."""
        shares = [self.memory_mib / capacity.memory_mib] if capacity.memory_mib > 0 else []
        if capacity.vcores > 0:
            shares.append(self.vcores / capacity.vcores)
        for name, amount in self.others.items():
            total = capacity.others.get(name, 0)
            if total > 0:
                shares.append(amount / total)
        return max(shares, default=0.0)


@dataclass(frozen=True, slots=True)
class Need:
    """Requirements of one task on its node.

    Attributes:
        demand: Amount of each resource type, in the federation's order of types; non-negative.
        requires: Properties that the node must have: `label:gpu`, `attribute:os=linux`, `host:h1`, `rack:/r1`,
        `tag:hbase`. avoids: Properties that it must not have.
    """

    demand: tuple[int, ...]
    requires: frozenset[str] = frozenset()
    avoids: frozenset[str] = frozenset()

    @property
    def is_constrained(self) -> bool:
        """True if anything but the amount of resources matters."""
        return bool(self.requires or self.avoids)

    def admits(self, properties: frozenset[str]) -> bool:
        return self.requires <= properties and self.avoids.isdisjoint(properties)
