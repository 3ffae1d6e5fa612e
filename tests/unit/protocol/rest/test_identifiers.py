"""Identifiers in paths, against the recorded answers to good and bad ones."""

from urllib.parse import unquote

import pytest

from shim.protocol.rest.errors import JavaError
from shim.protocol.rest.identifiers import path_application, path_attempt, path_container, path_node
from tests.doubles.recorded import recorded_exchanges

APPLICATIONS = [
    exchange
    for name, exchange in recorded_exchanges().items()
    if name.startswith("app_errors/app.") and exchange.status == 400
]
NODES = [
    exchange
    for exchange in recorded_exchanges().values()
    if exchange.name.startswith("nodes/")
    and exchange.path.startswith("/ws/v1/cluster/nodes/")
    and exchange.path.count("/") == 5
    and exchange.status in (400, 404)
    and exchange.body.startswith(b"{")
]


@pytest.mark.parametrize("exchange", APPLICATIONS, ids=[exchange.name for exchange in APPLICATIONS])
def test_a_bad_application_id_is_refused_in_the_recorded_words(exchange):
    with pytest.raises(JavaError) as caught:
        path_application(unquote(exchange.path.rpartition("/")[2]))
    assert caught.value.exception.to_json() == exchange.body


def test_malformed_node_ids_are_refused_in_the_recorded_words():
    refused = [exchange for exchange in NODES if exchange.status == 400]
    assert len(refused) >= 3
    for exchange in refused:
        with pytest.raises(JavaError) as caught:
            path_node(unquote(exchange.path.rpartition("/")[2]))
        assert caught.value.exception.to_json() == exchange.body


@pytest.mark.parametrize("text", ["..", "a/b", "application_1_1\n", "application_१_1", "", "application_1_1;x"])
def test_s24_what_is_no_id_never_becomes_one(text):
    with pytest.raises(JavaError):
        path_application(text)
    with pytest.raises(JavaError):
        path_node(text)


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (
            path_attempt,
            "appattempt_1700000000000_0001_000002",
            {"appattempt_x": "AppAttemptId", "attempt_1_1_1": "AppAttemptId prefix"},
        ),
        (
            path_container,
            "container_e17_1700000000000_0001_02_000003",
            {"container_x": "ContainerId", "application_1_1": "ContainerId prefix"},
        ),
    ],
)
def test_ids_of_attempts_and_containers_are_read_or_refused_by_what_is_wrong(read, good, bad):
    assert str(read(good)) == good
    for text, wrong in bad.items():
        with pytest.raises(JavaError, match=f"Invalid {wrong}: {text}$"):
            read(text)
