"""A client's end writes, byte for byte, what the `yarn` command of Hadoop 3.4.2 wrote, and reads what it was told."""

import pytest

from shim.protocol.hrpc import (
    SIMPLE_OFFER,
    AnswerReceived,
    AuthMethod,
    CallerContext,
    CallReceived,
    ClientConnection,
    ContextReceived,
    HadoopRequest,
    ServerConnection,
    UserIdentity,
)
from shim.protocol.proto import APPLICATION_CLIENT
from shim.protocol.proto.messages import (
    GetApplicationReportRequestProto,
    GetApplicationsRequestProto,
    GetClusterNodesRequestProto,
    GetClusterNodesResponseProto,
    NodeStateProto,
    YarnApplicationStateProto,
)
from tests.protocol.captured import exchanges

EXCHANGES = exchanges("client-3.4.2.json")
by_name = pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda exchange: exchange.name)


def received(exchange):
    """Context and call of a capture, as a server's end understands them."""
    context, call = ServerConnection([SIMPLE_OFFER]).receive(exchange.sent)
    assert isinstance(context, ContextReceived)
    assert isinstance(call, CallReceived)
    return context, call.call


@by_name
def test_a_server_understands_the_yarn_command(exchange):
    context, call = received(exchange)

    assert context.effective_user_untrusted == "root"
    assert context.real_user_untrusted == ""
    assert context.method is AuthMethod.SIMPLE
    assert context.protocol_untrusted == APPLICATION_CLIENT.name
    assert context.caller_context == CallerContext("CLI")
    assert call.method in APPLICATION_CLIENT.methods
    assert call.caller_context == CallerContext("CLI")


@by_name
def test_a_client_writes_the_same_bytes(exchange):
    context, call = received(exchange)
    client = ClientConnection(
        call.protocol,
        UserIdentity(context.effective_user_untrusted),
        call.client_id,
        caller_context=call.caller_context,
    )

    client.connect()
    client.call(HadoopRequest(call.protocol, call.method, call.payload_untrusted or b""), call_id=call.call_id)

    assert client.data_to_send() == exchange.sent


@by_name
@pytest.mark.parametrize("trailing", [b"", b"\x00\x00\x00"], ids=["exact", "trailing"])
@pytest.mark.parametrize("piece", [1, 1 << 20], ids=["byte-by-byte", "whole"])
def test_a_client_understands_the_answer(exchange, piece, trailing):
    _, call = received(exchange)
    client = ClientConnection(call.protocol, UserIdentity("root"), call.client_id)
    client.connect()
    told = exchange.received + trailing

    events = [event for at in range(0, len(told), piece) for event in client.receive(told[at : at + piece])]

    (event,) = events
    assert isinstance(event, AnswerReceived)
    assert event.answer.call_id == call.call_id
    assert (event.answer.failure is None) == (exchange.name != "yarn application -status")


@by_name
def test_requests_are_the_same_bytes_after_decoding_and_encoding(exchange):
    _, call = received(exchange)

    request = APPLICATION_CLIENT.methods[call.method].request.FromString(call.payload_untrusted or b"")

    assert request.SerializeToString() == call.payload_untrusted


def test_the_listing_asks_for_live_applications():
    _, call = received(next(exchange for exchange in EXCHANGES if exchange.name == "yarn application -list"))

    request = GetApplicationsRequestProto.FromString(call.payload_untrusted or b"")

    names = [YarnApplicationStateProto.Name(state) for state in request.application_states]
    assert names == ["SUBMITTED", "ACCEPTED", "RUNNING"]


def test_the_status_names_the_application():
    _, call = received(next(exchange for exchange in EXCHANGES if exchange.name == "yarn application -status"))

    request = GetApplicationReportRequestProto.FromString(call.payload_untrusted or b"")

    assert (request.application_id.cluster_timestamp, request.application_id.id) == (1, 1)


def test_the_node_listing_is_decoded():
    exchange = next(exchange for exchange in EXCHANGES if exchange.name == "yarn node -list -all")
    _, call = received(exchange)
    client = ClientConnection(call.protocol, UserIdentity("root"), call.client_id)
    client.connect()
    (event,) = client.receive(exchange.received)
    assert isinstance(event, AnswerReceived)

    request = GetClusterNodesRequestProto.FromString(call.payload_untrusted or b"")
    answer = GetClusterNodesResponseProto.FromString(event.answer.payload_untrusted)

    assert sorted(request.nodeStates) == sorted(NodeStateProto.values())
    assert [report.nodeId.host for report in answer.nodeReports] == ["127.0.10.2", "127.0.10.1"]
    assert {report.capability.memory for report in answer.nodeReports} == {4096}
    assert answer.SerializeToString() == event.answer.payload_untrusted
