from dataclasses import replace

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.queues import FederatedQueue
from shim.domain.resources import ResourceVector
from shim.federation.doctor import PROBE_USER, SKEW_HARMFUL_S, KerberosFacts, Level, examine
from shim.federation.doctor_facts import FederationFacts, HadoopSetting, SubClusterFacts
from shim.federation.tls_findings import TLSFacts

SCHEDULER = "yarn.resourcemanager.scheduler.address"
EPOCH = "yarn.resourcemanager.epoch"
AGGREGATION = "yarn.log-aggregation-enable"


def a_subcluster(id_, *, epoch, **changes):
    healthy = SubClusterFacts(
        id=id_,
        is_reachable=True,
        version="3.4.2",
        queues=frozenset({"root.default", "root.prod"}),
        taken_as=PROBE_USER,
        manager_settings={EPOCH: HadoopSetting(epoch)},
        node_settings={SCHEDULER: HadoopSetting(f"{id_}:8030", is_final=True)},
    )
    return replace(healthy, **changes)


EAST = a_subcluster("east", epoch="1000")
WEST = a_subcluster("west", epoch="2000")


PROXY = {EPOCH: HadoopSetting("1000")} | {
    f"hadoop.proxyuser.heddle.{name}": HadoopSetting("*") for name in ("hosts", "groups")
}
FILTERS = "hadoop.http.filter.initializers"
PLAIN_FILTER = "org.apache.hadoop.security.AuthenticationFilterInitializer"


def trouble(*subclusters, **changes):
    findings = examine(FederationFacts(subclusters, **changes))
    return {(found.check, found.subject, found.level) for found in findings if found.level is not Level.OK}


def test_a_healthy_federation_has_only_good_findings():
    assert trouble(EAST, WEST) == set()
    kept = {EPOCH: HadoopSetting("1000"), "yarn.log-aggregation-enable": HadoopSetting("true")}
    assert trouble(replace(EAST, manager_settings=kept, has_logs=True), WEST) == set()


SICK = {
    "a silent ResourceManager": (
        replace(EAST, is_reachable=False, trouble="no answer for 12 s"),
        ("reachable", "east", Level.ERROR),
    ),
    "more than its nodes have": (
        replace(EAST, excess=("vcores: 900, of nodes 9",)),
        ("capacity", "east", Level.WARNING),
    ),
    "more than is taken in of one cluster": (
        replace(EAST, left_out={"queues": 70_000}),
        ("amounts", "east", Level.ERROR),
    ),
    "an old Hadoop": (replace(EAST, version="2.7.3"), ("versions", "east", Level.WARNING)),
    "a clock that is ahead": (replace(EAST, clock_skew_s=2.0), ("clocks", "east", Level.WARNING)),
    "a clock that is as far ahead as does no harm": (
        replace(EAST, clock_skew_s=SKEW_HARMFUL_S),
        ("clocks", "east", Level.WARNING),
    ),
    "a clock that is far behind": (replace(EAST, clock_skew_s=-45.0), ("clocks", "east", Level.ERROR)),
    "an epoch of zero": (
        replace(EAST, manager_settings={EPOCH: HadoopSetting("0")}),
        ("epochs", "east", Level.WARNING),
    ),
    "logs that lie nobody knows where": (
        replace(
            EAST,
            manager_settings={EPOCH: HadoopSetting("1000"), "yarn.log-aggregation-enable": HadoopSetting("true")},
        ),
        ("logs", "east", Level.WARNING),
    ),
    "an epoch that is not set": (replace(EAST, manager_settings={}), ("epochs", "east", Level.WARNING)),
    "a queue on one side only": (
        replace(EAST, queues=EAST.queues | {"root.extra"}),
        ("queues", "", Level.WARNING),
    ),
    "a scheduler address that is not final": (
        replace(EAST, node_settings={SCHEDULER: HadoopSetting("east:8030")}),
        ("scheduler address", "east", Level.WARNING),
    ),
    "nodes that cannot be asked": (
        replace(EAST, node_settings=None),
        ("scheduler address", "east", Level.WARNING),
    ),
    "a doAs that is ignored": (
        replace(EAST, proxy_user="heddle", manager_settings=PROXY, taken_as="heddle"),
        ("identities", "east", Level.ERROR),
    ),
    "a user.name that is not read": (replace(EAST, taken_as="dr.who"), ("identities", "east", Level.ERROR)),
    "a proxy's cluster that does not tell whom it sees": (
        replace(EAST, proxy_user="heddle", manager_settings=PROXY, taken_as=None),
        ("identities", "east", Level.WARNING),
    ),
    "a doAs that will be refused": (replace(EAST, proxy_user="heddle"), ("proxy users", "east", Level.ERROR)),
}


