"""Documents of every supported Hadoop are read: what differs between versions is recorded, not remembered."""

import json

import pytest

from shim.domain.ids import SubClusterId
from shim.domain.subclusters import HaState
from shim.lab import SUPPORTED_VERSIONS
from shim.protocol.rest.documents import ApplicationReader, application_objects, read_info, read_metrics, read_nodes
from shim.protocol.rest.identifiers import path_application
from shim.protocol.rest.queue_trees import read_scheduler
from tests.doubles.recorded import recorded_exchanges

pytestmark = pytest.mark.parametrize("version", SUPPORTED_VERSIONS)


def answer(version, name):
    exchange = recorded_exchanges(version)[name]
    assert exchange.status == 200
    return exchange.body


def test_info_says_the_version_and_who_is_active(version):
    info = read_info(answer(version, "get_empty/info.json"))
    assert (info.version, info.ha_state) == (version, HaState.ACTIVE)


def test_metrics_nodes_and_queues_say_the_same_of_the_size(version):
    total = read_metrics(answer(version, "get_empty/metrics.json")).capacity
    nodes = read_nodes(answer(version, "get_empty/nodes.json"))
    assert sum(node.total.memory_mib for node in nodes) == total.memory_mib == 8192
    document = read_scheduler(answer(version, "get_empty/scheduler.json"), total)
    shares = {queue.path: queue.capacity.memory_mib for queue in document.queues}
    assert shares == {"root": 8192, "root.default": 4096, "root.prod": 4096}


def test_a_list_of_one_application_is_read(version):
    (row,) = application_objects(answer(version, "apps_one/apps.json"))
    document = ApplicationReader(SubClusterId("home"))(row, 0.0)
    assert document.summary.user == "alice"
    assert document.summary.queue.rpartition(".")[2] == "default"
    assert json.loads(answer(version, "apps_one/app.json"))["app"]["id"] == str(document.summary.application_id)
    assert path_application(str(document.summary.application_id)) == document.summary.application_id
