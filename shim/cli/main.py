"""The root of the command line: one line for each group of verbs."""

from typing import Annotated

import typer

import shim
from shim.cli import application, audit, cluster, demo, lab, policy, queue, simulate, store, tokens
from shim.cli.completion import completion
from shim.cli.doctor import doctor
from shim.cli.front import EXIT_CODES
from shim.cli.masters import gm, lm
from shim.cli.paragraphs import let_help_flow
from shim.cli.serve import serve
from shim.cli.submit import submit
from shim.cli.top import top
from shim.cli.usage import usage
from shim.cli.what_if import EPILOG as WHAT_IF_EPILOG
from shim.cli.what_if import what_if

__all__ = ["app", "main"]

app = typer.Typer(
    name="heddle",
    help="One YARN ResourceManager in front of many YARN clusters.",
    no_args_is_help=True,
    add_completion=False,  # `heddle completion` prints scripts that need no Python at each key
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(serve)
app.command()(gm)
app.command()(lm)
app.command()(submit)
app.add_typer(application.app, name="app")
app.add_typer(queue.app, name="queue")
app.add_typer(policy.app, name="policy")
app.add_typer(cluster.app, name="cluster")
app.add_typer(store.app, name="store")
app.add_typer(audit.app, name="audit")
app.add_typer(tokens.app, name="token")
app.command()(doctor)
app.command(epilog=EXIT_CODES)(top)
app.command(epilog=EXIT_CODES)(usage)
app.add_typer(lab.app, name="lab")
app.add_typer(demo.app, name="demo")
app.add_typer(simulate.app, name="simulate")
app.command("whatif", epilog=WHAT_IF_EPILOG)(what_if)
app.command()(completion)


def _print_version(*, value: bool) -> None:
    if value:
        typer.echo(f"heddle {shim.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    *, _version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True)] = False
) -> None:
    """Options that every verb has."""


let_help_flow(app)


def main() -> None:
    """Run the command line."""
    app()
