"""From the sections of the configuration to the settings of rooms.

What a key sets has its default in the section, and none in the room: whoever makes a room's settings has to say it.
"""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace

from adapters.yarn import RestSettings
from adapters.yarn.rm_rpc import RPCSettings
from shim.config.loader import Config
from shim.config.oidc import OIDCConfig
from shim.config.roles import RolesConfig
from shim.config.sections import HistoryConfig, ServerConfig, SharesConfig
from shim.config.subclusters import PollConfig, SubClusterConfig
from shim.domain.file_systems import FileSystems, file_system_of
from shim.domain.ids import SubClusterId
from shim.domain.preemption import PreemptionSettings, settling_s
from shim.domain.queues import AUTOMATIC, PLAIN, QueueDefaults
from shim.federation.core.federation_view import ViewSettings
from shim.federation.poller import PollSchedule
from shim.federation.polling import PollSettings
from shim.federation.reading import ReadingSettings
from shim.identity.delegation_tokens import TokenLimits
from shim.identity.provider_claims import ClaimRules
from shim.identity.rates import Rate, RateLimits
from shim.identity.roles import RoleRules
from shim.identity.service import IdentityRules, ProxyRule
from shim.multicluster.core.splitter import SplitSettings
from shim.multicluster.queue_cycles import CycleSettings
from shim.multicluster.sessions import SessionSettings
from shim.queues.core.entitle import ShareSettings
from shim.scheduling.reading_costs import DataRules
from shim.server.rest import ConnectionLimits
from shim.server.rest.cache import CacheLimits
from shim.submission.core.home import HomeSettings
from shim.submission.homes import data_parts
from shim.submission.reconciliation import ReconciliationSettings

_GROUP = "group:"
_SHARE_OF_HOMES = 0.9
"""Part of a client's patience that homes may use up; the rest is for the way back to the client."""


def view_settings(config: Config) -> ViewSettings:
    """Ages of reports, and number of final documents, that the view keeps."""
    return ViewSettings(config.poll.late_after_s, config.history.final_documents)


def poll_schedule(poll: PollConfig) -> PollSchedule:
    """Intervals and limits of polls of ResourceManagers, for each process that polls.

    What all of them read in a second is as much as one would: one process takes it all in. A sub-cluster that does not
    say that it is there is found out before it would count as LOST for its silence.
    """
    usual = PollSettings(timeout_s=poll.timeout_s)
    info_timeout_s = min(usual.info_timeout_s, poll.late_after_s)
    rows_per_s = usual.rows_per_s / max(1, poll.workers)
    is_packed = poll.workers > 0  # there are cores to spare
    limits = replace(usual, info_timeout_s=info_timeout_s, rows_per_s=rows_per_s, is_packed=is_packed)
    return PollSchedule(interval_s=poll.interval_s, poll=limits)


def rest_settings(
    subcluster: SubClusterConfig, poll: PollConfig, tls: Callable[[], ssl.SSLContext] | None = None
) -> RestSettings:
    """Requests to a sub-cluster's web services; `tls` gives the context of the moment."""
    return RestSettings(
        user=subcluster.user,
        connect_timeout_s=poll.connect_timeout_s,
        timeout_s=poll.timeout_s,
        max_answer_bytes=poll.max_answer_bytes,
        is_proxy=subcluster.auth == "proxy",
        tls=tls,
    )


def rpc_settings(poll: PollConfig, real_user: str = "") -> RPCSettings:
    """Calls to a ResourceManager's RPC servers, by `real_user` on behalf of others; empty to be believed at once."""
    return RPCSettings(connect_timeout_s=poll.connect_timeout_s, timeout_s=poll.timeout_s, real_user=real_user)


def reading_settings(server: ServerConfig, guarded: frozenset[SubClusterId] = frozenset()) -> ReadingSettings:
    """Ages and times of reads; of `guarded` sub-clusters nothing is shown that another user was told."""
    within_s = _SHARE_OF_HOMES * server.answer_within_s
    return ReadingSettings(staleness_s=server.staleness_s, answer_within_s=within_s, guarded=guarded)


def reconciliation_settings(history: HistoryConfig) -> ReconciliationSettings:
    """Comparisons with sub-clusters, and how long and how many final records are kept."""
    return ReconciliationSettings(records_s=history.records_s, records=history.records)


def split_settings(config: Config) -> SplitSettings:
    return SplitSettings(move_after_beats=config.span.move_after_beats, oldest_view_s=config.span.oldest_view_s)


def keeps_tokens(config: Config) -> bool:
    """Return whether what is kept of running applications can be read after a restart: sealed with a key that lasts."""
    return config.security.secret_file is not None or config.store.url.startswith("sqlite:")


def queue_defaults(config: Config) -> QueueDefaults:
    """What queues do that do not say otherwise: with one sub-cluster nothing is held, spanned or ordered.

    Applications leave their homes by themselves only between sub-clusters that share a file system, or name a reach.
    """
    if not config.scheduling.automatic or len(config.subclusters) < 2:  # noqa: PLR2004 - several
        return PLAIN
    is_kept = keeps_tokens(config)
    can_span, can_order = is_kept and any(reach(config).values()), is_kept and config.span.placement == "heddle"
    return replace(AUTOMATIC, spans_by_need=can_span, reads_asks=can_order)


