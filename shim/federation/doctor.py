"""Checks of a federation, in one pass over facts. They are pure: facts in, findings out.

Each check is one function; `examine` runs the table of them. A finding says what, where, and what to do.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from shim.domain.ids import SubClusterId
from shim.domain.subclusters import version_numbers
from shim.federation.doctor_facts import FederationFacts, HadoopSetting, SubClusterFacts
from shim.federation.findings import Finding, Level
from shim.federation.kerberos_findings import ActingFacts, KerberosFacts, kerberos_findings
from shim.federation.queue_findings import queue_findings
from shim.federation.rm_questions import PROBE_USER
from shim.federation.tls_findings import TLSFacts, tls_findings

__all__ = [
    "PROBE_USER",
    "Finding",
    "KerberosFacts",
    "Level",
    "TLSFacts",
    "examine",
]

SKEW_NOTABLE_S = 1.0
SKEW_HARMFUL_S = 30.0

_OLDEST = (2, 10)
_MOST_NAMED = 10
_ADMIN = "admin_rpc"
_ACLS = "yarn.acl.enable"
_AGGREGATION = "yarn.log-aggregation-enable"
_EPOCH = "yarn.resourcemanager.epoch"
_SCHEDULER = "yarn.resourcemanager.scheduler.address"
_FILTERS = "hadoop.http.filter.initializers"
_PLAIN_FILTER = "org.apache.hadoop.security.AuthenticationFilterInitializer"


def examine(facts: FederationFacts) -> list[Finding]:
    """Run every check."""
    return [finding for check in _CHECKS for finding in check(facts)]


def _reachability(facts: FederationFacts) -> Iterator[Finding]:
    for each in facts.subclusters:
        if each.is_reachable:
            yield Finding("reachable", Level.OK, each.id, f"its ResourceManager answers ({each.version})")
        elif each.is_back:
            message = "retired, and yet its ResourceManager answers: what was given up there may run twice"
            advice = f"end it; or see what heddle cluster revive {each.id} says is left there"
            yield Finding("reachable", Level.ERROR, each.id, message, advice)
        elif each.is_retired:
            message = "retired: nothing is sent to it, and what it tells is not believed"
            advice = f"take it out of the configuration; or, once it is back and empty, heddle cluster revive {each.id}"
            yield Finding("reachable", Level.WARNING, each.id, message, advice)
        else:
            advice = "start its ResourceManager, or correct web or conf of its [[subcluster]]"
            yield Finding("reachable", Level.ERROR, each.id, each.trouble, advice)


def _admission(facts: FederationFacts) -> Iterator[Finding]:
    """A cluster that an operator has closed for a while may be forgotten."""
    for each in facts.subclusters:
        if each.closed and not each.is_retired:
            message = f"it takes no new applications: {each.closed}"
            yield Finding(
                "admission", Level.WARNING, each.id, message, f"heddle cluster undrain {each.id}, once it may"
            )


def _addresses(facts: FederationFacts) -> Iterator[Finding]:
    """A sub-cluster of web services alone: what comes in at a server of Hadoop RPC cannot go on to it."""
    for each in facts.subclusters:
        if each.is_retired or not each.lacking:
            continue
        if each.lacking == (_ADMIN,):  # nobody needs it who has not asked for it
            yield Finding("addresses", Level.OK, each.id, f"it has no {_ADMIN}: yarn rmadmin through Heddle misses it")
        else:
            message = f"it has no {', '.join(each.lacking)}: what comes by Hadoop RPC cannot go there"
            advice = f'set conf, or each of them, in its [[subcluster]]; or server.{each.lacking[0]} = "" for no server'
            yield Finding("addresses", Level.WARNING, each.id, message, advice)


def _twice(facts: FederationFacts) -> Iterator[Finding]:
    """Two entries of the configuration that lead to one ResourceManager."""
    for place, each in enumerate(facts.reachable):
        others = [other.id for other in facts.reachable[:place] if other.life == each.life]
        if others and each.life is not None:
            message = f"it is the ResourceManager of {others[0]}, too: what is there is counted and listed twice"
            advice = f"take {each.id} or {others[0]} out of the configuration, or correct its web or conf"
            yield Finding("one entry each", Level.ERROR, each.id, message, advice)


def _versions(facts: FederationFacts) -> Iterator[Finding]:
    for each in facts.reachable:
        if version_numbers(each.version) < _OLDEST:
            message = f"Hadoop {each.version} is older than 2.10, the oldest that Heddle is tested with"
            yield Finding("versions", Level.WARNING, each.id, message)
    found = sorted({each.version for each in facts.reachable}, key=version_numbers)
    if found:
        mixed = " (mixed: answers have the form of 3.4)" if len(found) > 1 else ""
        yield Finding("versions", Level.OK, "", f"Hadoop {', '.join(found)}{mixed}")


def _capacities(facts: FederationFacts) -> Iterator[Finding]:
    """A ResourceManager's word on its capacity decides how much is sent there."""
    for each in facts.reachable:
        if each.excess:
            message = f"it tells more than its nodes sum up to: {'; '.join(each.excess)}"
            advice = f"if that lasts: heddle cluster cordon {each.id}, and look who answers as its ResourceManager"
            yield Finding("capacity", Level.WARNING, each.id, message, advice)
        if each.left_out:
            told = ", ".join(f"{count:,} {what}" for what, count in each.left_out.items())
            message = f"{told} left out: they cannot be read, or are more than is taken in of one cluster"
            advice = f"look who answers as its ResourceManager; until you know: heddle cluster cordon {each.id}"
            yield Finding("amounts", Level.ERROR, each.id, message, advice)


