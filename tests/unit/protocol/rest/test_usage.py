"""Use in the documents of real ResourceManagers: read, and replaced with nothing else touched."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain.ids import SubClusterId
from shim.domain.usage import NO_USAGE, Account, PartUsage, Usage
from shim.protocol.rest.usage import HOLDS, SPENT, SPENT_MAPS, UsageForm

FORM = UsageForm()
WEST = SubClusterId("west")
RUNNING = (
    b'{"id":"application_1_1","progress":5.0E-1,"allocatedMB":384,"allocatedVCores":3,"reservedMB":0,"reservedVCores":0,'
    b'"runningContainers":3,"memorySeconds":704,"vcoreSeconds":5,"queueUsagePercentage":50.000002,'
    b'"resourceSecondsMap":{"entry":{"key":"memory-mb","value":"704"},"entry":{"key":"vcores","value":"5"}},'
    b'"preemptedResourceMB":0,"numNonAMContainerPreempted":1,"preemptedResourceSecondsMap":{},"name":"\\u00e9"}'
)
ENDED = RUNNING.replace(b":384", b":-1").replace(b'"runningContainers":3', b'"runningContainers":-1')


def beyond(**spent):
    return Account(None, {WEST: PartUsage((1, 1), spent, holds={"containers": 2, "memory_mib": 256})})


def test_use_is_read():
    assert FORM.read(RUNNING) == Usage(
        {
            "memory_mib_s": 704,
            "vcore_s": 5,
            "preempted_mib": 0,
            "preempted_containers": 1,
            "seconds/memory-mb": 704,
            "seconds/vcores": 5,
        },
        {"containers": 3, "memory_mib": 384, "vcores": 3, "reserved_mib": 0, "reserved_vcores": 0},
    )
    assert "containers" not in FORM.read(ENDED).holds


def test_the_account_takes_the_place_of_the_homes_numbers_and_of_nothing_else():
    account = beyond(
        memory_mib_s=1000, vcore_s=20, preempted_containers=2, **{"seconds/memory-mb": 1000, "seconds/gpu": 4}
    )
    shown = FORM.show(RUNNING, account)
    expected = (
        RUNNING.replace(b'"memorySeconds":704', b'"memorySeconds":1704')
        .replace(b'"vcoreSeconds":5', b'"vcoreSeconds":25')
        .replace(b'"allocatedMB":384', b'"allocatedMB":640')
        .replace(b'"runningContainers":3', b'"runningContainers":5')
        .replace(b'"numNonAMContainerPreempted":1', b'"numNonAMContainerPreempted":3')
        .replace(b'"value":"704"', b'"value":"1704"')
        .replace(b'"value":"5"}}', b'"value":"5"},"entry":{"key":"gpu","value":"4"}}')
    )
    assert shown == expected


def test_what_has_ended_holds_nothing_though_a_part_was_not_told_yet():
    shown = json.loads(FORM.show(ENDED, beyond(memory_mib_s=1)))
    assert (shown["runningContainers"], shown["allocatedMB"], shown["memorySeconds"]) == (-1, -1, 705)


def test_the_forms_of_a_map():
    as_list = b'{"resourceSecondsMap":{"entry":[{"key":"memory-mb","value":"7"},{"key":"gpu","value":1}]}}'
    assert FORM.read(as_list).spent == {"seconds/memory-mb": 7, "seconds/gpu": 1}
    shown = FORM.show(as_list, beyond(**{"seconds/gpu": 1}))
    entries = [{"key": "memory-mb", "value": "7"}, {"key": "gpu", "value": "2"}]
    assert json.loads(shown) == {"resourceSecondsMap": {"entry": entries}}
    broken = (
        b'{"resourceSecondsMap":{"entry":{"key":1},"entry":{"key":"a","value":"x"},"other":3},"memorySeconds":"no"}'
    )
    assert FORM.read(broken) == NO_USAGE


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"{", b"null", b'{"memorySeconds":1e99}', b'{"resourceSecondsMap":' + b"[" * 5000]
)
def test_what_cannot_be_read_tells_nothing_and_stays_as_it_came(raw):
    assert FORM.read(raw) == NO_USAGE
    assert FORM.show(raw, beyond()) == raw


def test_an_account_that_adds_nothing_shows_what_the_home_told():
    assert FORM.show(RUNNING, Account()) == RUNNING
    recorded = [
        json.dumps(app, separators=(",", ":")).encode()
        for app in (json.loads(RUNNING), dict.fromkeys((*SPENT.values(), *HOLDS.values(), *SPENT_MAPS.values()), 3))
    ]
    for raw in recorded:
        assert msgspec.json.decode(FORM.show(raw, Account())) == msgspec.json.decode(raw)


@given(
    st.lists(
        st.tuples(st.sampled_from(("memory-mb", "vcores", "gpu", "yarn.io/gpu", 'a"b', "")), st.integers(-2, 10**20))
    )
)
def test_a_map_is_read_the_same_however_it_is_spaced(entries):
    pairs = ({"key": key, "value": str(amount)} for key, amount in entries)
    plain = "{" + ",".join(f'"entry":{json.dumps(each, separators=(",", ":"))}' for each in pairs) + "}"
    documents = (f'{{"resourceSecondsMap":{text}}}'.encode() for text in (plain, plain.replace(":", ": ")))
    one, two = map(UsageForm().read, documents)
    assert one == two