@pytest.mark.parametrize(("east", "expected"), SICK.values(), ids=SICK)
def test_finds(east, expected):
    assert trouble(east, WEST) == {expected}


def test_finds_a_sub_cluster_that_hadoop_rpc_cannot_reach():
    told = examine(FederationFacts((replace(EAST, lacking=("admin_rpc",)), WEST)))
    assert [each.level for each in told if each.check == "addresses"] == [Level.OK]
    lacking = replace(EAST, lacking=("client_rpc", "admin_rpc"))
    assert trouble(lacking, WEST) == {("addresses", "east", Level.WARNING)}
    (found,) = [each for each in examine(FederationFacts((lacking, WEST))) if each.level is not Level.OK]
    assert "client_rpc, admin_rpc" in found.message


def test_finds_a_queue_of_the_policy_that_no_sub_cluster_has():
    assert trouble(EAST, WEST, policy=(FederatedQueue("root.prod"), FederatedQueue("root"))) == set()
    assert trouble(EAST, WEST, policy=(FederatedQueue("root.pord"),)) == {("queues", "", Level.WARNING)}
    silent = replace(EAST, is_reachable=False, trouble="no answer for 12 s")
    assert trouble(silent, policy=(FederatedQueue("root.pord"),)) == {("reachable", "east", Level.ERROR)}


def test_knows_queues_by_the_names_that_they_have_elsewhere():
    elsewhere = replace(WEST, queues=frozenset({"root.default", "root.production"}))
    named = FederatedQueue("root.prod", names={SubClusterId("west"): "root.production"})
    assert trouble(EAST, elsewhere, policy=(named,)) == set()
    assert trouble(EAST, WEST, policy=(named,)) == {("queues", "west", Level.WARNING)}


def test_finds_one_resource_manager_under_two_names():
    life = (1_700_000_000_000, frozenset({"n1:45454"}))
    twice = (replace(EAST, life=life), replace(WEST, life=life))
    assert trouble(*twice) == {("one entry each", "west", Level.ERROR)}
    assert trouble(replace(EAST, life=life), replace(WEST, life=(life[0], frozenset({"n2:45454"})))) == set()


def test_tells_of_a_retired_one_and_does_not_call_it_an_error():
    retired = replace(EAST, is_reachable=False, is_retired=True, trouble="last reported 900 s ago")
    assert trouble(retired, WEST) == {("reachable", "east", Level.WARNING)}
    assert trouble(replace(retired, is_back=True), WEST) == {("reachable", "east", Level.ERROR)}


def test_a_cluster_that_an_operator_closed_is_not_forgotten():
    closed = replace(EAST, closed="draining since 2026-11-28T10:20:00.000Z by root: kernel")
    assert trouble(closed, WEST) == {("admission", "east", Level.WARNING)}
    assert trouble(replace(closed, is_reachable=False, is_retired=True, trouble="x"), WEST) == {
        ("reachable", "east", Level.WARNING)
    }


FREE = replace(EAST, node_settings={SCHEDULER: HadoopSetting("east:8030")})


def test_a_scheduler_address_that_is_not_final_is_what_heddles_server_needs():
    assert trouble(FREE, WEST, scheduler_rpc="heddle:8030") == set()
    assert trouble(FREE, scheduler_rpc="heddle:8030", spanning=("root.prod",)) == set()


def test_a_scheduler_address_that_is_final_keeps_applications_from_spanning():
    found = trouble(FREE, WEST, scheduler_rpc="heddle:8030", spanning=("root.prod",))
    assert found == {("scheduler address", "west", Level.WARNING)}


def test_equal_epochs_are_no_small_matter_where_queues_span():
    twin = a_subcluster("west", epoch="1000")
    found = trouble(EAST, twin, spanning=("root.prod",))
    assert {("epochs", "east", Level.ERROR), ("epochs", "west", Level.ERROR)} <= found


