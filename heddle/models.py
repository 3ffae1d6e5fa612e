"""Answers and bodies of Heddle's own web services, below `/heddle/v1/`: the server builds them, the client reads them.

Those of applications are in `heddle.applications`.

A field that an answer may lack has `UNSET` for its default, and is not written then. Units are in the names: `_s`
seconds, `_ms` milliseconds (`at_ms`, `from_ms`: since the epoch, UTC), `_mib` mebibytes; shares are parts of 1.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

__all__ = [
    "ApplicationPage",
    "ApplicationRow",
    "AsksStatus",
    "AuditEntries",
    "CallerTold",
    "Cluster",
    "ClusterChange",
    "Clusters",
    "ContainerPlaces",
    "Counts",
    "Decision",
    "Decisions",
    "Difference",
    "Drainage",
    "Finding",
    "Findings",
    "Group",
    "Hardening",
    "HardeningLine",
    "Link",
    "Master",
    "Masters",
    "MiB",
    "Model",
    "Moment",
    "NewToken",
    "Node",
    "Nodes",
    "Order",
    "Part",
    "Policy",
    "PolicyAnswer",
    "PolicyText",
    "PolicyVersions",
    "Promised",
    "Queue",
    "QueueHistory",
    "QueueOwner",
    "QueuePart",
    "QueueShare",
    "QueueUse",
    "Queues",
    "Retirement",
    "Revival",
    "Revoked",
    "Seconds",
    "Shadow",
    "Shadows",
    "ShareHistory",
    "Shares",
    "Solves",
    "Token",
    "Tokens",
    "Usage",
    "UsageRow",
    "WantedToken",
    "WhatIf",
    "WhatIfRow",
]


class Model(Struct):
    """A JSON object of Heddle's own."""


Moment = Annotated[int, Meta(description="Milliseconds since the epoch, UTC")]
Seconds = Annotated[float, Meta(description="Seconds")]
MiB = Annotated[int, Meta(description="Mebibytes")]
Part = Annotated[float, Meta(description="Part of the federation, 0 to 1")]
Counts = Annotated[Mapping[str, int], Meta(description="Numbers by name")]

# -- sub-clusters ------------------------------------------------------------------------------------------------------


class ClusterChange(Model):
    """From when on a sub-cluster was in another state; without another one it did not answer its first poll."""

    at_ms: Moment
    was: str
    state: str
    reason: str


class Cluster(Model):
    """A sub-cluster, and what Heddle knows of it.

    `state` is RUNNING, CORDONED, DRAINING, RECOVERING, LOST, RETIRED or NEW. `age_s` is that of the newest heartbeat,
    or of this process if there was none (`is_heard`). `said_...` is there while an operator's word holds. `changes` are
    those of its state that this Heddle has seen since it began, the newest last, 100 at most.
    """

    id: str
    web: str
    client_rpc: str
    scheduler_rpc: str
    version: str
    state: str
    age_s: Seconds | None
    is_heard: bool
    running: int
    nodes: int
    admission: str
    scheduler: str
    failure: str
    said_by: str | UnsetType = UNSET
    said_at_ms: Moment | UnsetType = UNSET
    said_why: str | UnsetType = UNSET
    changes: Sequence[ClusterChange] = ()


class Clusters(Model):
    """The sub-clusters, as they stand in the configuration."""

    clusters: Sequence[Cluster]


class Order(Model):
    """An operator's word on a sub-cluster, done or only tried: see `Drainage` for the last two members."""

    id: str
    was: str
    admission: str
    dry_run: bool
    still_running: Sequence[str]
    spanning: Counts


class Drainage(Model):
    """What still runs on a sub-cluster.

    `still_running` are applications; `spanning` has the containers of those whose home is elsewhere.
    """

    id: str
    admission: str
    is_drained: bool
    still_running: Sequence[str]
    spanning: Counts


class Retirement(Model):
    """A sub-cluster that never comes back: applications that go elsewhere, and those that are lost."""

    id: str
    was: str
    admission: str
    dry_run: bool
    to_move: Sequence[str]
    to_lose: Sequence[str]
    spanning: Counts


