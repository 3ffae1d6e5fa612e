"""Reads a tree of frozen dataclasses from TOML tables and environment variables.

A configuration class declares each key with `key(...)`: its default, its meaning and what is allowed. From that one
declaration come the reading, the checks, the error messages and configuration.md. Everything that cannot be read
is a `ConfigError` that names the file (or variable), the key and what is allowed there.
"""

import dataclasses
import difflib
import math
import re
import types
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NewType, TypeVar

from shim.errors import ConfigError

T = TypeVar("T")

FolderOrAddress = NewType("FolderOrAddress", str)
"""A folder, relative ones made absolute, or an address with its scheme."""

AUTO = "auto"
"""Of a switch that need not be given: as without it."""
_METADATA = "key"
_LONGEST_SHOWN = 200
_LARGEST = 2**63 - 1


class RenamedKeyWarning(FutureWarning):
    """A key has the name that it had in the version before."""


class RemovedKeyWarning(FutureWarning):
    """A key of the version before is given, which is no key any more."""


@dataclass(frozen=True, slots=True)
class Key:
    """Description of a key of a configuration class.

    Attributes:
        meaning: One or two sentences for docs/operators/configuration.md.
        name: Name in the file, where it differs from the attribute's.
        was: Name in the version before. It is still read, with a warning that tells the new one.
        least: Smallest number allowed.
        most: Largest number allowed.
        choices: The values allowed, if they are few.
        rejection: Why a value that is none of these is not allowed; empty for those of which nothing is known.
        pattern: Regular expression that the whole of a text (or each text of a list) matches.
        form: `pattern` in words, for messages.
        example: A value that is allowed, for messages; the default if that is a text.
        rest: Names of keys beside it that it gathers, as they stand in the file; whoever declares it checks them.
    """

    meaning: str
    name: str = ""
    was: str = ""
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    rejection: Callable[[str], str] | None = None
    pattern: str = ""
    form: str = ""
    example: str = ""
    rest: frozenset[str] = frozenset()


def key(default: Any = dataclasses.MISSING, *, about: Key) -> Any:
    """Declare a key of a configuration class; without a default it must be given."""
    return dataclasses.field(default=default, metadata={_METADATA: about})


def section(factory: Callable[[], T], about: Key) -> T:
    """Declare a key that holds a table with defaults of its own, which `factory` makes."""
    declared: T = dataclasses.field(default_factory=factory, metadata={_METADATA: about})
    return declared


