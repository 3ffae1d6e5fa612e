"""The root of the command line: where each verb is."""

from collections.abc import Mapping
from typing import Annotated

import typer

import shim
from shim.cli.on_use import group_of

_VERBS: Mapping[str, str] = {
    "serve": "shim.cli.serve:serve",
    "gm": "shim.cli.masters:gm",
    "lm": "shim.cli.masters:lm",
    "reload": "shim.cli.reload:reload",
    "submit": "shim.cli.submit:submit",
    "doctor": "shim.cli.doctor:doctor",
    "top": "shim.cli.top:top",
    "usage": "shim.cli.usage:usage",
    "whatif": "shim.cli.what_if:what_if",
    "completion": "shim.cli.completion:completion",
    "app": "shim.cli.application:app",
    "queue": "shim.cli.queue:app",
    "policy": "shim.cli.policy:app",
    "constraint": "shim.cli.constraint:app",
    "cluster": "shim.cli.cluster:app",
    "store": "shim.cli.store:app",
    "audit": "shim.cli.audit:app",
    "token": "shim.cli.tokens:app",
    "lab": "shim.cli.lab:app",
    "demo": "shim.cli.demo:app",
    "simulate": "shim.cli.simulate:app",
}
"""Module and name of each verb, or group of verbs, in the order of the help."""

app = typer.Typer(
    cls=group_of(_VERBS),
    name="heddle",
    help="One YARN ResourceManager in front of many YARN clusters.",
    no_args_is_help=True,
    add_completion=False,  # `heddle completion` prints scripts that need no Python at each key
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(*, value: bool) -> None:
    if value:
        typer.echo(f"heddle {shim.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *, _version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True)] = False
) -> None:
    """Options that every verb has."""


def main() -> None:
    """Run the command line; usage has its name however it was started: as a module, too."""
    app(prog_name="heddle")
