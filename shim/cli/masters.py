"""`heddle gm` and `heddle lm`: masters in processes of their own, for more than one machine."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shim.app.process import Served, hold_streams, run_served
from shim.cli.front import fail, fail_for_config
from shim.cli.serve import tell_check
from shim.config.loader import Config, ConfigFile
from shim.errors import ConfigError, HeddleError
from shim.telemetry import configure_logs

_ConfigFile = Annotated[
    Path, typer.Option("--config", "-c", envvar="HEDDLE_CONFIG", help="TOML file; see docs/operators/configuration.md")
]
_DEFAULT_FILE = Path("heddle.toml")

_Check = Annotated[bool, typer.Option("--check", help="Read the configuration, say what is wrong with it, and end")]

if TYPE_CHECKING:
    from shim.app.cluster_list import ReadConfig


def gm(
    config: _ConfigFile = _DEFAULT_FILE,
    *,
    name: Annotated[
        str,
        typer.Option(
            "--name", envvar="HEDDLE_GM_NAME", help="Name among the Global Masters; made of host and port if empty"
        ),
    ] = "",
    check: _Check = False,
) -> None:
    """Run one of several Global Masters, until SIGTERM or Ctrl-C.

    It serves clients as `heddle serve` does, and gets what it knows of the sub-clusters from Local Masters: run a
    `heddle lm` for each. All of them share the store (PostgreSQL) and the secret in masters.secret_file.

    Each queue belongs to one Global Master at a time; clients may talk to any. One that dies is replaced by the others
    when its lease has ended (masters.lease_s).
    """

    def made(settings: Config, read: "ReadConfig") -> Served:
        # the other verbs need nothing of this, and shall not wait for it
        from shim.app.bootstrap import Heddle  # noqa: PLC0415 - see above
        from shim.app.peers import default_name  # noqa: PLC0415 - see above

        return Heddle(settings, global_master=name or default_name(settings), read=read)

    _run(config, made, check=check, has_doors=True)


def lm(
    config: _ConfigFile = _DEFAULT_FILE,
    *,
    subcluster: Annotated[str, typer.Option("--subcluster", "-s", help="Id of the sub-cluster", metavar="CLUSTER")],
    check: _Check = False,
) -> None:
    """Run the Local Master of one sub-cluster, until SIGTERM or Ctrl-C.

    It polls the sub-cluster's ResourceManager, tells every Global Master what it finds, and verifies the homes and the
    places of containers that they choose. Run two: the second one stands by, and takes over when the first one's lease
    has ended.
    """

    def made(settings: Config, read: "ReadConfig") -> Served:
        from shim.app.peers import LocalMasterProcess  # noqa: PLC0415 - the other verbs shall not wait for it

        return LocalMasterProcess(settings, subcluster, read=read)

    _run(config, made, check=check, has_doors=False)


def _run(config: Path, made: "Callable[[Config, ReadConfig], Served]", *, check: bool, has_doors: bool) -> None:
    if not check:
        hold_streams()
    from shim.store.looking import clusters_in  # noqa: PLC0415 - the other verbs shall not wait for it

    read = ConfigFile(config, os.environ, clusters_in)
    try:
        settings = read()
        process = made(settings, read)
        if check:
            tell_check(config, settings, has_doors=has_doors)
            return
        configure_logs(level=settings.log.level, style=settings.log.format)
        run_served(process)
    except ConfigError as exc:
        fail_for_config(exc)
    except HeddleError as exc:
        fail(str(exc))
