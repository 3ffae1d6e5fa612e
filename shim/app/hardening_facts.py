"""Facts for the hardening guide, as they are at this moment: the configuration, files, the running server."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from shim.app.host_limits import is_credential
from shim.app.runtime import Runtime
from shim.app.tls import cluster_tls_facts, master_tls_facts, tls_facts
from shim.config.loader import Config, is_loopback
from shim.domain.ids import SubClusterId
from shim.errors import StoreError
from shim.federation.tls_findings import NO_TLS, CertificateFacts, ClusterTLSFacts, MasterTLSFacts, TLSFacts
from shim.peers.overview import MastersOverview
from shim.store.postgresql import store_address, unverified_server

_TRACES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_FROM_VARIABLE = "env:"


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Rights on a file or folder.

    Attributes:
        mode: Permission bits, the sticky one with them.
        owner: Its user's number.
        trouble: Why it cannot be looked at; empty if it can.
        is_guarded: Whether systemd guards it, whatever its mode says.
    """

    mode: int = 0o600
    owner: int = 0
    trouble: str = ""
    is_guarded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HardeningFacts:
    """All that the lines are checked against.

    Attributes:
        uid: As which user this process runs, by number.
        files: Rights on the files that `secret_files` and `store_files` name, those of them that exist.
        audit: Rights on the audit file; None without one.
        unverified_store: Another machine's PostgreSQL that anybody on the way could pose as; empty if there is none.
        webs: Web addresses of each sub-cluster's ResourceManagers.
        guards: Whether each sub-cluster has view ACLs; None where its settings are not known.
        longest_token_s: Until the last API token ends; 0 without any, None if the store does not tell.
        trace_endpoint: Another machine to which traces go in clear text; empty if there is none.
    """

    config: Config
    uid: int = 1000
    files: Mapping[Path, FileFacts] = field(default_factory=dict)
    audit: FileFacts | None = None
    unverified_store: str = ""
    webs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    guards: Mapping[str, bool | None] = field(default_factory=dict)
    web_tls: TLSFacts = NO_TLS
    cluster_tls: Sequence[ClusterTLSFacts] = ()
    masters: MasterTLSFacts | None = None
    longest_token_s: float | None = 0.0
    trace_endpoint: str = ""

    @property
    def certificates(self) -> list[CertificateFacts]:
        web = [CertificateFacts("the certificate of the web services", self.web_tls.file, self.web_tls.ends_in_s)]
        of_masters = self.masters.certificates if self.masters is not None else ()
        of_clusters = [each for tls in self.cluster_tls for each in tls.certificates]
        return [*(web if self.web_tls.has_certificate and not self.web_tls.trouble else ()), *of_masters, *of_clusters]

    @property
    def tls_troubles(self) -> list[str]:
        """Reasons why files of TLS cannot be used."""
        masters = [self.masters.trouble] if self.masters is not None else []
        return [each for each in (self.web_tls.trouble, *masters, *(tls.trouble for tls in self.cluster_tls)) if each]


def secret_files(config: Config) -> Iterator[tuple[str, Path]]:
    security, masters, kerberos = config.security, config.masters, config.security.kerberos
    named = (
        ("security.secret_file", security.secret_file),
        ("security.other_secret_file", security.other_secret_file),
        ("security.kerberos.keytab", kerberos.keytab),
        ("security.kerberos.web_keytab", kerberos.web_keytab),
        ("server.tls.key", config.server.tls.key_file),
        ("masters.secret_file", masters.secret_file),
        ("masters.other_secret_file", masters.other_secret_file),
        ("masters.tls.key", masters.tls.key_file),
        *((f"key of sub-cluster {each.id}", each.key_file) for each in config.subclusters),
    )
    return ((name, file) for name, file in named if file is not None and not file.name.startswith(_FROM_VARIABLE))


def store_files(config: Config) -> tuple[Path, ...]:
    """The database in files, with those beside it and the key that may be there; nothing of PostgreSQL."""
    url = store_address(config.store.url)
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return ()
    database = Path(url.database)
    return tuple(database.with_name(database.name + end) for end in ("", "-wal", "-shm", ".key"))


async def gather(runtime: Runtime, masters: MastersOverview | None) -> HardeningFacts:
    """Facts of now.

    Args:
        masters: What it knows of all masters; None where they are in one process.
    """
    config, now_s = runtime.config, runtime.clock.now_s()
    webs = {str(id_): each.web for id_, each in runtime.clusters.descriptions.items()}
    told = (cluster_tls_facts(each, webs[each.id], now_s) for each in config.subclusters)
    addresses = [each.address for each in masters.now().masters] if masters is not None else []
    store = store_files(config)
    files = [*(file for _, file in secret_files(config)), *store, *(each.parent for each in store[:1])]
    return HardeningFacts(
        config=config,
        uid=os.geteuid(),
        files={file: facts for file in files if (facts := _look(file)) is not None},
        audit=_look(config.log.audit_file) if config.log.audit_file is not None else None,
        unverified_store=unverified_server(config.store.url),
        webs=webs,
        guards={
            each.id: SubClusterId(each.id) in runtime.clusters.guarded if each.conf is not None else None
            for each in config.subclusters
        },
        web_tls=tls_facts(config.server, now_s),
        cluster_tls=[each for each in told if each is not None],
        masters=None if masters is None else master_tls_facts(config.masters, addresses, now_s),
        longest_token_s=await _longest_token_s(runtime),
        trace_endpoint=_plain_endpoint(os.environ),
    )


def _look(file: Path) -> FileFacts | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    except OSError as exc:
        return FileFacts(trouble=str(exc))
    return FileFacts(stat.S_IMODE(status.st_mode), status.st_uid, is_guarded=is_credential(file))


async def _longest_token_s(runtime: Runtime) -> float | None:
    try:
        ends = [each.good_until_ms / 1000 for each in await runtime.stores.api_tokens.of(None)]
    except StoreError:
        return None
    return max(0.0, max(ends, default=0.0) - runtime.clock.now_s())


def _plain_endpoint(environ: Mapping[str, str]) -> str:
    """Another machine to which traces go in clear text; empty if there is none."""
    endpoint = next((environ[name] for name in _TRACES if environ.get(name)), "")
    parts = urlsplit(endpoint)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return endpoint if parts.scheme == "http" and not is_loopback(f"{host}:{parts.port or 80}") else ""
