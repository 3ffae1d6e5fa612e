import json
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import ApplicationId, NodeId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.subclusters import Admission, AdmissionWord, NodeReport, SubClusterState
from shim.federation.core.federation_view import Part
from shim.federation.doctor_facts import FederationFacts, SubClusterFacts
from shim.federation.findings import Finding, Level
from shim.federation.inspection import DoctorRounds, Inspection, capacity_excess, told_of_word, word_for
from shim.federation.tls_findings import CertificateFacts, ClusterTLSFacts, MasterTLSFacts, TLSFacts
from shim.ports.resource_manager import RestAnswer, RestRequest
from tests.doubles.misbehaviours import IsNeverReached
from tests.doubles.resource_manager import ScriptedResourceManager
from tests.support.scripted_server import ScriptedServer

AMOUNTS = st.integers(-10, 10**9)


def nodes(*totals: ResourceVector) -> list[NodeReport]:
    nothing = ResourceVector()
    return [NodeReport(NodeId("n", number), "/r", "RUNNING", total, nothing) for number, total in enumerate(totals)]


@given(st.lists(st.builds(ResourceVector, AMOUNTS, AMOUNTS), max_size=5), AMOUNTS, AMOUNTS)
def test_each_amount_beyond_the_sum_of_nodes_is_told_and_no_other(totals, memory_mib, vcores):
    found = capacity_excess(ResourceVector(memory_mib, vcores), nodes(*totals))
    has_memory = memory_mib > sum(max(0, each.memory_mib) for each in totals)
    has_vcores = vcores > sum(max(0, each.vcores) for each in totals)
    assert [each.partition(":")[0] for each in found] == ["memory MiB"] * has_memory + ["vcores"] * has_vcores


def test_both_amounts_are_named():
    told = capacity_excess(ResourceVector(4096, 2), nodes(ResourceVector(1024, 1), ResourceVector(1024, 1)))
    assert told == ("memory MiB: 4096, of nodes 2048",)


@dataclass
class TellsConfiguration:
    """Healthy, and answers `/conf` as it is told."""

    status: int
    body: bytes

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        if request.path != "/conf":
            return manager.take(request)
        assert timeout_s == 2.0
        return RestAnswer(self.status, (("Content-Type", "application/json"),), self.body)


async def facts_of(server: ScriptedServer, inspection: Inspection) -> SubClusterFacts:
    """What the doctor has gathered of the one sub-cluster."""
    seen: list[SubClusterFacts] = []

    def noted(facts: FederationFacts) -> list[Finding]:
        seen.extend(facts.subclusters)
        return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shim.federation.inspection.examine", noted)
        await server.federation.wait_for(inspection.doctor())
    (facts,) = seen
    return facts


def configured(**settings: str) -> bytes:
    properties = [{"key": key.replace("_", "."), "value": value, "isFinal": True} for key, value in settings.items()]
    return json.dumps({"properties": properties}).encode()


WITHOUT_PROXY = configured(yarn_acl_enable="true")
WITH_PROXY = configured(hadoop_proxyuser_heddle_hosts="*", hadoop_proxyuser_heddle_users="*")


@pytest.mark.parametrize(
    ("behaviour", "is_told"),
    [
        (TellsConfiguration(200, WITHOUT_PROXY), True),
        (TellsConfiguration(200, WITH_PROXY), True),
        (TellsConfiguration(500, WITHOUT_PROXY), False),
        (TellsConfiguration(401, WITHOUT_PROXY), False),
        (TellsConfiguration(200, b"<configuration/>"), False),
        (IsNeverReached(), False),
    ],
)
async def test_the_settings_of_a_resource_manager_are_what_it_tells_where_it_tells_any(behaviour, is_told):
    """By a finding that follows from them alone: whom its configuration lets Heddle speak for."""
    server = ScriptedServer(["east"])
    await server.poll()
    inspection = server.use_cases.inspection
    descriptions = {name: replace(each, proxy_user="heddle") for name, each in inspection.descriptions.items()}
    server.federation["east"].behave(behaviour)
    settings = (await facts_of(server, replace(inspection, descriptions=descriptions))).manager_settings
    told = None if not is_told else {each["key"]: each for each in json.loads(behaviour.body)["properties"]}
    assert (settings is None) is (told is None)
    if told is not None:
        assert {key: (each.value, each.is_final) for key, each in settings.items()} == {
            key: (each["value"], each["isFinal"]) for key, each in told.items()
        }


DAY_S = 86_400.0