def test_equal_epochs_are_found_on_both_sides():
    twin = a_subcluster("west", epoch="1000")
    assert trouble(EAST, twin) == {("epochs", "east", Level.WARNING), ("epochs", "west", Level.WARNING)}


def test_what_is_not_reachable_is_not_blamed_for_more():
    away = SubClusterFacts(id="west", is_reachable=False, trouble="connection refused")
    assert trouble(EAST, away) == {("reachable", "west", Level.ERROR)}


@pytest.mark.parametrize("other", ["groups", "users"])
def test_a_service_user_with_rules_may_act_for_others(other):
    rules = {f"hadoop.proxyuser.heddle.{name}": HadoopSetting("*") for name in ("hosts", other)}
    east = replace(EAST, proxy_user="heddle", manager_settings={EPOCH: HadoopSetting("1000"), **rules})
    assert trouble(east, WEST) == set()


ACLS = {"yarn.acl.enable": HadoopSetting("true")}


@pytest.mark.parametrize(
    ("has_acls", "guarded", "named"), [(False, True, {"east"}), (True, True, {"west"}), (False, False, set())]
)
def test_view_rights_at_one_place_and_not_at_another_are_named(has_acls, guarded, named):
    east = replace(EAST, manager_settings={**EAST.manager_settings, **(ACLS if guarded else {})})
    found = {("access lists", id_, Level.WARNING) for id_ in named}
    assert trouble(east, WEST, has_acls=has_acls) == found


def test_names_what_the_configuration_opens():
    assert trouble(EAST, WEST, wildcard_proxy_users=("knox",), allow_anonymous=True) == {
        ("security", "", Level.WARNING)
    }


def test_a_database_that_others_can_pose_as_is_named():
    assert trouble(EAST, WEST, unverified_store="db.example") == {("store", "", Level.WARNING)}


def test_a_directory_that_cannot_be_asked_is_trouble_and_one_that_is_not_configured_is_none():
    assert trouble(EAST, WEST, directory_trouble="it is away") == {("directory", "", Level.ERROR)}
    checks = {told: {f.check for f in examine(FederationFacts((EAST,), directory_trouble=told))} for told in ("", None)}
    assert ("directory" in checks[""], "directory" in checks[None]) == (True, False)


def test_kerberos_that_works_is_no_trouble():
    assert trouble(EAST, WEST, kerberos=KerberosFacts("rm/node@REALM")) == set()


@pytest.mark.parametrize(
    ("kerberos", "level"),
    [
        (KerberosFacts("rm/node@REALM", trouble="no key"), Level.ERROR),
        (KerberosFacts("rm/node@REALM", allow_simple=True), Level.WARNING),
        (KerberosFacts("rm/node@REALM", web="0.0.0.0:8088"), Level.WARNING),
    ],
    ids=["a bad keytab", "names at the servers", "names over REST"],
)
def test_finds_what_makes_kerberos_worth_less(kerberos, level):
    assert trouble(EAST, WEST, kerberos=kerberos) == {("kerberos", "", level)}


REFUSED = "User: heddle/node@REALM is not allowed to impersonate heddle-doctor"


@pytest.mark.parametrize(
    ("settings", "level"),
    [
        ({}, Level.ERROR),
        (PROXY, Level.ERROR),
        (PROXY | {"hadoop.proxyuser.heddle.groups": HadoopSetting("staff")}, Level.WARNING),
        (PROXY | {"hadoop.proxyuser.knox.groups": HadoopSetting("staff")}, Level.ERROR),
    ],
    ids=["no rule", "a rule for all", "a rule for some", "another's rule"],
)
def test_a_cluster_that_refuses_heddles_acting_is_found(settings, level):
    east = replace(EAST, acting=REFUSED, manager_settings={EPOCH: HadoopSetting("1000")} | settings)
    kerberos = KerberosFacts("heddle/node@REALM")
    assert trouble(east, WEST, kerberos=kerberos, ticket_user="heddle") == {("proxy rights", "east", level)}


