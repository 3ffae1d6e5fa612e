"""A Hadoop configuration folder, read as Hadoop reads it: where a sub-cluster's ResourceManagers are.

Files are read as `org.apache.hadoop.conf.Configuration` 3.4 reads them (`Parser`, `loadProperty`, `substituteVars`):
core-site.xml, then the defaults of YARN, then yarn-site.xml, each over what came before unless that was final. A value
that is absent or not understood is what it is to Hadoop: its default, or an error. What Hadoop would not start with is
an error here; so is a folder that names no address, as nobody means this machine by saying nothing.

Sources beside that: `org.apache.hadoop.yarn.conf.{YarnConfiguration,HAUtil}`, `NetUtils.createSocketAddr`,
`HttpConfig.Policy` and yarn-default.xml.
"""

import getpass
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lxml import etree

from shim.errors import ConfigError

_MOST_BYTES = 16 * 1024 * 1024
_MOST_SUBSTITUTIONS = 20  # Configuration.MAX_SUBST
_MOST_INCLUDES = 20
_BLANKS = "".join(map(chr, range(0x21)))  # what Java's String.trim takes away
_RM = "yarn.resourcemanager"
_PORTS: Mapping[str, int] = {
    f"{_RM}.address": 8032,
    f"{_RM}.scheduler.address": 8030,
    f"{_RM}.admin.address": 8033,
    f"{_RM}.webapp.address": 8088,
    f"{_RM}.webapp.https.address": 8090,
}
_DEFAULTS: Mapping[str, str] = {
    f"{_RM}.hostname": "0.0.0.0",  # noqa: S104 - Hadoop's default
    **{key: f"${{{_RM}.hostname}}:{port}" for key, port in _PORTS.items()},
    f"{_RM}.ha.enabled": "false",
    f"{_RM}.recovery.enabled": "false",
    "yarn.acl.enable": "false",
    "yarn.http.policy": "HTTP_ONLY",
    "yarn.webapp.filter-entity-list-by-user": "false",
}
"""Of yarn-default.xml, as far as it matters here; it is loaded between the two site files."""


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
        ConfigError: If a file is missing or unreadable, a value has another form, or no address is named.
    """
    properties = HadoopProperties(folder, os.environ if environment is None else environment)
    source = str(folder / "yarn-site.xml")
    rm_ids = _rm_ids(properties) if properties.flag(f"{_RM}.ha.enabled") else ()
    if properties.flag(f"{_RM}.ha.enabled") and not rm_ids:
        raise ConfigError(source, f"{_RM}.ha.rm-ids", "is empty, but ha.enabled is true: name the ResourceManagers")
    suffixes = tuple(f".{rm_id}" for rm_id in rm_ids) or ("",)
    is_https = (properties.get("yarn.http.policy") or "").upper() == "HTTPS_ONLY"  # all else is http to an RM
    web = f"{_RM}.webapp.https.address" if is_https else f"{_RM}.webapp.address"
    scheme = "https" if is_https else "http"

    def each(key: str) -> tuple[str, ...]:
        return tuple(_address(properties, key, suffix, source) for suffix in suffixes)

    return SubClusterConfiguration(
        web=tuple(f"{scheme}://{address}" for address in each(web)),
        client_rpc=each(f"{_RM}.address"),
        scheduler_rpc=each(f"{_RM}.scheduler.address"),
        admin_rpc=each(f"{_RM}.admin.address"),
        rm_ids=rm_ids,
        epoch=_number(properties, f"{_RM}.epoch", source),
        has_acls=properties.flag("yarn.acl.enable") or properties.flag("yarn.webapp.filter-entity-list-by-user"),
        recovers=properties.flag(f"{_RM}.recovery.enabled"),
    )


class HadoopProperties:
    """Properties of a folder (`Configuration`), expanded when they are asked for.

    Args:
        folder: With `yarn-site.xml` and perhaps `core-site.xml`.

    Attributes:
        named: Names that the folder gives a value, in a way that YARN's defaults do not hide.

    Raises:
        ConfigError: If there is no yarn-site.xml, or a file is not readable.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        if not (folder / "yarn-site.xml").is_file():
            hint = "name the cluster's Hadoop configuration folder"
            reason = "has no yarn-site.xml" if folder.is_dir() else "is no folder"
            raise ConfigError(str(folder), "conf", f"{reason}: {hint}")
        self._raw: dict[str, str] = {}
        self._source = str(folder / "yarn-site.xml")
        self._final: set[str] = set()
        self._environment = environment
        if (folder / "core-site.xml").is_file():
            self._load(_items(folder / "core-site.xml", folder))
        self._load(_Item(name, value) for name, value in _DEFAULTS.items())
        self.named = self._load(_items(folder / "yarn-site.xml", folder)) | self._final

    def _load(self, items: "Iterator[_Item]") -> set[str]:
        """Take the items of one file (`loadProperty`); returns the names that have a value by it."""
        taken = set[str]()
        for item in items:
            if item.value is not None and item.name not in self._final:
                self._raw[item.name] = item.value
                taken.add(item.name)
            if item.is_final:
                self._final.add(item.name)
        return taken

    def get(self, name: str) -> str | None:
        """A value with its variables expanded, None for none (`Configuration.get`).

        Raises:
            ConfigError: Variables name each other without end.
        """
        value = self._raw.get(name)
        if value is None:
            return None
        whole = value
        for _ in range(_MOST_SUBSTITUTIONS):
            found = _variable(value)
            if found is None:
                return value
            begin, end = found
            inside = self._variable_value(value[begin:end])
            if inside is None:
                return value
            token = value[begin - 2 : end + 1]
            if token in inside:
                return whole  # it names itself
            value = value[: begin - 2] + inside + value[end + 1 :]
        raise ConfigError(self._source, name, f"{whole!r} needs more than {_MOST_SUBSTITUTIONS} substitutions")

    def trimmed(self, name: str) -> str | None:
        """A value without blanks at its ends; None for none (`getTrimmed`)."""
        value = self.get(name)
        return None if value is None else value.strip(_BLANKS)

    def flag(self, name: str) -> bool:
        """True or false; what is neither is the default, as to Hadoop (`getBoolean`)."""
        value = (self.trimmed(name) or "").lower()
        return value == "true" if value in {"true", "false"} else _DEFAULTS.get(name) == "true"

    def _variable_value(self, name: str) -> str | None:
        if name.startswith("env.") and name != "env.":
            return self._of_environment(name.removeprefix("env."))
        return _system_property(name) or self._raw.get(name)

    def _of_environment(self, name: str) -> str | None:
        """`NAME`, `NAME-default` where it is not set, `NAME:-default` where it is not set or empty."""
        for at, character in enumerate(name):
            if name[at : at + 2] == ":-":
                return self._environment.get(name[:at]) or name[at + 2 :]
            if character == "-":
                return self._environment.get(name[:at], name[at + 1 :])
        found = self._environment.get(name)
        return self._raw.get(f"env.{name}") if found is None else found


