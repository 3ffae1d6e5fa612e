"""Heddle's own web services for shares, below `/heddle/v1/`.

    GET   shares                          how each queue stands: share, entitlement, used, borrowed, lent, waiting
    GET   shares/history[?shown=PATH...]  used and entitlement over the last day, a sample a minute
    POST  shares/whatif                   the same with another policy
    GET   policy                          the policy that holds
    GET   policy/history                  every one that ever held, newest first
    GET   policy/versions/{version}       one of them
    POST  policy/validate                 a policy: is it one?
    POST  policy[?dryRun=true]            a policy: let it hold from now on
    POST  policy/rollback/{version}[?dryRun=true]     0 for the configuration file's
    POST  policy/release[?dryRun=true]    the configuration file's holds again

A policy costs up to a second to read: that is done off the event loop, for named users, one policy of each at a time.
It is sent as `{"text": TOML, "source": NAME, "note": WHY, "expected": VERSION}`; all but `text` may be left out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

from fastapi import Query, Response
from fastapi import Request as HTTPRequest

from heddle import applications, models
from shim.concurrency.off_loop import OffLoop
from shim.concurrency.single_flight import SingleFlight
from shim.domain.credits import Credits
from shim.domain.ids import ApplicationId
from shim.domain.queues import FederatedQueue, SharePolicy
from shim.identity.service import Caller, IdentityService
from shim.ports.queue_stores import PolicyVersion
from shim.queues.admission import AdmissionQueue
from shim.queues.core.entitle import QueueShareStatus
from shim.queues.core.share_load import QueueLoad, nowhere
from shim.queues.policies import PolicyService
from shim.queues.preemption_log import PreemptionLog
from shim.queues.share_history import EVERY_S, ShareHistory
from shim.queues.share_preview import SharePreview
from shim.server.rest.own_endpoints import OPERATE, READ, Asker, DryRun, OwnEndpoint, as_json, sent_as

_MOST_SHOWN = 12
_SHOWN_UNNAMED = 6

_Queues = Annotated[list[Annotated[str, Query(max_length=300)]], Query(alias="shown", max_length=_MOST_SHOWN)]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SharesAPI:
    """Answers the endpoints of shares; raises what the server makes error bodies of."""

    room: AdmissionQueue
    policies: PolicyService
    identity: IdentityService
    acts: PreemptionLog
    over_time: ShareHistory
    altruism: Callable[[], Mapping[str, Credits]] = dict
    _work: OffLoop = field(default_factory=OffLoop)
    _flights: SingleFlight[str, Response] = field(default_factory=SingleFlight)

    def endpoints(self) -> tuple[OwnEndpoint, ...]:
        return (
            OwnEndpoint("GET", "shares", READ, self.shares, models.Shares),
            OwnEndpoint("GET", "shares/history", READ, self.over_the_day, models.ShareHistory),
            OwnEndpoint(
                "POST",
                "shares/whatif",
                READ,
                self.what_if,
                models.WhatIf,
                "shares.whatif",
                models.PolicyText,
            ),
            OwnEndpoint("GET", "policy", READ, self.policy, models.Policy),
            OwnEndpoint("GET", "policy/history", READ, self.history, models.PolicyVersions),
            OwnEndpoint("GET", "policy/versions/{version}", READ, self.version, models.Policy),
            OwnEndpoint(
                "POST",
                "policy/validate",
                READ,
                self.validate,
                models.PolicyAnswer,
                "policy.validate",
                models.PolicyText,
            ),
            OwnEndpoint(
                "POST", "policy", OPERATE, self.apply, models.PolicyAnswer, "policy.apply", takes=models.PolicyText
            ),
            OwnEndpoint(
                "POST", "policy/rollback/{version}", OPERATE, self.roll_back, models.PolicyAnswer, "policy.rollback"
            ),
            OwnEndpoint("POST", "policy/release", OPERATE, self.release, models.PolicyAnswer, "policy.release"),
        )

    async def shares(self) -> Response:
        """Answer with the standing of each queue; concurrent askers share one answer."""
        return await self._flights.do("shares", self._shares)

    async def _shares(self) -> Response:
        policy, version, load = self.policies.current, self.policies.newest.version, self.room.load()
        preview, counts, reasons = self.room.preview(), self.room.counts(), self.room.latest.reasons
        weights = {queue.path: queue.weight for queue in policy.queues}
        for path, count in counts.items():  # a queue that the policy does not name is told of while some wait in it
            if count:
                weights.setdefault(path, None)
        known = {
            path: {
                "queue": path,
                "weight": weight,
                "waiting": counts.get(path, 0),
                "preempted": self.acts.preempted(path),
                "starts_per_minute": _per_minute(self.room.rate(path)),
                "reason": reasons.get(path, ""),
                **_shown_load(load.queues[path]),
            }
            for path, weight in weights.items()
            if path in load.queues
        }

        for path, total in self.altruism().items():
            if path in known:
                known[path] |= {"given_s": round(total.given_s, 1), "received_s": round(total.received_s, 1)}

        def told() -> Response:
            statuses = preview.statuses(policy)
            rows = [models.QueueShare(**_shown_status(statuses.get(path)), **row) for path, row in known.items()]
            return as_json(models.Shares(version, rows))

        return await self._work.run_own(told)

    async def over_the_day(
        self,
        shown: _Queues = [],  # noqa: B006 - FastAPI copies it
        since_ms: int = 0,
    ) -> Response:
        """Shares of some queues since a moment; without names those that are entitled to most."""
        names = list(dict.fromkeys(shown)) or self.over_time.largest(_SHOWN_UNNAMED)
        rows = [
            models.QueueHistory(each.queue, each.used, each.entitlement) for each in self.over_time.of(names, since_ms)
        ]
        return as_json(models.ShareHistory(EVERY_S, self.over_time.times_ms(since_ms), rows))

    async def shown_acts(self, application_id: ApplicationId) -> list[applications.Act]:
        """List the acts of shares on an application, oldest first."""
        return [
            applications.Act(
                at_ms=act.at_ms,
                done=act.done,
                container="" if act.container is None else str(act.container),
                cluster=act.subcluster or "",
                taker=act.taker,
                reason=act.reason,
            )
            for act in await self.acts.of(application_id)
        ]

    def shown_place(self, application_id: ApplicationId) -> applications.Place | None:
        """Place of an application that waits for its queue's turn, and when its turn may be."""
        place = self.room.place_of(application_id)
        if place is None:
            return None
        expected_s = None if place.expected_s is None else round(place.expected_s, 1)
        return applications.Place(place.position, place.count, expected_s)

    async def what_if(self, request: HTTPRequest, asker: Asker) -> Response:
        """Answer with the queues' standing under another policy, beside the present one."""
        caller = self.identity.require_user(asker)
        sent = await sent_as(models.PolicyText, request, "policy")
        preview, policy, version = self.room.preview(), self.policies.current, self.policies.newest.version

        def told() -> Response:
            other = self.policies.validate(sent.text, sent.source)
            now, then = preview.statuses(policy), preview.statuses(other)
            rows = [
                models.WhatIfRow(
                    path,
                    **{f"{name}_now": value for name, value in _shown_status(now.get(path)).items()},
                    **{f"{name}_then": value for name, value in _shown_status(then.get(path)).items()},
                )
                for path in sorted({*now, *then})
            ]
            return as_json(models.WhatIf(version, rows))

        return await self._off_loop(caller, told)

    async def policy(self) -> Response:
        return as_json(models.Policy(**_shown_version(self.policies.newest)))

    async def history(self) -> Response:
        return as_json(
            models.PolicyVersions([models.Policy(**_shown_version(each)) for each in await self.policies.history()])
        )

    async def version(self, version: int) -> Response:
        return as_json(models.Policy(**_shown_version(await self.policies.find(version))))

    async def validate(self, request: HTTPRequest, asker: Asker) -> Response:
        """Answer with the faults of a policy."""
        caller = self.identity.require_user(asker)
        sent = await sent_as(models.PolicyText, request, "policy")
        preview = self.room.preview()

        def told() -> Response:
            policy = self.policies.validate(sent.text, sent.source)
            return as_json(models.PolicyAnswer(source=sent.source, **_shown_policy(policy, preview)))

        return await self._off_loop(caller, told)

    async def apply(self, request: HTTPRequest, asker: Asker, is_dry_run: DryRun = False) -> Response:  # noqa: FBT002 - by name, from the query
        sent = await sent_as(models.PolicyText, request, "policy")
        shown = await self._looked_at(asker, sent.text, sent.source)
        newest = self.policies.newest
        if not is_dry_run:
            newest = await self.policies.apply(
                sent.text, source=sent.source, by=asker.user, note=sent.note, expected=sent.expected
            )
        return as_json(models.PolicyAnswer(**_shown_version(newest), **shown, dry_run=is_dry_run))

    async def roll_back(self, version: int, asker: Asker, is_dry_run: DryRun = False) -> Response:  # noqa: FBT002 - by name, from the query
        found = await self.policies.find(version)
        shown = await self._looked_at(asker, found.text, f"version {version}")
        if not is_dry_run:
            found = await self.policies.roll_back(version, by=asker.user)
        later = shown["not_at_once"]
        return as_json(models.PolicyAnswer(**_shown_version(found), not_at_once=later, dry_run=is_dry_run))

    async def release(self, asker: Asker, is_dry_run: DryRun = False) -> Response:  # noqa: FBT002 - by name, from the query
        """Let the policy of the configuration file hold again."""
        return await self.roll_back(0, asker, is_dry_run)

    async def _looked_at(self, caller: Caller, text: str, source: str) -> dict[str, Any]:
        """Describe a policy, and those of its parts that take effect later."""
        preview, current = self.room.preview(), self.policies.current

        def told() -> dict[str, Any]:
            policy = self.policies.validate(text, source)
            return {**_shown_policy(policy, preview), **_not_at_once(current, policy)}

        return await self._off_loop(caller, told)

    async def _off_loop(self, caller: Caller, work: Callable[[], T]) -> T:
        """Operators' work is done apart from that of all others, who cannot keep them waiting."""
        chosen = self.policies.work if self.identity.is_operator(caller) else self._work
        return await chosen.run(caller.user, work)


