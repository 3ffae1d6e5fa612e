"""The sections of the configuration about sub-clusters: where they are, how they are polled, what they share."""

# ruff: noqa: RUF009 - `key` and `section` describe a field, as dataclasses.field does

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from shim.config.addresses import WEB_ADDRESS, address_key
from shim.config.kerberos import SERVICE_PRINCIPAL
from shim.config.security import USER_FORM
from shim.config.tree import FolderOrAddress, Key, key, section
from shim.domain.users import USER_NAME

_LOG_FOLDER = r"s?webhdfs://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\]):[0-9]{1,5}(?:/[^\s?#]*)?|(?!.*://)[^\0]+"
_REDIRECT_HOST = r"\.?[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:]{2,45}"
_ID = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_MIB = 1024 * 1024


def _no_costs() -> Mapping[str, float]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PollConfig:
    """Polls of the sub-clusters."""

    interval_s: float = key(2.0, about=Key("From the start of one poll of a sub-cluster to the next.", least=0.05))
    late_after_s: float = key(
        6.0,
        about=Key(
            "A sub-cluster without a report for this long is LOST: listed, not chosen. Four times that where it has "
            "answered whenever it was asked, and Heddle itself is behind with its polls.",
            least=0.1,
        ),
    )
    connect_timeout_s: float = key(1.0, about=Key("For opening a connection to a ResourceManager.", least=0.05))
    timeout_s: float = key(10.0, about=Key("For a whole answer of a ResourceManager to a poll.", least=0.1))
    max_answer_bytes: int = key(
        256 * _MIB, about=Key("A ResourceManager's answer larger than this is cut and not believed.", least=1024)
    )
    workers: int = key(
        0,
        about=Key(
            "Processes that poll, each its share of the sub-clusters, beside the one that serves "
            "([sizing.md](sizing.md#processes-that-poll)); 0: that one polls. `heddle serve --workers N` sets it.",
            least=0,
            most=64,
        ),
    )


@dataclass(frozen=True, slots=True)
class ClustersConfig:
    """The list of sub-clusters: where it stands, and so who may change it, and how."""

    managed: str = key(
        "file",
        about=Key(
            "`file`: in `[[subcluster]]` tables here, and `heddle reload` has them count. `store`: in the store, none "
            "here; administrators change it by `heddle cluster add`, `edit` and `remove`, and every Heddle of the "
            "store follows ([operations.md](operations.md#sub-clusters-in-the-store)).",
            choices=("file", "store"),
        ),
    )


