"""A Hadoop configuration folder, read as Hadoop reads it: where a sub-cluster's ResourceManagers are.

Sources: `org.apache.hadoop.conf.Configuration` (variables, `final`), `org.apache.hadoop.yarn.conf.{YarnConfiguration,
HAUtil}` and yarn-default.xml (names and defaults).
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from shim.errors import ConfigError

__all__ = ["SubClusterConfiguration", "read_folder", "read_properties"]

_FILES = ("core-site.xml", "yarn-site.xml")
_MOST_BYTES = 16 * 1024 * 1024
_MOST_SUBSTITUTIONS = 20  # Configuration.MAX_SUBST
_VARIABLE = re.compile(r"\$\{([^}$\s]{1,200})\}")
_RM = "yarn.resourcemanager"
_DEFAULTS: Mapping[str, str] = {
    f"{_RM}.hostname": "0.0.0.0",  # noqa: S104 - Hadoop's default, read as this machine
    f"{_RM}.epoch": "0",
    f"{_RM}.ha.enabled": "false",
    f"{_RM}.recovery.enabled": "false",
    "yarn.acl.enable": "false",
    "yarn.http.policy": "HTTP_ONLY",
    "yarn.webapp.filter-entity-list-by-user": "false",
}
_PORTS: Mapping[str, int] = {
    f"{_RM}.address": 8032,
    f"{_RM}.scheduler.address": 8030,
    f"{_RM}.admin.address": 8033,
    f"{_RM}.webapp.address": 8088,
    f"{_RM}.webapp.https.address": 8090,
}


@dataclass(frozen=True, slots=True)
class SubClusterConfiguration:
    """The part of a cluster's configuration that Heddle needs; addresses in the order of the rm-ids.

    Attributes:
        web: `http://host:port` or `https://host:port`.
        client_rpc: `host:port`; `scheduler_rpc` and `admin_rpc` likewise.
        rm_ids: Empty without high availability.
        epoch: `yarn.resourcemanager.epoch`.
        has_acls: Whether what the ResourceManager tells depends on who asks.
        recovers: Whether a restarted ResourceManager knows the applications that it had.
    """

    web: tuple[str, ...]
    client_rpc: tuple[str, ...]
    scheduler_rpc: tuple[str, ...]
    admin_rpc: tuple[str, ...]
    rm_ids: tuple[str, ...]
    epoch: int
    has_acls: bool
    recovers: bool


def read_folder(folder: Path, *, environment: Mapping[str, str] | None = None) -> SubClusterConfiguration:
    """Read where a cluster's ResourceManagers are.

    Args:
        folder: With `yarn-site.xml` and perhaps `core-site.xml`.
        environment: For `${env.NAME}`; the process's by default.

    Raises:
        ConfigError: If a file is missing or unreadable, or a value has another form.
    """
    properties = read_properties(folder, environment=environment)
    source = str(folder / "yarn-site.xml")
    has_ha = _flag(properties, f"{_RM}.ha.enabled", source)
    rm_ids = tuple(filter(None, (name.strip() for name in properties.get(f"{_RM}.ha.rm-ids", "").split(","))))
    if has_ha and not rm_ids:
        raise ConfigError(source, f"{_RM}.ha.rm-ids", "is empty, but ha.enabled is true: name the ResourceManagers")
    suffixes = tuple(f".{rm_id}" for rm_id in rm_ids) if has_ha else ("",)
    is_https = properties["yarn.http.policy"].strip().upper() != "HTTP_ONLY"
    web = f"{_RM}.webapp.https.address" if is_https else f"{_RM}.webapp.address"
    scheme = "https" if is_https else "http"
    return SubClusterConfiguration(
        web=tuple(f"{scheme}://{_address(properties, web, suffix, source)}" for suffix in suffixes),
        client_rpc=tuple(_address(properties, f"{_RM}.address", suffix, source) for suffix in suffixes),
        scheduler_rpc=tuple(_address(properties, f"{_RM}.scheduler.address", suffix, source) for suffix in suffixes),
        admin_rpc=tuple(_address(properties, f"{_RM}.admin.address", suffix, source) for suffix in suffixes),
        rm_ids=rm_ids if has_ha else (),
        epoch=_number(properties, f"{_RM}.epoch", source),
        has_acls=_flag(properties, "yarn.acl.enable", source)
        or _flag(properties, "yarn.webapp.filter-entity-list-by-user", source),
        recovers=_flag(properties, f"{_RM}.recovery.enabled", source),
    )


def read_properties(folder: Path, *, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every property of a folder's core-site.xml and yarn-site.xml, variables expanded.

    Raises:
        ConfigError: If there is no yarn-site.xml, or a file is not readable.
    """
    if not (folder / "yarn-site.xml").is_file():
        raise ConfigError(str(folder), "conf", "has no yarn-site.xml: name the cluster's Hadoop configuration folder")
    raw: dict[str, str] = dict(_DEFAULTS)
    final: set[str] = set()
    for name in _FILES:
        if (folder / name).is_file():
            _merge(folder / name, raw, final)
    outside = os.environ if environment is None else environment
    return {name: _expand(value, raw, outside) for name, value in raw.items()}


