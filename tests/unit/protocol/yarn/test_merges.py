"""Answers of several clusters become one; the answer of one cluster stays what it is."""

import pytest

from shim.domain.applications import SPAN_TAG
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    ApplicationIdProto,
    ApplicationReportProto,
    AttributeToNodesProto,
    GetAllResourceTypeInfoResponseProto,
    GetApplicationsResponseProto,
    GetAttributesToNodesResponseProto,
    GetClusterMetricsResponseProto,
    GetClusterNodeAttributesResponseProto,
    GetClusterNodeLabelsResponseProto,
    GetClusterNodesResponseProto,
    GetLabelsToNodesResponseProto,
    GetNodesToAttributesResponseProto,
    GetNodesToLabelsResponseProto,
    GetQueueInfoResponseProto,
    GetQueueUserAclsInfoResponseProto,
    LabelsToNodeIdsProto,
    NodeAttributeInfoProto,
    NodeAttributeKeyProto,
    NodeIdProto,
    NodeIdToLabelsProto,
    NodeLabelProto,
    NodeReportProto,
    NodeToAttributesProto,
    NodeToAttributeValueProto,
    QueueACLProto,
    QueueInfoProto,
    QueueStateProto,
    QueueStatisticsProto,
    QueueUserACLInfoProto,
    ReservationAllocationStateProto,
    ReservationListResponseProto,
    ResourceTypeInfoProto,
    YarnClusterMetricsProto,
)
from shim.protocol.yarn import merges
from shim.protocol.yarn.merges import (
    MERGES,
    ClusterAnswer,
    join_applications,
    merge_applications,
    merge_queue_info,
    name_queue,
)
from shim.server.rpc.client_methods import CLIENT_METHODS
from shim.server.ways import Way


def an_application(number, started=0):
    return ApplicationReportProto(applicationId=ApplicationIdProto(id=number, cluster_timestamp=1), startTime=started)


def a_node(host):
    return NodeIdProto(host=host, port=45454)


GPU = NodeAttributeKeyProto(attributeName="gpu")
EXAMPLES = {
    "getApplications": GetApplicationsResponseProto(applications=[an_application(1), an_application(2)]),
    "getClusterMetrics": GetClusterMetricsResponseProto(
        cluster_metrics=YarnClusterMetricsProto(num_node_managers=3, num_lost_nms=1)
    ),
    "getClusterNodes": GetClusterNodesResponseProto(nodeReports=[NodeReportProto(nodeId=a_node("a"))]),
    "getQueueInfo": GetQueueInfoResponseProto(
        queueInfo=QueueInfoProto(queueName="root", capacity=1.0, childQueues=[QueueInfoProto(queueName="default")])
    ),
    "getQueueUserAcls": GetQueueUserAclsInfoResponseProto(
        queueUserAcls=[QueueUserACLInfoProto(queueName="root", userAcls=[QueueACLProto.QACL_ADMINISTER_QUEUE])]
    ),
    "getNodeToLabels": GetNodesToLabelsResponseProto(
        nodeToLabels=[NodeIdToLabelsProto(nodeId=a_node("a"), nodeLabels=["gpu"])]
    ),
    "getLabelsToNodes": GetLabelsToNodesResponseProto(
        labelsToNodes=[LabelsToNodeIdsProto(nodeLabels="gpu", nodeId=[a_node("a")])]
    ),
    "getClusterNodeLabels": GetClusterNodeLabelsResponseProto(
        deprecatedNodeLabels=["gpu"], nodeLabels=[NodeLabelProto(name="gpu", isExclusive=False)]
    ),
    "getResourceTypeInfo": GetAllResourceTypeInfoResponseProto(
        resource_type_info=[ResourceTypeInfoProto(name="memory-mb", units="Mi")]
    ),
    "getClusterNodeAttributes": GetClusterNodeAttributesResponseProto(
        nodeAttributes=[NodeAttributeInfoProto(attributeKey=GPU, attributeType=1)]
    ),
    "getAttributesToNodes": GetAttributesToNodesResponseProto(
        attributesToNodes=[
            AttributeToNodesProto(
                nodeAttribute=GPU, nodeValueMap=[NodeToAttributeValueProto(hostname="a", attributeValue="v100")]
            )
        ]
    ),
    "getNodesToAttributes": GetNodesToAttributesResponseProto(nodesToAttributes=[NodeToAttributesProto(node="a")]),
    "listReservations": ReservationListResponseProto(reservations=[ReservationAllocationStateProto(user="alice")]),
}


