"""The sections of the configuration: every key with its default, what it may be, and what it means.

Those about queues are in `shim.config.queues`, as policies have them too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from shim.config.addresses import ADDRESS, ADDRESS_FORM, WEB_ADDRESS, address_key
from shim.config.security import ProxyUserConfig, SecurityConfig
from shim.config.tree import Key, key, section

__all__ = [
    "HistoryConfig",
    "LimitsConfig",
    "LogConfig",
    "MultiClusterConfig",
    "ProxyUserConfig",
    "SchedulingConfig",
    "SecurityConfig",
    "ServerConfig",
    "SharesConfig",
    "StoreConfig",
    "TLSConfig",
]

# The section `[server.tls]` of the configuration.

# ruff: noqa: RUF009 - `key` describes a field, as dataclasses.field does


@dataclass(frozen=True, slots=True)
class TLSConfig:
    """TLS 1.2 and newer at the web services and pages. Without a certificate they speak plain HTTP."""

    certificate: Path | None = key(
        None,
        about=Key(
            "File with the certificate and those between it and its CA, in PEM form. It, `key` and `client_ca` are "
            "read again when they change, for connections that come then; a broken change is logged and not used."
        ),
    )
    key_file: Path | None = key(
        None, about=Key("File (mode 0600) with the certificate's key, without a passphrase.", name="key")
    )
    client_ca: Path | None = key(
        None, about=Key("CA of clients: who has no certificate of it is not let in. Without it nobody needs one.")
    )
    hsts_s: int = key(
        31_536_000,
        about=Key("For how long browsers must use https only (`Strict-Transport-Security`); 0: not.", least=0),
    )


# ruff: noqa: RUF009 - `key` and `section` describe a field, as dataclasses.field does


_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Addresses at which clients find Heddle, and limits of one client."""

    rest: str = key("127.0.0.1:8088", about=address_key("Web services and pages; port 0 takes a free one."))
    client_rpc: str = key(
        "127.0.0.1:8032",
        about=Key(
            "Where Hadoop clients connect (their `yarn.resourcemanager.address`); empty for none.",
            pattern=rf"({ADDRESS})?",
            form=ADDRESS_FORM,
        ),
    )
    scheduler_rpc: str = key(
        "127.0.0.1:8030",
        about=Key(
            "Where ApplicationMasters connect (`yarn.resourcemanager.scheduler.address` of whoever submits); empty for "
            "none: they then need their home's address.",
            pattern=rf"({ADDRESS})?",
            form=ADDRESS_FORM,
        ),
    )
    admin_rpc: str = key(
        "127.0.0.1:8033",
        about=Key(
            "Where `yarn rmadmin` connects (its `yarn.resourcemanager.admin.address`); empty for none.",
            pattern=rf"({ADDRESS})?",
            form=ADDRESS_FORM,
        ),
    )
    proxy: str = key(
        "",
        about=Key(
            "Where pages of ApplicationMasters are served, at `/proxy/APPLICATION/`; empty for nowhere. An address of "
            "its own, as they are their users' content.",
            pattern=rf"({ADDRESS})?",
            form=ADDRESS_FORM,
        ),
    )
    proxy_url: str = key(
        "",
        about=Key(
            "That address as browsers reach it: tracking URLs name it instead of a ResourceManager's. Empty: they stay "
            "as they are.",
            pattern=rf"({WEB_ADDRESS})?",
            form='a web address; write "http://host:port"',
        ),
    )
    proxy_own_origin: bool = key(
        default=False,
        about=Key(
            "Whether pages of ApplicationMasters may have an origin, with which their scripts read what their own "
            "server answers, and keep cookies. Only where the host name of `proxy_url` is for them alone: cookies know "
            "of no ports. Without it their scripts run in a sandbox that has none."
        ),
    )
    allow_remote: bool = key(
        default=False,
        about=Key("Whether an address that other machines reach may be bound. Without it only loopback is."),
    )
    rest_loopback: bool = key(
        default=False,
        about=Key(
            "Whether the web services are at 127.0.0.1, too, with the port of `rest`, where that is the address of an "
            "interface. If another program has that port there, they are not, and the log says so."
        ),
    )
    host_names: tuple[str, ...] = key(
        (),
        about=Key(
            "Names in `Host` that web clients may ask for, beside addresses, `localhost` and this machine's own names; "
            "`*.example.org` for all below, `*` for any. Others are 421: a page could have rebound its name.",
            pattern=r"\*|(\*\.)?[A-Za-z0-9._-]{1,255}",
            form="a host name, without port; or *.name, or *",
        ),
    )
    max_body_bytes: int = key(_MIB, about=Key("Largest request body; more is 413.", least=1024))
    max_header_bytes: int = key(
        64 * 1024, about=Key("Largest request line and headers together; more is 431.", least=1024)
    )
    request_timeout_s: float = key(
        10.0, about=Key("A client that has not sent its whole request by then is cut off.", least=0.1)
    )
    keep_alive_s: float = key(75.0, about=Key("An idle connection is closed after this time.", least=1))
    staleness_s: float = key(
        1.0, about=Key("A live application's document older than this is fetched again when asked for.", least=0)
    )
    answer_within_s: float = key(
        2.0, about=Key("How long a client may wait for a sub-cluster that does not answer.", least=0.1, most=60)
    )
    drain_s: float = key(
        0.0,
        about=Key(
            "After a SIGTERM: how long everything is still served while `/ready` answers 503, so that a balancer turns "
            "elsewhere first. A second signal ends it.",
            least=0,
        ),
    )
    shutdown_s: float = key(5.0, about=Key("How long requests under way may go on after a SIGTERM.", least=0))
    tls: TLSConfig = section(TLSConfig, Key("TLS of the web services and pages."))


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """The database of submissions, homes and operators' decisions."""

    url: str = key(
        "sqlite:///heddle.db",
        about=Key(
            "`sqlite:///FILE` (relative to the working folder) or `postgresql+asyncpg://USER:PASSWORD@HOST/DATABASE`,"
            " with `?sslmode=verify-full&sslrootcert=FILE` for TLS ([TLS](security/tls.md#to-postgresql)).",
            pattern=r"(sqlite|postgresql)(\+[a-z]+)?://.*",
            form='a store; write "sqlite:///heddle.db" or "postgresql+asyncpg://user:password@host/database"',
        ),
    )


