"""Operations of Heddle's own web services, below `/heddle/v1/`: one method for each, named as what it answers."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from heddle import applications as apps
from heddle import cluster_lists, models
from heddle.client.calls import Call, Value, operation

__all__ = ["HeddleOperations"]

T = TypeVar("T")

_PREFIX = "/heddle/v1/"
_DAY_S = 86_400.0


def _get(path: str, answer: type[T], query: Mapping[str, Value] | None = None, **values: str | int) -> Call[T]:
    return Call("GET", _PREFIX + path, answer, values, query or {})


def _post(
    path: str,
    answer: type[T],
    query: Mapping[str, Value] | None = None,
    body: Any = None,
    *,
    repeats: bool = False,
    **values: str | int,
) -> Call[T]:
    return Call("POST", _PREFIX + path, answer, values, query or {}, body, repeats=repeats)


def _dry(*, dry_run: bool) -> dict[str, Value]:
    return {"dryRun": True if dry_run else None}


class HeddleOperations:
    """What Heddle answers beside a ResourceManager's web services. Errors of each: `heddle.client.errors`."""

    # -- sub-clusters ------------------------------------------------------------------------------------------------

    @operation
    def clusters(self) -> Call[models.Clusters]:
        """Return how each sub-cluster is."""
        return _get("clusters", models.Clusters)

    @operation
    def cordon(self, cluster: str, *, reason: str = "", dry_run: bool = False) -> Call[models.Order]:
        """Send no new applications to a sub-cluster; what runs there goes on. For operators."""
        return self._order(cluster, "cordon", reason, dry_run=dry_run)

    @operation
    def drain(self, cluster: str, *, reason: str = "", dry_run: bool = False) -> Call[models.Order]:
        """Send no new applications to a sub-cluster, to empty it. For operators."""
        return self._order(cluster, "drain", reason, dry_run=dry_run)

    @operation
    def undrain(self, cluster: str, *, reason: str = "", dry_run: bool = False) -> Call[models.Order]:
        """Let new applications in again. For operators."""
        return self._order(cluster, "undrain", reason, dry_run=dry_run)

    def _order(self, cluster: str, verb: str, reason: str, *, dry_run: bool) -> Call[models.Order]:
        query = {**_dry(dry_run=dry_run), "reason": reason or None}
        return _post("clusters/{cluster}/{verb}", models.Order, query, repeats=True, cluster=cluster, verb=verb)

    @operation
    def drainage(self, cluster: str) -> Call[models.Drainage]:
        """Return what still runs on a sub-cluster. For operators."""
        return _get("clusters/{cluster}/drainage", models.Drainage, cluster=cluster)

    @operation
    def retire(self, cluster: str, *, dry_run: bool = False) -> Call[models.Retirement]:
        """Declare a sub-cluster dead for good. For operators."""
        return _post("clusters/{cluster}/retire", models.Retirement, _dry(dry_run=dry_run), cluster=cluster)

    @operation
    def revive(self, cluster: str, *, dry_run: bool = False) -> Call[models.Revival]:
        """Let a retired sub-cluster in again. For operators."""
        return _post("clusters/{cluster}/revive", models.Revival, _dry(dry_run=dry_run), cluster=cluster)

    @operation
    def cluster_versions(self) -> Call[cluster_lists.ClusterVersions]:
        """Give the lists of sub-clusters in the store, newest first, and which one is served. For administrators."""
        return _get("cluster-versions", cluster_lists.ClusterVersions)

    @operation
    def apply_clusters(
        self, clusters: str, *, note: str = "", expected: int | None = None, dry_run: bool = False
    ) -> Call[cluster_lists.ClusterListChange]:
        """Let another list hold, a text in TOML, if version `expected` does now (None: whichever). For administrators.

        The text of an old version brings that one back. What goes must be drained.
        """
        body = cluster_lists.ClusterListText(clusters, note, expected)
        query = _dry(dry_run=dry_run)
        return _post("cluster-versions", cluster_lists.ClusterListChange, query, body, repeats=expected is not None)

    @operation
    def add_cluster(
        self, cluster: str, keys: Mapping[str, cluster_lists.ClusterKey], *, note: str = "", dry_run: bool = False
    ) -> Call[cluster_lists.ClusterListChange]:
        """Have one more sub-cluster, by keys of `[[subcluster]]`: `{"conf": FOLDER}`. For administrators."""
        return self._changed(cluster, "add", cluster_lists.ClusterKeys(keys, note=note), dry_run=dry_run)

    @operation
    def edit_cluster(
        self,
        cluster: str,
        keys: Mapping[str, cluster_lists.ClusterKey],
        *,
        unset: Sequence[str] = (),
        note: str = "",
        dry_run: bool = False,
    ) -> Call[cluster_lists.ClusterListChange]:
        """Give a sub-cluster other keys; those of `unset` go. For administrators."""
        return self._changed(cluster, "edit", cluster_lists.ClusterKeys(keys, unset, note), dry_run=dry_run)

    @operation
    def remove_cluster(
        self, cluster: str, *, note: str = "", dry_run: bool = False
    ) -> Call[cluster_lists.ClusterListChange]:
        """Have a drained sub-cluster no more; takes 10 s, until all know of the drain. For administrators."""
        return self._changed(cluster, "remove", cluster_lists.ClusterKeys(note=note), dry_run=dry_run)

    def _changed(
        self, cluster: str, verb: str, body: cluster_lists.ClusterKeys, *, dry_run: bool
    ) -> Call[cluster_lists.ClusterListChange]:
        query = _dry(dry_run=dry_run)
        return _post(f"clusters/{{cluster}}/{verb}", cluster_lists.ClusterListChange, query, body, cluster=cluster)

    # -- queues, shares, policies ------------------------------------------------------------------------------------

    @operation
    def queues(self) -> Call[models.Queues]:
        """List leaf queues, on each sub-cluster and together."""
        return _get("queues", models.Queues)

    @operation
    def shares(self) -> Call[models.Shares]:
        """Return how each queue of the policy stands; shares are parts of the federation, 0 to 1."""
        return _get("shares", models.Shares)

    @operation
    def share_history(self, queues: Sequence[str] = (), *, since_ms: int = 0) -> Call[models.ShareHistory]:
        """Give shares over the last day, a value a minute; of no named queue those that are entitled to most."""
        query: dict[str, Value] = {"shown": list(queues) or None, "since_ms": since_ms or None}
        return _get("shares/history", models.ShareHistory, query)

    @operation
    def what_if(self, policy: str, *, source: str = "the policy") -> Call[models.WhatIf]:
        """Return what each queue would be entitled to with another policy, a text in TOML, by what runs now."""
        body = models.PolicyText(policy, source)
        return _post("shares/whatif", models.WhatIf, body=body, repeats=True)

    @operation
    def policy(self) -> Call[models.Policy]:
        """Give the policy that holds."""
        return _get("policy", models.Policy)

    @operation
    def policy_history(self) -> Call[models.PolicyVersions]:
        """Give every policy that ever held, newest first."""
        return _get("policy/history", models.PolicyVersions)

    @operation
    def policy_version(self, version: int) -> Call[models.Policy]:
        """Give the policy of a version."""
        return _get("policy/versions/{version}", models.Policy, version=version)

    @operation
    def validate_policy(self, policy: str, *, source: str = "the policy") -> Call[models.PolicyAnswer]:
        """Say whether a policy could be applied; a `RefusedError` names the line that is wrong."""
        body = models.PolicyText(policy, source)
        return _post("policy/validate", models.PolicyAnswer, body=body, repeats=True)

    @operation
    def apply_policy(
        self,
        policy: str,
        *,
        source: str = "the policy",
        note: str = "",
        expected: int | None = None,
        dry_run: bool = False,
    ) -> Call[models.PolicyAnswer]:
        """Let a policy hold from now on, if version `expected` holds (None: whichever does). For administrators."""
        body = models.PolicyText(policy, source, note, expected)
        return _post("policy", models.PolicyAnswer, _dry(dry_run=dry_run), body, repeats=expected is not None)

    @operation
    def roll_back_policy(self, version: int, *, dry_run: bool = False) -> Call[models.PolicyAnswer]:
        """Let an old policy hold again, as a new version. For administrators."""
        return _post("policy/rollback/{version}", models.PolicyAnswer, _dry(dry_run=dry_run), version=version)

    @operation
    def release_policy(self, *, dry_run: bool = False) -> Call[models.PolicyAnswer]:
        """Let the policy of the configuration file hold again. For administrators."""
        return _post("policy/release", models.PolicyAnswer, _dry(dry_run=dry_run))

    @operation
    def shadows(self) -> Call[models.Shadows]:
        """Return where the policy in the shadow of each queue differs from the one in force. For operators."""
        return _get("policy/shadow", models.Shadows)

    # -- applications ------------------------------------------------------------------------------------------------

    @operation
    def applications(self, /, *, home: str | None = None, **filters: Value) -> Call[apps.Applications]:
        """List applications of all sub-clusters, newest first.

        Args:
            home: Only those of this sub-cluster.
            filters: A ResourceManager's: state, states, finalStatus, user, queue, limit, name, applicationTypes,
                applicationTags, deSelects; startedTimeBegin, startedTimeEnd, finishedTimeBegin, finishedTimeEnd in ms.
        """
        return _get("apps", apps.Applications, {"home": home, **filters})

    @operation
    def application(self, application: str) -> Call[apps.Application]:
        """Give one application, as its ResourceManager tells it."""
        return _get("apps/{application}", apps.Application, application=application)

    @operation
    def why(self, application: str) -> Call[apps.Why]:
        """Return why an application is where it is, what it waits for, and what was asked back from it."""
        return _get("apps/{application}/why", apps.Why, application=application)

    @operation
    def rehome(self, application: str, *, dry_run: bool = False) -> Call[apps.Rehoming]:
        """Move an application that waits for its ApplicationMaster to another sub-cluster, under the same id."""
        return _post("apps/{application}/rehome", apps.Rehoming, _dry(dry_run=dry_run), application=application)

    @operation
    def choose_home(self, context: Mapping[str, Any]) -> Call[apps.Choice]:
        """Return where a submission context would go now, and why; nothing is submitted."""
        return _post("choose-home", apps.Choice, body=context, repeats=True)

    @operation
    def container_logs(self, container: str) -> Call[apps.ContainerFiles]:
        """List the log files of a container that runs."""
        return _get("containers/{container}/logs", apps.ContainerFiles, container=container)

    @operation
    def container_log(
        self, container: str, file: str, *, tail: int = 65_536, after: int = 0, grep: str = ""
    ) -> Call[apps.LogPart]:
        """Give the last `tail` bytes of a log file (at most 1 MiB) that lie behind the offset `after`.

        With `grep` only lines that hold it.
        """
        query: dict[str, Value] = {"tail": tail, "after": after or None, "grep": grep or None}
        return _get("containers/{container}/logs/{file}", apps.LogPart, query, container=container, file=file)

    @operation
    def application_logs(self, application: str, *, of: str = "") -> Call[apps.AggregatedLogs]:
        """List the aggregated logs of an application; `of` names its user where Heddle does not know it any more."""
        return _get("apps/{application}/logs", apps.AggregatedLogs, {"of": of or None}, application=application)

    @operation
    def application_log(
        self,
        application: str,
        container: str,
        file: str,
        *,
        tail: int = 65_536,
        after: int = 0,
        grep: str = "",
        of: str = "",
        node: str = "",
    ) -> Call[apps.LogPart]:
        """Give a part of an aggregated log file, see `container_log`; `node` chooses where several have that name."""
        query: dict[str, Value] = {"tail": tail, "after": after or None, "grep": grep or None}
        query |= {"of": of or None, "node": node or None}
        path = "apps/{application}/logs/{container}/{file}"
        return _get(path, apps.LogPart, query, application=application, container=container, file=file)

    # -- operators ---------------------------------------------------------------------------------------------------

    @operation
    def doctor(self) -> Call[models.Findings]:
        """Look for trouble: what is wrong, or will be. For operators where roles are configured."""
        return _get("doctor", models.Findings)

    @operation
    def hardening(self) -> Call[models.Hardening]:
        """Check each line of the hardening guide. For administrators."""
        return _get("hardening", models.Hardening)

    @operation
    def masters(self) -> Call[models.Masters]:
        """Return who lives, who owns which queue, links, inconsistencies and repairs."""
        return _get("masters", models.Masters)

    @operation
    def usage(self, by: Sequence[str] = ("queue",), *, begin: str = "", end: str = "") -> Call[models.Usage]:
        """Sum what applications have used, in MiB-seconds and vcore-seconds.

        Args:
            by: Some of `queue`, `user` and `cluster`.
            begin: A date, a time (UTC without a zone) or milliseconds since the epoch; empty for the first.
            end: The same; empty is the present.
        """
        return _get("usage", models.Usage, {"by": ",".join(by), "from": begin or None, "to": end or None})

    @operation
    def audit(self, *, search: str = "", limit: int = 100) -> Call[models.AuditEntries]:
        """Give the newest lines of the audit that have all words of `search`. For administrators."""
        return _get("audit", models.AuditEntries, {"search": search or None, "limit": limit})

    @operation
    def tokens(self, *, user: str = "", everybodys: bool = False) -> Call[models.Tokens]:
        """List API tokens: the caller's, or for administrators another user's, or everybody's."""
        return _get("tokens", models.Tokens, {"user": user or None, "all": True if everybodys else None})

    @operation
    def create_token(
        self, name: str, *, scopes: Sequence[str] = (), user: str = "", lifetime_s: float = 30 * _DAY_S
    ) -> Call[models.NewToken]:
        """Make an API token, whose text nobody is told a second time.

        Args:
            name: What it is for.
            scopes: `submit`, `operate`; every token reads.
            user: Whom it stands for; empty for the caller.
            lifetime_s: Seconds that it is good.
        """
        return _post("tokens", models.NewToken, body=models.WantedToken(name, scopes, user, lifetime_s))

    @operation
    def revoke_token(self, token: str) -> Call[models.Revoked]:
        """End an API token, by its id."""
        return Call("DELETE", f"{_PREFIX}tokens/{{token}}", models.Revoked, {"token": token})

    @operation
    def configuration_age(self) -> Call[models.ConfigurationAge]:
        """Tell since when the configuration counts that counts. For administrators."""
        return _get("reload", models.ConfigurationAge)

    @operation
    def reload(self, *, dry_run: bool = False) -> Call[models.Reload]:
        """Have what stands in the configuration count, all of it or nothing. For administrators."""
        return _post("reload", models.Reload, _dry(dry_run=dry_run), repeats=True)

    @operation
    def openapi(self) -> Call[dict[str, Any]]:
        """Give the description of all web services, in OpenAPI 3.1."""
        return Call("GET", f"{_PREFIX}openapi.json", dict)

    # -- what the console reads besides ------------------------------------------------------------------------------

    @operation
    def application_page(
        self,
        *,
        search: str = "",
        where: Sequence[str] = (),
        sort: str = "started",
        order: str = "down",
        group: str = "",
        offset: int = 0,
        limit: int = 100,
        started_from: int | None = None,
        started_to: int | None = None,
        finished_from: int | None = None,
        finished_to: int | None = None,
    ) -> Call[models.ApplicationPage]:
        """Give a page of applications, searched, filtered by `FIELD=VALUE` and sorted by the server; times in ms."""
        query: dict[str, Value] = {"search": search or None, "where": list(where) or None, "sort": sort, "order": order}
        query |= {"group": group or None, "offset": offset, "limit": limit}
        query |= {"started_from": started_from, "started_to": started_to}
        query |= {"finished_from": finished_from, "finished_to": finished_to}
        return _get("console/applications", models.ApplicationPage, query)

    @operation
    def nodes(self) -> Call[models.Nodes]:
        """List nodes of all sub-clusters, with what is used on each."""
        return _get("console/nodes", models.Nodes)

    @operation
    def decisions(self, *, search: str = "", event: str = "", limit: int = 100) -> Call[models.Decisions]:
        """Give the newest decisions on applications that the caller may see."""
        return _get(
            "console/decisions", models.Decisions, {"search": search or None, "event": event or None, "limit": limit}
        )

    @operation
    def container_places(self, application: str) -> Call[models.ContainerPlaces]:
        """Return where the live containers of an application are that spans."""
        return _get("console/containers/{application}", models.ContainerPlaces, application=application)

    @operation
    def caller(self) -> Call[models.CallerTold]:
        """Return who the server takes the caller for, and what that one may ask for."""
        return _get("console/caller", models.CallerTold)
