"""Everything that one database keeps, as one value."""

from dataclasses import dataclass

from shim.ports.act_store import ActStore
from shim.ports.ask_store import AskStore
from shim.ports.history_store import HistoryStore
from shim.ports.lease_store import LeaseStore
from shim.ports.multicluster_store import MultiClusterStore
from shim.ports.policy_store import PolicyStore
from shim.ports.state_store import StateStore
from shim.ports.token_store import TokenStore
from shim.ports.usage_store import UsageStore

__all__ = ["Stores"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The stores of one database; closing `state` closes all of them."""

    state: StateStore
    policies: PolicyStore
    tokens: TokenStore
    spans: MultiClusterStore
    acts: ActStore
    usage: UsageStore
    asks: AskStore
    leases: LeaseStore
    history: HistoryStore