@dataclass(frozen=True, slots=True)
class HistoryConfig:
    """Limits of kept history. Live applications are kept whatever these say."""

    final_documents: int = key(
        20_000,
        about=Key(
            "Ended applications that lists show, in memory (a few KB each); of one beyond that its home is asked "
            "when somebody names it.",
            least=100,
        ),
    )
    records: int = key(
        100_000, about=Key("Ended submissions that the store remembers: a repeated one is known as such.", least=0)
    )
    records_s: float = key(7 * 86_400.0, about=Key("How long the store remembers an ended submission.", least=0))
    answers: int = key(
        1024,
        about=Key("Answers of the web services that are kept until what they tell changes; 0 keeps none.", least=0),
    )
    answers_bytes: int = key(
        256 * _MIB,
        about=Key("The same in bytes; an answer that needs more than a quarter of it is not kept.", least=0),
    )


@dataclass(frozen=True, slots=True)
class SharesConfig:
    """Shares of queues with a weight."""

    interval_s: float = key(
        1.0, about=Key("From one look at who may start to the next; a submission looks at once.", least=0.05)
    )
    absent_after_s: float = key(
        60.0,
        about=Key("The capacity of a sub-cluster without a report for this long is not divided any more.", least=1),
    )
    pending_per_cluster: int = key(
        2,
        about=Key(
            "Applications of a queue, for each sub-cluster, that may wait there for their ApplicationMaster while "
            "the federation is full and no other queue wants more.",
            was="ahead",
            least=1,
        ),
    )
    overtaken_s: float = key(
        900.0,
        about=Key(
            "In a queue whose `order` is `work`: an application that has waited in Heddle for this long goes before "
            "those that are less work.",
            least=1,
        ),
    )
    preempt_after_s: float = key(
        10.0,
        about=Key(
            "A queue must have waited for its share for this long before containers of `preemptable` queues are asked "
            "back; their asks are held back at once.",
            least=0,
        ),
    )
    preempt_grace_s: float = key(
        15.0,
        about=Key(
            "From asking an ApplicationMaster for a container to taking it; in the second half it is told that there "
            "is no choice.",
            least=0,
        ),
    )