class Revival(Model):
    """A retired sub-cluster that is let in again; ApplicationMasters that are ended there first."""

    id: str
    was: str
    admission: str
    dry_run: bool
    masters_to_end: Sequence[str]


class ConfigurationAge(Model):
    """When the configuration was read that counts."""

    since_ms: Moment


class Reload(ConfigurationAge):
    """What a configuration changes that is read anew.

    Attributes:
        changed: Keys that have another value, as the file has them; files that keys name are read anew, too, and not
            compared.
        added: Sub-clusters that come.
        removed: Sub-clusters that go.
        warnings: What the check said besides.
    """

    dry_run: bool
    changed: Sequence[str]
    added: Sequence[str]
    removed: Sequence[str]
    warnings: Sequence[str]


# -- queues and shares -------------------------------------------------------------------------------------------------


class QueuePart(Model):
    """A leaf queue on one sub-cluster."""

    cluster: str
    state: str
    capacity_mib: MiB
    capacity_vcores: int
    used_mib: MiB
    used_vcores: int
    pending_mib: MiB
    pending_vcores: int
    applications: int


class Queue(Model):
    """A leaf queue on all sub-clusters together, and on each."""

    queue: str
    capacity_mib: MiB
    capacity_vcores: int
    used_mib: MiB
    used_vcores: int
    pending_mib: MiB
    pending_vcores: int
    applications: int
    parts: Sequence[QueuePart]


class Queues(Model):
    """Leaf queues of all sub-clusters."""

    queues: Sequence[Queue]


class QueueUse(Model):
    """What a queue of the policy uses on one sub-cluster."""

    cluster: str
    used_mib: MiB
    used_vcores: int


class QueueShare(Model, kw_only=True):
    """How a queue of the policy stands. The shares are there as soon as they were computed."""

    share: Part | UnsetType = UNSET
    entitlement: Part | UnsetType = UNSET
    used: Part | UnsetType = UNSET
    held: Part | UnsetType = UNSET
    wanted: Part | UnsetType = UNSET
    borrowed: Part | UnsetType = UNSET
    lent: Part | UnsetType = UNSET
    is_owed: bool | UnsetType = UNSET
    queue: str
    weight: float
    waiting: int
    preempted: int
    starts_per_minute: float
    reason: str
    running: int
    unstarted: int
    pending_mib: MiB
    pending_vcores: int
    clusters: Sequence[QueueUse]
    given_s: Seconds | UnsetType = UNSET
    received_s: Seconds | UnsetType = UNSET


class Shares(Model):
    """Standing of each queue by the policy of a version."""

    version: int
    queues: Sequence[QueueShare]


class QueueHistory(Model):
    """Shares of a queue over time; null where nothing was known."""

    queue: str
    used: Sequence[Part | None]
    entitlement: Sequence[Part | None]


class ShareHistory(Model):
    """Shares over the last day: a value of each queue for each moment of `at_ms`."""

    every_s: Seconds
    at_ms: Sequence[Moment]
    queues: Sequence[QueueHistory]


class WhatIfRow(Model):
    """A queue by the policy that holds, and by the other; what is of one of them alone lacks the other's members."""

    queue: str
    share_now: Part | UnsetType = UNSET
    entitlement_now: Part | UnsetType = UNSET
    used_now: Part | UnsetType = UNSET
    held_now: Part | UnsetType = UNSET
    wanted_now: Part | UnsetType = UNSET
    borrowed_now: Part | UnsetType = UNSET
    lent_now: Part | UnsetType = UNSET
    is_owed_now: bool | UnsetType = UNSET
    share_then: Part | UnsetType = UNSET
    entitlement_then: Part | UnsetType = UNSET
    used_then: Part | UnsetType = UNSET
    held_then: Part | UnsetType = UNSET
    wanted_then: Part | UnsetType = UNSET
    borrowed_then: Part | UnsetType = UNSET
    lent_then: Part | UnsetType = UNSET
    is_owed_then: bool | UnsetType = UNSET


