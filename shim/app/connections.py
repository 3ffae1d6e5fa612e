"""From the `[[subcluster]]` sections of the configuration to the ResourceManagers behind them."""

import ipaddress
import ssl
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from adapters.hdfs import WebAccess
from adapters.kerberos import KerberosLogin
from adapters.yarn import RestResourceManager, RestSettings, SubClusterConfiguration, read_folder
from adapters.yarn.log_folder import LogFolder, WebLogFolder
from adapters.yarn.master_pages import MasterPages, PageSource
from adapters.yarn.node_addresses import node_url
from adapters.yarn.rm_rpc import DualResourceManager, RPCTarget, TokenLogins, YarnRPC, addresses_of
from adapters.yarn.rpc_channel import ConnectionBudget
from adapters.yarn.tracking_urls import TrackedAtHeddle, TrackedByRPC
from shim.app.runtime import ReachableClusters
from shim.app.settings import rest_settings, rpc_settings
from shim.app.tls_files import ClientTLSFiles, ReloadedContext
from shim.config.loader import Config
from shim.config.sections import ServerConfig
from shim.config.subclusters import PollConfig, SubClusterConfig
from shim.domain.addresses import split_address
from shim.domain.ids import SubClusterId
from shim.errors import ConfigError
from shim.federation.inspection import SubClusterDescription
from shim.ports.log_archive import LogArchive
from shim.ports.resource_manager import ResourceManager, RestAnswer, RestRequest
from shim.ports.resource_manager_rpc import ResourceManagerRPC

_MOST_OF_A_NODE = 4 * 1024 * 1024  # bytes; a `/conf` has a few hundred KiB, a tail of logs at most 1 MiB


@dataclass(frozen=True, slots=True)
class SubCluster:
    """A sub-cluster with its addresses found out.

    Attributes:
        is_guarded: Whether what its ResourceManager tells depends on who asks.
        principal: Of its ResourceManager, which asks for tickets over RPC; empty if it believes names.
    """

    id: SubClusterId
    description: SubClusterDescription
    is_guarded: bool
    settings: RestSettings
    principal: str = ""

    def connect(self, login: KerberosLogin | None = None) -> RestResourceManager:
        """The sub-cluster's ResourceManager, which is shown tickets if it asks for them; nothing is opened yet."""
        return RestResourceManager(self.id, self.description.web, self.settings, tickets=login)

    async def ask_node(self, web_address: str, request: RestRequest) -> RestAnswer:
        """Ask one of its NodeManagers; see `shim.ports.AskNode`. No node takes Heddle's word for another (`doAs`)."""
        manager = urlsplit(self.description.web[0])
        url = await node_url(self.id, web_address, scheme=manager.scheme, manager_host=manager.hostname or "")
        settings = replace(self.settings, max_answer_bytes=_MOST_OF_A_NODE, is_proxy=False)
        node = RestResourceManager(self.id, [url], settings)
        try:
            return await node.forward(request)
        finally:
            await node.close()


def resolve(
    config: SubClusterConfig, poll: PollConfig, monotonic_s: Callable[[], float] = time.monotonic
) -> SubCluster:
    """Find a sub-cluster's addresses: those of the configuration go before those of its folder.

    Args:
        monotonic_s: The clock that tells when files of certificates are looked at again.

    Raises:
        ConfigError: If the folder or the certificates cannot be read.
    """
    found = read_folder(config.conf) if config.conf is not None else _nothing()
    return SubCluster(
        id=SubClusterId(config.id),
        description=SubClusterDescription(
            web=config.web or found.web,
            client_rpc=config.client_rpc or found.client_rpc,
            scheduler_rpc=config.scheduler_rpc or found.scheduler_rpc,
            admin_rpc=config.admin_rpc or found.admin_rpc,
            proxy_user=config.user if config.auth == "proxy" else "",
        ),
        is_guarded=found.has_acls,
        settings=rest_settings(config, poll, _tls_of(config, config.web or found.web, monotonic_s)),
        principal=config.principal,
    )