@dataclass(frozen=True, slots=True)
class MultiClusterConfig:
    """Applications of queues with `span = true`: how Heddle speaks for them in further sub-clusters."""

    beat_s: float = key(1.0, about=Key("From one call to a sub-cluster's scheduler to the next.", least=0.05, most=60))
    lost_after_s: float = key(
        60.0,
        about=Key(
            "A sub-cluster that is silent for longer is given up: its containers are reported as lost. Longer than a "
            "ResourceManager needs to restart or to fail over.",
            least=1,
        ),
    )
    move_after_beats: int = key(
        10,
        about=Key(
            "Allocate heartbeats without an allocation after which an ask moves to a cluster with capacity.",
            was="patience",
            least=1,
        ),
    )
    placement: str = key(
        "heddle",
        about=Key(
            "Who decides which sub-cluster is asked: `heddle` matches asks with free nodes and has each match verified "
            "by the Local Master of the sub-cluster; `capacity` splits by free capacity as last reported.",
            choices=("heddle", "capacity"),
        ),
    )
    promise_s: float = key(
        30.0,
        about=Key(
            "How long a Local Master keeps capacity for containers that it has promised and that are not granted.",
            least=1,
            most=600,
        ),
    )
    oldest_view_s: float = key(
        5.0, about=Key("With a view older than this, asks are split by capacity and not planned.", least=0.1)
    )
    starvation_s: float = key(
        60.0,
        about=Key(
            "In a queue whose `containers` are in an order: an application that got nothing for so long, while others "
            "went first, goes before them.",
            was="overtaken_s",
            least=1,
        ),
    )


@dataclass(frozen=True, slots=True)
class SchedulingConfig:
    """Planning of waiting requests."""

    REMOVED: ClassVar[Mapping[str, str]] = {"core": "all that waits in a queue is planned together"}

    automatic: bool = key(
        default=True,
        about=Key(
            "Whether queues that do not say otherwise do what pays, where there are several sub-clusters: "
            '`order = "work"`, `containers = "learnt-work"`, `span = "auto"` ([defaults.md](defaults.md)). `false`: '
            "`fifo`, `unordered` and no span, as in versions before."
        ),
    )
    cycle_s: float = key(0.25, about=Key("From one cycle of a queue to the next, at least.", least=0.01, most=60))
    solve_s: float = key(
        1.0,
        about=Key(
            "How long a cycle waits for a solver where its queue's policy asks one; without an answer it goes by the "
            "policy's own plan (docs/researchers/policies.md).",
            least=0.05,
            most=30,
        ),
    )
    read_across_s: float = key(
        0.0,
        about=Key(
            "Cost of reading across clusters: how long an ask that names hosts or racks waits for capacity in clusters "
            "that hold its data or share their `filesystems`, before it goes to another. 0: it does not wait.",
            least=0,
            most=3600,
        ),
    )
    home_with_data: float = key(
        0.1,
        about=Key(
            "How much less free (as a part of the whole) a cluster may be than another, and still be the home of an "
            "application whose files lie in its `filesystems`. 0: files do not count.",
            least=0,
            most=1,
        ),
    )


@dataclass(frozen=True, slots=True)
class LimitsConfig:
    """Rates at which users and addresses may call. No limit unless one is set, as gateways call for many users."""

    user_per_s: float = key(
        0.0,
        about=Key(
            "Calls a second of one user, over the web services and Hadoop clients' RPC together; more are 429 with "
            "`Retry-After`, or a `RetriableException`. 0: any number.",
            least=0,
            most=1_000_000,
        ),
    )
    user_burst: int = key(
        100, about=Key("Calls that a user may make at once after a silence.", least=1, most=1_000_000)
    )
    address_per_s: float = key(
        0.0,
        about=Key(
            "The same of one address, at the web services. Where a gateway or balancer stands in front, all calls have "
            "its address. 0: any number.",
            least=0,
            most=1_000_000,
        ),
    )
    address_burst: int = key(
        200, about=Key("Calls that may come from an address at once after a silence.", least=1, most=1_000_000)
    )
    user_calls: int = key(
        0,
        about=Key(
            "Calls of one user that may be under way together, over the web services or over Hadoop clients' RPC; "
            "refused as above. 0: any number.",
            least=0,
            most=100_000,
        ),
    )


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Heddle's own log, on standard error."""

    level: str = key(
        "info", about=Key("Least severe level that is written.", choices=("debug", "info", "warning", "error"))
    )
    format: str = key(
        "auto",
        about=Key(
            "`json` a line, `console` for people, or `auto`: console on a terminal, else json.",
            choices=("auto", "json", "console"),
        ),
    )
    audit_file: Path | None = key(
        None, about=Key("File to which audit lines are appended; without it they are in the log.")
    )
    audit_key_file: Path | None = key(
        None,
        about=Key(
            "Secret of 32 bytes or more that seals the lines of `audit_file`, mode 0600: without it nobody can write "
            "one that `heddle audit verify --key` takes for Heddle's."
        ),
    )