class WhatIf(Model):
    """What each queue would be entitled to by another policy; `version` is the one that holds."""

    version: int
    queues: Sequence[WhatIfRow]


# -- policies ----------------------------------------------------------------------------------------------------------


class PolicyText(Model, forbid_unknown_fields=True):
    """A policy as it is sent: TOML, a name for messages, why, and the version that must hold for it to count."""

    text: str
    source: str = "the policy"
    note: str = ""
    expected: int | None = None


class Policy(Model):
    """A policy that holds, or held; version 0 is the configuration file's."""

    version: int
    applied_by: str
    applied_at_ms: Moment
    note: str
    text: str


class PolicyVersions(Model):
    """Every policy that ever held, newest first."""

    versions: Sequence[Policy]


class PolicyAnswer(Model):
    """A policy that was looked at, applied or brought back.

    `queues` are those that it names, `sharing` those with a share, `nowhere` those that no sub-cluster of `checked_on`
    has; `not_at_once` says in words what running applications notice nothing of. Members are left out that the
    operation does not tell.
    """

    version: int | UnsetType = UNSET
    applied_by: str | UnsetType = UNSET
    applied_at_ms: Moment | UnsetType = UNSET
    note: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    source: str | UnsetType = UNSET
    queues: Sequence[str] | UnsetType = UNSET
    sharing: Sequence[str] | UnsetType = UNSET
    nowhere: Sequence[str] | UnsetType = UNSET
    checked_on: Sequence[str] | UnsetType = UNSET
    mappings: int | UnsetType = UNSET
    constraints: int | UnsetType = UNSET
    not_at_once: Sequence[str] | UnsetType = UNSET
    dry_run: bool | UnsetType = UNSET


class Difference(Model):
    """A request on which the policy in a queue's shadow decided otherwise; containers by sub-cluster, and why."""

    at_ms: Moment
    kind: str
    application: str
    priority: int | None
    in_force: Counts
    in_force_reason: str
    shadow: Counts
    shadow_reason: str


class Shadow(Model):
    """A queue with a policy in its shadow: how often the two differed, by kind, and the newest differences."""

    queue: str
    in_force: str
    shadow: str
    since_ms: Moment
    cycles: int
    skipped: int
    solved: int
    unsolved: int
    differences: Counts
    newest: Sequence[Difference]


class Shadows(Model):
    """Every queue with a policy in its shadow."""

    queues: Sequence[Shadow]


# -- operators ---------------------------------------------------------------------------------------------------------


class Finding(Model):
    """Result of a check; `level` is `ok`, `warning` or `error`, `cluster` empty for the federation."""

    check: str
    level: str
    cluster: str
    message: str
    advice: str


class Findings(Model):
    """All that the doctor found."""

    findings: Sequence[Finding]


class HardeningLine(Model):
    """A line of the hardening guide; `state` is `ok`, `not ok` or `cannot tell`, `mend` what to do."""

    id: str
    state: str
    what: str
    found: str
    mend: str


class Hardening(Model):
    """The hardening guide, checked."""

    lines: Sequence[HardeningLine]


class Master(Model):
    """A master by its lease."""

    master: str
    address: str
    fence: int
    remaining_s: Seconds
    is_live: bool


class QueueOwner(Model):
    """A queue, and the Global Master that owns it; empty for nobody."""

    queue: str
    owner: str


class Link(Model):
    """The link to a sub-cluster's Local Master."""

    cluster: str
    is_linked: bool
    address: str
    trouble: str
    reports: int
    resyncs: int


class Promised(Model):
    """Containers that are promised on a sub-cluster, and not granted yet."""

    cluster: str
    containers: int


class Solves(Model):
    """Problems of queues' cycles: `solved` in time, `unsolved`, and `solving` now."""

    solving: int
    solved: int | UnsetType = UNSET
    unsolved: int | UnsetType = UNSET


class AsksStatus(Model):
    """How containers of spanning applications were matched."""

    verdicts: Counts
    inconsistencies: int
    conflicts: Counts
    repairs: int
    fallbacks: int
    promised: Sequence[Promised]
    solves: Solves


