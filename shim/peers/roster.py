"""Roles of the masters, as the leases in the store tell them."""

from collections.abc import Mapping, Sequence

from shim.domain.ids import GlobalMasterId, SubClusterId
from shim.ports.lease_store import Lease

_GLOBAL, _LOCAL, _QUEUE, _SERVER = "gm/", "lm/", "queue/", "door/"


def global_master_role(name: str) -> str:
    """The lease of a living Global Master."""
    return f"{_GLOBAL}{name}"


def local_master_role(subcluster: SubClusterId) -> str:
    """The lease of the active Local Master of a sub-cluster."""
    return f"{_LOCAL}{subcluster}"


def queue_role(path: str) -> str:
    """The lease of a queue's owner."""
    return f"{_QUEUE}{path}"


def server_role(name: str) -> str:
    """The lease that tells where a Global Master takes ApplicationMasters."""
    return f"{_SERVER}{name}"


def role_prefix(name: str) -> str:
    """Kind of role that a lease is for: `gm/`, `lm/`, `queue/` or `door/`."""
    return name[: name.find("/") + 1]


class Roster:
    """The leases as last read. One that has ended since does not count: its time is counted on from the reading."""

    def __init__(self) -> None:
        self._leases: Mapping[str, Lease] = {}
        self._read_at_s = float("-inf")

    def update(self, leases: Sequence[Lease], *, read_at_s: float) -> None:
        """Take what the store told.

        Args:
            read_at_s: Monotonic time at which the store was asked.
        """
        self._leases = {lease.name: lease for lease in leases}
        self._read_at_s = read_at_s

    def all(self) -> Sequence[Lease]:
        return tuple(self._leases.values())

    def local_master(self, subcluster: SubClusterId) -> Lease | None:
        """The lease of a sub-cluster's Local Master as last read, live or not: without the store the last one holds."""
        return self._leases.get(local_master_role(subcluster))

    def server(self, master: GlobalMasterId) -> Lease | None:
        """Lease of the address where a Global Master takes ApplicationMasters, as last read, live or not."""
        return self._leases.get(server_role(master))

    def living(self, now_s: float) -> dict[GlobalMasterId, Lease]:
        """The Global Masters whose lease has not ended."""
        return {
            GlobalMasterId(name.removeprefix(_GLOBAL)): lease
            for name, lease in self._leases.items()
            if name.startswith(_GLOBAL) and self.is_live(lease, now_s)
        }

    def owner(self, queue: str, now_s: float) -> tuple[GlobalMasterId, Lease] | None:
        lease = self._leases.get(queue_role(queue))
        if lease is None or not self.is_live(lease, now_s):
            return None
        masters = self.living(now_s).items()
        return next(((master, its) for master, its in masters if its.holder == lease.holder), None)

    def queues(self) -> dict[str, Lease]:
        return {name.removeprefix(_QUEUE): lease for name, lease in self._leases.items() if name.startswith(_QUEUE)}

    def is_live(self, lease: Lease, now_s: float) -> bool:
        return lease.holder != "" and self.remaining_s(lease, now_s) > 0

    def remaining_s(self, lease: Lease, now_s: float) -> float:
        """Until a lease ends, as far as is known; negative for one that has ended."""
        return lease.remaining_s - (now_s - self._read_at_s)