def _clocks(facts: FederationFacts) -> Iterator[Finding]:
    for each in facts.reachable:
        skew_s = abs(each.clock_skew_s)
        level = Level.ERROR if skew_s > SKEW_HARMFUL_S else Level.WARNING if skew_s > SKEW_NOTABLE_S else Level.OK
        side = "ahead of" if each.clock_skew_s > 0 else "behind"
        message = f"its clock is {skew_s:.1f} s {side} Heddle's" if level is not Level.OK else "its clock agrees"
        advice = "synchronise the clocks: who looks for applications by start time misses some"
        yield Finding("clocks", level, each.id, message, "" if level is Level.OK else advice)


def _access_lists(facts: FederationFacts) -> Iterator[Finding]:
    """Applications that are guarded at one sub-cluster, and elsewhere, or here, are not."""
    known = {each.id: each.manager_settings for each in facts.reachable if each.manager_settings is not None}
    has = {id_: _ACLS in settings and settings[_ACLS].value == "true" for id_, settings in known.items()}
    for id_, is_guarded in has.items():
        if is_guarded and not facts.has_acls:
            message = f"it has {_ACLS}, and Heddle has no view rights: what runs elsewhere is shown to everybody"
            advice = "set security.application_acls"
            yield Finding("access lists", Level.WARNING, id_, message, advice)
        elif facts.has_acls and not is_guarded:
            message = f"it has no {_ACLS}: who asks it past Heddle sees and ends everybody's applications"
            yield Finding("access lists", Level.WARNING, id_, message, f"set {_ACLS} there, or let nobody reach it")


def _epochs(facts: FederationFacts) -> Iterator[Finding]:
    known = {each.id: each.manager_settings for each in facts.reachable if each.manager_settings is not None}
    epochs = {id_: settings[_EPOCH].value if _EPOCH in settings else "0" for id_, settings in known.items()}
    owners: dict[str, list[str]] = defaultdict(list)
    for id_, epoch in epochs.items():
        owners[epoch].append(id_)
    for id_, epoch in epochs.items():
        others = [other for other in owners[epoch] if other != id_]
        level = Level.WARNING
        if epoch == "0":
            message = f"{_EPOCH} is 0: it can be a home, but no application can span to it"
        elif others:
            message = f"{_EPOCH} is {epoch}, as that of {', '.join(others)}: container ids of both can collide"
            if facts.spanning:
                level, message = Level.ERROR, f"{message}; with queues that span Heddle does not start again"
        else:
            yield Finding("epochs", Level.OK, id_, f"{_EPOCH} is {epoch}")
            continue
        advice = f"give each sub-cluster its own {_EPOCH}, at least 1000 apart, and restart its ResourceManager"
        yield Finding("epochs", level, id_, message, advice)


def _queues(facts: FederationFacts) -> Iterator[Finding]:
    known = {each.id: set(each.queues) for each in facts.reachable}
    for each in facts.reachable:
        known[each.id] |= {queue.path for queue in facts.policy if _has(each, queue.name_at(SubClusterId(each.id)))}
    other_names = {name for queue in facts.policy for name in queue.names.values()}
    everywhere = set().union(*known.values()) - (other_names - {queue.path for queue in facts.policy})
    is_even = True
    for queue in sorted(everywhere):
        lacking = [id_ for id_, queues in known.items() if queue not in queues]
        if lacking:
            is_even = False
            message = f"queue {queue} does not exist on {', '.join(lacking)}: its applications cannot go there"
            yield Finding("queues", Level.WARNING, "", message, "add it there, if it should use those clusters too")
    if everywhere and is_even:
        yield Finding("queues", Level.OK, "", f"all {len(everywhere)} queues exist on every sub-cluster")


