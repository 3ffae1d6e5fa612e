"""`heddle store`: copies of the state store, and whether it is in order. It reads the configuration, not a Heddle."""

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shim.cli.front import ExitCode, fail, fail_for_config
from shim.cli.output import Output, OutputFormat, print_fields, print_rows
from shim.cli.settings import DryRun
from shim.config.loader import Config, load
from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import ConfigError, HeddleError

if TYPE_CHECKING:
    from shim.store.copies import Copied, StoreFacts, WentBack

_EXIT_CODES = (
    "Exit codes: 0 done, or in order; 1 refused or failed, or an error was found; 2 wrong usage or configuration."
)
_COLUMNS = (("", "level"), ("CHECK", "check"), ("FOUND", "message"))
_NAMED = 20
_LIST_WITHIN_S = 10.0

app = typer.Typer(
    help="The state store: back it up, restore it, check it, take it back to an older Heddle's.",
    no_args_is_help=True,
    epilog=_EXIT_CODES,
)

ConfigFile = Annotated[
    Path, typer.Option("--config", "-c", envvar="HEDDLE_CONFIG", help="TOML file; see docs/operators/configuration.md")
]
CopyFile = Annotated[Path, typer.Argument(help="File of the copy", metavar="FILE")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there")]
_DEFAULT = Path("heddle.toml")


@app.command(epilog=_EXIT_CODES)
def backup(
    file: CopyFile,
    *,
    force: Force = False,
    dry_run: DryRun = False,
    config: ConfigFile = _DEFAULT,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Write a consistent copy of the store to a file that only its owner reads. Heddle may run meanwhile.

    SQLite is copied by its online backup; the key that seals submission contexts goes along as FILE.key. PostgreSQL is
    copied by pg_dump.
    """
    from shim.store.copies import copying_of  # noqa: PLC0415 - the other verbs shall not wait for it

    _copy(config, lambda url: copying_of(url).backup(file, force=force, dry_run=dry_run), output, is_dry=dry_run)


@app.command(epilog=_EXIT_CODES)
def restore(
    file: CopyFile,
    *,
    force: Force = False,
    dry_run: DryRun = False,
    config: ConfigFile = _DEFAULT,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Put a copy in the place of the store. Stop every Heddle that uses it before, and start them after.

    A store that is there is replaced only with --force, and kept beside. The restored one is marked: Heddle compares
    what it holds with what the clusters list before it sends any of it again.
    """
    from shim.store.copies import copying_of  # noqa: PLC0415 - the other verbs shall not wait for it

    _copy(config, lambda url: copying_of(url).restore(file, force=force, dry_run=dry_run), output, is_dry=dry_run)


@app.command(epilog=_EXIT_CODES)
def downgrade(
    revision: Annotated[
        str, typer.Argument(help="Newest that the older Heddle knows; see operations.md", metavar="REVISION")
    ],
    *,
    dry_run: DryRun = False,
    config: ConfigFile = _DEFAULT,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Take the store's tables back, so that an older Heddle takes them. Stop every Heddle, and make a backup, before.

    Submissions and homes stay. What only newer tables hold is dropped: operations.md tells what that is. It is
    done whole or not at all.
    """
    from shim.store.copies import copying_of  # noqa: PLC0415 - the other verbs shall not wait for it

    _copy(config, lambda url: copying_of(url).go_back(revision, dry_run=dry_run), output, is_dry=dry_run)


@app.command(epilog=_EXIT_CODES)
def reseal(
    *,
    dry_run: DryRun = False,
    config: ConfigFile = _DEFAULT,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Seal with security.secret_file what is sealed with other_secret_file, with a key beside SQLite, or is in clear.

    Heddle may run meanwhile. When it has ended well, other_secret_file is not needed to open the store any more: see
    docs/operators/security/secrets.md. What no secret opens is counted, left as it is, and makes it fail.
    """
    from shim.app.host_limits import read_other_secrets, read_secret  # noqa: PLC0415 - the other verbs shall not wait
    from shim.store.resealing import reseal_store  # noqa: PLC0415 - see above

    try:
        settings = load(config, os.environ)
        security = settings.security
        if security.secret_file is None:
            fail(f"{config}: security.secret_file is missing: it is what the store is sealed with", ExitCode.USAGE)
        secrets = (read_secret(security.secret_file), *read_other_secrets(security))
        done = asyncio.run(reseal_store(settings.store.url, secrets, dry_run=dry_run))
    except ConfigError as exc:
        fail_for_config(exc)
    except HeddleError as exc:
        fail(str(exc))
    print_fields({"done": not dry_run, **asdict(done)}, output)
    if done.unreadable:
        raise typer.Exit(ExitCode.FAILED)


@app.command(epilog=_EXIT_CODES)
def check(
    *,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no cluster what it lists")] = False,
    config: ConfigFile = _DEFAULT,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Say whether the store is in order: revision, integrity, rights, ids against the clusters' lists, leases."""
    try:
        settings = load(config, os.environ)
        rows = _checked(settings, offline=offline)
    except ConfigError as exc:
        fail_for_config(exc)
    except HeddleError as exc:
        fail(str(exc))
    print_rows(rows, _COLUMNS, output)
    if any(row["level"] == "error" for row in rows):
        raise typer.Exit(ExitCode.FAILED)


def _copy(config: Path, work: "Callable[[str], Copied | WentBack]", output: OutputFormat, *, is_dry: bool) -> None:
    try:
        done = work(load(config, os.environ).store.url)
    except ConfigError as exc:
        fail_for_config(exc)
    except HeddleError as exc:
        fail(str(exc))
    print_fields({"done": not is_dry, **asdict(done)}, output)


def _checked(config: Config, *, offline: bool) -> list[dict[str, Any]]:
    from shim.store.copies import look  # noqa: PLC0415 - the other verbs shall not wait for it

    listed, silent = ({}, {}) if offline else asyncio.run(_listed(config))
    return findings_of(look(config.store.url, listed), silent)


async def _listed(config: Config) -> tuple[dict[SubClusterId, list[ApplicationId]], dict[SubClusterId, str]]:
    """Applications that each cluster lists, and the reasons of those that do not say."""
    from shim.app.connections import resolve  # noqa: PLC0415 - the other verbs shall not wait for it
    from shim.app.kerberos import open_login  # noqa: PLC0415 - see above
    from shim.federation.rm_questions import ask_applications  # noqa: PLC0415 - see above

    listed: dict[SubClusterId, list[ApplicationId]] = {}
    silent: dict[SubClusterId, str] = {}

    async def ask(each: Any) -> None:
        subcluster = resolve(each, config.poll)
        manager = subcluster.connect(login)
        try:
            listed[subcluster.id] = list(await ask_applications(manager, (), as_of_s=0.0, timeout_s=_LIST_WITHIN_S))
        except HeddleError as exc:
            silent[subcluster.id] = str(exc)
        finally:
            await manager.close()

    login = open_login(config.security.kerberos)
    try:
        await asyncio.gather(*(ask(each) for each in config.subclusters))
    finally:
        if login is not None:
            login.close()
    return listed, silent


def findings_of(facts: "StoreFacts", silent: Mapping[SubClusterId, str]) -> list[dict[str, Any]]:
    """Findings, one row for each check; a row of level `error` makes the verb fail."""
    from shim.store.schema import HEAD, known_revisions  # noqa: PLC0415 - the other verbs shall not wait for it

    is_known = facts.revision in known_revisions()
    upgrade = "" if facts.revision == HEAD else f"; the next start upgrades it to {HEAD}"
    rows = [
        _row(
            "ok" if is_known else "error",
            "revision",
            f"{facts.revision}{upgrade}"
            if is_known
            else f"{facts.revision} is of a newer Heddle: use that (this one knows {HEAD})",
        ),
        _row("error" if facts.damage else "ok", "integrity", facts.damage or "whole"),
        _row(
            "warning" if facts.readable_by_others else "ok",
            "rights",
            f"others may read {', '.join(facts.readable_by_others)}" if facts.readable_by_others else "its owner's",
        ),
        _row("ok", "records", ", ".join(f"{count} {state}" for state, count in sorted(facts.states.items())) or "none"),
        _row("ok", "leases", f"held: {', '.join(facts.holders)}" if facts.holders else "none is held"),
        _restored(facts),
    ]
    rows += [_row("warning", "clusters", f"{name} does not answer: {why}") for name, why in silent.items()]
    rows += [
        _row("error", "ids", f"{name} has {len(ids)} that the store has lost: {_named(ids)}")
        for name, ids in facts.lost.items()
    ]
    if facts.above:
        number = f"{facts.next_sequence} is the next number, and clusters list {_named(facts.above)}"
        rows.append(_row("error", "ids", f"{number}: the store is an old copy; the next start issues above them"))
    elif not facts.lost:
        rows.append(_row("ok", "ids", f"next number {facts.next_sequence}, {len(facts.history.epochs)} epochs"))
    return rows


def _restored(facts: "StoreFacts") -> dict[str, Any]:
    at_ms = facts.history.restored_at_ms
    return _row("ok", "restored", f"at {at_ms} ms since the epoch" if at_ms else "never")


def _row(level: str, check_: str, message: str) -> dict[str, Any]:
    return {"level": level, "check": check_, "message": message}


def _named(ids: tuple[ApplicationId, ...]) -> str:
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return ", ".join(map(str, ids[:_NAMED])) + more