@pytest.mark.parametrize(
    ("tls", "level"),
    [
        (TLSFacts(plain_address="0.0.0.0:8088"), Level.WARNING),
        (TLSFacts(has_certificate=True, trouble="no key"), Level.ERROR),
        (TLSFacts(has_certificate=True, ends_in_s=0.0), Level.ERROR),
        (TLSFacts(has_certificate=True, ends_in_s=20 * 86_400.0), Level.WARNING),
    ],
    ids=["no TLS", "a bad key", "expired", "ends soon"],
)
def test_finds_what_is_wrong_with_tls(tls, level):
    assert trouble(EAST, WEST, tls=tls) == {("tls", "", level)}


def test_a_certificate_that_is_good_for_long_is_no_trouble():
    assert trouble(EAST, WEST, tls=TLSFacts(has_certificate=True, ends_in_s=22 * 86_400.0)) == set()


def test_a_store_that_is_away_is_an_error():
    assert trouble(EAST, WEST, store_trouble="database is locked") == {("store", "", Level.ERROR)}


def test_whatever_is_wrong_comes_with_what_to_do():
    everything = FederationFacts([east for east, _ in SICK.values()], store_trouble="x", allow_anonymous=True)
    without = {found.check for found in examine(everything) if found.level is not Level.OK and not found.advice}
    assert without <= {"versions"}


@pytest.mark.parametrize(("file_has_policy", "level"), [(True, Level.WARNING), (False, Level.OK)])
def test_a_policy_that_holds_over_the_file_is_told(file_has_policy, level):
    facts = FederationFacts((EAST,), policy_trouble="version 3 holds", file_has_policy=file_has_policy)
    (found,) = [each for each in examine(facts) if each.check == "policy"]
    assert (found.level, found.message) == (level, "version 3 holds")
    assert ("heddle policy release" in found.advice) == file_has_policy
    assert not [each for each in examine(FederationFacts((EAST,))) if each.check == "policy"]


def test_a_list_of_subclusters_that_is_not_followed_is_told():
    facts = FederationFacts((EAST,), list_trouble="west: conf /etc/hadoop/west is no folder")
    (found,) = [each for each in examine(facts) if each.check == "list of sub-clusters"]
    assert (found.level, "/etc/hadoop/west" in found.message) == (Level.ERROR, True)
    assert "rollback" in found.advice
    assert not [each for each in examine(FederationFacts((EAST,))) if each.check == "list of sub-clusters"]


def identity_of(**changes):
    (found,) = [each for each in examine(FederationFacts((replace(EAST, **changes),))) if each.check == "identities"]
    return found


def test_who_refuses_a_name_has_read_it():
    assert identity_of(proxy_user="heddle", manager_settings=PROXY, taken_as="").level is Level.OK


def test_a_cluster_without_a_proxy_that_does_not_tell_is_not_spoken_of():
    facts = FederationFacts((replace(EAST, taken_as=None),))
    assert [each for each in examine(facts) if each.check == "identities"] == []


def test_the_advice_names_what_is_wrong():
    filters = {FILTERS: HadoopSetting(f"x.Y,{PLAIN_FILTER}")}
    by_filter = identity_of(proxy_user="heddle", manager_settings={**PROXY, **filters}, taken_as="heddle")
    assert f"take {PLAIN_FILTER} out of {FILTERS}" in by_filter.advice
    assert 'auth = "simple"' in by_filter.advice
    otherwise = identity_of(proxy_user="heddle", manager_settings=PROXY, taken_as="heddle")
    assert "take" not in otherwise.advice
    assert "doAs" in otherwise.advice
    simple = identity_of(taken_as="dr.who")
    assert "user.name" in simple.advice
    assert "as one of dr.who" in simple.message
    for each in (by_filter, otherwise, simple):
        assert "heddle cluster cordon east" in each.advice


def containers_of(*subclusters):
    return [each for each in examine(FederationFacts(subclusters)) if each.check == "containers"]


def test_a_largest_container_that_differs_is_named_with_what_to_do():
    east = replace(EAST, grants={"": ResourceVector(4096, 4), "root.dev": ResourceVector(4096, 4)})
    west = replace(WEST, grants={"": ResourceVector(1024, 4), "root.dev": ResourceVector(1024, 4)})
    (found,) = containers_of(east, west)
    assert found.level is Level.WARNING
    assert "east 4096 MiB and 4 vcores, west 1024 MiB and 4 vcores" in found.message
    assert "containers_up_to" in found.advice
    (same,) = containers_of(east, replace(east, id="west"))
    assert same.level is Level.OK