def _has(subcluster: SubClusterFacts, path: str) -> bool:
    """Return whether a queue is there, as a leaf or above one."""
    return any(leaf == path or leaf.startswith(f"{path}.") for leaf in subcluster.queues)


def _named_queues(facts: FederationFacts) -> Iterator[Finding]:
    """A queue that is called wrongly has no share and no limit, and nothing else would say so."""
    for queue in facts.policy if facts.reachable else ():
        names = {each.id: queue.name_at(SubClusterId(each.id)) for each in facts.reachable}
        lacking = [each.id for each in facts.reachable if not _has(each, names[each.id])]
        if len(lacking) == len(names):
            message = f"[[queue]] {queue.path} is on no sub-cluster that answers: what it says counts for nothing"
            yield Finding("queues", Level.WARNING, "", message, "correct its name; heddle queue list tells which exist")
            continue
        for id_ in (each for each in lacking if names[each] != queue.path):
            message = f"[[queue]] {queue.path} is {names[id_]} there, which does not exist"
            yield Finding("queues", Level.WARNING, id_, message, f"correct names.{id_}, or add the queue there")


def _containers(facts: FederationFacts) -> Iterator[Finding]:
    """A client is told one largest container, and its application meets one sub-cluster."""
    grants = {each.id: each.grants[""] for each in facts.reachable if "" in each.grants and each.grants[""].memory_mib}
    if len({(grant.memory_mib, grant.vcores) for grant in grants.values()}) > 1:
        told = ", ".join(f"{id_} {grant.memory_mib} MiB and {grant.vcores} vcores" for id_, grant in grants.items())
        advice = (
            "clients are told the least of those that their queue may use; set containers_up_to of a [[queue]] whose "
            "jobs ask for more, and they run only where they get it"
        )
        yield Finding("containers", Level.WARNING, "", f"the largest container differs: {told}", advice)
    elif grants:
        yield Finding("containers", Level.OK, "", "every sub-cluster grants containers of the same size at most")
    for path in sorted({path for each in facts.reachable for path in each.grants if path}):
        of_queue = {each.id: each.grants[path] for each in facts.reachable if each.id in grants and path in each.grants}
        cut = {id_: grant for id_, grant in of_queue.items() if grant.memory_mib < grants[id_].memory_mib}
        if cut and len({grant.memory_mib for grant in of_queue.values()}) > 1:
            told = ", ".join(f"{id_} {grant.memory_mib} MiB" for id_, grant in of_queue.items())
            message = f"the largest container of queue {path} differs: {told}"
            advice = "by its maximum allocation, or by what the queue may hold at most: larger ones run elsewhere only"
            yield Finding("containers", Level.WARNING, "", message, advice)
    for noun, sets in (
        ("resource type", {each.id: each.types for each in facts.reachable}),
        ("node label", {each.id: each.labels for each in facts.reachable}),
    ):
        for name in sorted(frozenset[str]().union(*sets.values())):
            lacking = [id_ for id_, names in sets.items() if name not in names]
            if lacking:
                message = f"{noun} {name} does not exist on {', '.join(lacking)}"
                advice = "what asks for it by its ApplicationMaster goes elsewhere; what asks later must not be there"
                yield Finding("containers", Level.WARNING, "", message, advice)


def _logs(facts: FederationFacts) -> Iterator[Finding]:
    """Logs of ended containers that lie somewhere, and nobody said where."""
    for each in facts.reachable:
        setting = (each.manager_settings or {}).get(_AGGREGATION)
        if setting is not None and setting.value.strip().lower() == "true" and not each.has_logs:
            message = "it aggregates the logs of ended containers, and Heddle does not know where: it shows none"
            advice = "name the folder, or the web gateway of its HDFS, by aggregated_logs of its [[subcluster]]"
            yield Finding("logs", Level.WARNING, each.id, message, advice)


def _unread(facts: FederationFacts) -> Iterator[Finding]:
    """Queues with a policy for their containers where no ApplicationMaster's call is read: it acts on nothing."""
    for queue in facts.policy:
        if queue.acts_on_nothing:
            message = f'queue {queue.path} has containers = "{queue.containers}", which acts on nothing'
            advice = "set span = true for it: without that, no ApplicationMaster of the queue is read"
            yield Finding("policies of queues", Level.WARNING, "", message, advice)


