"""`heddle serve`: one Global Master and a Local Master for each sub-cluster, in one process."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shim.app.process import hold_streams, run_served
from shim.cli.front import fail, fail_for_config
from shim.config.loader import Config, ConfigFile
from shim.errors import AddressTakenError, ConfigError, HeddleError
from shim.telemetry import configure_logs

if TYPE_CHECKING:
    from shim.app.cluster_list import ReadConfig
    from shim.app.connections import SubCluster

_SWITCH_S = 0.0002


def serve(
    config: Annotated[
        Path, typer.Option("--config", "-c", envvar="HEDDLE_CONFIG", help="TOML file; see configuration.md")
    ] = Path("heddle.toml"),
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Read the configuration, say what is wrong with it, and end")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=0, max=64, help="Processes that poll, instead of `poll.workers`; 0: this one"),
    ] = None,
) -> None:
    r"""Serve as one ResourceManager in front of many YARN clusters, until SIGTERM or Ctrl-C.

    The least configuration is one sub-cluster:

        [\[subcluster]]
        id = "east"
        conf = "/etc/hadoop/east"     # the folder of its yarn-site.xml

    Every key can be overridden: HEDDLE_SERVER_REST=127.0.0.1:9088 sets rest of \[server]. By default Heddle listens on
    this machine only, on a ResourceManager's ports (8088, and 8032, 8030 and 8033 for Hadoop RPC), keeps its state in
    ./heddle.db, and refuses changing calls without a user.

    When it runs: `heddle cluster list`, `heddle doctor`, and http://127.0.0.1:8088/console/ in a browser.
    """
    if not check:
        hold_streams()
    try:
        from shim.store.looking import clusters_in  # noqa: PLC0415 - the other verbs shall not wait for it

        given = os.environ if workers is None else {**os.environ, "HEDDLE_POLL_WORKERS": str(workers)}
        read = ConfigFile(config, given, clusters_in)
        settings = read()
        if check:
            tell_check(config, settings)
            return
        configure_logs(level=settings.log.level, style=settings.log.format)
        _run(settings, read)
    except ConfigError as exc:
        fail_for_config(exc)
    except HeddleError as exc:
        fail(str(exc))


def tell_check(file: Path, config: Config, *, has_doors: bool = True) -> None:
    """Read what a configuration names, and print what is to be said of it.

    Args:
        file: Where it stands.
        config: What stands there.
        has_doors: Whether the process listens for clients.

    Raises:
        AddressTakenError: If another process has an address.
        ConfigError: If something is not there, or not as it must be.
    """
    from shim.app.reloading import checked  # noqa: PLC0415 - the other verbs shall not wait for it

    found = checked(config)
    typer.echo(f"{file}: in order; sub-clusters: {', '.join(each.id for each in found)}")
    webs = [each.description.web for each in found]
    for line in (*_told_of_tls(config, webs), *_told_of_store(config), *_told_of_policy(config)):
        typer.echo(line)
    for line in _told_of_doors(config, found) if has_doors else ():
        typer.echo(line)


def _told_of_tls(config: Config, webs: Sequence[Sequence[str]]) -> list[str]:
    """Warnings of certificates that have expired or soon will, of clear text, of who need not prove himself."""
    from shim.app.tls import tls_warnings  # noqa: PLC0415 - the other verbs shall not wait for it

    found = tls_warnings(config, webs, time.time())
    return [f"warning: {f'{each.subject}: ' if each.subject else ''}{each.message}; {each.advice}" for each in found]


def _told_of_doors(config: Config, found: "Sequence[SubCluster]") -> list[str]:
    """A note if a Heddle of this configuration has the addresses.

    Raises:
        AddressTakenError: If another process has one.
        ConfigError: If one can never be listened on.
    """
    from shim.app.listening import check_doors, doors_of, is_served_by_heddle  # noqa: PLC0415 - see above

    try:
        check_doors(doors_of(config.server, [each.description for each in found]))
    except AddressTakenError:
        if not is_served_by_heddle(config.server):
            raise
        return [f"note: a Heddle serves at {config.server.rest}: what has changed counts after `heddle reload`"]
    return []


def _told_of_store(config: Config) -> list[str]:
    """A warning if others could pose as the store."""
    from shim.store.postgresql import unverified_server  # noqa: PLC0415 - the other verbs shall not wait for it

    where = unverified_server(config.store.url)
    advice = "add ?sslmode=verify-full&sslrootcert=FILE to store.url"
    return [f"warning: the connection to PostgreSQL at {where} is not verified; {advice}"] if where else []


def _told_of_policy(config: Config) -> list[str]:
    """Notes on a policy that was applied and holds instead of the file's queues; the store is only read."""
    import asyncio  # noqa: PLC0415 - the other verbs shall not wait for it

    from shim.config.policy_files import parse_policy  # noqa: PLC0415 - see above
    from shim.config.queues import share_policy  # noqa: PLC0415 - see above
    from shim.errors import StoreUnavailableError  # noqa: PLC0415 - see above
    from shim.queues.policies import RELEASED, policy_difference  # noqa: PLC0415 - see above
    from shim.store.looking import look_at_policy  # noqa: PLC0415 - see above

    try:
        newest = asyncio.run(look_at_policy(config.store.url))
        if newest is None or newest.text == RELEASED:
            return []
        holds = parse_policy(newest.text, source=f"version {newest.version} of the policy")
    except (StoreUnavailableError, ConfigError) as exc:
        return [f"whether a policy was applied over it is not known: {exc}"]
    difference = policy_difference(newest, holds, share_policy(config.policy))
    return [] if difference is None else [f"note: {difference}. `heddle policy release` lets the file's hold again"]


def _run(config: Config, read: "ReadConfig") -> None:
    # the other verbs need nothing of this, and shall not wait for it
    from shim.app.bootstrap import Heddle  # noqa: PLC0415 - see above

    # the store's thread needs the interpreter several times for one commit: by default it waits 5 ms each time for it
    sys.setswitchinterval(_SWITCH_S)
    run_served(Heddle(config, read=read))
