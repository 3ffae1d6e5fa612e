"""Hosts and racks that asks name, among the nodes of all sub-clusters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shim.domain.subclusters import NodeReport
from shim.scheduling.snapshot import IntArray, Preferred, Scope

__all__ = ["NamedPlaces"]


@dataclass(frozen=True, slots=True)
class NamedPlaces:
    """Nodes by the names that reports tell.

    Racks of one name in two sub-clusters are two racks: most are called `/default-rack`.

    Attributes:
        nodes: Rows of the nodes of each host.
        racks: int64 array of shape (n_nodes,): number of each node's rack.
        numbers: Numbers of the racks of each name.
    """

    nodes: Mapping[str, Sequence[int]]
    racks: IntArray
    numbers: Mapping[str, Sequence[int]]

    @staticmethod
    def of(reports: Sequence[Sequence[NodeReport]]) -> "NamedPlaces":
        """Read the nodes of each sub-cluster, in the order of their rows."""
        nodes: dict[str, list[int]] = {}
        racks: dict[tuple[int, str], int] = {}
        numbers: dict[str, list[int]] = {}
        of_row: list[int] = []
        for cluster, told in enumerate(reports):
            for node in told:
                nodes.setdefault(node.node.host, []).append(len(of_row))
                rack = racks.setdefault((cluster, node.rack), len(racks))
                of_row.append(rack)
                known = numbers.setdefault(node.rack, [])
                if rack not in known:
                    known.append(rack)
        return NamedPlaces(nodes, np.array(of_row, dtype=np.int64), numbers)

    def preferred(self, named: Mapping[str, int]) -> tuple[Preferred, ...]:
        """The places that a request names and that are known.

        A named rack is that of the named hosts, if one of theirs has its name; else any of that name.
        """
        at_nodes = [(row, count) for place, count in named.items() for row in self.nodes.get(place, ())]
        of_hosts: dict[int, int] = {}
        for row, count in at_nodes:
            rack = int(self.racks[row])
            of_hosts[rack] = of_hosts.get(rack, 0) + count
        near = dict(of_hosts)
        for place, count in named.items():
            numbers = self.numbers.get(place, ())
            if not any(number in of_hosts for number in numbers):
                near |= dict.fromkeys(numbers, count)
        return (
            *(Preferred(Scope.NODE, row, count) for row, count in at_nodes),
            *(Preferred(Scope.RACK, rack, count) for rack, count in near.items()),
        )