def parts(*messages, weights=None):
    sizes = weights or [1.0] * len(messages)
    return [ClusterAnswer(message.SerializeToString(), size) for message, size in zip(messages, sizes, strict=True)]


def test_there_is_a_merge_for_every_method_that_is_merged():
    assert {name for name, row in CLIENT_METHODS.items() if row.way is Way.MERGE} | {"getApplications"} == set(MERGES)
    assert set(EXAMPLES) == set(MERGES)


@pytest.mark.parametrize("method", sorted(MERGES))
def test_the_answer_of_one_cluster_alone_stays_what_it_is(method):
    merged = MERGES[method](parts(EXAMPLES[method]))

    assert merged == EXAMPLES[method]
    assert type(merged) is APPLICATION_CLIENT.methods[method].answer


@pytest.mark.parametrize("method", sorted(MERGES))
def test_of_no_cluster_there_is_an_empty_answer(method):
    assert MERGES[method]([]) is not None


@pytest.mark.parametrize(
    ("method", "field", "count"),
    [
        ("getApplications", "applications", 4),
        ("getClusterNodes", "nodeReports", 2),
        ("getNodeToLabels", "nodeToLabels", 2),
        ("listReservations", "reservations", 2),
        ("getQueueUserAcls", "queueUserAcls", 1),
        ("getLabelsToNodes", "labelsToNodes", 1),
        ("getClusterNodeLabels", "nodeLabels", 1),
        ("getResourceTypeInfo", "resource_type_info", 1),
        ("getClusterNodeAttributes", "nodeAttributes", 1),
        ("getAttributesToNodes", "attributesToNodes", 1),
    ],
)
def test_lists_are_joined_and_what_has_a_name_is_there_once(method, field, count):
    merged = MERGES[method](parts(EXAMPLES[method], EXAMPLES[method]))

    assert len(getattr(merged, field)) == count


def test_nodes_of_a_label_and_of_an_attribute_come_from_both_clusters():
    labels = MERGES["getLabelsToNodes"](parts(EXAMPLES["getLabelsToNodes"], EXAMPLES["getLabelsToNodes"]))
    attributes = MERGES["getAttributesToNodes"](
        parts(EXAMPLES["getAttributesToNodes"], EXAMPLES["getAttributesToNodes"])
    )

    assert len(labels.labelsToNodes[0].nodeId) == 2
    assert len(attributes.attributesToNodes[0].nodeValueMap) == 2


def test_counts_are_added():
    merged = MERGES["getClusterMetrics"](parts(EXAMPLES["getClusterMetrics"], EXAMPLES["getClusterMetrics"]))

    assert (merged.cluster_metrics.num_node_managers, merged.cluster_metrics.num_lost_nms) == (6, 2)


def test_a_user_may_do_what_some_cluster_allows():
    other = GetQueueUserAclsInfoResponseProto(
        queueUserAcls=[QueueUserACLInfoProto(queueName="root", userAcls=[QueueACLProto.QACL_SUBMIT_APPLICATIONS])]
    )

    merged = MERGES["getQueueUserAcls"](parts(EXAMPLES["getQueueUserAcls"], other))

    assert set(merged.queueUserAcls[0].userAcls) == set(QueueACLProto.values())


def test_a_limit_keeps_the_newest_of_all():
    one = GetApplicationsResponseProto(applications=[an_application(1, 10), an_application(2, 40)])
    other = GetApplicationsResponseProto(applications=[an_application(3, 30), an_application(4, 20)])

    merged = GetApplicationsResponseProto.FromString(merge_applications(parts(one, other), limit=2))

    assert [report.applicationId.id for report in merged.applications] == [2, 3]