def _free_lunch(facts: FederationFacts) -> Iterator[Finding]:
    """Settings of queues that cost time, and nothing to change."""
    for each in facts.reachable:
        yield from queue_findings(each.id, each.leaves)


def _overtaken(facts: FederationFacts) -> Iterator[Finding]:
    """Applications that wait at their homes while others of their queue, submitted later, start elsewhere."""
    for application, subcluster, text in facts.overtaken[:_MOST_NAMED]:
        advice = f"heddle app why {application} tells what it waits for; heddle app rehome {application} moves it"
        yield Finding("waiting", Level.WARNING, subcluster, text, advice)
    more = len(facts.overtaken) - _MOST_NAMED
    if more > 0:
        yield Finding("waiting", Level.WARNING, "", f"{more} more applications were overtaken elsewhere", "")


def _stopped(facts: FederationFacts) -> Iterator[Finding]:
    """Ways between clusters that applications have left to be taken no more, as their containers fail there."""
    for home, text in facts.stopped[:_MOST_NAMED]:
        advice = (
            "what do they miss there (file systems, programs, network)? span = false of the queue keeps them at home"
        )
        yield Finding("spanning", Level.WARNING, home, text, advice)


def _scheduler_addresses(facts: FederationFacts) -> Iterator[Finding]:
    """An ApplicationMaster takes its submitter's settings, unless its node's file marks them `final`."""
    for each in facts.reachable:
        setting = None if each.node_settings is None else each.node_settings.get(_SCHEDULER)
        level, message, advice = _scheduler_address(facts, setting)
        yield Finding("scheduler address", level, each.id, message, advice)


def _scheduler_address(facts: FederationFacts, setting: HadoopSetting | None) -> tuple[Level, str, str]:
    """Explain a node's setting: the address that stands there goes before a submitter's only if it is final."""
    if setting is None:
        message = "the scheduler address that its ApplicationMasters use could not be read from a node's /conf"
        return Level.WARNING, message, "is a node up, and its web port open?"
    if setting.is_final and facts.spanning:
        message = f"{_SCHEDULER} is {setting.value} on its nodes and final: unless that is Heddle, nothing spans there"
        return Level.WARNING, message, f"take <final> from {_SCHEDULER} in yarn-site.xml of its nodes"
    if setting.is_final:
        return Level.OK, f"ApplicationMasters use {setting.value}, whatever their submitters say", ""
    if facts.scheduler_rpc:
        message = f"ApplicationMasters use their submitters' value (Heddle's is {facts.scheduler_rpc}), "
        return Level.OK, f"{message}or {setting.value} without one", ""
    message = f"{_SCHEDULER} is {setting.value} on its nodes, but not final: the submitter's value goes first"
    return Level.WARNING, message, f"set server.scheduler_rpc, or mark {_SCHEDULER} final in yarn-site.xml of its nodes"


def _proxy_rules(facts: FederationFacts) -> Iterator[Finding]:
    for each in facts.reachable:
        if not each.proxy_user or each.manager_settings is None:
            continue
        prefix = f"hadoop.proxyuser.{each.proxy_user}"
        names = {name for name in ("hosts", "groups", "users") if f"{prefix}.{name}" in each.manager_settings}
        if "hosts" in names and names & {"groups", "users"}:
            yield Finding("proxy users", Level.OK, each.id, f"{each.proxy_user} may act for others")
        else:
            message = f"its ResourceManager lets nobody act for others as {each.proxy_user}: doAs will be refused"
            advice = f"set {prefix}.hosts and {prefix}.groups in its core-site.xml"
            yield Finding("proxy users", Level.ERROR, each.id, message, advice)


def _identities(facts: FederationFacts) -> Iterator[Finding]:
    """Yield clusters that take a request in another's name for Heddle's own: everybody has Heddle's rights there."""
    for each in facts.reachable:
        if each.taken_as in ("", PROBE_USER):  # who refuses has understood in whose name it is
            yield Finding("identities", Level.OK, each.id, "its web services take requests in their users' names")
        elif each.taken_as is not None:
            message = (
                f"its web services take a request for {PROBE_USER} as one of {each.taken_as}: whatever anybody does "
                f"there through Heddle is done as {each.taken_as}"
            )
            yield Finding("identities", Level.ERROR, each.id, message, _identity_advice(each))
        elif each.proxy_user:
            message = "its web services do not tell as whom they take requests: whether they heed doAs is not known"
            advice = "submit as another user through Heddle, and see whose application its ResourceManager lists"
            yield Finding("identities", Level.WARNING, each.id, message, advice)


