"""The list of sub-clusters: changes of it that are checked before they count, wherever it is kept, and following it.

Where the store has it, a change counts by the way that every configuration counts (`shim.app.reloading`): each Heddle
of the store finds the new version within a second, checks it as at a start, and begins anew. So what a change cannot
bring here it brings nowhere, and a Heddle that may not follow yet serves on with what it has, and says so. Where the
configuration file has it, the file of the Heddle that is asked is written, and read anew at once; the other tables in
it stay as they are and are told to nobody.
"""

import asyncio
import os
import zlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import structlog

from heddle import cluster_lists, models
from shim.app.reloading import Reloading, checked
from shim.concurrency.off_loop import OffLoop
from shim.config.editing import alone, replace_file, with_cluster, with_cluster_changed, with_list, without_cluster
from shim.config.loader import Config, ConfigFile, StoredClusters, cluster_tables
from shim.domain.ids import SubClusterId
from shim.domain.subclusters import Admission
from shim.errors import BadRequestError, ConfigError, ConflictError, HeddleError, VersionConflictError, reason_of
from shim.federation.administration import AdministrationService
from shim.ports.clock import Clock
from shim.ports.queue_stores import PolicyStore, PolicyVersion

_LOOKS_EVERY_S = 1.0
_LONGEST_PAUSE_S = 60.0
_DRAIN_KNOWN_WITHIN_S = 10.0
"""Every Heddle of a store knows of a drain: twice the pause in which each reads operators' words."""
_EMPTY = PolicyVersion(0, "", "", 0, "no sub-cluster yet")
_ELSE = "`heddle cluster add|edit|remove --write` where it is, then `heddle reload`"
_log = structlog.get_logger("heddle.clusters")


class ReadConfig(Protocol):
    """Reads the configuration as it stands now."""

    def __call__(self, *, stored: StoredClusters | None = None) -> Config:
        """Read it, with another list of sub-clusters than the store's, if one is given; raises a `ConfigError`."""
        ...


class ClusterFollower:
    """Has this process begin anew when the store's list is another than the one that it serves.

    Attributes:
        serves: The version that this process serves.
        trouble: Why it does not serve the newest one; empty if it does.
    """

    def __init__(
        self, config: Config, store: PolicyStore, read: ReadConfig, reloading: Reloading, clock: Clock
    ) -> None:
        self._config = config
        self._store = store
        self._read = read
        self._reloading = reloading
        self._clock = clock
        self._refused = -1
        self._refusals = 0
        self._again_s = 0.0
        self.serves = -1
        self.trouble = ""

    async def run(self) -> None:
        """Follow the store until cancelled; where the file has the list there is nothing to do."""
        if self._config.clusters.managed == "file":
            await asyncio.Event().wait()
        while True:
            try:
                await self.look()
            except HeddleError as exc:
                _log.warning("the sub-clusters in the store could not be read; what runs goes on", reason=str(exc))
            await self._clock.sleep(_LOOKS_EVERY_S)

    async def look(self) -> None:
        """Begin anew if the newest list is another than the one that is served.

        What was refused is tried again after a pause that doubles: what stood against it may be over.

        Raises:
            StoreUnavailableError: The store does not tell.
        """
        newest = await self._store.newest() or _EMPTY
        if newest.version == self.serves or self._reloading.agreed.is_set():
            return
        if newest.version == self._refused and self._clock.monotonic_s() < self._again_s:
            return
        try:
            new = await asyncio.to_thread(self._read)
            if new.subclusters == self._config.subclusters:
                self.serves, self.trouble = newest.version, ""
                return
            await self._reloading.reload(by=f"version {newest.version} of the sub-clusters")
        except (ConfigError, ConflictError) as exc:
            self._note_refusal(newest.version, str(exc))

    def _note_refusal(self, version: int, reason: str) -> None:
        if version != self._refused or reason != self.trouble:
            _log.error("sub-clusters in the store are not served; what runs goes on", version=version, reason=reason)
        self._refusals = self._refusals + 1 if version == self._refused else 0
        self._refused, self.trouble = version, reason
        self._again_s = self._clock.monotonic_s() + min(_LONGEST_PAUSE_S, 2.0**self._refusals)