def test_what_has_its_home_elsewhere_is_left_out_and_each_report_decoded_once(monkeypatch):
    decoded = []

    class Counted:
        @staticmethod
        def FromString(raw):  # noqa: N802 - of protobuf
            decoded.append(raw)
            return ApplicationReportProto.FromString(raw)

    monkeypatch.setattr(merges, "ApplicationReportProto", Counted)
    one = GetApplicationsResponseProto(applications=[an_application(1, 10), an_application(2, 40)])
    other = GetApplicationsResponseProto(applications=[an_application(3, 30), an_application(2, 50)])
    traces = ClusterAnswer(other.SerializeToString(), is_elsewhere=lambda id_: id_.sequence == 2)
    own = [an_application(1, 10), an_application(5, 35)]

    listed = merge_applications([*parts(one), traces], own, limit=3)

    told = GetApplicationsResponseProto.FromString(listed).applications
    assert [(report.applicationId.id, report.startTime) for report in told] == [(2, 40), (5, 35), (3, 30)]
    assert len(decoded) == 4
    assert join_applications([*parts(one), traces]) is None


def test_lists_join_as_their_bytes_where_nothing_has_to_be_left_out():
    one = GetApplicationsResponseProto(applications=[an_application(1, 10), an_application(2, 40)])
    other = GetApplicationsResponseProto(applications=[an_application(3, 30)])
    joined = join_applications(parts(one, other))
    assert joined == merge_applications(parts(one, other))

    stands_in = an_application(3, 30)
    stands_in.applicationTags.append(SPAN_TAG)
    assert join_applications(parts(one, GetApplicationsResponseProto(applications=[stands_in]))) is None


def a_queue(name, capacity, *children, state=QueueStateProto.Q_RUNNING, running=0):
    return QueueInfoProto(
        queueName=name,
        capacity=capacity,
        maximumCapacity=1.0,
        currentCapacity=capacity / 2,
        state=state,
        childQueues=children,
        queueStatistics=QueueStatisticsProto(numAppsRunning=running),
    )


def as_answer(queue):
    return GetQueueInfoResponseProto(queueInfo=queue)


def test_a_queues_shares_are_averaged_by_the_size_of_the_clusters_and_its_counts_added():
    merged = merge_queue_info(
        parts(as_answer(a_queue("q", 0.2, running=1)), as_answer(a_queue("q", 0.6, running=2)), weights=[3.0, 1.0])
    ).queueInfo

    assert merged.capacity == pytest.approx(0.3)
    assert merged.currentCapacity == pytest.approx(0.15)
    assert merged.maximumCapacity == pytest.approx(1.0)
    assert merged.queueStatistics.numAppsRunning == 3


@pytest.mark.parametrize("name", ["maxResourceMemory", "maxResourceVCore", "maxRunningApp"])
def test_what_is_not_limited_in_each_cluster_is_not_limited_in_their_sum(name):
    no_limit, some = a_queue("q", 1.0), a_queue("q", 1.0)
    setattr(no_limit, name, 2**31 - 1)
    setattr(some, name, 5)
    assert getattr(merge_queue_info(parts(as_answer(some), as_answer(some))).queueInfo, name) == 10
    for other in (some, no_limit):
        assert getattr(merge_queue_info(parts(as_answer(no_limit), as_answer(other))).queueInfo, name) == 2**31 - 1


def test_a_queues_children_are_those_of_both_clusters():
    merged = merge_queue_info(
        parts(
            as_answer(a_queue("root", 1.0, a_queue("a", 0.5), a_queue("b", 0.5))),
            as_answer(a_queue("root", 1.0, a_queue("b", 1.0), a_queue("c", 0.0))),
        )
    ).queueInfo

    assert {child.queueName: round(child.capacity, 6) for child in merged.childQueues} == {"a": 0.5, "b": 0.75, "c": 0}


def test_a_queue_runs_if_it_runs_somewhere():
    stopped = as_answer(a_queue("q", 1.0, state=QueueStateProto.Q_STOPPED))

    merged = merge_queue_info(parts(stopped, as_answer(a_queue("q", 1.0))))

    assert merged.queueInfo.state == QueueStateProto.Q_RUNNING


def test_a_queue_that_one_cluster_lacks_is_the_other_ones():
    merged = merge_queue_info(parts(GetQueueInfoResponseProto(), as_answer(a_queue("q", 0.4))))

    assert merged.queueInfo == a_queue("q", 0.4)


def test_fields_that_are_unknown_survive_a_merge():
    newer = bytes.fromhex("fa0704deadbeef")
    merged = MERGES["getClusterNodes"](
        [ClusterAnswer(newer), ClusterAnswer(EXAMPLES["getClusterNodes"].SerializeToString())]
    )

    assert newer in merged.SerializeToString()