def resolve_all(config: Config) -> list[SubCluster]:
    """The addresses of every sub-cluster.

    Raises:
        ConfigError: As `resolve`, of all at once; or two are one ResourceManager, whose nodes would count twice.
    """
    found: list[SubCluster] = []
    mistakes: list[ConfigError] = []
    for each in config.subclusters:
        try:
            found.append(resolve(each, config.poll))
        except ConfigError as exc:
            mistakes += [_of_cluster(one, each.id) for one in exc.mistakes]
    known: dict[str, SubClusterId] = {}
    for subcluster in found:
        described = subcluster.description
        addresses = [address.partition("://")[2] for address in described.web] + [*described.client_rpc]
        twice = next((address for address in addresses if address in known), None)
        if twice is not None:
            message = f"is the ResourceManager of {known[twice]}, too ({twice}): name another, or take one of them out"
            mistakes.append(ConfigError("[[subcluster]]", str(subcluster.id), message))
        known |= {address: known.get(address, subcluster.id) for address in addresses}
    if mistakes:
        first, *others = mistakes
        raise ConfigError(first.source, first.key, first.message, others=others)
    return found


def _of_cluster(mistake: ConfigError, id_: str) -> ConfigError:
    whose = f"sub-cluster {id_}"
    key = mistake.key if whose in mistake.message else f"{whose}: {mistake.key}"
    return ConfigError(mistake.source, key, mistake.message)


def cluster_tls_files(config: SubClusterConfig) -> ClientTLSFiles:
    """Files for https that a `[[subcluster]]` names."""
    return ClientTLSFiles(
        is_verified=config.verify_tls,
        ca=config.ca_file,
        certificate=config.certificate,
        key=config.key_file,
        whom=f"sub-cluster {config.id}",
    )


def _tls_of(
    config: SubClusterConfig, web: Iterable[str], monotonic_s: Callable[[], float]
) -> Callable[[], ssl.SSLContext] | None:
    """Looks at the files now: without this each poll would fail, with words that do not name them."""
    files = cluster_tls_files(config)
    is_needed = files.names_any or any(address.startswith("https:") for address in web)
    return ReloadedContext(files, monotonic_s).now if is_needed else None


def _nothing() -> SubClusterConfiguration:
    return SubClusterConfiguration(
        web=(), client_rpc=(), scheduler_rpc=(), admin_rpc=(), rm_ids=(), epoch=0, has_acls=False, recovers=True
    )


def connect(config: Config, login: KerberosLogin | None = None) -> ReachableClusters:
    """Every configured sub-cluster; nothing is opened yet.

    Args:
        login: How Heddle gets tickets, for those that ask for them.

    Raises:
        ConfigError: If a folder or the certificates of one cannot be read.
    """
    subclusters = resolve_all(config)
    budget = ConnectionBudget()
    open_rpc = partial(_connect_rpc, poll=config.poll, login=login, budget=budget)
    rpcs = _known({each.id: open_rpc(each, each.description.client_rpc) for each in subclusters})
    admins = _known({each.id: open_rpc(each, each.description.admin_rpc) for each in subclusters})
    named = zip(config.subclusters, subclusters, strict=True)
    rests = {each.id: _with_pages(each, login, section.page_hosts, config.server) for section, each in named}
    duals = {id_: DualResourceManager(rest, rpcs[id_]) if id_ in rpcs else rest for id_, rest in rests.items()}
    url = config.server.proxy_url
    return ReachableClusters(
        managers={id_: TrackedAtHeddle(each, url) if url else each for id_, each in duals.items()},
        logins=_logins(subclusters, config.poll),
        rpcs={id_: TrackedByRPC(each, url) if url else each for id_, each in rpcs.items()},
        admins=admins,
        descriptions={each.id: each.description for each in subclusters},
        guarded=frozenset(each.id for each in subclusters if each.is_guarded),
        own_users=_own_users(config, subclusters),
        ask_node={each.id: each.ask_node for each in subclusters},
        archives=_archives(config, subclusters, login),
        prove=None if login is None else login.web_proof,
    )