def key_of(field: "dataclasses.Field[Any]") -> Key:
    """Description of a field's key, its name filled in."""
    declared: Key = field.metadata[_METADATA]
    example = declared.example or (field.default if isinstance(field.default, str) else "")
    return dataclasses.replace(declared, name=declared.name or field.name, example=example)


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of values, for messages and for relative paths.

    Attributes:
        source: The file's name as the operator wrote it.
        folder: Relative paths start here.
        variables: Dotted key to the environment variable that set it.
        mistakes: Where mistakes are put, so that reading goes on; None to raise the first.
    """

    source: str
    folder: Path
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)
    mistakes: list[ConfigError] | None = None

    def note(self, mistake: ConfigError) -> None:
        if self.mistakes is None:
            raise mistake
        self.mistakes.append(mistake)

    def error(self, path: str, message: str) -> ConfigError:
        """An error about the value at a dotted key."""
        return ConfigError(self.variables.get(path, self.source), path, message)


def is_table(declared: Any) -> bool:
    """True if a declared type is a configuration class."""
    return isinstance(declared, type) and dataclasses.is_dataclass(declared)


def item_type(declared: Any) -> Any:
    """Of `tuple[T, ...]` and `Mapping[str, T]` the T, of anything else None."""
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin is tuple:
        return arguments[0]
    return arguments[1] if origin is Mapping else None


def read(cls: type[T], table: Mapping[str, Any], origin: Origin, path: str = "") -> T:
    """Make an instance of a configuration class from a TOML table.

    Raises:
        ConfigError: If a key is unknown or missing, or a value is not allowed.
    """
    declared = declared_keys(cls)
    table = _without_removed(cls, _by_new_names(declared, table, origin, path), origin, path)
    gathered = {name: key_of(field).rest for name, (field, _) in declared.items() if key_of(field).rest}
    known = {*declared, *(name for rest in gathered.values() for name in rest)} - gathered.keys()
    for name in table:
        if name not in known:
            origin.note(origin.error(_join(path, name), unknown_name("key", name, known)))
    values: dict[str, Any] = {}
    for name, (field, type_) in declared.items():
        where = _join(path, name)
        try:
            if name in gathered:
                told = {each: value for each, value in table.items() if each in gathered[name]}
                values[field.name] = types.MappingProxyType(told)
            elif name in table:
                values[field.name] = _value(type_, table[name], key_of(field), origin, where)
            elif _is_required(field):
                raise origin.error(where, f"is missing: {key_of(field).meaning}")
        except ConfigError as exc:
            origin.note(exc)
            if _is_required(field):
                values[field.name] = None  # what is made of it is never used, as a mistake was noted
    return cls(**values)


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def declared_keys(cls: Any) -> "dict[str, tuple[dataclasses.Field[Any], Any]]":
    """Keys of a class by name: the field of each, and its type."""
    hints = typing.get_type_hints(cls)
    return {key_of(field).name: (field, hints[field.name]) for field in dataclasses.fields(cls)}


def _by_new_names(
    declared: "Mapping[str, tuple[dataclasses.Field[Any], Any]]", table: Mapping[str, Any], origin: Origin, path: str
) -> Mapping[str, Any]:
    """The table, with keys that have their name of the version before under their new name."""
    renamed = dict(table)
    for name, (field, _) in declared.items():
        was = key_of(field).was
        if not was or was not in renamed:
            continue
        if name in renamed:
            raise origin.error(_join(path, was), f"is the old name of {name}, which is set, too: leave out {was}")
        renamed[name] = renamed.pop(was)
        told = origin.error(_join(path, was), f"is called {name} now; the old name works in this version only")
        warnings.warn(str(told), RenamedKeyWarning, stacklevel=2)
    return renamed


def _without_removed(cls: Any, table: Mapping[str, Any], origin: Origin, path: str) -> Mapping[str, Any]:
    """The table without keys that the version before had, each with a warning that says why it is none any more."""
    removed = removed_keys(cls)
    for name in removed.keys() & table.keys():
        told = origin.error(_join(path, name), f"is ignored, and no key in the next version: {removed[name]}")
        warnings.warn(str(told), RemovedKeyWarning, stacklevel=2)
    return {name: value for name, value in table.items() if name not in removed}


def removed_keys(cls: Any) -> Mapping[str, str]:
    """Keys that the version before had, with the reason why they are gone: a class tells them as `REMOVED`."""
    removed: Mapping[str, str] = getattr(cls, "REMOVED", {})
    return removed


def _join(path: str, name: str) -> str:
    shown = name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}..."
    return f"{path}.{shown}" if path else shown


def unknown_name(what: str, name: str, known: typing.Iterable[str]) -> str:
    """Say that a name is none: the nearest one, and all that there are."""
    names = sorted(known)
    near = difflib.get_close_matches(name[:_LONGEST_SHOWN], names, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"unknown {what}.{hint} Allowed: {', '.join(names)}"


def _value(type_: Any, raw: Any, about: Key, origin: Origin, path: str) -> Any:
    """Convert and check one value; tables and lists by recursion."""
    if is_table(type_):
        return read(type_, _table(raw, origin, path), origin, path)
    item = item_type(type_)
    if typing.get_origin(type_) is Mapping:
        named = _table(raw, origin, path).items()
        return types.MappingProxyType(
            {name: _value(item, value, about, origin, _join(path, name)) for name, value in named}
        )
    if item is not None:
        if is_table(item) and not isinstance(raw, list):
            raise origin.error(path, f"is not a list of tables: write [[{path}]]")
        # one value may stand for a list of one; variables separate by commas
        values = raw if isinstance(raw, list) else [part.strip() for part in str(raw).split(",") if part.strip()]
        return tuple(
            _value(item, value, about, origin, f"{path}[{number}]" if is_table(item) else path)
            for number, value in enumerate(values)
        )
    if typing.get_origin(type_) in (types.UnionType, typing.Union):  # T | None: absence is None, presence is a T
        type_ = next(part for part in typing.get_args(type_) if part is not types.NoneType)
        if type_ is bool and raw == AUTO:
            return None
    return _check(_scalar(type_, raw, origin, path, about), about, origin, path)


def _shown(raw: Any) -> str:
    """A value for a message, cut: it may be as long as the file, or a number that Python does not write."""
    try:
        told = repr(raw)
    except (ValueError, RecursionError):
        told = f"a {type(raw).__name__}"
    return told if len(told) <= _LONGEST_SHOWN else f"{told[:_LONGEST_SHOWN]}..."


def _table(raw: Any, origin: Origin, path: str) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise origin.error(path, f"{_shown(raw)} is not a table: write [{path}]")
    return raw


def _boolean(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    return {"true": True, "false": False}[str(raw).lower()]


def _integer(raw: Any) -> int:
    if isinstance(raw, bool | float):
        raise TypeError
    value = int(raw)
    if abs(value) > _LARGEST:
        raise ValueError
    return value


def _number(raw: Any) -> float:
    if isinstance(raw, bool):
        raise TypeError
    value = float(raw)
    if math.isnan(value):
        raise ValueError
    return value


def _text(raw: Any) -> str:
    if not isinstance(raw, str):
        raise TypeError
    return raw


_SCALARS: Mapping[Any, tuple[Callable[[Any], Any], str]] = {
    bool: (_boolean, "true or false"),
    int: (_integer, "a whole number"),
    float: (_number, "a number"),
    str: (_text, "a text in quotes"),
    Path: (_text, "a path in quotes"),
    FolderOrAddress: (_text, "a path or an address in quotes"),
}


def _example(about: Key) -> str:
    return f', such as "{about.example}"' if about.example else ""


def _scalar(type_: Any, raw: Any, origin: Origin, path: str, about: Key) -> Any:
    convert, wanted = _SCALARS[type_]
    try:
        value = convert(raw)
    except (KeyError, TypeError, ValueError, OverflowError) as exc:
        raise origin.error(path, f"{_shown(raw)} is not {wanted}{_example(about)}") from exc
    if type_ is FolderOrAddress:
        return value if "://" in value else str(origin.folder / Path(value).expanduser())
    return origin.folder / Path(value).expanduser() if type_ is Path else value


def _check(value: Any, about: Key, origin: Origin, path: str) -> Any:
    if about.choices and value not in about.choices:
        if about.rejection is not None and (why := about.rejection(str(value))):
            raise origin.error(path, f"{_shown(value)} cannot be had: {why}; choose one of {', '.join(about.choices)}")
        raise origin.error(path, unknown_name(f"value {_shown(value)}", str(value), about.choices))
    if about.pattern and re.fullmatch(about.pattern, str(value)) is None:
        raise origin.error(path, f"{_shown(value)} is not {about.form}{_example(about)}")
    if about.least is not None and value < about.least:
        raise origin.error(path, f"{value} is too small: at least {about.least:g} is allowed")
    if about.most is not None and value > about.most:
        raise origin.error(path, f"{value} is too large: at most {about.most:g} is allowed")
    return value