def _system_property(name: str) -> str | None:
    """Those of a JVM that are the same for a ResourceManager on this machine and for Heddle."""
    if name == "user.name":
        return getpass.getuser()
    return {"user.home": str(Path("~").expanduser()), "java.io.tmpdir": "/tmp", "file.separator": "/"}.get(name)  # noqa: S108 - Java's word


def _variable(value: str) -> tuple[int, int] | None:
    """Where the first variable's name is that has no other inside (`findSubVariable`); None for none."""
    begin, brace = 1, value.find("{", 1)
    while brace > 0 and len(value) > brace + 1:
        if value[brace - 1] != "$":
            begin = brace + 1
            brace = value.find("{", begin)
            continue
        begin = at = brace + 1
        while at < len(value) and value[at] not in "} $":
            at += 1
        if at == len(value):
            return None
        if value[at] == "}" and at > begin:
            return begin, at
        begin = at + 1
        brace = value.find("{", begin)
    return None


# -- files -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Item:
    """One property of a file."""

    name: str
    value: str | None
    is_final: bool = False


@dataclass(slots=True)
class _Reader:
    """State of a file that is read (`Configuration.Parser`).

    Attributes:
        found: Its properties, and those of files that it includes, in their order.
        needs_fallback: Whether the present include found no file; `is_in_fallback` whether its fallback has begun.
    """

    path: Path
    folder: Path
    depth: int
    found: list[_Item] = field(default_factory=list)
    item: _Item = field(default_factory=lambda: _Item("", None))
    needs_fallback: bool = False
    is_in_fallback: bool = False

    def begin(self, element: "etree._Element") -> None:
        kind = etree.QName(element).localname
        if kind == "property":
            attributes = {etree.QName(name).localname: value for name, value in element.attrib.items()}
            is_final = attributes.get("final") == "true"
            self.item = _Item(str(attributes.get("name", "")), _text(attributes.get("value")), is_final)
        elif kind == "include":
            self._include(element.get("href"))
        elif kind == "fallback":
            self.is_in_fallback = True

    def end(self, element: "etree._Element") -> None:
        """An element ends. An empty one says nothing: what stood before stands."""
        kind = etree.QName(element).localname
        text = str(element.xpath("string()")) if kind in {"name", "value", "final"} else ""
        if kind == "name" and text:
            self.item.name = text.strip(_BLANKS)
        elif kind == "value" and text:
            self.item.value = text
        elif kind == "final":
            self.item.is_final = text == "true"
        elif kind == "property" and self.item.name and (self.needs_fallback or not self.is_in_fallback):
            self.found.append(self.item)
        elif kind == "include":
            if self.needs_fallback and not self.is_in_fallback:
                href = element.get("href")
                raise ConfigError(str(self.path), "xi:include", f"{href!r} is not there, and has no xi:fallback")
            self.needs_fallback = self.is_in_fallback = False

    def _include(self, href: str | None) -> None:
        if href is None:
            return
        if self.depth >= _MOST_INCLUDES:
            raise ConfigError(str(self.path), "xi:include", f"files include each other more than {_MOST_INCLUDES} deep")
        parts = urlsplit(href)
        if parts.scheme not in {"", "file"} or parts.netloc:
            message = f"{href!r} is on another machine: write a copy into the folder, and include that"
            raise ConfigError(str(self.path), "xi:include", message)
        path = self.folder / (unquote(parts.path) if parts.scheme else href)
        if path.is_file():
            self.found += _items(path, self.folder, self.depth + 1)
        else:
            self.needs_fallback = True


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _items(path: Path, folder: Path, depth: int = 0) -> Iterator[_Item]:
    """Properties of a file in their order; a file that is included counts where it is.

    Includes are looked for in the configuration folder: it is the class path of Hadoop's daemons.
    """
    reader = _Reader(path, folder, depth)
    for event, element in etree.iterwalk(_parse(path), events=("start", "end")):
        if not isinstance(element.tag, str):
            continue
        if event == "start":
            reader.begin(element)
        else:
            reader.end(element)
    return iter(reader.found)


