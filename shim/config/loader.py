"""The configuration: one frozen tree, read once, passed down.

`load` reads `heddle.toml` and `HEDDLE_SECTION_KEY` variables; nothing else of Heddle reads either. The classes of the
sections are the reference: docs/operators/configuration.md is made of them by scripts/configuration_page.py.
"""

import ipaddress
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from shim.config.kerberos import KerberosConfig
from shim.config.ldap import check_ldap
from shim.config.masters import MastersConfig
from shim.config.oidc import OIDCConfig
from shim.config.policy_files import bounded_tables
from shim.config.queues import (
    ConstraintConfig,
    MappingConfig,
    NodeGroupConfig,
    PolicyConfig,
    QueueConfig,
    check_policy,
    share_policy,
)
from shim.config.sections import (
    HistoryConfig,
    LimitsConfig,
    LogConfig,
    MultiClusterConfig,
    SchedulingConfig,
    SecurityConfig,
    ServerConfig,
    SharesConfig,
    StoreConfig,
)
from shim.config.subclusters import ClustersConfig, PollConfig, SubClusterConfig
from shim.config.tree import (
    Key,
    Origin,
    declared_keys,
    is_table,
    item_type,
    key,
    key_of,
    read,
    removed_keys,
    section,
    unknown_name,
)
from shim.domain.addresses import split_address
from shim.domain.queues import PLAIN
from shim.domain.users import USER_NAME
from shim.errors import ConfigError, reason_of

# `[tez]`, `[spark]`, `[hdfs]`: where the stages of jobs can be read.

_FOLDER = r"/[^\0]*|s?webhdfs://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}(?:/[^\s?#]*)?"
_FOLDER_FORM = 'an absolute folder of this machine or a web gateway of HDFS; write "webhdfs://host:9870/path"'
_HOST = r"\.?[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:]{2,45}"


@dataclass(frozen=True, slots=True)
class TezConfig:
    """Graphs of Tez jobs in queues with `altruism`, or a policy that goes by graphs; nothing is read of others."""

    staging: tuple[str, ...] = key(
        (),
        about=Key(
            "Staging folders (`tez.staging-dir`), absolute, as this machine sees them, or in HDFS by its web gateway "
            "(see `[hdfs]`); `{user}` stands for the application's user. The plans of jobs and of sessions are read "
            "there; without them graphs of Tez jobs are not known.",
            pattern=_FOLDER,
            form=_FOLDER_FORM,
        ),
    )
    ask_masters: bool = key(
        default=True,
        about=Key(
            "Whether ApplicationMasters of jobs whose plan was read are asked every two seconds how many tasks of each "
            "vertex run and have ended, by the web proxy of their ResourceManager. Sessions are known by that alone."
        ),
    )


@dataclass(frozen=True, slots=True)
class SparkConfig:
    """Stages of Spark jobs in queues with `altruism`, or a policy that goes by graphs."""

    ask_drivers: bool = key(
        default=True,
        about=Key(
            "Whether drivers are asked every two seconds which stages run, by the web proxy of their ResourceManager; "
            "without it nothing is known of Spark jobs."
        ),
    )
    event_logs: tuple[str, ...] = key(
        (),
        about=Key(
            "Folders of event logs (`spark.eventLog.dir`), absolute, as this machine sees them, or in HDFS by its web "
            "gateway (see `[hdfs]`). They tell which stages wait for which; without them a job is known only while "
            "one stage of it runs.",
            pattern=_FOLDER,
            form=_FOLDER_FORM,
        ),
    )


@dataclass(frozen=True, slots=True)
class HDFSConfig:
    """Folders in HDFS that `[tez]` and `[spark]` name: a NameNode's WebHDFS or HttpFS."""

    user: str = key(
        "heddle",
        about=Key(
            "As whom Heddle reads there; it must be allowed to. A gateway that asks for tickets gets those of "
            "`[security.kerberos]`, and they tell who reads.",
            pattern=r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,255}",
            form="a user name; write the short one, without host and realm",
        ),
    )
    nodes: tuple[str, ...] = key(
        (),
        about=Key(
            "Hosts of DataNodes, besides the gateway's own, that a NameNode may send Heddle on to: names, or "
            "`.example.org` for all below. HttpFS needs none.",
            pattern=_HOST,
            form='a host; write "node1.example.org", or ".example.org" for all below',
        ),
    )
    ca_file: Path | None = key(
        None, about=Key("CAs of the gateways and DataNodes with https, in PEM form; the machine's without it.")
    )


