"""Whatever messages a cluster answers by Hadoop RPC, or an ApplicationMaster sends: read, refused, and joined with no
harm to what others answer.
"""

import random
from contextlib import suppress
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.usage import Account, PartUsage, Usage
from shim.errors import BadRequestError, RemoteProtocolError
from shim.protocol.proto import APPLICATION_CLIENT, APPLICATION_MASTER
from shim.protocol.proto.messages import (
    ApplicationIdProto,
    ApplicationReportProto,
    GetApplicationReportResponseProto,
    GetApplicationsResponseProto,
    GetContainersResponseProto,
)
from shim.protocol.yarn import attempt_of_token, holds_token, tells_an_end, tells_of_running
from shim.protocol.yarn.allocations import read_allocate_answer, read_allocate_call, read_registration
from shim.protocol.yarn.merges import JOINS, MERGES, ClusterAnswer, merge_applications
from shim.protocol.yarn.placements import read_constraints
from shim.protocol.yarn.reports import as_seen, read_running
from shim.protocol.yarn.submit_times import report_with_submit_time, reports_in, reports_with_submit_times
from shim.protocol.yarn.unmanaged import is_finished, is_killed, read_report, token_parts
from shim.protocol.yarn.usage import with_account, with_accounts
from shim.protocol.yarn.wire import PIECE_BYTES, check_message, entries_in
from tests.support.examples import examples
from tests.support.odd_messages import odd, tag, torn, varint

ONE = ApplicationId(1_700_000_000_000, 1)


def is_whole(kind, payload):
    """Whether the one place that takes answers in lets it through."""
    try:
        check_message(kind, payload)
    except RemoteProtocolError:
        return False
    return True


seeds = given(st.integers(0, 2**32))
SPENT = Usage({"memory_mib_s": 2**63, "seconds/gpu": 2**70})
ACCOUNT = Account(None, {SubClusterId("west"): PartUsage((0, 0), SPENT.spent, {}, {"vcores": 2**40})})


@pytest.mark.parametrize("method", sorted(MERGES))
@settings(max_examples=examples(150), deadline=None)
@seeds
def test_no_answer_of_one_cluster_spoils_those_of_others(method, seed):
    draw, kind = random.Random(seed), APPLICATION_CLIENT.methods[method].answer  # noqa: S311 - examples
    answers = [torn(odd(kind, draw), draw), odd(kind, draw)]
    parts = [ClusterAnswer(each, draw.choice((0.0, 1.0, 1e9))) for each in answers if is_whole(kind, each)]
    merged = MERGES[method](parts).SerializeToString()
    check_message(kind, merged)
    if method in JOINS:
        assert kind.FromString(b"".join(each.payload for each in parts)).ByteSize() == len(merged)


@settings(max_examples=examples(300), deadline=None)
@seeds
def test_reports_are_read_shown_and_hidden_whatever_is_in_them(seed):
    draw = random.Random(seed)  # noqa: S311 - examples
    answer = torn(odd(GetApplicationReportResponseProto, draw), draw)
    if is_whole(GetApplicationReportResponseProto, answer):
        tells_an_end(answer)
        tells_of_running(answer)
        holds_token(answer)
        read_report(answer)
        for changed in (report_with_submit_time(answer, 5), with_account(answer, ACCOUNT)):
            check_message(GetApplicationReportResponseProto, changed)
    listed = torn(odd(GetApplicationsResponseProto, draw), draw)
    if is_whole(GetApplicationsResponseProto, listed):
        for made in (
            reports_with_submit_times(listed, {ONE: 5}),
            with_accounts(listed, lambda _: ACCOUNT),
            merge_applications([ClusterAnswer(listed)], limit=draw.choice((None, 0, 1, -1, 2**31))),
            b"".join(as_seen(*each, lambda *_: False) for each in reports_in(listed)),
        ):
            check_message(GetApplicationsResponseProto, made)