def _merge(path: Path, into: dict[str, str], final: set[str]) -> None:
    for element in _parse(path).iterfind("property"):
        name = (element.findtext("name") or "").strip()
        value = element.findtext("value")
        if not name or value is None or name in final:
            continue
        into[name] = value.strip()
        if (element.findtext("final") or "").strip() == "true":
            final.add(name)


def _parse(path: Path) -> "etree._Element":
    """The file's root element; no entities, no document type, nothing fetched."""
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise ConfigError(str(path), "(file)", f"cannot be read: {exc}") from exc
    if len(content) > _MOST_BYTES:
        raise ConfigError(str(path), "(file)", f"is larger than {_MOST_BYTES} bytes")
    parser = etree.XMLParser(resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as exc:
        raise ConfigError(str(path), "(file)", f"is not XML: {exc}") from exc
    if root.getroottree().docinfo.internalDTD is not None:
        raise ConfigError(str(path), "(file)", "has a document type: entities are not read, write the values out")
    return root


def _expand(value: str, properties: Mapping[str, str], environment: Mapping[str, str]) -> str:
    """Put in variables, repeatedly; one that nobody knows stays as it is."""
    for _ in range(_MOST_SUBSTITUTIONS):
        expanded = _VARIABLE.sub(lambda found: _lookup(found, properties, environment), value)
        if expanded == value:
            break
        value = expanded
    return value


def _lookup(found: "re.Match[str]", properties: Mapping[str, str], environment: Mapping[str, str]) -> str:
    name = found[1]
    if not name.startswith("env."):
        return properties.get(name, found[0])
    variable, _, default = name.removeprefix("env.").partition(":-")
    if not default:
        variable, _, default = name.removeprefix("env.").partition("-")
    return environment.get(variable) or default or found[0]


def _address(properties: Mapping[str, str], key: str, suffix: str, source: str) -> str:
    """`host:port` of one service of one ResourceManager, by its own key or by its host name."""
    given = properties.get(f"{key}{suffix}", "").strip()
    host = properties.get(f"{_RM}.hostname{suffix}") or properties[f"{_RM}.hostname"]
    address = given or f"{host}:{_PORTS[key]}"
    if ":" not in address:
        address = f"{address}:{_PORTS[key]}"
    if re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@?#$]+):[0-9]{1,5}", address) is None:
        raise ConfigError(source, f"{key}{suffix}", f"{address!r} is not an address; write host:port")
    return re.sub(r"^0\.0\.0\.0:", "127.0.0.1:", address)


def _flag(properties: Mapping[str, str], key: str, source: str) -> bool:
    value = properties[key].strip().lower()
    if value not in {"true", "false"}:
        raise ConfigError(source, key, f"{value!r} is neither true nor false")
    return value == "true"


def _number(properties: Mapping[str, str], key: str, source: str) -> int:
    try:
        return int(properties[key])
    except ValueError:
        raise ConfigError(source, key, f"{properties[key]!r} is not a whole number") from None