# ruff: noqa: RUF009 - `key` and `section` describe a field, as dataclasses.field does


_LONGEST_WAIT_S = 3600

VARIABLE_PREFIX = "HEDDLE_"


@dataclass(frozen=True, slots=True)
class Config:
    """All of it."""

    server: ServerConfig = section(ServerConfig, Key("Addresses and limits."))
    store: StoreConfig = section(StoreConfig, Key("The database."))
    security: SecurityConfig = section(SecurityConfig, Key("Users."))
    clusters: ClustersConfig = section(ClustersConfig, Key("Where the list of sub-clusters stands."))
    poll: PollConfig = section(PollConfig, Key("How sub-clusters are polled."))
    history: HistoryConfig = section(HistoryConfig, Key("What is over."))
    masters: MastersConfig = section(MastersConfig, Key("Masters in processes of their own."))
    shares: SharesConfig = section(SharesConfig, Key("Shares of queues."))
    span: MultiClusterConfig = section(MultiClusterConfig, Key("Applications beyond their homes."))
    limits: LimitsConfig = section(LimitsConfig, Key("How fast users and addresses may call."))
    scheduling: SchedulingConfig = section(SchedulingConfig, Key("Cycles of queues."))
    tez: TezConfig = section(TezConfig, Key("Graphs of Tez jobs."))
    spark: SparkConfig = section(SparkConfig, Key("Stages of Spark jobs."))
    hdfs: HDFSConfig = section(HDFSConfig, Key("How graphs of jobs are read in HDFS."))
    log: LogConfig = section(LogConfig, Key("Logs."))
    subclusters: tuple[SubClusterConfig, ...] = key(
        (), about=Key("`[[subcluster]]`, one for each YARN cluster.", name="subcluster")
    )
    queues: tuple[QueueConfig, ...] = key(
        (), about=Key("`[[queue]]`, for queues that need more than the defaults.", name="queue")
    )
    mappings: tuple[MappingConfig, ...] = key(
        (), about=Key("`[[mapping]]`, who is put into which queue.", name="mapping")
    )
    constraints: tuple[ConstraintConfig, ...] = key(
        (), about=Key("`[[constraint]]`, where containers with tags may be.", name="constraint")
    )
    node_groups: tuple[NodeGroupConfig, ...] = key(
        (), about=Key("`[[node_group]]`, sets of nodes that constraints name.", name="node_group")
    )

    @property
    def policy(self) -> PolicyConfig:
        """The part that policies may change while Heddle runs."""
        return PolicyConfig(self.queues, self.mappings, self.constraints, self.node_groups)


StoredClusters = Callable[[str], str]
"""From a store's URL to its list of sub-clusters, a text with `[[subcluster]]` tables; raises a `HeddleError`."""


def _none_stored(_: str) -> str:
    return ""


def load(
    path: Path | str, environment: Mapping[str, str] | None = None, *, stored: StoredClusters = _none_stored
) -> Config:
    """Read a configuration file and the variables that override it.

    Args:
        environment: Variables; only those that begin with `HEDDLE_` and a section's name are looked at.
        stored: The list of sub-clusters, where the store has it; without it there are none then.

    Raises:
        ConfigError: If the file cannot be read, a key is unknown or missing, or a value is not allowed.
    """
    source = str(path)
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(
            source, "(file)", f"cannot be read: {reason_of(exc)}. `heddle serve -c FILE` names another"
        ) from exc
    return parse(text, source=source, environment=environment or {}, stored=stored)


def parse(text: str, *, source: str, environment: Mapping[str, str], stored: StoredClusters = _none_stored) -> Config:
    """As `load`, from a text; `source` is what messages call it, and relative paths start in its folder."""
    try:
        tables: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(source, "(file)", f"is not TOML: {exc}") from exc
    mistakes: list[ConfigError] = []
    lines = lines_of_keys(text)
    where = _where_clusters_are(tables, environment, source)
    if where is not None:
        if "subcluster" in tables:
            told = 'is here, and clusters.managed = "store" has them in the store: `heddle cluster add` puts them there'
            mistakes.append(ConfigError(source, "subcluster", told))
        tables["subcluster"] = cluster_tables(stored(where), source=STORED)
    origin = overlay(Config, tables, VARIABLE_PREFIX, environment, source, mistakes)
    config = read(Config, tables, origin)
    known = {mistake.key for mistake in mistakes}
    for check in (*_CHECKS, _check_together):
        try:
            mistakes.extend(mistake for mistake in check(config, source) if not _follows(mistake, known))
        except (AttributeError, TypeError, ValueError):  # of a value that could not be read
            if not known:
                raise
    if mistakes:
        mistakes.extend(_missing_folders(config, source))  # told now, not by the next start
        raise _all_of(mistakes, lines, source)
    return config