def _identity_advice(subcluster: SubClusterFacts) -> str:
    """Advise on identities; without Kerberos a filter that is named stays (`RMWebAppUtil.setupSecurityAndFilters`)."""
    until = f"until then: heddle cluster cordon {subcluster.id}"
    setting = (subcluster.manager_settings or {}).get(_FILTERS)
    if subcluster.proxy_user and setting is not None and _PLAIN_FILTER in setting.value:
        told = f"take {_PLAIN_FILTER} out of {_FILTERS} in its core-site.xml: it reads no doAs"
        return f'{told}; or set auth = "simple" in its [[subcluster]]; {until}'
    if subcluster.proxy_user:
        return f'let its web services heed doAs ({_FILTERS} in its core-site.xml), or set auth = "simple"; {until}'
    return f"let its web services read user.name ({_FILTERS} in its core-site.xml); {until}"


def _own_rules(facts: FederationFacts) -> Iterator[Finding]:
    for user in facts.wildcard_proxy_users:
        message = f"[security.proxyuser.{user}] lets {user} act for anybody from anywhere"
        yield Finding("security", Level.WARNING, "", message, "name hosts, and users or groups")
    if facts.allow_anonymous:
        message = "changing calls without a user are allowed (security.allow_anonymous)"
        yield Finding("security", Level.WARNING, "", message, "switch it off unless only trusted people reach Heddle")


def _kerberos(facts: FederationFacts) -> Iterator[Finding]:
    acting = [_acting(facts.ticket_user, each, each.acting) for each in facts.reachable if each.acting is not None]
    return kerberos_findings(facts.kerberos, acting)


def _acting(user: str, subcluster: SubClusterFacts, told: str) -> ActingFacts:
    settings = subcluster.manager_settings or {}
    rules = (settings.get(f"hadoop.proxyuser.{user}.{what}") for what in ("hosts", "groups", "users"))
    is_limited = any(rule is not None and rule.value != "*" for rule in rules)
    return ActingFacts(subcluster.id, user, told, is_limited=is_limited)


def _directory(facts: FederationFacts) -> Iterator[Finding]:
    if facts.directory_trouble:
        advice = "while it cannot be asked, callers whose groups decide are refused with 503: see security.ldap"
        yield Finding("directory", Level.ERROR, "", facts.directory_trouble, advice)
    elif facts.directory_trouble is not None:
        yield Finding("directory", Level.OK, "", "the directory of groups takes Heddle's login")


def _tls(facts: FederationFacts) -> Iterator[Finding]:
    return tls_findings(facts.tls, facts.cluster_tls, facts.master_tls)


def _store(facts: FederationFacts) -> Iterator[Finding]:
    if facts.store_trouble:
        advice = "until it is back submissions are refused with 503; reads go on"
        yield Finding("store", Level.ERROR, "", facts.store_trouble, advice)
    else:
        yield Finding("store", Level.OK, "", "the store can be read and written")
    if facts.unverified_store:
        message = f"the connection to PostgreSQL at {facts.unverified_store} is not verified: others can pose as it"
        yield Finding("store", Level.WARNING, "", message, "add ?sslmode=verify-full&sslrootcert=FILE to store.url")


def _list_of_subclusters(facts: FederationFacts) -> Iterator[Finding]:
    """Yield a list in the store that this Heddle does not follow: others of its store may send elsewhere than it."""
    if facts.list_trouble:
        message = f"the newest list of sub-clusters in the store is not served here: {facts.list_trouble}"
        advice = "mend that on this machine, and it is tried again; or heddle cluster rollback VERSION --write"
        yield Finding("list of sub-clusters", Level.ERROR, "", message, advice)


def _policy_in_force(facts: FederationFacts) -> Iterator[Finding]:
    """Yield a policy that was applied over the file: an edit of the file changes nothing then."""
    if facts.policy_trouble:
        level = Level.WARNING if facts.file_has_policy else Level.OK
        advice = "see heddle policy show and history; heddle policy release lets the file's hold again"
        yield Finding("policy", level, "", facts.policy_trouble, advice if facts.file_has_policy else "")


_CHECKS: Sequence[Callable[[FederationFacts], Iterator[Finding]]] = (
    _reachability,
    _admission,
    _store,
    _addresses,
    _twice,
    _versions,
    _capacities,
    _clocks,
    _access_lists,
    _epochs,
    _queues,
    _named_queues,
    _containers,
    _logs,
    _unread,
    _free_lunch,
    _overtaken,
    _stopped,
    _policy_in_force,
    _list_of_subclusters,
    _scheduler_addresses,
    _proxy_rules,
    _identities,
    _own_rules,
    _kerberos,
    _directory,
    _tls,
)