def _parse(path: Path) -> "etree._Element":
    """The file's root element; entities of its own are put in, and nothing is fetched."""
    try:
        content = path.read_bytes()
    except OSError as exc:
        raise ConfigError(str(path), "(file)", f"cannot be read: {exc.strerror or exc}") from exc
    if len(content) > _MOST_BYTES:
        raise ConfigError(str(path), "(file)", f"is larger than {_MOST_BYTES} bytes")
    parser = etree.XMLParser(
        resolve_entities="internal",  # type: ignore[arg-type]  # its stubs do not know it
        load_dtd=False,
        no_network=True,
        huge_tree=False,
    )
    try:
        return etree.fromstring(content, parser)
    except etree.XMLSyntaxError as exc:
        raise ConfigError(str(path), "(file)", f"is not XML: {exc}") from exc


# -- values ----------------------------------------------------------------------------------------------------------


def _rm_ids(properties: HadoopProperties) -> tuple[str, ...]:
    """Ids by commas or lines, each once (`getTrimmedStringCollection`)."""
    names = re.split(r"[,\n]", properties.trimmed(f"{_RM}.ha.rm-ids") or "")
    return tuple(dict.fromkeys(name for each in names if (name := each.strip(_BLANKS))))


def _address(properties: HadoopProperties, key: str, suffix: str, source: str) -> str:
    """`host:port` of one service of one ResourceManager, by its own key or by its host name."""
    address = properties.trimmed(f"{key}{suffix}")
    if suffix and not address:
        host = properties.trimmed(f"{_RM}.hostname{suffix}")  # HAUtil: no other host name stands in for it
        address = f"{host}:{_PORTS[key]}" if host else None
    elif not suffix and not {key, f"{_RM}.hostname"} & properties.named:
        address = None
    if not address:
        names = f"{_RM}.hostname{suffix}, nor by {key}{suffix}"
        raise ConfigError(source, f"{_RM}.hostname{suffix}", f"the ResourceManager is not named by {names}: name it")
    found = re.fullmatch(
        r"(?:[A-Za-z][A-Za-z0-9+.-]*://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::([0-9]{0,5}))?", address
    )
    if found is None or int(found[2] or 0) > 65_535:  # noqa: PLR2004 - the largest port
        raise ConfigError(source, f"{key}{suffix}", f"{address!r} is not an address; write host:port")
    host = "127.0.0.1" if found[1] == "0.0.0.0" else found[1]  # noqa: S104 - told to be this machine
    return f"{host}:{int(found[2] or _PORTS[key])}"


def _number(properties: HadoopProperties, key: str, source: str) -> int:
    """A whole number, 0 for none (`getLong`: decimal, or hexadecimal after 0x)."""
    value = properties.trimmed(key) or "0"
    found = re.fullmatch(r"([+-]?)(?:0[xX]([0-9A-Fa-f]{1,16})|([0-9]{1,19}))", value)
    if found is None:
        raise ConfigError(source, key, f"{value!r} is not a whole number")
    number = int(found[1] + found[2], 16) if found[2] else int(found[1] + found[3])
    if not -(2**63) <= number < 2**63:
        raise ConfigError(source, key, f"{value!r} is more than 64 bits hold")
    return number