def _follows(mistake: ConfigError, known: AbstractSet[str]) -> bool:
    """Whether a mistake is another's: of a value that could not be read, or of a place that is not known for that."""
    return not known.isdisjoint({mistake.key, *(f"{mistake.key}.{place}" for place in ("conf", "web"))})


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration that is read again and again: a file, what overrides it, and what the store has of it."""

    path: Path
    environment: Mapping[str, str]
    stored: StoredClusters = _none_stored

    def __call__(self, *, stored: StoredClusters | None = None, text: str | None = None) -> Config:
        """Read it as it stands now.

        Args:
            stored: Tells another list of sub-clusters than the store's.

        Raises:
            ConfigError: It cannot be used.
        """
        if text is None:
            return load(self.path, self.environment, stored=stored or self.stored)
        return parse(text, source=str(self.path), environment=self.environment, stored=stored or self.stored)


STORED = "the sub-clusters in the store"
"""What messages call them."""


def _where_clusters_are(tables: Mapping[str, Any], environment: Mapping[str, str], source: str) -> str | None:
    """URL of the store that has the sub-clusters; None if the file has them, or if it cannot be told."""
    first = {name: {**table} for name in ("clusters", "store") if isinstance(table := tables.get(name), Mapping)}
    mistakes: list[ConfigError] = []
    config = read(Config, first, overlay(Config, first, VARIABLE_PREFIX, environment, source, mistakes))
    return config.store.url if config.clusters.managed == "store" else None


def cluster_tables(text: str, *, source: str) -> list[dict[str, Any]]:
    """The tables of a list of sub-clusters.

    Raises:
        ConfigError: It is no TOML, too large, or has something else in it.
    """
    tables = bounded_tables(text, source)
    for name in tables.keys() - {"subcluster"}:
        raise ConfigError(source, name, "is there, and a list of sub-clusters has [[subcluster]] alone")
    found = tables.get("subcluster", [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ConfigError(source, "subcluster", "is not written [[subcluster]]")
    return found


def _all_of(mistakes: Sequence[ConfigError], lines: dict[str, int], source: str) -> ConfigError:
    def placed(mistake: ConfigError) -> tuple[int, ConfigError]:
        line = line_of(lines, mistake.key) if mistake.source == source else 0
        return line, ConfigError(f"{source}:{line}", mistake.key, mistake.message) if line else mistake

    first, *others = (mistake for _, mistake in sorted(map(placed, mistakes), key=lambda pair: pair[0]))
    return ConfigError(first.source, first.key, first.message, others=others)


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches a `host:port`; a name other than localhost may be of any machine."""
    host, _ = split_address(address)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _check_subclusters(config: Config, source: str) -> Iterator[ConfigError]:
    subclusters = config.subclusters
    if not subclusters and config.clusters.managed == "file":
        yield ConfigError(source, "subcluster", "there is none: write [[subcluster]] with an id and conf or web")
    seen: set[str] = set()
    for number, subcluster in enumerate(subclusters):
        if subcluster.id and subcluster.id in seen:
            yield ConfigError(source, f"subcluster[{number}].id", f"{subcluster.id!r} is there twice")
        seen.add(subcluster.id)
        if subcluster.conf is None and not subcluster.web:
            message = "it has neither conf (a folder with yarn-site.xml) nor web (http://host:port)"
            yield ConfigError(source, f"subcluster[{number}]", message)
        yield from _check_costs(subcluster, number, [each.id for each in subclusters if each.id], source)


def _missing_folders(config: Config, source: str) -> Iterator[ConfigError]:
    for number, each in enumerate(config.subclusters):
        if isinstance(each.conf, Path) and not each.conf.is_dir():
            yield ConfigError(source, f"subcluster[{number}].conf", f"{each.conf} is no folder")


def _check_costs(subcluster: SubClusterConfig, number: int, ids: Sequence[str], source: str) -> Iterator[ConfigError]:
    for other, seconds in subcluster.reads_from.items():
        where = f"subcluster[{number}].reads_from.{other}"
        if other not in ids or other == subcluster.id:
            yield ConfigError(source, where, f"there is no other such sub-cluster; there are {', '.join(ids)}")
        if not 0 <= seconds <= _LONGEST_WAIT_S:
            yield ConfigError(source, where, f"{seconds:g} is not between 0 and {_LONGEST_WAIT_S} seconds")


