"""Help texts as wide as the terminal: a docstring's line breaks are the source's, not the reader's."""

import inspect
import re
from typing import Any

import typer
from typer.core import TyperOption

__all__ = ["let_help_flow", "unwrapped"]

_typed = TyperOption.display_type_rich


def _type_of_value(self: TyperOption, ctx: Any) -> str | None:
    """The type that help shows; none for a flag, which takes no value."""
    return None if self.is_flag else _typed(self, ctx)


TyperOption.display_type_rich = _type_of_value  # type: ignore[method-assign] # of `--help`, which Typer makes, too

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