@dataclass(frozen=True, slots=True)
class Edited:
    """A list as it would be.

    Attributes:
        text: All that would be kept, which may have more in it than the list.
        config: What Heddle would serve by.
    """

    text: str
    config: Config


class ListPlace(Protocol):
    """A place that has the list; its versions hold `[[subcluster]]` tables alone, whatever else lies there."""

    async def newest(self) -> PolicyVersion:
        """The list that stands there.

        Raises:
            ConflictError: It cannot be read, or not be changed by this process.
            StoreUnavailableError: The store does not tell.
        """
        ...

    async def history(self) -> Sequence[PolicyVersion]:
        """Every list that is known of, newest first; raises as `newest`."""
        ...

    async def served(self) -> tuple[int, str]:
        """The version that this process serves, 0 for none, and why it is not the newest one."""
        ...

    def edited(self, stands: PolicyVersion, edit: Callable[[str], str]) -> Edited:
        """A changed list; for a thread. Raises a `ConfigError`, and what the edit raises."""
        ...

    async def keep(self, stands: PolicyVersion, text: str, *, by: str, note: str) -> PolicyVersion:
        """Have a text stand there in the place of what was read, and count soon.

        Raises:
            ConflictError: Another one stands there by now, or it cannot count.
            StoreUnavailableError: It may have been kept.
        """
        ...


@dataclass(frozen=True, slots=True)
class InStore:
    """Versions in the store, which each Heddle of it follows."""

    store: PolicyStore
    read: ReadConfig
    follower: ClusterFollower

    async def newest(self) -> PolicyVersion:
        return await self.store.newest() or _EMPTY

    async def history(self) -> Sequence[PolicyVersion]:
        return await self.store.history()

    async def served(self) -> tuple[int, str]:
        return max(self.follower.serves, 0), self.follower.trouble

    def edited(self, stands: PolicyVersion, edit: Callable[[str], str]) -> Edited:
        text = edit(stands.text)
        return Edited(text, self.read(stored=lambda _: text))

    async def keep(self, stands: PolicyVersion, text: str, *, by: str, note: str) -> PolicyVersion:
        try:
            return await self.store.apply(stands.version + 1, text, by=by, note=note)
        except VersionConflictError as exc:
            raise ConflictError(str(exc)) from exc


@dataclass(frozen=True, slots=True)
class InFile:
    """The configuration file of this process, whose version is a checksum of all that is in it."""

    config: Config
    file: ConfigFile | None
    reloading: Reloading

    async def newest(self) -> PolicyVersion:
        file = self._writable()
        return await asyncio.to_thread(_version, file)

    async def history(self) -> Sequence[PolicyVersion]:
        return [] if self.file is None else [await asyncio.to_thread(_version, self.file)]

    async def served(self) -> tuple[int, str]:
        if self.file is None:
            return 0, ""
        try:
            stands, new = await asyncio.gather(
                asyncio.to_thread(_version, self.file), asyncio.to_thread(self.file.__call__)
            )
        except (ConfigError, ConflictError) as exc:
            return 0, str(exc)
        return (stands.version, "") if new.subclusters == self.config.subclusters else (0, "")

    def edited(self, stands: PolicyVersion, edit: Callable[[str], str]) -> Edited:
        file = self._writable()
        whole = _whole(file)
        _refuse_other(whole, stands)
        text = edit(whole)
        return Edited(text, file(text=text))

    async def keep(self, stands: PolicyVersion, text: str, *, by: str, note: str) -> PolicyVersion:
        file = self._writable()

        def write() -> str:
            before = _whole(file)
            _refuse_other(before, stands)
            _replace(file, text)
            return before

        before = await asyncio.to_thread(write)
        try:
            await self.reloading.reload(by=by)
        except BaseException:
            if not self.reloading.agreed.is_set():
                _replace(file, before)  # at once: whoever is cancelled may not wait for a thread
            raise
        return PolicyVersion(_checksum(text), alone(text), by, 0, note)

    def _writable(self) -> ConfigFile:
        if self.file is None:
            raise ConflictError(f"this Heddle was given no configuration file that it could write: {_ELSE}")
        if not os.access(self.file.path.resolve().parent, os.W_OK):
            raise ConflictError(f"{self.file.path} has the sub-clusters, and this Heddle may not write it: {_ELSE}")
        return self.file