def _check_spans(config: Config, source: str) -> Iterator[ConfigError]:
    """Tokens are kept for the next Heddle; sealed with a secret that dies with this one they could not be read."""
    read = [queue for queue in config.queues if queue.span or queue.preemptable]
    if read and config.security.secret_file is None:
        key_of_it = "span" if read[0].span else "preemptable"
        named = f"queue {read[0].name} has {key_of_it} = true"
        message = f"is missing: {named}, and what is kept of it is sealed with this secret"
        yield ConfigError(source, "security.secret_file", f"{message}: openssl rand -hex 32 > FILE; chmod 600 FILE")


def _check_unread(config: Config, source: str) -> Iterator[ConfigError]:
    """Refuse a policy of containers that would act on nothing, silently."""
    reads = config.scheduling.automatic and len(config.subclusters) > 1 and config.security.secret_file is not None
    policy = share_policy(config.policy, replace(PLAIN, spans_by_need=reads, reads_asks=reads))
    for number, queue in enumerate(policy.queues):
        if queue.acts_on_nothing:
            yield ConfigError(source, f"queue[{number}].containers", queue.no_effect)


def _check_secrets(config: Config, source: str) -> Iterator[ConfigError]:
    """Refuse a second secret without a first: the first is what is signed with."""
    for name, each in (("security", config.security), ("masters", config.masters)):
        if each.other_secret_file is not None and each.secret_file is None:
            yield ConfigError(source, f"{name}.other_secret_file", f"is there without {name}.secret_file")


def _check_proxy_users(config: Config, source: str) -> Iterator[ConfigError]:
    """A rule for a name that no caller has would never count, and nobody would see why."""
    for name in config.security.proxyuser:
        if re.fullmatch(USER_NAME, name) is None:
            message = "is not a user name; write the short one, without host and realm"
            yield ConfigError(source, f"security.proxyuser.{name}", message)


def _check_kerberos(config: Config, source: str) -> Iterator[ConfigError]:
    """Half of it would let people believe that nobody comes in without a ticket."""
    kerberos = config.security.kerberos
    if kerberos.principal and kerberos.keytab is None:
        yield ConfigError(source, "security.kerberos.keytab", "is missing: the principal's key is in it")
    if not kerberos.principal and kerberos != KerberosConfig():
        message = 'is missing, and the others mean nothing without it; write "rm/_HOST@REALM"'
        yield ConfigError(source, "security.kerberos.principal", message)
    for number, subcluster in enumerate(config.subclusters):
        if subcluster.principal and not kerberos.principal:
            message = "means a login by ticket, and there is no [security.kerberos] to get one with"
            yield ConfigError(source, f"subcluster[{number}].principal", message)


def _check_oidc(oidc: OIDCConfig, source: str) -> Iterator[ConfigError]:
    """Half of it would let people believe that nobody comes in without a login."""
    if not oidc.issuer:
        if oidc != OIDCConfig():
            message = "is missing, and the others mean nothing without it"
            yield ConfigError(source, "security.oidc.issuer", message)
        return
    for name in ("client_id", "url"):
        if not getattr(oidc, name):
            yield ConfigError(source, f"security.oidc.{name}", "is missing: no browser can log in without it")
    if "openid" not in oidc.scopes:
        yield ConfigError(source, "security.oidc.scopes", "has no openid: the provider would tell no user")


def _check_tls(server: ServerConfig, source: str) -> Iterator[ConfigError]:
    """Half of it would leave passwords in clear where an operator believes them encrypted."""
    tls = server.tls
    if tls.certificate is not None and tls.key_file is None:
        yield ConfigError(source, "server.tls.key", "is missing: the certificate is of no use without it")
    if tls.certificate is None and (tls.key_file is not None or tls.client_ca is not None):
        yield ConfigError(source, "server.tls.certificate", "is missing: without it nothing is encrypted")


def _check_master_tls(masters: MastersConfig, source: str) -> Iterator[ConfigError]:
    """Half of it would leave links in clear where an operator believes them encrypted."""
    named = {"certificate": masters.tls.certificate, "key": masters.tls.key_file, "ca": masters.tls.ca}
    missing = [name for name, file in named.items() if file is None]
    if missing and len(missing) < len(named):
        yield ConfigError(source, f"masters.tls.{missing[0]}", "is missing: certificate, key and ca come together")


