"""Kerberos in a lab: its KDC, the keytabs of daemons, of Heddle and of whoever runs the lab.

Hadoop's native library for the machine, out of a jar that holds it for several.

`SecureIOUtils` refuses to read shuffle files and logs without it where Hadoop is in secure mode.
"""

import getpass
import platform
import zipfile
from collections.abc import Callable
from pathlib import Path

from shim.errors import LabError
from shim.lab.daemons import KEY_CENTRE
from shim.lab.hdfs import HDFS, principals
from shim.lab.jars import JarSet, build_folder, cache_folder, ensure
from shim.lab.kdc import KDC, conf_name
from shim.lab.layout import ClusterLayout
from shim.lab.secured_conf import HEDDLE, HeddleLogin, SecuredCluster, principal_of
from shim.lab.spec import ClusterSpec, LabSpec
from shim.lab.state import DaemonRecord, LabState

_FOLDER = "kerberos"
_NATIVE = "native"


def kerberos_folder(lab: Path) -> Path:
    """Folder of the KDC, the keytabs and the native library in a lab's."""
    return lab / _FOLDER


def kdc_of(lab: Path, state: LabState) -> KDC:
    """The KDC of a lab.

    Raises:
        LabError: If none of its clusters has a realm.
    """
    realms = state.spec.realms
    if not realms:
        raise LabError(f"the lab in {lab} has no KDC: start it with `heddle lab up --kerberos`")
    return KDC(kerberos_folder(lab), state.clusters[0].layout.kdc, realms)


def kdc_daemon(lab: Path, address: str) -> DaemonRecord:
    return DaemonRecord("kdc", "", KEY_CENTRE, folder=str(kerberos_folder(lab)), web=address)


def heddle_login(lab: Path, spec: LabSpec) -> HeddleLogin | None:
    """Heddle's own, in the first realm of a lab; None if no cluster is secured."""
    if not spec.realms:
        return None
    secured = {each.id: secured_cluster(lab, each, spec) for each in spec.clusters}
    managers = {id_: each.manager for id_, each in secured.items() if each is not None}
    principal = principal_of(HEDDLE, "front", spec.realms[0])
    return HeddleLogin(principal, kerberos_folder(lab) / f"{HEDDLE}.keytab", spec.realms, managers)


def secured_cluster(lab: Path, cluster: ClusterSpec, spec: LabSpec) -> SecuredCluster | None:
    """Kerberos of one cluster of a lab; None if it believes names."""
    return SecuredCluster.of(cluster, spec.realms, kerberos_folder(lab))


def write_keys(lab: Path, layout: ClusterLayout, spec: LabSpec, say: Callable[[str], None]) -> None:
    """Make the databases, all keytabs, and the native library beside them.

    Raises:
        LabError: If a program is missing or fails, or the library cannot be had.
    """
    kdc = KDC(kerberos_folder(lab), layout.kdc, spec.realms)
    say(f"making a KDC of {', '.join(kdc.realms)}")
    kdc.create()
    for cluster in spec.clusters:
        secured = secured_cluster(lab, cluster, spec)
        if secured is not None:
            kdc.keytab(secured.manager, secured.node, name=cluster.id)
    login = heddle_login(lab, spec)
    if login is not None:
        kdc.keytab(login.principal, name=HEDDLE)
    if spec.hdfs:
        kdc.keytab(*principals(kdc.realms[0], layout.file_servers), name=HDFS)
    for realm in kdc.realms:
        kdc.keytab(f"{getpass.getuser()}@{realm}", name=_administrator(realm))
    write_native_library(kdc.folder / _NATIVE, say)


def administrator_keytab(kdc: KDC, realm: str) -> Path:
    """The key of whoever runs the lab."""
    return kdc.folder / f"{_administrator(realm)}.keytab"


def _administrator(realm: str) -> str:
    return f"administrator-{realm}"


def files_ticket(kdc: KDC) -> dict[str, str]:
    """Variables by which a program has a new ticket of the NameNode's user; raises as `KDC.ticket`."""
    cache = kdc.ticket(principals(kdc.realms[0])[0], kdc.folder / f"{HDFS}.keytab", name=HDFS)
    return {"KRB5CCNAME": f"FILE:{cache}"}


def administrator_ticket(kdc: KDC, realm: str) -> dict[str, str]:
    """Variables by which a program has a new ticket of whoever runs the lab; raises as `KDC.ticket`."""
    keytab = administrator_keytab(kdc, realm)
    cache = kdc.ticket(f"{getpass.getuser()}@{realm}", keytab, name=_administrator(realm))
    return {"KRB5CCNAME": f"FILE:{cache}"}


def java_options(lab: Path, realm: str) -> str:
    """Options of every JVM of a cluster, containers included; empty for one without a realm."""
    if not realm:
        return ""
    folder = kerberos_folder(lab)
    return f"-Djava.security.krb5.conf={folder / conf_name(realm)} -Djava.library.path={folder / _NATIVE}"


_VERSION = "3.3.5-3"
_LIBRARY = "libhadoop.so"
_FOLDERS = {
    "x86_64": "Linux-amd64",
    "amd64": "Linux-amd64",
    "aarch64": "Linux-aarch64",
    "arm64": "Linux-aarch64",
    "ppc64le": "Linux-ppc64le",
}
"""Folder of the jar by the machine's name for itself."""


def write_native_library(folder: Path, say: Callable[[str], None]) -> None:
    """Put the library of this machine into a folder, for `java.library.path`.

    Raises:
        LabError: As `ensure`; or if there is no library for this machine.
    """
    member = library_of(platform.machine())
    sources = build_folder() / "native"
    target = cache_folder().parent / "native" / _VERSION
    jars = JarSet(f"Hadoop's native library {_VERSION}", sources / "pom.xml", sources / f"{_VERSION}.sha256", target)
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(ensure(jars, say) / f"hadoop-apache-{_VERSION}.jar") as archive:
        (folder / _LIBRARY).write_bytes(archive.read(member))


def library_of(machine: str) -> str:
    """Path of a machine's library in the jar.

    Raises:
        LabError: If it holds none.
    """
    folder = _FOLDERS.get(machine.lower())
    if folder is None:
        raise LabError(f"no native library of Hadoop for {machine}: secured clusters run on {', '.join(_FOLDERS)}")
    return f"nativelib/{folder}/{_LIBRARY}"