def test_a_largest_container_that_is_not_told_is_none_that_differs():
    east = replace(EAST, grants={"": ResourceVector(4096, 4), "root.dev": ResourceVector(512, 4)})
    west = replace(WEST, grants={"": ResourceVector(), "root.dev": ResourceVector()})
    (same,) = containers_of(east, west)
    assert same.level is Level.OK


def test_a_queue_whose_largest_container_differs_is_named():
    east = replace(EAST, grants={"": ResourceVector(4096, 4), "root.dev": ResourceVector(4096, 4)})
    west = replace(WEST, grants={"": ResourceVector(4096, 4), "root.dev": ResourceVector(512, 4)})
    (_, found) = containers_of(east, west)
    assert found.message == "the largest container of queue root.dev differs: east 4096 MiB, west 512 MiB"


def test_resource_types_and_labels_that_differ_are_named():
    east = replace(EAST, types=frozenset({"yarn.io/gpu"}), labels=frozenset({"ssd"}))
    messages = [found.message for found in containers_of(east, WEST)]
    assert messages == [
        "resource type yarn.io/gpu does not exist on west",
        "node label ssd does not exist on west",
    ]


def test_ways_that_applications_take_no_more_are_named():
    facts = FederationFacts([EAST], stopped=[("east", "3 of 4 failed in west")])
    (found,) = (each for each in examine(facts) if each.check == "spanning")
    assert (found.level, found.subject, found.message) == (Level.WARNING, "east", "3 of 4 failed in west")


def test_applications_that_were_overtaken_elsewhere_are_named_and_the_rest_counted():
    rows = [(f"application_1_{number:04}", "east", "it waits") for number in range(12)]
    found = [each for each in examine(FederationFacts([EAST], overtaken=rows)) if each.check == "waiting"]
    assert (len(found), found[0].subject, found[0].message) == (11, "east", "it waits")
    assert "heddle app rehome application_1_0000" in found[0].advice
    assert found[-1].message == "2 more applications were overtaken elsewhere"


@pytest.mark.parametrize(
    ("queue", "is_trouble"),
    [
        (FederatedQueue("root.prod", containers="jockey"), True),
        (FederatedQueue("root.prod", containers="delay:node_s=3.0", preemptable=True), True),
        (FederatedQueue("root.prod", containers="jockey", span=True), False),
        (FederatedQueue("root.prod", containers="jockey", preemptable=True, weight=1.0), False),
        (FederatedQueue("root.prod", containers="jockey", altruism=0.5), False),
        (FederatedQueue("root.prod"), False),
    ],
)
def test_a_policy_of_a_queue_of_which_nothing_is_read_acts_on_nothing(queue, is_trouble):
    found = trouble(EAST, WEST, policy=(queue,))
    assert (("policies of queues", "", Level.WARNING) in found) is is_trouble


def told_of(check, *subclusters, **changes):
    """What a check tells, in its words."""
    found = examine(FederationFacts(subclusters, **changes))
    return [(each.level, each.subject, each.message) for each in found if each.check == check]


@pytest.mark.parametrize(
    ("version", "is_old"),
    [("2.9.2", True), ("2.10", False), ("2.10.0", False), ("2.10.2-SNAPSHOT", False), ("3.0.0", False)],
)
def test_the_oldest_hadoop_that_is_no_trouble_is_2_10(version, is_old):
    found = trouble(replace(EAST, version=version), WEST)
    assert found == ({("versions", "east", Level.WARNING)} if is_old else set())


def test_versions_are_told_by_number_and_mixed_ones_so():
    clusters = [replace(EAST, id=f"c{each}", version=each) for each in ("3.10.1", "3.4.2", "3.4.2", "2.10.2-x")]
    two = (Level.OK, "", "Hadoop 3.4.1, 3.4.2 (mixed: answers have the form of 3.4)")
    assert told_of("versions", EAST, replace(WEST, version="3.4.1")) == [two]
    mixed = (Level.OK, "", "Hadoop 2.10.2-x, 3.4.2, 3.10.1 (mixed: answers have the form of 3.4)")
    assert told_of("versions", *clusters) == [mixed]
    assert told_of("versions", EAST, WEST) == [(Level.OK, "", "Hadoop 3.4.2")]
    assert told_of("versions", replace(EAST, is_reachable=False)) == []