async def test_a_round_counts_what_is_wrong_and_knows_when_certificates_end():
    server = ScriptedServer()
    clock = server.federation.clock
    await server.poll()
    inspection = server.use_cases.inspection
    settings = replace(
        inspection.settings,
        tls=lambda: TLSFacts(has_certificate=True, ends_in_s=-DAY_S, file="/etc/heddle/tls.pem"),
        cluster_tls=lambda: [
            ClusterTLSFacts("east", is_verified=True, certificates=(CertificateFacts("its CA", "/etc/ca.pem", DAY_S),))
        ],
        master_tls=lambda: MasterTLSFacts(certificates=(CertificateFacts("this master", "/etc/gm.pem", 2 * DAY_S),)),
    )
    rounds = DoctorRounds(replace(inspection, settings=settings), clock)
    assert (rounds.counts, rounds.certificates()) == ({}, {})

    await server.federation.wait_for(rounds.round())

    ends = {("the web services", "tls.pem"): -DAY_S, ("its CA", "ca.pem"): DAY_S, ("this master", "gm.pem"): 2 * DAY_S}
    assert {key: round(value / DAY_S) * DAY_S for key, value in rounds.certificates().items()} == ends
    assert {level for _, level in rounds.counts} <= {"warning", "error"}
    assert rounds.counts["tls", "error"] >= 1


async def test_the_doctor_tells_what_an_order_by_arrival_costs_by_what_ended_in_the_queue():
    server = ScriptedServer()
    manager, start_ms = server.federation["east"], int(server.federation.clock.now_s() * 1000) - 3_600_000
    capacity_mib = 8192
    for number in range(31):  # a giant of ten minutes, and behind it thirty of a second
        works_s, ends_s = (600, 600) if number == 0 else (1, 600 + number)
        manager.add_application(
            ApplicationId(start_ms, number + 1),
            "FINISHED",
            startedTime=start_ms + number,
            launchTime=start_ms + number,
            finishedTime=start_ms + 1000 * ends_s,
            memorySeconds=works_s * capacity_mib,
        )
    await server.poll()
    found = await server.federation.wait_for(server.use_cases.inspection.doctor())
    costs = [each for each in found if each.check == "order of a queue"]
    assert [(each.subject, each.level) for each in costs] == [("east", Level.WARNING)]
    assert "queue root.default" in costs[0].message
    assert "by its last 31, which took 615 s in the mean, that costs about 565 s of each" in costs[0].message


@dataclass
class TellsAtPath:
    """Healthy, and answers one path with what it is told; another user is asked there in Heddle's place."""

    path: str
    status: int
    body: bytes

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        if request.path != self.path:
            return manager.take(request)
        assert timeout_s == 2.0
        return RestAnswer(self.status, (("Content-Type", "application/json"),), self.body)


WHO = "/ws/v1/cluster/userinfo"


@pytest.mark.parametrize(
    ("status", "body", "taken_as"),
    [
        (200, b'{"requestedUser":"ada"}', "ada"),
        (200, b'{"requestedUser":"' + b"a" * 300 + b'"}', "a" * 256),
        (200, b'{"requestedUser":""}', None),
        (200, b"{}", None),
        (200, b'{"requestedUser":7}', None),
        (200, b"<html/>", None),
        (401, b'{"requestedUser":"ada"}', ""),
        (403, b"no", ""),
        (402, b'{"requestedUser":"ada"}', None),
        (404, b'{"requestedUser":"ada"}', None),
    ],
)
async def test_as_whom_heddle_is_taken_is_what_the_cluster_says_or_a_refusal(status, body, taken_as):
    server = ScriptedServer(["east"])
    await server.poll()
    server.federation["east"].behave(TellsAtPath(WHO, status, body))
    assert (await facts_of(server, server.use_cases.inspection)).taken_as == taken_as


UP, DOWN = {"state": "RUNNING"}, {"state": "LOST"}


