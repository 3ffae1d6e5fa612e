"""The grammar of the command line as data, for what is made of it: completions of shells and the manual page."""

import enum
import inspect
import re
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MARKUP = re.compile(r"\\(?=\[)")
_SENTENCE_END = re.compile(r"(?<=[.:])\s")


@dataclass(frozen=True, slots=True)
class Parameter:
    """An option or an argument of a verb.

    Attributes:
        names: All that an option is called, the longest first; empty for an argument.
        metavar: What stands for the value in help; empty for a flag.
        about: Its help.
        choices: Values that it can have, if these are few.
        is_file: Whether its value is a path.
        is_required: Whether the verb does nothing without it.
        variable: Environment variable that sets it; empty if none does.
        default: Value that it has without being given, as text; empty if there is none to speak of.
    """

    names: tuple[str, ...]
    metavar: str
    about: str
    choices: tuple[str, ...] = ()
    is_file: bool = False
    is_required: bool = False
    variable: str = ""
    default: str = ""

    @property
    def is_flag(self) -> bool:
        """True for an option without a value."""
        return not self.metavar


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb or a group of verbs.

    Attributes:
        path: Words behind `heddle`; empty for the root.
        about: Its whole help, paragraph by paragraph.
        options: Its options, with `--help`.
        arguments: Its arguments, in order.
        verbs: Names of the verbs below it.
        note: Epilog of the help: exit codes.
    """

    path: tuple[str, ...]
    about: str
    options: tuple[Parameter, ...]
    arguments: tuple[Parameter, ...]
    verbs: tuple[str, ...]
    note: str

    @property
    def summary(self) -> str:
        """The first sentence of its help, without the full stop."""
        return _SENTENCE_END.split(self.about, maxsplit=1)[0].partition("\n")[0].rstrip(".:")


_HELP = Parameter(("--help", "-h"), "", "Show this message and exit.")


def grammar_of(root: Any) -> tuple[Verb, ...]:
    """Return each verb and group that is not hidden, the root first, groups before what is in them.

    Args:
        root: What `typer.main.get_command` makes of an app, or a context's root has as its command.
    """
    return tuple(_walk(root, ()))


def _walk(command: Any, path: tuple[str, ...]) -> Iterator[Verb]:
    below = {name: each for name, each in getattr(command, "commands", {}).items() if not each.hidden}
    values = typing.get_type_hints(command.callback) if command.callback else {}
    made = [(each.param_type_name, _parameter(each, values.get(each.name))) for each in command.params]
    yield Verb(
        path=path,
        about=_plain(command.help or ""),
        options=(*(each for kind, each in made if kind == "option"), _HELP),
        arguments=tuple(each for kind, each in made if kind == "argument"),
        verbs=tuple(below),
        note=_plain(command.epilog or ""),
    )
    for name, each in below.items():
        yield from _walk(each, (*path, name))


def _parameter(parsed: Any, value: Any) -> Parameter:
    is_option = parsed.param_type_name == "option"
    choices = _choices(value)
    name = "|".join(choices) or (parsed.metavar or ("FILE" if _is_path(value) else parsed.name.strip("_").upper()))
    return Parameter(
        names=tuple(sorted((*parsed.opts, *parsed.secondary_opts), key=len, reverse=True)) if is_option else (),
        metavar="" if is_option and parsed.is_flag else name,
        about=_plain(getattr(parsed, "help", None) or ""),
        choices=choices,
        is_file=_is_path(value),
        is_required=bool(parsed.required),
        variable=str(parsed.envvar or ""),
        default=_default(parsed.default),
    )


def _types_of(value: Any) -> Iterator[Any]:
    """Yield a type, or those inside of an optional one and of a list."""
    inner = typing.get_args(value)
    if inner:
        for each in inner:
            yield from _types_of(each)
    else:
        yield value


def _choices(value: Any) -> tuple[str, ...]:
    enums = (each for each in _types_of(value) if isinstance(each, type) and issubclass(each, enum.Enum))
    return tuple(str(member.value) for each in enums for member in each)


def _is_path(value: Any) -> bool:
    return any(isinstance(each, type) and issubclass(each, Path) for each in _types_of(value))


def _default(value: Any) -> str:
    if value is None or isinstance(value, bool) or callable(value) or value in ("", (), []):
        return ""
    return str(value.value if isinstance(value, enum.Enum) else value)


def _plain(text: str) -> str:
    return _MARKUP.sub("", inspect.cleandoc(text))
