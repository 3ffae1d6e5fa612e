"""All stores of one database as one value, and the same over SQL."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shim.ports.act_store import ActStore
from shim.ports.history_store import HistoryStore
from shim.ports.lease_store import LeaseStore
from shim.ports.multicluster_store import AskStore, MultiClusterStore
from shim.ports.queue_stores import CreditStore, FormerRunStore, PolicyStore, UsageStore
from shim.ports.state_store import StateStore
from shim.ports.token_store import APITokenStore, TokenStore
from shim.store.executors import Executor
from shim.store.sql_history_store import SqlHistoryStore
from shim.store.sql_lease_store import SqlLeaseStore
from shim.store.sql_multicluster_store import SqlAskStore, SqlMultiClusterStore
from shim.store.sql_queue_stores import (
    SqlActStore,
    SqlCreditStore,
    SqlFormerRunStore,
    SqlPolicyStore,
    SqlUsageStore,
)
from shim.store.sql_token_store import SqlAPITokenStore, SqlTokenStore
from shim.store.tables import cluster_lists


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The stores of one database; closing `state` closes all of them."""

    state: StateStore
    policies: PolicyStore
    clusters: PolicyStore
    tokens: TokenStore
    api_tokens: APITokenStore
    spans: MultiClusterStore
    acts: ActStore
    usage: UsageStore
    credits: CreditStore
    runs: FormerRunStore
    asks: AskStore
    leases: LeaseStore
    history: HistoryStore


def sql_stores(
    state: StateStore,
    executor: Executor,
    now_s: Callable[[], float],
    secret: bytes,
    other_secrets: Sequence[bytes] = (),
) -> Stores:
    """The stores in the database of an executor.

    Args:
        state: The store of submissions there; closing it closes all.
        now_s: Seconds since the epoch.
        secret: Of the configuration: seals tokens.
        other_secrets: Open what was sealed with them.
    """
    return Stores(
        state=state,
        policies=SqlPolicyStore(executor, now_s=now_s),
        clusters=SqlPolicyStore(executor, now_s=now_s, table=cluster_lists),
        tokens=SqlTokenStore(executor),
        api_tokens=SqlAPITokenStore(executor),
        spans=SqlMultiClusterStore(executor, secret, other_secrets),
        acts=SqlActStore(executor),
        usage=SqlUsageStore(executor),
        credits=SqlCreditStore(executor),
        runs=SqlFormerRunStore(executor),
        asks=SqlAskStore(executor, now_s=now_s),
        leases=SqlLeaseStore(executor),
        history=SqlHistoryStore(executor, now_s=now_s),
    )