def connect_for_polls(
    subclusters: Iterable[SubClusterConfig], poll: PollConfig, proxy_url: str, login: KerberosLogin | None
) -> dict[SubClusterId, ResourceManager]:
    """The web services of ResourceManagers alone, as polls need them; raises as `resolve`, nothing is opened yet."""
    found = (resolve(each, poll).connect(login) for each in subclusters)
    return {each.subcluster: TrackedAtHeddle(each, proxy_url) if proxy_url else each for each in found}


def _with_pages(
    subcluster: SubCluster, login: KerberosLogin | None, hosts: tuple[str, ...], server: ServerConfig
) -> ResourceManager:
    """A sub-cluster's ResourceManager, and the pages of its ApplicationMasters."""
    addresses = (server.rest, server.proxy, server.client_rpc, server.scheduler_rpc, server.admin_rpc)
    host, _ = split_address(server.rest)
    source = PageSource(
        manager=subcluster.description.web[0],
        own_ports=frozenset(split_address(each)[1] for each in addresses if each),
        hosts=tuple(each.lower() for each in hosts),
        local_address=host if _is_one_address(host) else "",
    )
    return MasterPages(subcluster.connect(login), subcluster.settings, source, time.monotonic)


def _is_one_address(host: str) -> bool:
    """True for an address that other machines reach: from others Heddle asks as the way there suggests."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def _archives(
    config: Config, subclusters: Iterable[SubCluster], login: KerberosLogin | None
) -> dict[SubClusterId, LogArchive]:
    settings = {each.id: each.settings for each in subclusters}
    return {
        id_: _archive(place, each.aggregated_logs_nodes, settings[id_], login)
        for each in config.subclusters
        if (id_ := SubClusterId(each.id)) and (place := each.aggregated_logs) is not None
    }


def _archive(place: str, nodes: tuple[str, ...], settings: RestSettings, login: KerberosLogin | None) -> LogArchive:
    if "://" not in place:
        return LogFolder(Path(place))
    access = WebAccess(
        settings.user,
        nodes,
        connect_timeout_s=settings.connect_timeout_s,
        tls=settings.tls,
        prove=None if login is None else login.web_proof,
    )
    return WebLogFolder(place, access)


def _own_users(config: Config, subclusters: Iterable[SubCluster]) -> frozenset[str]:
    """Users that Heddle is at ResourceManagers: by its name where that is a proxy user's, and by its principal."""
    by_ticket = config.security.kerberos.principal.partition("/")[0]
    named = {each.settings.user for each in subclusters if each.settings.is_proxy}
    return frozenset(named | ({by_ticket} if by_ticket else set()))


def _connect_rpc(
    subcluster: SubCluster,
    listed: Sequence[str],
    poll: PollConfig,
    login: KerberosLogin | None,
    budget: ConnectionBudget,
) -> YarnRPC | None:
    """An RPC server of a sub-cluster's ResourceManager, nothing opened yet; None if its address is not known.

    Args:
        listed: Where the ResourceManagers have that server, `host:port`.
        login: How Heddle gets tickets, for those that ask for them.
    """
    addresses = addresses_of(listed)
    if not addresses:
        return None
    settings = rpc_settings(poll, subcluster.settings.user if subcluster.settings.is_proxy else "")
    log_in = login.at(subcluster.principal) if login is not None and subcluster.principal else None
    return YarnRPC(RPCTarget(subcluster.id, addresses), settings, log_in=log_in, budget=budget)


def _known(rpcs: Mapping[SubClusterId, YarnRPC | None]) -> dict[SubClusterId, ResourceManagerRPC]:
    return {id_: rpc for id_, rpc in rpcs.items() if rpc is not None}


def _logins(subclusters: Iterable[SubCluster], poll: PollConfig) -> TokenLogins:
    targets = {
        each.id: RPCTarget(each.id, addresses)
        for each in subclusters
        if (addresses := addresses_of(each.description.scheduler_rpc))
    }
    return TokenLogins(targets, rpc_settings(poll))