@pytest.mark.parametrize(
    ("skew_s", "level", "message"),
    [
        (1.0, Level.OK, "its clock agrees"),
        (-1.0, Level.OK, "its clock agrees"),
        (1.1, Level.WARNING, "its clock is 1.1 s ahead of Heddle's"),
        (-1.1, Level.WARNING, "its clock is 1.1 s behind Heddle's"),
        (-30.0, Level.WARNING, "its clock is 30.0 s behind Heddle's"),
        (30.1, Level.ERROR, "its clock is 30.1 s ahead of Heddle's"),
    ],
)
def test_a_clock_is_told_by_how_far_it_is_off_and_to_which_side(skew_s, level, message):
    assert told_of("clocks", replace(EAST, clock_skew_s=skew_s)) == [(level, "east", message)]


def test_one_resource_manager_under_three_names_is_told_of_the_later_two():
    life = (1_700_000_000_000, frozenset({"n1:45454"}))
    found = told_of("one entry each", *(replace(EAST, id=id_, life=life) for id_ in ("a", "b", "c")))
    message = "it is the ResourceManager of a, too: what is there is counted and listed twice"
    assert found == [(Level.ERROR, "b", message), (Level.ERROR, "c", message)]
    assert told_of("one entry each", EAST, WEST) == [], "of whom nothing is known, nothing is the same"


def test_equal_epochs_name_each_other():
    clusters = [a_subcluster(id_, epoch=epoch) for id_, epoch in (("a", "7"), ("b", "8"), ("c", "7"))]
    key = "yarn.resourcemanager.epoch"
    assert told_of("epochs", *clusters) == [
        (Level.WARNING, "a", f"{key} is 7, as that of c: container ids of both can collide"),
        (Level.OK, "b", f"{key} is 8"),
        (Level.WARNING, "c", f"{key} is 7, as that of a: container ids of both can collide"),
    ]


def test_queues_are_counted_where_all_are_everywhere():
    assert told_of("queues", EAST, WEST) == [(Level.OK, "", "all 2 queues exist on every sub-cluster")]
    assert told_of("queues", replace(EAST, queues=frozenset())) == []
    lacking = "queue root.prod does not exist on west: its applications cannot go there"
    assert told_of("queues", EAST, replace(WEST, queues=frozenset({"root.default"}))) == [(Level.WARNING, "", lacking)]


@pytest.mark.parametrize(
    ("east", "west", "is_told"), [(512, 512, False), (512, 513, True), (4096, 4096, False), (4096, 512, True)]
)
def test_a_queues_largest_container_is_told_where_it_is_cut_and_differs(east, west, is_told):
    clusters = [
        replace(each, grants={"": ResourceVector(4096, 4), "root.dev": ResourceVector(size, 4)})
        for each, size in ((EAST, east), (WEST, west))
    ]
    queue = [message for _, _, message in told_of("containers", *clusters) if "root.dev" in message]
    assert len(queue) == is_told


def test_a_queue_that_one_cluster_has_alone_is_compared_with_none():
    cut = {"": ResourceVector(4096, 4), "root.dev": ResourceVector(1, 4)}
    found = told_of("containers", replace(EAST, grants=cut), replace(WEST, grants={"": ResourceVector(4096, 4)}))
    assert [level for level, _, _ in found] == [Level.OK]


@pytest.mark.parametrize("count", [9, 10, 11])
def test_ten_are_named_and_of_more_the_number_is_told(count):
    rows = [(f"application_1_{number:04}", "east", "it waits") for number in range(count)]
    found = told_of("waiting", EAST, overtaken=rows)
    assert [each for each in found if each[1]] == [(Level.WARNING, "east", "it waits")] * min(10, count)
    rest = [(Level.WARNING, "", "1 more applications were overtaken elsewhere")]
    assert [each for each in found if not each[1]] == (rest if count > 10 else [])
    ways = [("east", f"{number} failed in west") for number in range(count)]
    assert len(told_of("spanning", EAST, stopped=ways)) == min(10, count)


@pytest.mark.parametrize("names", [("hosts",), ("groups",), ("users",), ("groups", "users"), ()])
def test_rules_for_a_proxy_user_need_hosts_and_whom_it_may_be(names):
    rules = {f"hadoop.proxyuser.heddle.{name}": HadoopSetting("*") for name in names}
    found = told_of("proxy users", replace(EAST, proxy_user="heddle", manager_settings=rules))
    assert [level for level, _, _ in found] == [Level.ERROR]
    assert told_of("proxy users", replace(EAST, proxy_user="heddle", manager_settings=None)) == []
    assert told_of("proxy users", replace(EAST, manager_settings=rules)) == []


