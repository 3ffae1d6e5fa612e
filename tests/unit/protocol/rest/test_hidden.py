"""Rows for those who may not see, against rows that a ResourceManager with `yarn.acl.enable` showed."""

import json

from shim.protocol.rest.hidden import hidden_application

WHOLE = {
    "id": "application_1_1",
    "user": "alice",
    "name": "sleeper",
    "queue": "root.default",
    "state": "RUNNING",
    "trackingUrl": "http://rm:8088/proxy/application_1_1/",
    "diagnostics": "secret",
    "startedTime": 5,
    "amContainerLogs": "http://nm:8042/node/containerlogs/c/alice",
    "allocatedMB": 256,
    "masterNodeId": "nm:1",
    "resourceInfo": {"resourceUsagesByPartition": []},
    "timeouts": {"timeout": []},
    "memberOfALaterHadoop": "secret",
}


def test_what_identifies_an_application_stays_and_all_else_is_emptied_or_left_out():
    assert json.loads(hidden_application(json.dumps(WHOLE).encode())) == {
        "id": "application_1_1",
        "user": "alice",
        "name": "sleeper",
        "queue": "root.default",
        "state": "RUNNING",
        "diagnostics": "N/A",
        "startedTime": 0,
        "allocatedMB": 0,
        "masterNodeId": "",
    }


def test_a_member_that_a_hadoop_does_not_tell_is_not_made_up():
    assert hidden_application(b'{"id":"application_1_1"}') == b'{"id":"application_1_1"}'
