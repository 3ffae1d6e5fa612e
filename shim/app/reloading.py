"""The configuration read anew while Heddle serves: all of it or nothing, and nobody is refused meanwhile.

Heddle has nothing to lose, so it does not patch itself: what stands in the file is checked by the program that would
run it (`--check`, in a process beside this one), then this process ends what it has under way and runs the program
again, under its own number and with its listening sockets. So every key counts, and whatever fails at a start has
failed before. Where sub-clusters alone differ, and the program is the one that runs already, this process checks them
itself: that spares the start of another one.
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import structlog

from heddle import models
from shim.app.connections import SubCluster, resolve_all
from shim.app.host_limits import read_other_secrets, read_secret
from shim.app.kerberos import open_kerberos
from shim.app.listening import doors_of
from shim.app.process import program
from shim.app.tls import check_tls_files
from shim.concurrency.listening_sockets import copies, told
from shim.config.loader import Config
from shim.config.tree import key_of
from shim.domain.ids import SubClusterId
from shim.domain.subclusters import Admission
from shim.errors import ConfigError, ConflictError, HeddleError
from shim.federation.administration import Drainage
from shim.store.postgresql import check_store_url

_CHECKED_WITHIN_S = 120.0
_MOST_TOLD = 4000
_MOST_NAMED = 5
_OF_SUBCLUSTERS = ("subcluster ", "the order of subclusters")
_log = structlog.get_logger("heddle")


class ProgramFiles:
    """The files of modules, as they are when this is made.

    Args:
        files: Which; those of the modules that this process has loaded, if none are given.
    """

    def __init__(self, files: Sequence[str] = ()) -> None:
        loaded = {str(file) for each in [*sys.modules.values()] if (file := getattr(each, "__file__", None))}
        self._stamps = {file: _stamp(file) for file in files or loaded}

    def is_unchanged(self) -> bool:
        """Whether a program that starts now would load the same ones."""
        return all(_stamp(file) == stamp for file, stamp in self._stamps.items())


def _stamp(file: str) -> tuple[int, int, int] | None:
    try:
        found = Path(file).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Reloading:
    """Finds out whether the configuration may be read anew, and says when it shall be.

    Args:
        still_there: What runs at a sub-cluster; None where no applications are known.
        check: Has the program check what stands there, as it would at a start; returns what it says besides.

    Attributes:
        agreed: Set once the process shall end what it has under way and run the program again.
    """

    def __init__(
        self,
        config: Config,
        read: Callable[[], Config],
        still_there: Callable[[SubClusterId], Awaitable[Drainage]] | None = None,
        *,
        check: Callable[[], Awaitable[tuple[str, ...]]] | None = None,
        program_files: ProgramFiles | None = None,
    ) -> None:
        self.since_ms = int(time.time() * 1000)
        self._check = check or _checked
        self._program = program_files or ProgramFiles()
        self._config = config
        self._read = read
        self._still_there = still_there
        self._asked = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self.agreed = asyncio.Event()

    def ask(self) -> None:
        """Look at the configuration soon, as a signal asks for; what comes of it is logged."""
        self._asked.set()

    async def agreed_before(self, ended: asyncio.Event) -> bool:
        """Wait for the end, or for a configuration that is to count; true for that."""
        waits = [asyncio.ensure_future(each.wait()) for each in (ended, self.agreed)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
        return self.agreed.is_set() and not ended.is_set()

    async def run(self) -> None:
        """Answer signals until cancelled."""
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                await self.reload(by="a signal")
            except HeddleError as exc:
                _log.error("the configuration was not read anew; what runs goes on", reason=str(exc))

    async def reload(self, *, by: str) -> models.Reload:
        """Have what stands there count; it does within seconds.

        Raises:
            ConflictError: It cannot be used, or takes a sub-cluster away where something runs; nothing has changed.
        """
        plan = await self._planned(is_dry_run=False)
        self.agreed.set()
        _log.info(
            "the configuration is read anew",
            by=by,
            changed=list(plan.changed),
            added=list(plan.added),
            removed=list(plan.removed),
        )
        return plan

    async def plan(self) -> models.Reload:
        return await self._planned(is_dry_run=True)

    async def _planned(self, *, is_dry_run: bool) -> models.Reload:
        async with self._one_at_a_time:
            if self.agreed.is_set():
                raise ConflictError("the configuration is being read anew already")
            try:
                new = await asyncio.to_thread(self._read)
            except ConfigError as exc:
                raise ConflictError(f"what stands there cannot be used: {exc}") from exc
            return await self.compared(new, await self._checked(new), is_dry_run=is_dry_run)

    async def _checked(self, new: Config) -> tuple[str, ...]:
        """What is to be said of a configuration that could be served by.

        Raises:
            ConflictError: It could not.
        """
        found = [*changed_keys(self._config, new)]
        if not found or not all(each.startswith(_OF_SUBCLUSTERS) for each in found):
            return await self._check()
        try:
            is_known = await asyncio.to_thread(self._opens_the_same_doors, new)
        except ConfigError as exc:
            raise ConflictError(f"what stands there cannot be used: {exc}") from exc
        return () if is_known and await asyncio.to_thread(self._program.is_unchanged) else await self._check()

    def _opens_the_same_doors(self, new: Config) -> bool:
        """Whether this process listens already wherever it would with other sub-clusters.

        Raises:
            ConfigError: What the configuration names is not there, or not as it must be.
        """
        after = _doors(new, checked(new))
        try:
            return after == _doors(self._config, resolve_all(self._config))
        except ConfigError:  # a folder that has gone meanwhile
            return False

    async def compared(self, new: Config, said: Sequence[str], *, is_dry_run: bool) -> models.Reload:
        """Return how a configuration that could be served by differs from what runs.

        Args:
            said: What its check said besides.

        Raises:
            ConflictError: A sub-cluster would go where something runs.
        """
        before, after = ([each.id for each in config.subclusters] for config in (self._config, new))
        removed = [id_ for id_ in before if id_ not in after]
        for id_ in removed:
            await self._may_go(SubClusterId(id_))
        return models.Reload(
            since_ms=self.since_ms,
            dry_run=is_dry_run,
            changed=[*changed_keys(self._config, new)],
            added=[id_ for id_ in after if id_ not in before],
            removed=removed,
            warnings=said,
        )

    async def _may_go(self, subcluster: SubClusterId) -> None:
        if self._still_there is None:
            return
        drainage = await self._still_there(subcluster)
        left = drainage.still_running
        if left and drainage.admission is not Admission.RETIRED:
            named = ", ".join(map(str, left[:_MOST_NAMED])) + (", ..." if len(left) > _MOST_NAMED else "")
            raise ConflictError(
                f"{subcluster} would go, and {len(left)} applications are there ({named}): "
                f"`heddle cluster drain {subcluster} --wait` first, or `heddle cluster retire {subcluster}`"
            )


def changed_keys(old: Any, new: Any, prefix: str = "") -> Iterator[str]:
    """Keys whose values differ, as they are written: `poll.interval_s`, `subcluster west`, `queue root.prod`.

    Args:
        old: A configuration, or a section of one.
    """
    for each in fields(old):
        before, after = getattr(old, each.name), getattr(new, each.name)
        name = prefix + key_of(each).name
        if before == after:
            continue
        if is_dataclass(before) and is_dataclass(after):
            yield from changed_keys(before, after, f"{name}.")
        elif name in _TABLES:
            yield from _changed_tables(name, before, after)
        else:
            yield name


_TABLES = {"subcluster": "id", "queue": "name", "mapping": "queue"}
"""Lists of tables, and which of their keys tells one from another."""


def _changed_tables(table: str, before: Any, after: Any) -> Iterator[str]:
    name = _TABLES[table]
    old = {str(getattr(each, name, number)): each for number, each in enumerate(before)}
    new = {str(getattr(each, name, number)): each for number, each in enumerate(after)}
    changed = [id_ for id_ in (old | new) if old.get(id_) != new.get(id_)]
    yield from (f"{table} {id_}" for id_ in changed)
    if not changed:
        yield f"the order of {table}s"


def _doors(config: Config, clusters: Sequence[SubCluster]) -> object:
    return doors_of(config.server, [each.description for each in clusters])


def checked(config: Config) -> list[SubCluster]:
    """Read what the configuration names: folders of clusters, the secret, the keytab, TLS; the clusters.

    Raises:
        ConfigError: If something is not there, or not as it must be.
    """
    read_secret(config.security.secret_file)
    read_other_secrets(config.security)
    open_kerberos(config.security.kerberos)
    check_tls_files(config)
    check_store_url(config.store.url)
    return resolve_all(config)


async def _checked() -> tuple[str, ...]:
    """Have the program check what stands there, as it would at a start; tells what it says besides.

    Raises:
        ConflictError: It cannot be used.
    """
    doors = copies()  # what this process listens on is not taken by another
    try:
        child = await asyncio.create_subprocess_exec(
            *program(),
            "--check",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **told(doors)},
            pass_fds=doors,
        )
    finally:
        for each in doors:
            os.close(each)
    try:
        async with asyncio.timeout(_CHECKED_WITHIN_S):
            output, _ = await child.communicate()
    except TimeoutError as exc:
        child.kill()
        await child.wait()
        raise ConflictError(f"the check of what stands there did not end within {_CHECKED_WITHIN_S:g} s") from exc
    said = output.decode("utf-8", "replace")[-_MOST_TOLD:].strip()
    if child.returncode:
        raise ConflictError(f"what stands there cannot be used: {said}")
    return tuple(line for line in said.splitlines() if line.startswith("warning:"))