READERS = (
    (GetContainersResponseProto, read_running),
    (APPLICATION_MASTER.methods["allocate"].answer, read_allocate_answer),
    (APPLICATION_MASTER.methods["allocate"].request, read_allocate_call),
    (APPLICATION_MASTER.methods["registerApplicationMaster"].answer, read_registration),
    (APPLICATION_MASTER.methods["registerApplicationMaster"].request, read_constraints),
    (APPLICATION_MASTER.methods["finishApplicationMaster"].answer, is_finished),
    (APPLICATION_CLIENT.methods["forceKillApplication"].answer, is_killed),
    (GetApplicationReportResponseProto, read_report),
)


@pytest.mark.parametrize(("kind", "read"), READERS, ids=lambda each: getattr(each, "__name__", ""))
@settings(max_examples=examples(200), deadline=None)
@seeds
def test_what_cannot_be_read_is_refused_by_one_error(kind, read, seed):
    draw = random.Random(seed)  # noqa: S311 - examples
    refusals = (RemoteProtocolError, BadRequestError) if read is read_allocate_call else RemoteProtocolError
    with suppress(refusals):
        read(torn(odd(kind, draw), draw))


@given(st.binary(max_size=200))
def test_identifiers_and_tokens_of_any_bytes_are_read_or_refused(payload):
    for read in (attempt_of_token, token_parts):
        with suppress(RemoteProtocolError):
            read(payload)


def test_a_piece_is_decoded_at_a_time_and_all_of_it_is_looked_at():
    report = ApplicationReportProto(applicationId=ApplicationIdProto(cluster_timestamp=5, id=1), name="n" * 5000)
    entry = GetApplicationsResponseProto(applications=[report]).SerializeToString()
    large = entry * (3 * PIECE_BYTES // len(entry))
    check_message(GetApplicationsResponseProto, large)
    assert len(list(entries_in(large))) == large.count(entry)
    for broken in (large[:-1], large + b"\x0a", large + b"\x0a\xff\x7f", large + entry[:-3], large + b"\x0b" * 9):
        with pytest.raises(RemoteProtocolError):
            check_message(GetApplicationsResponseProto, broken)
    for place, bad in product((0, len(large) // len(entry) // 2 * len(entry)), (b"\x0a\x02\x0a\x7f",)):
        with pytest.raises(RemoteProtocolError):
            check_message(GetApplicationsResponseProto, large[:place] + bad + large[place:])


@pytest.mark.parametrize(
    "payload",
    [b"\x0a\x00" * PIECE_BYTES, tag(1, 2) + varint(17 * PIECE_BYTES) + bytes(17 * PIECE_BYTES)],
    ids=["entries without end", "an entry without end"],
)
def test_lists_have_so_many_entries_and_each_so_many_bytes(payload):
    with pytest.raises(RemoteProtocolError, match="too large, or many"):
        check_message(GetApplicationsResponseProto, payload)


def test_nested_queues_beyond_all_depth_are_no_answer():
    kind = APPLICATION_CLIENT.methods["getQueueInfo"].answer
    inner = b""
    field = next(each for each in kind.DESCRIPTOR.fields[0].message_type.fields if each.name == "childQueues")
    for _ in range(5000):
        inner = tag(field.number, 2) + varint(len(inner)) + inner
    assert not is_whole(kind, tag(1, 2) + varint(len(inner)) + inner)


@pytest.mark.parametrize("method", sorted(MERGES))
def test_enough_of_these_answers_are_let_through(method):
    """Else the properties above would try nothing."""
    kind = APPLICATION_CLIENT.methods[method].answer
    draws = [random.Random(seed) for seed in range(200)]  # noqa: S311 - examples
    assert sum(is_whole(kind, torn(odd(kind, draw), draw)) for draw in draws) > 20


@pytest.mark.parametrize("field", ["allocated_containers", "completed_container_statuses", "nm_tokens"])
def test_no_answer_to_a_request_for_containers_is_endless(field):
    kind = APPLICATION_MASTER.methods["allocate"].answer
    number = kind.DESCRIPTOR.fields_by_name[field].number
    with pytest.raises(RemoteProtocolError, match="more than 20000"):
        read_allocate_answer((tag(number, 2) + b"\x00") * 20_001)
    with pytest.raises(RemoteProtocolError, match="bytes"):
        read_allocate_answer(tag(number, 2) + varint(1 << 25) + bytes(1 << 25))