def _shown_policy(policy: SharePolicy, preview: SharePreview) -> dict[str, Any]:
    """Describe a policy. A queue that is nowhere may be a slip, or of a sub-cluster that is away.

    `checked_on` names the sub-clusters whose queues are known; while there is none, nothing is nowhere.
    """
    named = {queue.path for queue in policy.queues}
    targets = dict.fromkeys(mapping.queue for mapping in policy.mappings if mapping.queue not in named)
    mapped_to = SharePolicy(tuple(map(FederatedQueue, targets)))
    load = preview.load(policy)
    return {
        "queues": [queue.path for queue in policy.queues],
        "sharing": [queue.path for queue in policy.sharing],
        "nowhere": [*nowhere(policy, load), *nowhere(mapped_to, preview.load(mapped_to))],
        "checked_on": sorted(load.counted),
        "mappings": len(policy.mappings),
        "constraints": len(policy.rules.constraints),
    }


def _shown_status(status: QueueShareStatus | None) -> dict[str, Any]:
    if status is None:
        return {}
    told = {
        "share": status.share,
        "entitlement": status.entitlement,
        "used": status.used,
        "held": status.held,
        "wanted": status.wanted,
        "borrowed": status.borrowed,
        "lent": status.lent,
    }
    return {**{name: round(value, 4) for name, value in told.items()}, "is_owed": status.is_owed}


def _shown_load(load: QueueLoad) -> dict[str, Any]:
    return {
        "running": load.running,
        "unstarted": load.unstarted,
        "pending_mib": load.pending.memory_mib,
        "pending_vcores": load.pending.vcores,
        "clusters": [models.QueueUse(name, used.memory_mib, used.vcores) for name, used in load.used.items()],
    }


def _not_at_once(before: SharePolicy, after: SharePolicy) -> dict[str, Any]:
    """Describe the changes that running applications notice nothing of."""
    told = "counts for ApplicationMasters that log in from now on; the others go on as they are"
    return {"not_at_once": [f"span of {path} {told}" for path in before.spans_otherwise(after)]}


def _shown_version(version: PolicyVersion) -> dict[str, Any]:
    return {
        "version": version.version,
        "applied_by": version.applied_by,
        "applied_at_ms": version.applied_at_ms,
        "note": version.note,
        "text": version.text,
    }


def _per_minute(rate: float | None) -> float:
    return round(60 * (rate or 0.0), 2)