def _whole(file: ConfigFile) -> str:
    try:
        return file.path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConflictError(f"{file.path} cannot be read: {reason_of(exc)}") from exc


def _version(file: ConfigFile) -> PolicyVersion:
    whole = _whole(file)
    try:
        return PolicyVersion(_checksum(whole), alone(whole), "", int(file.path.stat().st_mtime * 1000), str(file.path))
    except (ConfigError, OSError) as exc:
        raise ConflictError(str(exc)) from exc


def _refuse_other(whole: str, stands: PolicyVersion) -> None:
    if _checksum(whole) != stands.version:
        raise ConflictError("somebody has changed the configuration file meanwhile: look at it first")


def _replace(file: ConfigFile, text: str) -> None:
    try:
        replace_file(file.path, text)
    except ConfigError as exc:
        raise ConflictError(f"{exc}: {_ELSE}") from exc


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode())


def _ids(text: str) -> list[str]:
    return [str(table.get("id")) for table in cluster_tables(text, source="the list")]


class ClusterList:
    """Use cases of the list; each but `versions` raises a `ConflictError` where this process may not change it.

    Args:
        administration: Operators' words on sub-clusters.
        intended: Homes of submissions that are on their way.
        clock: The machine's.
    """

    def __init__(
        self,
        config: Config,
        place: ListPlace,
        reloading: Reloading,
        *,
        administration: AdministrationService,
        intended: Callable[[], Awaitable[Collection[SubClusterId]]],
        clock: Clock,
    ) -> None:
        self._config = config
        self._place = place
        self._reloading = reloading
        self._administration = administration
        self._intended = intended
        self._clock = clock
        self._work = OffLoop()
        self._one_at_a_time = asyncio.Lock()

    async def versions(self) -> cluster_lists.ClusterVersions:
        """Every list that ever held, newest first, and which one this process serves; of a file the one in it."""
        serves, trouble = await self._place.served()
        try:
            kept = await self._place.history()
        except ConflictError as exc:
            kept, trouble = (), trouble or str(exc)
        return cluster_lists.ClusterVersions(
            managed=self._config.clusters.managed,
            serves=serves,
            trouble=trouble,
            versions=[
                cluster_lists.ClusterVersion(
                    version=each.version,
                    applied_by=each.applied_by,
                    applied_at_ms=each.applied_at_ms,
                    note=each.note,
                    text=each.text,
                    clusters=_ids(each.text),
                )
                for each in kept
            ],
        )

    async def add(
        self, cluster: str, asked: cluster_lists.ClusterKeys, *, by: str, is_dry_run: bool
    ) -> cluster_lists.ClusterListChange:
        """Have one more sub-cluster; raises as `apply`."""
        if asked.unset:
            raise BadRequestError("unset takes keys away, and a sub-cluster that is added has none yet")
        return await self._change(
            lambda text: with_cluster(text, cluster, asked.keys), asked, f"add {cluster}", by, is_dry_run=is_dry_run
        )

    async def edit(
        self, cluster: str, asked: cluster_lists.ClusterKeys, *, by: str, is_dry_run: bool
    ) -> cluster_lists.ClusterListChange:
        """Give a sub-cluster other keys; raises as `apply`, and a `NotFoundError`."""
        return await self._change(
            lambda text: with_cluster_changed(text, cluster, asked.keys, asked.unset),
            asked,
            f"edit {cluster}",
            by,
            is_dry_run=is_dry_run,
        )

    async def remove(
        self, cluster: str, asked: cluster_lists.ClusterKeys, *, by: str, is_dry_run: bool
    ) -> cluster_lists.ClusterListChange:
        """Have a sub-cluster no more, that is drained or retired; raises as `apply`, and a `NotFoundError`."""
        if asked.keys or asked.unset:
            raise BadRequestError("a sub-cluster that is removed has no keys any more: send neither keys nor unset")
        return await self._change(
            lambda text: without_cluster(text, cluster), asked, f"remove {cluster}", by, is_dry_run=is_dry_run
        )

    async def apply(
        self, asked: cluster_lists.ClusterListText, *, by: str, is_dry_run: bool
    ) -> cluster_lists.ClusterListChange:
        """Have another list hold, all of it or nothing; an old version's text brings that one back.

        Raises:
            BadRequestError: It cannot be used: what is wrong, and where.
            ConflictError: Another one was applied meanwhile, or a sub-cluster would go that is not drained.
            NotFoundError: It changes a sub-cluster that is not there.
            StoreUnavailableError: It may have been kept; look.
            UnavailableError: The last one of the same user is still read.
        """
        try:
            cluster_tables(asked.text, source="the list")
        except ConfigError as exc:
            raise BadRequestError(str(exc)) from exc
        return await self._change(lambda text: with_list(text, asked.text), asked, "", by, is_dry_run=is_dry_run)

    async def _change(
        self,
        edit: Callable[[str], str],
        asked: cluster_lists.ClusterKeys | cluster_lists.ClusterListText,
        what: str,
        by: str,
        *,
        is_dry_run: bool,
    ) -> cluster_lists.ClusterListChange:
        async with self._one_at_a_time:
            stands = await self._place.newest()
            if asked.expected is not None and asked.expected != stands.version:
                raise ConflictError(f"version {stands.version} holds, not {asked.expected}: look at it first")
            edited, text = await self._work.run(by, lambda: self._edited(stands, edit))
            new = edited.config
            try:
                await asyncio.to_thread(checked, new)
            except ConfigError as exc:
                raise BadRequestError(str(exc)) from exc
            before = [*_ids(stands.text), *(each.id for each in self._config.subclusters)]
            for id_ in dict.fromkeys(before):
                if id_ not in [each.id for each in new.subclusters]:
                    await self._wait_until_known(SubClusterId(id_), is_dry_run=is_dry_run)
            plan = await self._reloading.compared(new, (), is_dry_run=is_dry_run)
            version = stands.version
            if not is_dry_run and text != stands.text:
                note = asked.note or what
                version = (await self._place.keep(stands, edited.text, by=by, note=note)).version
                _log.info("the sub-clusters were changed", version=version, by=by, note=note)
            told = {name: getattr(plan, name) for name in models.Reload.__struct_fields__}
            return cluster_lists.ClusterListChange(**told, version=version, before=stands.text, text=text)

    def _edited(self, stands: PolicyVersion, edit: Callable[[str], str]) -> tuple[Edited, str]:
        """A changed list, and its text alone; refused if Heddle could not serve by it."""
        try:
            edited = self._place.edited(stands, edit)
            text = edited.text if self._config.clusters.managed == "store" else alone(edited.text)
            if not cluster_tables(text, source="the list"):
                raise BadRequestError("the list has no [[subcluster]], and Heddle serves none without")
        except ConfigError as exc:
            raise BadRequestError(str(exc)) from exc
        return edited, text

    async def _wait_until_known(self, subcluster: SubClusterId, *, is_dry_run: bool) -> None:
        """Wait until each Heddle of the store has heard that a sub-cluster takes no new applications."""
        await self._administration.refresh()
        word = self._administration.words.get(subcluster)
        if word is None:
            raise ConflictError(
                f"{subcluster} takes new applications: `heddle cluster drain {subcluster} --wait` first, or "
                f"`heddle cluster retire {subcluster}` if it is dead"
            )
        said_s = word.at_ms / 1000
        left_s = min(_DRAIN_KNOWN_WITHIN_S, said_s + _DRAIN_KNOWN_WITHIN_S - self._clock.now_s())
        if left_s > 0 and not is_dry_run:
            await self._clock.sleep(left_s)
            await self._administration.refresh()
            if subcluster not in self._administration.words:
                raise ConflictError(f"{subcluster} takes applications again: another operator has ended the drain")
        if word.admission is not Admission.RETIRED and subcluster in await self._intended():
            raise ConflictError(f"applications are on their way to {subcluster}: `heddle cluster drain --wait` first")