@pytest.mark.parametrize(
    ("setting", "changes", "level", "message"),
    [
        (HadoopSetting("e:1", is_final=True), {}, Level.OK, "ApplicationMasters use e:1, whatever"),
        (HadoopSetting("e:1", is_final=True), {"spanning": ("root.a",)}, Level.WARNING, "on its nodes and final"),
        (HadoopSetting("e:1"), {"scheduler_rpc": "h:2"}, Level.OK, "(Heddle's is h:2), or e:1 without one"),
        (HadoopSetting("e:1"), {}, Level.WARNING, "but not final: the submitter's value goes first"),
        (None, {"scheduler_rpc": "h:2"}, Level.WARNING, "could not be read from a node's /conf"),
    ],
)
def test_whose_scheduler_address_counts_is_told(setting, changes, level, message):
    east = replace(EAST, node_settings={} if setting is None else {SCHEDULER: setting})
    ((found_level, subject, found),) = told_of("scheduler address", east, **changes)
    assert (found_level, subject, message in found) == (level, "east", True)


def test_logs_are_asked_for_where_they_are_aggregated_and_nobody_said_where():
    def told(value, **changes):
        return told_of("logs", replace(EAST, manager_settings={AGGREGATION: HadoopSetting(value)}, **changes))

    assert len(told(" True ")) == 1
    assert told("true", has_logs=True) == told("false") == []
    assert told_of("logs", replace(EAST, manager_settings=None)) == []


def test_rules_that_limit_whom_heddle_may_act_for_are_told_from_a_refusal():
    def level(**rules):
        settings = {f"hadoop.proxyuser.heddle.{name}": HadoopSetting(value) for name, value in rules.items()}
        east = replace(EAST, acting=REFUSED, manager_settings=settings)
        kerberos = KerberosFacts("heddle/node@REALM")
        ((found, _, _),) = told_of("proxy rights", east, kerberos=kerberos, ticket_user="heddle")
        return found

    assert level(hosts="*", groups="*", users="*") is level() is Level.ERROR
    unread = replace(EAST, acting=REFUSED, manager_settings=None)
    kerberos = KerberosFacts("heddle/node@REALM")
    ((_, subject, message),) = told_of("proxy rights", unread, kerberos=kerberos, ticket_user="heddle")
    assert (subject, "heddle" in message) == ("east", True)
    assert {level(hosts="h1"), level(groups="staff"), level(users="ada"), level(hosts="*", users="ada")} == {
        Level.WARNING
    }


def test_a_retired_cluster_is_not_asked_for_more_addresses():
    lacking = replace(EAST, lacking=("client_rpc",), is_retired=True)
    assert told_of("addresses", lacking) == []


@pytest.mark.parametrize("value", ["false", "TRUE", ""])
def test_access_lists_are_on_where_that_is_said_and_nowhere_else(value):
    settings = {"yarn.acl.enable": HadoopSetting(value)}
    assert told_of("access lists", replace(EAST, manager_settings=settings)) == []
    ((level, subject, _),) = told_of("access lists", replace(EAST, manager_settings=settings), has_acls=True)
    assert (level, subject) == (Level.WARNING, "east")


@pytest.mark.parametrize(
    ("proxy_user", "filters", "advice"),
    [
        ("heddle", f"x,{PLAIN_FILTER}", f"take {PLAIN_FILTER} out of {FILTERS}"),
        ("heddle", "x", "let its web services heed doAs"),
        ("heddle", None, "let its web services heed doAs"),
        ("", f"x,{PLAIN_FILTER}", "let its web services read user.name"),
    ],
)
def test_the_advice_on_identities_is_by_proxy_and_filters(proxy_user, filters, advice):
    rules = {name: setting for name, setting in PROXY.items() if name != EPOCH}
    settings = None if filters is None else rules | {FILTERS: HadoopSetting(filters)}
    found = identity_of(proxy_user=proxy_user, manager_settings=settings, taken_as="dr.who")
    assert found.advice.startswith(advice)
