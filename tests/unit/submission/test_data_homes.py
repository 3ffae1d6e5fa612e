"""An application whose files lie in a sub-cluster's own file systems prefers it as its home."""

import json

import pytest

from shim.domain.file_systems import MOST_RESOURCES, FileSystems
from shim.domain.ids import SubClusterId
from shim.domain.resources import ResourceVector
from shim.federation.core.federation_view import FederationView, ViewSettings
from shim.protocol.proto.messages import SubmitApplicationRequestProto
from shim.protocol.yarn.submissions import RPC_SUBMISSION
from shim.submission.core.home import HomeSettings, choose_home, next_best
from shim.submission.homes import data_parts
from tests.doubles.builders import a_submission
from tests.doubles.reports import a_report
from tests.doubles.settings import usual

EAST, WEST = SubClusterId("east"), SubClusterId("west")
SYSTEMS = FileSystems({EAST: frozenset({"hdfs://nn-east"}), WEST: frozenset({"hdfs://nn-west"})})
NOW_S = 101.0


def by_rpc(*urls):
    """A submission as Hadoop's client sends it; each URL is a scheme, a host and a port."""
    request = SubmitApplicationRequestProto()
    context = request.application_submission_context
    context.application_id.id, context.application_id.cluster_timestamp = 1, 1
    for number, (scheme, host, port) in enumerate(urls):
        entry = context.am_container_spec.localResources.add(key=f"file-{number}")
        entry.value.resource.scheme, entry.value.resource.host, entry.value.resource.port = scheme, host, port
        entry.value.resource.file = "/user/alice/job.jar"
        entry.value.size, entry.value.timestamp = 1, 1
        entry.value.type, entry.value.visibility = 1, 1
    return a_submission(body=request.SerializePartialToString(), content_type=RPC_SUBMISSION)


def by_rest(*urls):
    entries = [{"key": str(number), "value": {"resource": url}} for number, url in enumerate(urls)]
    context = {"application-id": "application_1_0001", "am-container-spec": {"local-resources": {"entry": entries}}}
    return a_submission(body=json.dumps(context).encode(), content_type="application/json")


def a_view(**used):
    """A view of sub-clusters of 100 GiB, of which so many are in use."""
    view = FederationView((EAST, WEST), usual(ViewSettings, late_after_s=6.0))
    for name in ("east", "west"):
        amount = ResourceVector(1024 * used.get(name, 0), used.get(name, 0))
        view.apply(a_report(name, capacity=ResourceVector(102_400, 100), used=amount))
    return view


@pytest.mark.parametrize(
    ("submission", "parts"),
    [
        (by_rpc(("hdfs", "nn-west", 8020)), {WEST: 1.0}),
        (by_rpc(("hdfs", "nn-west", -1)), {WEST: 1.0}),
        (by_rpc(("hdfs", "nn-west", 8020), ("hdfs", "nn-east", 8020), ("s3a", "b", 0)), {EAST: 0.5, WEST: 0.5}),
        (by_rpc(("hdfs", "nn-west/../x", 8020)), {WEST: 1.0}),
        (by_rpc(("", "nn-west", 8020)), {}),
        (by_rpc(("hdfs", "", 8020)), {}),
        (by_rpc(*[("file", "", 0)] * MOST_RESOURCES, ("hdfs", "nn-west", 8020)), {}),
        (by_rpc(), {}),
        (by_rest("hdfs://nn-west:8020/x/job.jar", "file:///tmp/x"), {WEST: 1.0}),
        (by_rest("/x"), {}),
        (a_submission(body=b""), {}),
    ],
)
def test_the_files_of_a_submission_tell_where_it_should_live(submission, parts):
    assert data_parts(SYSTEMS)(submission) == parts


def test_nothing_is_read_where_no_file_systems_are_configured():
    assert data_parts(FileSystems())(by_rpc(("hdfs", "nn-west", 8020))) == {}


def settings(worth=0.1):
    return HomeSettings(queue_weight=0.0, data_parts=data_parts(SYSTEMS), home_with_data=worth)


def chosen(view, submission, rules):
    return choose_home(submission, view, {}, NOW_S, rules)


def test_among_equals_the_home_is_where_the_files_lie_and_the_decision_says_so():
    decision = chosen(a_view(), by_rpc(("hdfs", "nn-west", 8020)), settings())
    assert decision.home_subcluster == WEST
    assert "100% of its files are in its file systems (home_with_data)" in decision.reason
    assert chosen(a_view(), by_rpc(), settings()) == chosen(a_view(), by_rpc(), HomeSettings(queue_weight=0.0))


@pytest.mark.parametrize(("used", "home"), [(9, WEST), (11, EAST)])
def test_files_are_worth_no_more_than_is_configured(used, home):
    assert chosen(a_view(west=used), by_rpc(("hdfs", "nn-west", 8020)), settings()).home_subcluster == home


def test_files_that_are_worth_nothing_change_nothing():
    submission = by_rpc(("hdfs", "nn-west", 8020))
    assert chosen(a_view(), submission, settings(0.0)) == chosen(a_view(), submission, HomeSettings(queue_weight=0.0))


def test_a_local_master_is_not_asked_to_keep_what_the_files_are_worth():
    """It judges by what it knows, which is not where files lie: else it would reject every such home."""
    decision = chosen(a_view(west=5), by_rpc(("hdfs", "nn-west", 8020)), settings())
    assert decision.home_subcluster == WEST
    own = chosen(a_view(west=5), by_rpc(), settings()).candidates[1].score
    at_least = next_best(decision)
    assert at_least is not None
    assert own is not None
    assert at_least <= own
