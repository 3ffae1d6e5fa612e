"""The list of sub-clusters in the store: versions of it, changes that are checked before they count, and following it.

A change counts by the way that every configuration counts (`shim.app.reloading`): each Heddle of the store finds the
new version within a second, checks it as at a start, and begins anew. So what a change cannot bring here it brings
nowhere, and a Heddle that may not follow yet serves on with what it has, and says so.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Protocol

import structlog

from heddle import cluster_lists, models
from shim.app.reloading import Reloading, checked
from shim.concurrency.off_loop import OffLoop
from shim.config.editing import with_cluster, with_cluster_changed, without_cluster
from shim.config.loader import Config, StoredClusters, cluster_tables
from shim.domain.ids import SubClusterId
from shim.domain.subclusters import Admission
from shim.errors import BadRequestError, ConfigError, ConflictError, HeddleError, VersionConflictError
from shim.federation.administration import AdministrationService
from shim.ports.clock import Clock
from shim.ports.queue_stores import PolicyStore, PolicyVersion

_LOOKS_EVERY_S = 1.0
_LONGEST_PAUSE_S = 60.0
_DRAIN_KNOWN_WITHIN_S = 10.0
"""Every Heddle of a store knows of a drain: twice the pause in which each reads operators' words."""
_EMPTY = PolicyVersion(0, "", "", 0, "no sub-cluster yet")
_log = structlog.get_logger("heddle.clusters")


class ReadConfig(Protocol):
    """Reads the configuration as it stands now."""

    def __call__(self, *, stored: StoredClusters = ...) -> Config:
        """Read it, with another list of sub-clusters than the store's, if one is given; raises a `ConfigError`."""
        ...


class ClusterFollower:
    """Has this process begin anew when the store's list is another than the one that it serves.

    Args:
        config: What runs.
        store: Versions of the list.
        read: Reads what stands there now.
        reloading: Begins anew.
        clock: For pauses.

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


def _ids(text: str) -> list[str]:
    return [str(table.get("id")) for table in cluster_tables(text, source="the list")]


class ClusterList:
    """Use cases of the list; each but `versions` raises a `ConflictError` where the file has it.

    Args:
        config: What runs.
        store: Versions of the list.
        read: Reads what stands there now.
        reloading: Tells what would change.
        follower: Tells what is served.
        administration: Operators' words on sub-clusters.
        intended: Homes of submissions that are on their way.
        clock: The machine's.
    """

    def __init__(
        self,
        config: Config,
        store: PolicyStore,
        read: ReadConfig,
        reloading: Reloading,
        follower: ClusterFollower,
        *,
        administration: AdministrationService,
        intended: Callable[[], Awaitable[Collection[SubClusterId]]],
        clock: Clock,
    ) -> None:
        self._config = config
        self._store = store
        self._read = read
        self._reloading = reloading
        self._follower = follower
        self._administration = administration
        self._intended = intended
        self._clock = clock
        self._work = OffLoop()
        self._one_at_a_time = asyncio.Lock()

    async def versions(self) -> cluster_lists.ClusterVersions:
        """Every list that ever held, newest first, and which one this process serves."""
        kept = await self._store.history()
        return cluster_lists.ClusterVersions(
            managed=self._config.clusters.managed,
            serves=max(self._follower.serves, 0),
            trouble=self._follower.trouble,
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
        return await self._change(lambda _: asked.text, asked, "", by, is_dry_run=is_dry_run)

    async def _change(
        self,
        edit: Callable[[str], str],
        asked: cluster_lists.ClusterKeys | cluster_lists.ClusterListText,
        what: str,
        by: str,
        *,
        is_dry_run: bool,
    ) -> cluster_lists.ClusterListChange:
        if self._config.clusters.managed != "store":
            raise ConflictError(
                'the configuration file has the sub-clusters of this Heddle (clusters.managed = "file"): '
                "`heddle cluster add|edit|remove --write` where it is, then `heddle reload`"
            )
        async with self._one_at_a_time:
            stands = await self._store.newest() or _EMPTY
            if asked.expected is not None and asked.expected != stands.version:
                raise ConflictError(f"version {stands.version} holds, not {asked.expected}: look at it first")
            text, new = await self._work.run(by, lambda: self._edited(stands.text, edit))
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
                version = (await self._keep(version + 1, text, by=by, note=asked.note or what)).version
            return cluster_lists.ClusterListChange(
                **{name: getattr(plan, name) for name in models.Reload.__struct_fields__}, version=version, text=text
            )

    def _edited(self, before: str, edit: Callable[[str], str]) -> tuple[str, Config]:
        """Text of a changed list, and the configuration with it; refused if Heddle could not serve by it."""
        try:
            text = edit(before)
            if not cluster_tables(text, source="the list"):
                raise BadRequestError("the list has no [[subcluster]], and Heddle serves none without")
            return text, self._read(stored=lambda _: text)
        except ConfigError as exc:
            raise BadRequestError(str(exc)) from exc

    async def _keep(self, version: int, text: str, *, by: str, note: str) -> PolicyVersion:
        try:
            kept = await self._store.apply(version, text, by=by, note=note)
        except VersionConflictError as exc:
            raise ConflictError(str(exc)) from exc
        _log.info("the sub-clusters were changed", version=kept.version, by=by, note=note)
        return kept

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