def test_a_report_that_cannot_be_read_costs_itself_alone():
    good = GetApplicationsResponseProto(applications=[an_application(1)]).SerializeToString()
    odd = b"\x0a\x02\x0a\x63"  # a report whose id is longer than the report
    listed = merge_applications([ClusterAnswer(odd + good), ClusterAnswer(good + odd)], limit=5)
    assert [each.applicationId.id for each in GetApplicationsResponseProto.FromString(listed).applications] == [1, 1]


def test_queues_of_the_same_path_are_one_though_a_fair_scheduler_tells_paths():
    told = [
        GetQueueInfoResponseProto(
            queueInfo=QueueInfoProto(
                queueName="root", childQueues=[QueueInfoProto(queueName=name, capacity=0.5) for name in names]
            )
        )
        for names in (("default", "etl"), ("root.default", "root.dev"))
    ]
    merged = merge_queue_info(parts(*told)).queueInfo
    assert [child.queueName for child in merged.childQueues] == ["default", "etl", "root.dev"]
    acls = [
        GetQueueUserAclsInfoResponseProto(
            queueUserAcls=[QueueUserACLInfoProto(queueName=name, userAcls=[acl]) for name in names]
        )
        for names, acl in (
            (("root", "default"), QueueACLProto.QACL_SUBMIT_APPLICATIONS),
            (("root", "root.default"), QueueACLProto.QACL_ADMINISTER_QUEUE),
        )
    ]
    listed = MERGES["getQueueUserAcls"](parts(*acls)).queueUserAcls
    assert [(each.queueName, len(each.userAcls)) for each in listed] == [("root", 2), ("default", 2)]


@pytest.mark.parametrize("limit", range(9))
def test_of_those_that_were_submitted_at_once_the_latest_ids_are_the_newest(limit):
    """By the moment, then the issuer, then the number, whichever cluster tells of it."""
    ids = [(started, timestamp, number) for started in (5, 6) for timestamp in (1, 2) for number in (1, 2)]
    reports = [
        ApplicationReportProto(
            applicationId=ApplicationIdProto(id=number, cluster_timestamp=timestamp), startTime=started
        )
        for started, timestamp, number in ids
    ]
    told = parts(*(GetApplicationsResponseProto(applications=reports[at::3]) for at in range(3)))
    merged = GetApplicationsResponseProto.FromString(merge_applications(told, limit=limit))
    found = [
        (each.startTime, each.applicationId.cluster_timestamp, each.applicationId.id) for each in merged.applications
    ]
    newest = sorted(ids, reverse=True)[:limit]
    assert (found if limit < len(ids) else sorted(found, reverse=True)) == newest


def test_own_reports_are_listed_unless_a_cluster_tells_of_them_even_if_it_is_left_out():
    spans = an_application(2, 20)
    spans.applicationTags.append(SPAN_TAG)
    told = GetApplicationsResponseProto(applications=[an_application(1, 10), spans])
    own = [an_application(1, 11), an_application(2, 21), an_application(3, 31)]
    merged = GetApplicationsResponseProto.FromString(merge_applications(parts(told), own))
    assert [(each.applicationId.id, each.startTime) for each in merged.applications] == [(1, 10), (3, 31)]


@pytest.mark.parametrize(
    ("told", "path", "asked", "name", "full"),
    [
        ("batch", "root.a.batch", "root.prod", "prod", "root.prod"),
        ("root.a.batch", "", "root.prod", "root.prod", ""),
        ("batch", "", "prod", "prod", ""),
        ("prod", "root.prod", "prod", "prod", "root.prod"),
        ("root.prod", "", "prod", "root.prod", ""),
    ],
)
def test_a_queue_that_is_called_otherwise_there_has_the_name_that_was_asked_for(told, path, asked, name, full):
    answer = GetQueueInfoResponseProto(queueInfo=QueueInfoProto(queueName=told, queuePath=path))
    name_queue(answer, asked)
    assert (answer.queueInfo.queueName, answer.queueInfo.queuePath) == (name, full)


def test_no_queue_gets_no_name():
    answer = GetQueueInfoResponseProto()
    name_queue(answer, "root.prod")
    assert not answer.HasField("queueInfo")