@pytest.mark.parametrize(
    ("listed", "asked"),
    [
        ([DOWN | {"nodeHTTPAddress": "a:1"}, UP | {"nodeHTTPAddress": "b:2"}, UP | {"nodeHTTPAddress": "c:3"}], "b:2"),
        (UP | {"nodeHTTPAddress": "a:1"}, "a:1"),
        (DOWN | {"nodeHTTPAddress": "a:1"}, None),
        ([UP], None),
        ([], None),
        (None, None),
        (7, None),
    ],
    ids=["first that runs", "one by Hadoop 2", "none runs", "no address", "none", "null", "no list"],
)
async def test_the_settings_of_a_node_are_those_of_the_first_that_runs(listed, asked):
    asked_for = []

    async def ask(address: str, request: RestRequest) -> RestAnswer:
        asked_for.append((address, request.path))
        return RestAnswer(200, (), configured(some_key="x"))

    server = ScriptedServer(["east"], nodes={SubClusterId("east"): ask})
    document = {"nodes": None if listed is None else {"node": listed}}
    await server.poll()
    part = server.use_cases.inspection.view.part(SubClusterId("east"), Part.NODES)
    assert part is not None
    told = replace(part, told=json.dumps(document).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(server.use_cases.inspection.view), "part", lambda *_: told)
        settings = (await facts_of(server, server.use_cases.inspection)).node_settings
    assert asked_for == ([] if asked is None else [(asked, "/conf")])
    assert ({} if settings is None else settings).keys() == ({"some.key"} if asked else set())


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        ({"launchTime": 2000, "memorySeconds": 1}, (1.0, 2.0, 9.0, 1)),
        ({"launchTime": 0, "memorySeconds": 5}, (1.0, 1.0, 9.0, 5)),
        ({"launchTime": 500, "memorySeconds": 5}, (1.0, 1.0, 9.0, 5)),
        ({"launchTime": 2000, "memorySeconds": 0}, None),
        ({"launchTime": 2000, "memorySeconds": -1}, None),
    ],
    ids=["all", "launch not told", "launch before arrival", "nothing used", "not told"],
)
async def test_of_what_ended_the_times_are_in_seconds_where_its_use_is_told(fields, kept):
    server = ScriptedServer(["east"])
    one = ApplicationId(1, 1)
    server.federation["east"].add_application(one, "FINISHED")
    server.federation["east"].applications[one] |= {"startedTime": 1000, "finishedTime": 9000, **fields}
    server.federation["east"].add_application(ApplicationId(1, 2), "RUNNING")
    await server.poll()
    leaves = {each.path: each for each in (await facts_of(server, server.use_cases.inspection)).leaves}
    told = [(each.arrived_s, each.launched_s, each.ended_s, each.mib_s) for each in leaves["root.default"].ended]
    assert told == ([] if kept is None else [kept])
    assert leaves["root.prod"].ended == []


@pytest.mark.parametrize(
    ("applications", "waiting", "held_mib", "maximum_mib", "told"),
    [
        (3, 1, 4096, 6144, (2048.0, 6144)),
        (1, 0, 512, 0, (512.0, 8192)),
        (1, 1, 512, 1, (0.0, 1)),
        (0, 0, 0, 1, (0.0, 1)),
    ],
)
async def test_a_leaf_tells_what_one_of_its_running_masters_holds_and_what_it_may_hold(
    applications, waiting, held_mib, maximum_mib, told
):
    server = ScriptedServer(["east"])
    await server.poll()
    view = server.use_cases.inspection.view
    seen = view.look(SubClusterId("east"), server.federation.clock.now_s())
    leaf = seen.queues["root.default"]
    part = replace(leaf.in_partition(""), masters_used=ResourceVector(held_mib, 1))
    leaf = replace(
        leaf,
        applications=applications,
        waiting_applications=waiting,
        maximum=ResourceVector(maximum_mib, 1),
        partitions=(part,),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(view), "look", lambda *_: replace(seen, queues={leaf.path: leaf}))
        (found,) = (await facts_of(server, server.use_cases.inspection)).leaves
    assert (found.master_mib, found.maximum_mib) == told


def test_who_closed_a_cluster_is_told_with_the_reason_if_there_is_one():
    word = AdmissionWord(Admission.DRAINING, by="ada", at_ms=1_700_000_000_000, reason="new racks")
    assert told_of_word(None) == ""
    assert told_of_word(word) == f"{Admission.DRAINING.value} since 2023-11-14T22:13:20.000Z by ada: new racks"
    assert told_of_word(replace(word, reason="")).endswith(" by ada")


def test_an_operators_word_stands_over_what_could_take_applications_and_retirement_over_all():
    told = {(state.name, word.name): word_for(state, word) for state in SubClusterState for word in Admission}
    for (state, word), shown in told.items():
        usable = SubClusterState[state].is_usable
        expected = {"RETIRED": "RETIRED", "OPEN": state}.get(word, word if usable else state)
        assert shown == expected, (state, word)


async def test_a_retired_cluster_that_answers_is_back_and_one_that_does_not_is_not():
    server = ScriptedServer(["east"])
    await server.poll()
    inspection = server.use_cases.inspection
    east = SubClusterId("east")
    inspection.view.retire([east])
    back = replace(inspection, unfenced={east: server.federation["east"]})
    facts = await facts_of(server, back)
    assert (facts.is_retired, facts.is_back) == (True, True)
    assert (await facts_of(server, replace(back, unfenced={}))).is_back is False
    server.federation["east"].behave(IsNeverReached())
    assert (await facts_of(server, back)).is_back is False


async def test_a_cluster_that_never_reported_is_as_old_as_this_process():
    server = ScriptedServer(["east", "west"])
    server.federation["west"].behave(IsNeverReached())
    inspection = replace(server.use_cases.inspection, changes={SubClusterId("east"): ("one",)})
    await server.federation.clock.advance(7.0)

    def told():
        return [(each.is_heard, each.age_s, each.nodes, each.changes) for each in inspection.clusters()]

    assert told() == [(False, 7.0, 0, ("one",)), (False, 7.0, 0, ())]
    await server.poll()
    await server.federation.clock.advance(3.0)
    (east, west) = told()
    assert east == (True, 3.0, 1, ("one",))
    assert west == (False, 10.0, 0, ())