def _check_own_origin(config: Config, source: str) -> Iterator[ConfigError]:
    """Pages of ApplicationMasters with an origin, at a host with other pages of Heddle's, would have their cookies."""
    server = config.server
    if not server.proxy_own_origin:
        return
    host = urlsplit(server.proxy_url).hostname or ""
    others = {split_address(server.rest)[0], *server.host_names, urlsplit(config.security.oidc.url).hostname or ""}
    if not re.fullmatch(r"(?![0-9.]*$)[^:]+\..+", host) or host in {each.lower() for each in others}:
        told = "needs a proxy_url whose host name is for those pages alone: cookies know of no ports"
        yield ConfigError(source, "server.proxy_own_origin", told)


def _check_binding(server: ServerConfig, masters: MastersConfig, source: str) -> Iterator[ConfigError]:
    """Anonymous submission is how ResourceManagers on the open network are abused: reaching out is a decision."""
    named = (
        ("server.rest", server.rest),
        ("server.client_rpc", server.client_rpc),
        ("server.scheduler_rpc", server.scheduler_rpc),
        ("server.admin_rpc", server.admin_rpc),
        ("server.proxy", server.proxy),
        ("masters.listen", masters.listen),
    )
    for name, address in named:
        if address and not is_loopback(address) and not server.allow_remote:
            message = f"{address} is reachable from other machines; set server.allow_remote = true if that is meant"
            yield ConfigError(source, name, message)


def _check_together(config: Config, source: str) -> Iterator[ConfigError]:
    """Yield what other modules refuse: the first mistake of each."""
    try:
        check_policy(config.policy, [each.id for each in config.subclusters], source)
    except ConfigError as exc:
        yield exc
    try:
        check_ldap(config.security.ldap, source)
    except ConfigError as exc:
        yield exc


_CHECKS: Sequence[Callable[[Config, str], Iterator[ConfigError]]] = (
    _check_subclusters,
    _check_spans,
    _check_unread,
    _check_secrets,
    _check_proxy_users,
    _check_kerberos,
    lambda config, source: _check_oidc(config.security.oidc, source),
    lambda config, source: _check_tls(config.server, source),
    lambda config, source: _check_master_tls(config.masters, source),
    lambda config, source: _check_binding(config.server, config.masters, source),
    _check_own_origin,
)


# Lines of a TOML file in which keys stand: `tomllib` does not tell them.

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_NAME = rf"{_PART}(?:[\t ]*\.[\t ]*{_PART})*"
_HEADER = re.compile(rf"[\t ]*(\[\[?)[\t ]*({_NAME})[\t ]*\]")
_KEY = re.compile(rf"[\t ]*({_NAME})[\t ]*=")
_PARTS = re.compile(_PART)
_LONG_TEXT = re.compile(r"\"{3}|'{3}")
_LONGEST_LINE = 4096


def lines_of_keys(text: str) -> dict[str, int]:
    """Lines of tables and keys by dotted path, as messages have it: `subcluster[1].reads_from.west`.

    Keys within inline tables and lists have the line of what they are in; see `line_of`.
    """
    found: dict[str, int] = {}
    counts: dict[str, int] = {}
    table, inside = "", ""
    for number, line in enumerate(text.split("\n"), start=1):
        content = line[:_LONGEST_LINE]
        if inside:
            inside = "" if inside in content else inside
            continue
        if header := _HEADER.match(content):
            table = _place(header[2], counts, is_item=header[1] == "[[")
            found.setdefault(table, number)
        elif key := _KEY.match(content):
            names = ".".join(_bare(part) for part in _PARTS.findall(key[1]))
            found.setdefault(f"{table}.{names}" if table else names, number)
        marks = _LONG_TEXT.findall(content.partition("#")[0] if content.lstrip().startswith("#") else content)
        if len(marks) % 2:
            inside = marks[-1]
    return found


def line_of(lines: dict[str, int], path: str) -> int:
    """Line of a key, or of the nearest table that it is in or belongs into; 0 if there is none."""
    while path:
        if path in lines:
            return lines[path]
        below = [line for known, line in lines.items() if known.startswith((f"{path}.", f"{path}["))]
        if below:
            return min(below)
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return 0


def _place(name: str, counts: dict[str, int], *, is_item: bool) -> str:
    """Path of a table, in which each list of tables before it stands for its last one."""
    path = ""
    parts = [_bare(part) for part in _PARTS.findall(name)]
    for depth, part in enumerate(parts, start=1):
        path = f"{path}.{part}" if path else part
        if is_item and depth == len(parts):
            counts[path] = counts.get(path, -1) + 1
        if path in counts:
            path = f"{path}[{counts[path]}]"
    return path