class Masters(Model):
    """The masters, as the one that was asked sees them."""

    name: str
    masters: Sequence[Master]
    queues: Sequence[QueueOwner]
    links: Sequence[Link]
    verdicts: Counts
    inconsistencies: int
    repairs: int
    passed_on: Counts
    asks: AsksStatus


class UsageRow(Model, kw_only=True):
    """What a group of applications has used; `share` is its part of what the federation has, where a time was named."""

    queue: str | UnsetType = UNSET
    user: str | UnsetType = UNSET
    cluster: str | UnsetType = UNSET
    applications: int
    memory_mib_s: int
    vcore_s: int
    preempted_memory_mib_s: int
    preempted_vcore_s: int
    share: Part | UnsetType = UNSET
    given_mib_s: int | UnsetType = UNSET
    received_mib_s: int | UnsetType = UNSET


class Usage(Model):
    """Sums of what applications used; `of` is the user whose they are, `*` for everybody."""

    by: Sequence[str]
    from_ms: Moment
    to_ms: Moment
    of: str
    is_cut: bool
    usage: Sequence[UsageRow]


class AuditEntries(Model):
    """Lines of the audit, newest first; `advice` says why there may be none."""

    entries: Sequence[Mapping[str, Any]]
    advice: str


class Token(Model):
    """An API token, without its text."""

    id: str
    name: str
    user: str
    scopes: Sequence[str]
    created_by: str
    created_at_ms: Moment
    good_until_ms: Moment


class NewToken(Token, kw_only=True):
    """An API token with its text, which nobody is told a second time."""

    token: str


class Tokens(Model):
    """API tokens that were not revoked."""

    tokens: Sequence[Token]


class WantedToken(Model, forbid_unknown_fields=True):
    """A new API token, as it is asked for; `user` is whom it stands for, empty for the caller."""

    name: str
    scopes: Sequence[str] = ()
    user: str = ""
    lifetime_s: Seconds = 30 * 86_400.0


class Revoked(Model):
    """An API token that is good no more."""

    id: str
    revoked: bool


# -- the console -------------------------------------------------------------------------------------------------------


class ApplicationRow(Model):
    """An application as the console lists it."""

    id: str
    name: str
    user: str
    queue: str
    state: str
    final_status: str
    cluster: str
    type: str
    tags: Sequence[str]
    started_ms: Moment
    finished_ms: Moment
    progress: float | None
    containers: int | None
    memory_mib: MiB | None
    vcores: int | None
    priority: int | None
    diagnostics: str


class Group(Model):
    """Applications that share a value."""

    value: str
    applications: int


class ApplicationPage(Model):
    """A page of applications: `total` may be seen, `matched` fit the query, `states` counts those."""

    total: int
    matched: int
    states: Counts
    groups: Sequence[Group]
    offset: int
    apps: Sequence[ApplicationRow]


class Node(Model):
    """A node, as its sub-cluster last reported it."""

    cluster: str
    node: str
    rack: str
    state: str
    labels: Sequence[str]
    memory_mib: MiB
    used_mib: MiB
    vcores: int
    used_vcores: int


class Nodes(Model):
    """Nodes of all sub-clusters."""

    total: int
    nodes: Sequence[Node]


class Decision(Model):
    """A decision on an application, with its facts by name."""

    number: int
    at_ms: Moment
    event: str
    application: str
    user: str
    queue: str
    facts: Mapping[str, Any]


class Decisions(Model):
    """The newest decisions of this process, and the names of all events that there are."""

    decisions: Sequence[Decision]
    events: Sequence[str]


class ContainerPlaces(Model):
    """The home of an application, and the sub-cluster of each live container that is elsewhere."""

    home: str
    elsewhere: Mapping[str, str]


class CallerTold(Model):
    """Who the server takes the caller for, and what that one may ask for."""

    user: str
    is_anonymous: bool
    role: str
    may_ask: bool
    has_session: bool
    is_operator: bool
    rights: Sequence[str]
