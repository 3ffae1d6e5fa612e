"""Changes to a configuration file that keep its comments, its order and whatever else its owner wrote."""

import os
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Table

from shim.errors import ConfigError, ConflictError, NotFoundError

_TABLE = "subcluster"


def with_cluster(text: str, id_: str, keys: Mapping[str, Any]) -> str:
    """The text with one more `[[subcluster]]`, behind the last one.

    Raises:
        ConfigError: The text is not TOML.
        ConflictError: There is such a cluster.
    """
    document = _parsed(text)
    if _place(document, id_) is not None:
        raise ConflictError(f"there is a sub-cluster {id_!r} already; `heddle cluster edit {id_}` changes it")
    table = tomlkit.table()
    table.update({"id": id_, **_written(keys)})
    clusters = document.get(_TABLE)
    if isinstance(clusters, AoT):
        _part_from_next(clusters[-1])
        clusters.append(table)
        if list(document)[-1] != _TABLE:
            table.add(tomlkit.nl())
    else:
        new = tomlkit.aot()
        new.append(table)
        document.append(_TABLE, new)
    return tomlkit.dumps(document)


def with_cluster_changed(text: str, id_: str, keys: Mapping[str, Any], without: Sequence[str] = ()) -> str:
    """The text with other keys of a cluster; raises as `without_cluster`, and `NotFoundError` for a key that is not."""
    document = _parsed(text)
    table = _table(document, id_)
    table.update(_written(keys))
    _refuse_id(without)
    for key in without:
        if key not in table:
            raise NotFoundError(f"sub-cluster {id_} has no key {key!r}; it has {', '.join(table)}")
        table.remove(key)
    return tomlkit.dumps(document)


def without_cluster(text: str, id_: str) -> str:
    """The text without a cluster.

    Raises:
        ConfigError: The text is not TOML.
        NotFoundError: There is no such cluster.
        ConflictError: It is the only one.
    """
    document = _parsed(text)
    _table(document, id_)
    if len(document[_TABLE]) == 1:
        raise ConflictError(f"{id_} is the only sub-cluster: Heddle serves none without")
    clusters = document[_TABLE]
    del clusters[_place(document, id_)]
    return tomlkit.dumps(document)


def with_list(text: str, list_: str) -> str:
    """The text with other clusters, all of them.

    Args:
        text: Of a configuration file, or of a list that is kept alone.
        list_: `[[subcluster]]` tables.

    Raises:
        ConfigError: One of them is no TOML, or what stands beside the tables would not stay as it is.
    """
    document, new = _parsed(text), _parsed(list_)
    if set(document) <= {_TABLE}:
        return list_
    if _TABLE in new:
        document[_TABLE] = new[_TABLE]
    else:
        document.pop(_TABLE, None)
    after = tomlkit.dumps(document)
    if tomllib.loads(after) != {**tomllib.loads(text), _TABLE: new.unwrap().get(_TABLE, [])}:
        raise ConfigError("the configuration", _TABLE, "its tables lie among others: edit the file where it is")
    return after


def alone(text: str) -> str:
    """The `[[subcluster]]` tables of a text with their comments, without the rest; a `ConfigError` if no TOML."""
    document, new = _parsed(text), tomlkit.document()
    if _TABLE in document:
        new.append(_TABLE, document[_TABLE])
    return tomlkit.dumps(new)


def value_of(text: str) -> Any:
    """What a word of a command line means: a value of TOML (`30.0`, `true`, `["a", "b"]`), or itself as a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def replace_file(path: Path, text: str) -> None:
    """Put a text in the place of a file's, whole or not at all, with the same owner and mode.

    Raises:
        ConfigError: It cannot be written.
    """
    real = path.resolve()  # a link stays one
    try:
        before = real.stat()
        number, name = tempfile.mkstemp(dir=real.parent, prefix=f".{real.name}.")
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fchmod(file.fileno(), before.st_mode & 0o7777)
                if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(file.fileno(), before.st_uid, before.st_gid)
                os.fsync(file.fileno())
            Path(name).replace(real)
        except BaseException:
            Path(name).unlink()
            raise
    except OSError as exc:
        raise ConfigError(str(path), "(file)", f"cannot be written: {exc}") from exc


def _parsed(text: str) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except TOMLKitError as exc:
        raise ConfigError("the configuration", "(file)", f"is not TOML: {exc}") from exc


def _place(document: tomlkit.TOMLDocument, id_: str) -> int | None:
    ids = [str(each.get("id")) for each in document.get(_TABLE, ())]
    return ids.index(id_) if id_ in ids else None


def _table(document: tomlkit.TOMLDocument, id_: str) -> Table:
    place = _place(document, id_)
    if place is None:
        known = ", ".join(str(each.get("id")) for each in document.get(_TABLE, ()))
        raise NotFoundError(f"the file names no sub-cluster {id_!r}; it names {known or 'none'}")
    found: Table = document[_TABLE][place]
    return found


def _written(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Values as they stand on one line, tables too.

    Raises:
        ConfigError: An id is among them.
    """
    written: dict[str, Any] = {}
    _refuse_id(keys)
    for name, value in keys.items():
        written[name] = value
        if isinstance(value, Mapping):
            written[name] = tomlkit.inline_table()
            written[name].update(value)
    return written


def _refuse_id(keys: Iterable[str]) -> None:
    if "id" in keys:
        message = "is its name for ever, as the store refers to it: add another sub-cluster instead"
        raise ConfigError("the sub-cluster", "id", message)


def _part_from_next(table: Table) -> None:
    """Leave an empty line behind a table that has none."""
    if not tomlkit.dumps(table).endswith("\n\n"):
        table.add(tomlkit.nl())