def _bare(part: str) -> str:
    return part[1:-1] if part[0] in "\"'" else part


# Values of environment variables, put into the tree of TOML tables before it is read.


def overlay(
    cls: type,
    table: dict[str, Any],
    prefix: str,
    environment: Mapping[str, str],
    source: str,
    mistakes: list[ConfigError] | None = None,
) -> Origin:
    """Put the values of environment variables into a tree of TOML tables, in place.

    `PREFIX_SECTION_KEY` sets `section.key`. Items of an array of tables are named by their first key
    (`PREFIX_SUBCLUSTER_EAST_WEB`), with anything but letters and digits written `_`. A variable of a section that does
    not exist is somebody else's (Kubernetes sets `HEDDLE_PORT` for a service called heddle) and left alone.

    Mistakes are kept in `mistakes`, if there is such a list; see `Origin`.

    Raises:
        ConfigError: If a variable names a section, but no key of it, and mistakes are not kept.
    """
    variables: dict[str, str] = {}
    origin = Origin(source, Path(source).resolve().parent, variables, mistakes)
    sections = declared_keys(cls)
    for variable in sorted(environment):
        words = variable.removeprefix(prefix).lower()
        section = next((name for name in sections if words.startswith(f"{name}_")), None)
        if not variable.startswith(prefix) or section is None:
            continue
        path = _place_environment(cls, table, words, environment[variable])
        if path is None:
            known = _spellings(sections[section][1], table.get(section), section)
            told = unknown_name("variable", variable, [prefix + n.upper() for n in known])
            origin.note(ConfigError(variable, section, told))
            continue
        variables[path] = variable
    return origin


def _variable_name(text: str) -> str:
    return re.sub("[^a-z0-9]", "_", text.lower())


def _place_environment(cls: Any, table: dict[str, Any], words: str, value: str) -> str | None:
    """Set the key that `words` spells and return its dotted path, or None if there is none."""
    if words in removed_keys(cls):
        table[words] = value
        return words
    for name, (field, type_) in declared_keys(cls).items():
        item, rest, was = item_type(type_), words.removeprefix(f"{name}_"), key_of(field).was
        if words in {name, was} - {""} and not is_table(type_) and not is_table(item):
            for spelling in (name, was):  # a variable goes before the file, whichever name each of them uses
                table.pop(spelling, None)
            table[words] = value
            return words
        if rest == words:
            continue
        if is_table(type_):
            below = _place_environment(type_, _as_table(table.setdefault(name, {})), rest, value)
        elif is_table(item):
            below = _place_in_items(item, table.get(name), rest, value)
        else:
            below = None
        if below is not None:
            return name + below if below.startswith("[") else f"{name}.{below}"
    return None


def _place_in_items(item: Any, tables: Any, words: str, value: str) -> str | None:
    named = _named_items(item, tables)
    for label, (path, table) in named.items():
        if words.startswith(f"{label}_"):
            below = _place_environment(item, table, words.removeprefix(f"{label}_"), value)
            if below is not None:
                return f"{path}.{below}"
    return None


def _as_table(value: Any) -> dict[str, Any]:
    """The table, or an empty one in the place of something else: `read` refuses that later, with its place."""
    return value if isinstance(value, dict) else {}


def _named_items(item: Any, tables: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    """Tables of an array or mapping by the name they have in variables, with their place in a dotted path."""
    if isinstance(tables, list):
        first = next(iter(declared_keys(item)))
        items = [(f"[{number}]", _as_table(table)) for number, table in enumerate(tables)]
        return {_variable_name(str(table.get(first))): (path, table) for path, table in items}
    return {_variable_name(name): (name, _as_table(table)) for name, table in _as_table(tables).items()}


def _spellings(type_: Any, table: Any, prefix: str) -> list[str]:
    """Names of all variables below a section, in lower case."""
    item = item_type(type_)
    if is_table(type_):
        return [
            spelling
            for name, (_, below) in declared_keys(type_).items()
            for spelling in _spellings(below, _as_table(table).get(name), f"{prefix}_{name}")
        ]
    if is_table(item):
        return [
            spelling
            for label, (_, one) in _named_items(item, table).items()
            for spelling in _spellings(item, one, f"{prefix}_{label}")
        ]
    return [prefix]