@dataclass(frozen=True, slots=True)
class SubClusterConfig:
    """One YARN cluster: its id, and its Hadoop configuration folder or its addresses."""

    id: str = key(
        about=Key(
            "Its name: stable for ever, as the store refers to it.",
            pattern=_ID,
            form="an id; it has lower-case letters, digits and inner dashes, at most 63",
        )
    )
    conf: Path | None = key(
        None, about=Key("Folder with the cluster's `yarn-site.xml`: addresses, https and HA ids are read from there.")
    )
    web: tuple[str, ...] = key(
        (),
        about=Key(
            "Web address of its ResourceManager, or a list of them under HA; goes before `conf`. Alone it is enough "
            "for Heddle's web services; clients of Hadoop RPC need `conf`, or the three addresses below.",
            pattern=WEB_ADDRESS,
            form='a web address; write "http://host:port"',
        ),
    )
    client_rpc: tuple[str, ...] = key(
        (), about=address_key("Client RPC address of its ResourceManager, or a list under HA; goes before `conf`.")
    )
    scheduler_rpc: tuple[str, ...] = key(
        (), about=address_key("Scheduler RPC address of its ResourceManager, or a list under HA; goes before `conf`.")
    )
    admin_rpc: tuple[str, ...] = key(
        (), about=address_key("Admin RPC address of its ResourceManager, or a list under HA; goes before `conf`.")
    )
    history_web: tuple[str, ...] = key(
        (),
        about=Key(
            "Web addresses of servers that show ended applications (MapReduce's, Spark's history server): browsers are "
            "sent on to these alone.",
            pattern=WEB_ADDRESS,
            form='a web address; write "http://host:port"',
        ),
    )
    aggregated_logs: FolderOrAddress | None = key(
        None,
        about=Key(
            "Folder of the logs that its nodes aggregate (`yarn.nodemanager.remote-app-log-dir`), as this machine sees "
            "it: a shared or mounted one, or in HDFS by its web gateway, a NameNode's WebHDFS or HttpFS: "
            "`webhdfs://host:port/path`, `swebhdfs://` for https. Heddle reads there as `user`, and its web services "
            "show ended containers' logs.",
            pattern=_LOG_FOLDER,
            form='a folder or a web gateway of HDFS; write "/mnt/logs" or "webhdfs://host:9870/path"',
        ),
    )
    aggregated_logs_nodes: tuple[str, ...] = key(
        (),
        about=Key(
            "Hosts of DataNodes, besides the gateway's own, that a NameNode may send Heddle on to for aggregated logs: "
            "names, or `.example.org` for all below. HttpFS needs none.",
            pattern=_REDIRECT_HOST,
            form='a host; write "node1.example.org", or ".example.org" for all below',
        ),
    )
    page_hosts: tuple[str, ...] = key(
        (),
        about=Key(
            "Hosts of its ApplicationMasters and drivers, from which Heddle fetches pages and counts of tasks: names, "
            "or `.example.org` for all below. Without, from wherever its ResourceManager says that they are, but for "
            "loopback, link-local addresses and ports below 1024 ([proxy.md](proxy.md)).",
            pattern=_REDIRECT_HOST,
            form='a host; write "node1.example.org", or ".example.org" for all below',
        ),
    )
    filesystems: tuple[str, ...] = key(
        (),
        about=Key(
            "Its own file systems, as URLs name them (`fs.defaultFS`, name services, mount tables). Two clusters that "
            "name the same one share it ([policies.md](../researchers/policies.md#data-over-clusters)).",
            pattern=r"[A-Za-z][A-Za-z0-9+.-]{0,31}://[^/?#\s]{1,300}/?",
            form='a file system; write "hdfs://namenode:8020", "viewfs://name" or "s3a://bucket"',
        ),
    )
    reach: tuple[str, ...] = key(
        (),
        about=Key(
            "Words: over clusters that have one in common applications span by themselves, as over those that name one "
            "of `filesystems` together. For programs that find what they need everywhere without a file system in "
            "common ([defaults.md](defaults.md#when-an-application-leaves-its-home)).",
            pattern=r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
            form='a word; write reach = ["dublin"]',
        ),
    )
    reads_from: Mapping[str, float] = section(
        _no_costs,
        Key(
            "What it costs to read data of another sub-cluster here, in place of `scheduling.read_across_s`: "
            "`reads_from.west = 30.0`, in seconds that an ask waits for capacity near its data first.",
        ),
    )
    verify_tls: bool = key(
        default=True, about=Key("Whether certificates and names of its web servers are checked; for trials alone.")
    )
    ca_file: Path | None = key(
        None,
        about=Key(
            "CAs of its web servers, ResourceManagers and nodes, in PEM form; the machine's without it. It, "
            "`certificate` and `key` are read again when they change ([TLS](security/tls.md#to-clusters))."
        ),
    )
    certificate: Path | None = key(
        None, about=Key("Heddle's own certificate for https there, in PEM form, if its web servers ask for one.")
    )
    key_file: Path | None = key(None, about=Key("File (mode 0600) with the key of `certificate`.", name="key"))
    principal: str = key(
        "",
        about=Key(
            "Principal of its ResourceManager, `rm/_HOST@REALM`, if that asks for Kerberos tickets over RPC: Heddle "
            "logs in with those of `[security.kerberos]` and acts for its callers (`hadoop.proxyuser.*` there). "
            "`_HOST` stands for the host of the RPC address.",
            pattern=rf"({SERVICE_PRINCIPAL})?",
            form='a service\'s principal; write "rm/_HOST@REALM"',
        ),
    )
    auth: str = key(
        "simple",
        about=Key(
            "How its ResourceManager learns the user: `simple` sends `user.name=USER`, "
            "`proxy` sends `user.name=` Heddle's own user and `doAs=USER`.",
            choices=("simple", "proxy"),
        ),
    )
    user: str = key(
        "heddle", about=Key("Heddle's own user there, for polls and for `proxy`.", pattern=USER_NAME, form=USER_FORM)
    )
