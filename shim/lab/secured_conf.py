"""Hadoop properties of a cluster whose daemons log in and are logged in to by Kerberos tickets. Pure.

NodeManagers keep the DefaultContainerExecutor: Hadoop lets it run in secure mode. Every container is then a process of
whoever runs the node, so the nodes hand shuffle files to that user's jobs alone: they compare the file's owner with the
job's user. LinuxContainerExecutor, which would start containers as the job's user, needs a binary that no jar holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shim.lab.spec import PROTECTIONS, ClusterSpec

HEDDLE = "heddle"
"""Heddle's user in a secured lab: first part of its principal."""

MANAGER = "rm"
"""User of the ResourceManagers."""

_NODE = "nm"

CONTAINER_VARIABLE = "JAVA_TOOL_OPTIONS"
"""By which containers, as their node, learn where krb5.conf and the native library are."""

_EXECUTOR = "org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor"


def principal_of(service: str, host: str, realm: str) -> str:
    """`service/host.domain@REALM`. The domain tells whose realm it is; it has no address, and needs none."""
    return f"{service}/{host}.{realm.lower()}@{realm}"


@dataclass(frozen=True, slots=True)
class SecuredCluster:
    """Kerberos in a cluster's configuration.

    Attributes:
        realms: All realms of the lab; a principal of another is the user that its first part names.
        protection: `hadoop.rpc.protection`.
        keytab: File with the keys of its daemons.
    """

    id: str
    realm: str
    realms: tuple[str, ...]
    protection: str
    keytab: Path

    @classmethod
    def of(cls, spec: ClusterSpec, realms: Sequence[str], folder: Path) -> "SecuredCluster | None":
        """Of a cluster, its keytab in `folder`; None if it believes names."""
        if not spec.realm:
            return None
        return cls(spec.id, spec.realm, tuple(realms), spec.protection, folder / f"{spec.id}.keytab")

    @property
    def manager(self) -> str:
        """Principal of its ResourceManagers."""
        return principal_of(MANAGER, self.id, self.realm)

    @property
    def node(self) -> str:
        """Principal of its NodeManagers."""
        return principal_of(_NODE, self.id, self.realm)


@dataclass(frozen=True, slots=True)
class HeddleLogin:
    """Kerberos in Heddle's configuration.

    Attributes:
        realms: Of the lab; the first is Heddle's.
        managers: Principals of the ResourceManagers of secured clusters, by cluster.
    """

    principal: str
    keytab: Path
    realms: tuple[str, ...]
    managers: Mapping[str, str]


def secured_properties(cluster: SecuredCluster) -> Mapping[str, Mapping[str, str]]:
    """Properties that daemons and clients of a secured cluster need, by file name."""
    return {
        "core-site.xml": _core_site(cluster.realm, cluster.realms, cluster.protection),
        "yarn-site.xml": {
            "yarn.resourcemanager.principal": cluster.manager,
            "yarn.resourcemanager.keytab": str(cluster.keytab),
            "yarn.nodemanager.principal": cluster.node,
            "yarn.nodemanager.keytab": str(cluster.keytab),
            "yarn.nodemanager.container-executor.class": _EXECUTOR,
        },
        "mapred-site.xml": _MAPRED_SITE,
    }


def client_properties(realms: Sequence[str], front: str) -> Mapping[str, Mapping[str, str]]:
    """Properties that clients of Heddle need in a secured lab, by file name.

    Their ApplicationMasters take their settings along to whatever cluster they run on: so every protection is offered.

    Args:
        realms: Of the lab; the first is Heddle's.
        front: Heddle's principal.
    """
    return {
        "core-site.xml": _core_site(realms[0], realms, ",".join(reversed(PROTECTIONS))),
        "yarn-site.xml": {"yarn.resourcemanager.principal": front},
        "mapred-site.xml": _MAPRED_SITE,
    }


_MAPRED_SITE = {
    # a lab has no history server, and a client that has a token of the ResourceManager would ask there for another;
    # Hadoop takes an empty <value> for none, and then its default
    "mapreduce.jobhistory.address": "${env.HISTORY_SERVER-}",
}


def core_site_of_files(realms: Sequence[str]) -> dict[str, str]:
    """`core-site.xml` of the servers of HDFS, in the first realm.

    Who renews a token is its client's `yarn.resourcemanager.principal`, which is Heddle's, and the ResourceManagers do:
    so Heddle is their user here.
    """
    site = _core_site(realms[0], realms, ",".join(reversed(PROTECTIONS)))
    pattern = realms[0].replace(".", r"\.")
    rule = rf"RULE:[2:$1@$0]({HEDDLE}@{pattern})s/.*/{MANAGER}/"
    return site | {"hadoop.security.auth_to_local": f"{rule}\n{site['hadoop.security.auth_to_local']}"}


def _core_site(realm: str, realms: Sequence[str], protection: str) -> dict[str, str]:
    others = (other for other in realms if other != realm)
    rules = [rule for other in others for rule in _rules(other)]
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": protection,
        "hadoop.security.auth_to_local": "\n".join((*rules, "DEFAULT")),
    }


def _rules(realm: str) -> tuple[str, str]:
    """Of principals of another realm, with and without a host: their user is their first part."""
    pattern = realm.replace(".", r"\.")
    return rf"RULE:[1:$1@$0](.*@{pattern})s/@.*//", rf"RULE:[2:$1@$0](.*@{pattern})s/@.*//"
