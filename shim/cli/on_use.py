"""Verbs whose modules are imported when they are called: `heddle app list` needs no simulator and no database."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import typer
from typer.core import TyperGroup, TyperOption

_ELSEWHERE = {
    "describe": "status",
    "get": "list",
    "info": "status",
    "log": "logs",
    "ls": "list",
    "ps": "list",
    "rm": "kill",
    "show": "status",
    "stop": "kill",
}


class VerbsOnUse(Mapping[str, Any]):
    """Commands by name, each made when it is asked for.

    A module may have an `EPILOG` for the help of its verb.

    Args:
        places: Where each verb is: `module:name` of a function, or of a `typer.Typer` for a group of verbs.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, verb: str) -> Any:
        return _command(verb, self._places[verb])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class VerbGroup(TyperGroup):
    """A group that knows what verbs are called elsewhere: who writes `ls` means `list`, not `logs`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that words name; of one that is none, the one that is meant is suggested."""
        meant = _ELSEWHERE.get(args[0]) if args else None
        if meant is not None and args[0] not in self.commands and meant in self.commands:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {meant!r}?")
        return super().resolve_command(ctx, args)


def group_of(places: Mapping[str, str]) -> type[TyperGroup]:
    """Return the class of a group with these verbs, for `typer.Typer(cls=...)`; see `VerbsOnUse`."""

    class GroupOnUse(VerbGroup):
        def __init__(self, **attributes: Any) -> None:
            attributes["commands"] = VerbsOnUse(places)
            super().__init__(**attributes)

    return GroupOnUse


@cache  # help is let flow once: it would take the indented lines of what flows already for prose
def _command(verb: str, place: str) -> Any:
    module, _, name = place.partition(":")
    imported = importlib.import_module(module)
    found: typer.Typer | Callable[..., Any] = getattr(imported, name)
    holder = typer.Typer()
    holder.callback()(_nothing)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=verb, cls=VerbGroup)
    else:
        holder.command(verb, epilog=getattr(imported, "EPILOG", None))(found)
    let_help_flow(holder)
    return typer.main.get_group(holder).commands[verb]


def _nothing() -> None:
    """Make a group of an app with one verb."""


# Help texts as wide as the terminal: a docstring's line breaks are the source's, not the reader's.

_TYPE_SHOWN = "display_type_rich"
_typed = getattr(TyperOption, _TYPE_SHOWN, None)


def _type_of_value(self: TyperOption, ctx: Any) -> str | None:
    """The type that help shows; none for a flag, which takes no value."""
    return None if self.is_flag or _typed is None else str(_typed(self, ctx) or "") or None


if _typed is not None:  # of `--help`, which Typer makes, too; before 0.29 it has no such method
    setattr(TyperOption, _TYPE_SHOWN, _type_of_value)

_BLANK_LINE = re.compile(r"\n[ \t]*\n")


def unwrapped(text: str) -> str:
    """A text whose paragraphs are a line each; paragraphs with an indented line, examples, keep theirs."""
    paragraphs = _BLANK_LINE.split(inspect.cleandoc(text))
    return "\n\n".join(paragraph if _is_example(paragraph) else " ".join(paragraph.split()) for paragraph in paragraphs)


def let_help_flow(app: typer.Typer) -> None:
    """Let the help of every verb below an app be broken where the terminal ends. Call it when all are registered."""
    for command in app.registered_commands:
        command.help = _flowing(command.help, command.callback)
        command.epilog = _flowing(command.epilog, None)
    if app.registered_callback is not None and not isinstance(app.info.help, str):
        app.registered_callback.help = _flowing(app.registered_callback.help, app.registered_callback.callback)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            let_help_flow(group.typer_instance)


def _flowing(given: Any, callback: Any) -> Any:
    """Help as it was given, or a callback's docstring, with paragraphs that flow; Typer's own default if neither is."""
    text = given if isinstance(given, str) else callback and inspect.getdoc(callback)
    return unwrapped(text) if text else given


def _is_example(paragraph: str) -> bool:
    return any(line.startswith(" ") for line in paragraph.splitlines())