def reach(config: Config) -> Mapping[SubClusterId, frozenset[SubClusterId]]:
    """Sub-clusters that applications of each may span to by themselves."""
    systems = file_systems(config)
    named = FileSystems({SubClusterId(each.id): frozenset(each.reach) for each in config.subclusters})
    return {name: systems.shared_with(name) | named.shared_with(name) for name in named.of}


def file_systems(config: Config) -> FileSystems:
    """Sub-clusters' own file systems."""
    own = {SubClusterId(each.id): frozenset(map(file_system_of, each.filesystems)) for each in config.subclusters}
    return FileSystems({name: named - {""} for name, named in own.items()})


def home_settings(config: Config, name_at: Callable[[SubClusterId, str], str]) -> HomeSettings:
    """Choice of homes."""
    worth = config.scheduling.home_with_data
    return HomeSettings(name_at=name_at, data_parts=data_parts(file_systems(config)), home_with_data=worth)


def cycle_settings(config: Config) -> CycleSettings:
    scheduling = config.scheduling
    return CycleSettings(
        cycle_s=scheduling.cycle_s,
        starvation_s=config.span.starvation_s,
        solve_s=scheduling.solve_s,
        data=_data_rules(config),
    )


def _data_rules(config: Config) -> DataRules:
    """Reading of data in other sub-clusters."""
    pairs = {
        SubClusterId(each.id): {SubClusterId(other): seconds for other, seconds in each.reads_from.items()}
        for each in config.subclusters
    }
    return DataRules(file_systems(config), config.scheduling.read_across_s, pairs)


def session_settings(config: Config) -> SessionSettings:
    """Sessions with schedulers of sub-clusters that applications span to."""
    return SessionSettings(beat_s=config.span.beat_s, lost_after_s=config.span.lost_after_s)


def share_settings(shares: SharesConfig) -> ShareSettings:
    """Rounds of shares: starts that may be under way, the age of reports that count, the longest overtaking."""
    return ShareSettings(shares.pending_per_cluster, shares.absent_after_s, shares.overtaken_s)


def preemption_settings(config: Config) -> PreemptionSettings:
    """Times of preemption, where sub-clusters are polled as often as they are."""
    shares = config.shares
    return PreemptionSettings(
        preempt_after_s=shares.preempt_after_s,
        preempt_grace_s=shares.preempt_grace_s,
        settle_s=settling_s(config.poll.interval_s),
    )


def identity_rules(config: Config, user: str, own_users: frozenset[str] = frozenset()) -> IdentityRules:
    """Rules by which callers are known, and what they may do.

    Args:
        user: Whom this process runs as, who is an administrator on this machine.
        own_users: As whom Heddle speaks to sub-clusters.
    """
    security = config.security
    return IdentityRules(
        static_user=security.static_user,
        cookie_validity_s=security.cookie_validity_s,
        allow_anonymous=security.allow_anonymous,
        admins=security.admins,
        local_admin=user,
        roles=RoleRules(security.roles.by_role),
        own_users=own_users,
        proxy_users={
            name: ProxyRule(hosts=rule.hosts, users=rule.users, groups=rule.groups)
            for name, rule in security.proxyuser.items()
        },
        is_encrypted=config.server.tls.certificate is not None,
        asks_for_tickets=bool(security.kerberos.web_principal),
    )


def claim_rules(oidc: OIDCConfig, roles: RolesConfig) -> ClaimRules:
    """Claims of an identity provider; `roles` say which groups count."""
    listed = (each for names in roles.by_role.values() for each in names)
    return ClaimRules(
        user_claim=oidc.user_claim,
        groups_claim=oidc.groups_claim,
        groups_prefix=oidc.groups_prefix,
        user_domains=frozenset(each.lower() for each in oidc.user_domains),
        known_groups=frozenset(each.removeprefix(_GROUP) for each in listed if each.startswith(_GROUP)),
    )


def token_limits(config: Config) -> TokenLimits:
    """Lives of delegation tokens."""
    lives = config.security.delegation_tokens
    return TokenLimits(lifetime_s=lives.lifetime_s, renewal_s=lives.renewal_s)


def rate_limits(config: Config) -> RateLimits:
    """Rates of users and addresses."""
    limits = config.limits
    user, address = Rate(limits.user_per_s, limits.user_burst), Rate(limits.address_per_s, limits.address_burst)
    return RateLimits(user, address, user_calls=limits.user_calls)


def connection_limits(server: ServerConfig) -> ConnectionLimits:
    """Limits of one client of the web services."""
    return ConnectionLimits(
        max_header_bytes=server.max_header_bytes,
        max_body_bytes=server.max_body_bytes,
        request_timeout_s=server.request_timeout_s,
        keep_alive_s=server.keep_alive_s,
    )


def cache_limits(history: HistoryConfig) -> CacheLimits:
    """Answers of the web services that are kept."""
    return CacheLimits(answers=history.answers, answers_bytes=history.answers_bytes)
