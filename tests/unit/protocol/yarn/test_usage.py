"""Accounts in Hadoop's reports."""

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.usage import Account, PartUsage
from shim.protocol.proto.messages import (
    ApplicationReportProto,
    ApplicationResourceUsageReportProto,
    GetApplicationReportResponseProto,
    GetApplicationsResponseProto,
    ResourceInformationProto,
    ResourceProto,
    StringLongMapProto,
)
from shim.protocol.yarn.usage import with_account, with_accounts
from shim.protocol.yarn.wire import application_message

WEST = SubClusterId("west")
HOLDS = {"containers": 2, "memory_mib": 256, "vcores": 2, "reserved_mib": 8}
SPENT = {"memory_mib_s": 1000, "vcore_s": 20, "preempted_vcore_s": 3, "seconds/memory-mb": 1000, "seconds/gpu": 4}
ACCOUNT = Account(None, {WEST: PartUsage((1, 1), SPENT, holds=HOLDS)})


def a_resource(memory, vcores):
    types = [
        ResourceInformationProto(key="memory-mb", value=memory),
        ResourceInformationProto(key="vcores", value=vcores),
    ]
    return ResourceProto(memory=memory, virtual_cores=vcores, resource_value_map=types)


def a_report(number=1, **more):
    usage = ApplicationResourceUsageReportProto(
        num_used_containers=3,
        used_resources=a_resource(384, 3),
        reserved_resources=a_resource(0, 0),
        needed_resources=a_resource(384, 3),
        memory_seconds=704,
        vcore_seconds=5,
        application_resource_usage_map=[StringLongMapProto(key="memory-mb", value=704)],
    )
    usage.MergeFrom(ApplicationResourceUsageReportProto(**more))
    return ApplicationReportProto(
        applicationId=application_message(ApplicationId(1_700_000_000_000, number)), name="é", app_resource_Usage=usage
    )


def test_a_report_has_the_use_of_all_clusters():
    payload = GetApplicationReportResponseProto(application_report=a_report()).SerializeToString()
    report = GetApplicationReportResponseProto.FromString(with_account(payload, ACCOUNT)).application_report
    usage = report.app_resource_Usage
    assert (usage.memory_seconds, usage.vcore_seconds, usage.preempted_vcore_seconds) == (1704, 25, 3)
    told = sorted((each.key, each.value) for each in usage.application_resource_usage_map)
    assert told == [("gpu", 4), ("memory-mb", 1704)], "each once"
    assert usage.num_used_containers == 5
    assert usage.used_resources == a_resource(640, 5)
    assert usage.reserved_resources == a_resource(8, 0)
    assert usage.needed_resources == a_resource(648, 5), "what is used, and what is reserved"
    assert report.name == "é"


def test_who_may_not_see_what_is_used_does_not_see_it_of_others_either():
    hidden = a_report(memory_seconds=-1, num_used_containers=-1)
    payload = GetApplicationReportResponseProto(application_report=hidden).SerializeToString()
    assert with_account(payload, ACCOUNT) == payload


def test_of_a_list_only_reports_with_accounts_change():
    reports = [a_report(number) for number in range(1, 400)]
    payload = GetApplicationsResponseProto(applications=reports).SerializeToString()
    assert with_accounts(payload, lambda _: None) is payload
    asked = []

    def find(application):
        asked.append(application.sequence)
        return ACCOUNT if application.sequence in {2, 300} else None

    listed = GetApplicationsResponseProto.FromString(with_accounts(payload, find)).applications
    changed = [each.applicationId.id for each, before in zip(listed, reports, strict=True) if each != before]
    assert changed == [2, 300]
    assert asked == list(range(1, 400))


def test_a_list_of_another_form_stays_as_it_came():
    payload = GetApplicationsResponseProto(applications=[a_report()]).SerializeToString()
    for broken in (b"", b"\x12\x00", b"\x0a", payload[:-3], b"\x0a\x02\x08\x01", b"\x0a\x00", payload + b"\xff" * 20):
        assert with_accounts(broken, lambda _: ACCOUNT) == broken
