"""Heddle does not begin to span where it would end badly."""

import json

import pytest

from shim.app.multicluster import _keeps_containers
from shim.app.use_cases import assemble
from shim.config.loader import parse
from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.resources import ResourceVector
from shim.domain.submissions import HomeDecision, Submission, SubmissionRecord, SubmissionState
from shim.errors import ConfigError
from shim.ports.resource_manager import ResourceManager, RestAnswer
from shim.protocol.proto.messages import ApplicationSubmissionContextProto, SubmitApplicationRequestProto
from shim.protocol.yarn import RPC_SUBMISSION
from shim.simulation.state_stores import InMemoryStateStore
from tests.doubles.clock import FakeClock
from tests.doubles.federation import a_runtime, in_memory_clusters

EAST, WEST = SubClusterId("east"), SubClusterId("west")
CLUSTERS = "".join(f'[[subcluster]]\nid = "{name}"\nweb = "http://{name}:8088"\n' for name in (EAST, WEST))
SPANS = '[[queue]]\nname = "root.prod"\nspan = true\nprefers.west = 2\n'
SECRET = '[security]\nsecret_file = "s"\n'


def a_config(text: str):
    return parse(text + CLUSTERS, source="heddle.toml", environment={})


class Conf(ResourceManager):
    """Implements `ResourceManager` for `/conf`."""

    def __init__(self, subcluster: SubClusterId, epoch: str) -> None:
        self._subcluster = subcluster
        properties = [{"key": "yarn.resourcemanager.epoch", "value": epoch}]
        self._answer = RestAnswer(200, (), json.dumps({"properties": properties}).encode())

    @property
    def subcluster(self) -> SubClusterId:
        return self._subcluster

    async def forward(self, *_: object, **__: object) -> RestAnswer:
        return self._answer


def use_cases(text, *epochs):
    """What is assembled of a configuration, over sub-clusters with these epochs."""
    clusters = in_memory_clusters({name: Conf(name, epoch) for name, epoch in zip((EAST, WEST), epochs, strict=True)})
    return assemble(a_runtime(clusters, FakeClock(100.0), config=text))


async def checked(text, *epochs):
    made = use_cases(text, *epochs)
    await made.spans.check(made.shares.policy())


def test_queues_that_span_need_a_secret_that_outlives_the_process():
    with pytest.raises(ConfigError, match=r"security\.secret_file.*root\.prod has span = true.*openssl"):
        a_config(SPANS)
    assert a_config(SPANS + SECRET).queues[0].prefers == {"west": 2.0}


async def test_equal_epochs_are_refused_where_queues_span_and_nowhere_else():
    with pytest.raises(ConfigError, match=r"east has 5, west has 5.*would collide"):
        await checked(SPANS + SECRET, "5", "5")
    await checked(SPANS + SECRET, "5", "6")
    await checked(SPANS + SECRET, "0", "0")  # homes, and no place to span to
    await checked("", "5", "5")


APPLICATION = ApplicationId(1, 1)
KEEPS = "keep-containers-across-application-attempts"


def by_rpc(*, keeps: bool) -> bytes:
    context = ApplicationSubmissionContextProto(keep_containers_across_application_attempts=keeps)
    return SubmitApplicationRequestProto(application_submission_context=context).SerializeToString()


@pytest.mark.parametrize(
    ("content_type", "body", "keeps"),
    [
        (RPC_SUBMISSION, by_rpc(keeps=True), True),
        (RPC_SUBMISSION, by_rpc(keeps=False), False),
        ("application/json", json.dumps({KEEPS: True}).encode(), True),
        ("application/json", b"{}", False),
        (
            "application/xml",
            f"<application-submission-context><{KEEPS}>true</{KEEPS}></application-submission-context>".encode(),
            True,
        ),
        ("application/json", b"", False),
    ],
)
async def test_whether_containers_outlive_attempts_is_what_the_submission_says(content_type, body, keeps):
    store = InMemoryStateStore(lambda: 100.0)
    assert not await _keeps_containers(store, APPLICATION), "it did not come through here"
    submission = Submission(APPLICATION, "ada", "n", "q", ResourceVector(), "", False, body, content_type)  # noqa: FBT003
    decision = HomeDecision(EAST, "", ())
    await store.insert_intent(SubmissionRecord(submission, b"h", EAST, 1, SubmissionState.INTENDED, 1, decision))
    assert await _keeps_containers(store, APPLICATION) is keeps
