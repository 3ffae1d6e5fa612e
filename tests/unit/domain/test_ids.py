import pytest
from hypothesis import given
from hypothesis import strategies as st

from shim.domain import ApplicationAttemptId, ApplicationId, ContainerId, MalformedIdError, NodeId

application_ids = st.builds(ApplicationId, st.integers(0, 2**63 - 1), st.integers(0, 2**31 - 1))
attempt_ids = st.builds(ApplicationAttemptId, application_ids, st.integers(0, 2**31 - 1))
container_ids = st.builds(ContainerId, attempt_ids, st.integers(0, 2**63 - 1))
KINDS = [ApplicationId, ApplicationAttemptId, ContainerId, NodeId]


@given(st.one_of(application_ids, attempt_ids, container_ids))
def test_an_id_is_read_back_from_its_text(some_id):
    assert type(some_id).parse(str(some_id)) == some_id


@given(st.lists(application_ids, min_size=2))
def test_application_ids_order_by_time_stamp_then_number(ids):
    assert sorted(ids) == sorted(ids, key=lambda i: (i.cluster_timestamp, i.sequence))


@pytest.mark.parametrize("text", ["application_1_10", "application_1_0010", "application_1_00000010"])
def test_zero_padding_is_free(text):
    assert ApplicationId.parse(text) == ApplicationId(1, 10)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("container_1410901177871_0001_01_000005", (0, 5)),
        ("container_e17_1410901177871_0001_01_000005", (17, 17 << 40 | 5)),
    ],
)
def test_the_epoch_of_a_container_stands_above_forty_bits(text, parsed):
    container = ContainerId.parse(text)
    assert (container.epoch, container.number) == parsed
    assert str(container) == text


HOSTILE = [
    "",
    "application_",
    "application_1",
    "application_1_",
    "application_1_2_3",
    "Application_1_2",
    " application_1_2",
    "application_1_2 ",
    "application_1_2\n",
    "application_1_2%00",
    "application_1_2/../..",
    "application_\N{ARABIC-INDIC DIGIT ONE}_2",
    "application_9223372036854775808_1",
    "application_1_2147483648",
    "appattempt_1_2",
    "appattempt_-1_2_3",
    "container_e_1_2_3_4",
    "container_1_2_3_99999999999999999999",
    "container_e9999999999_1_2_3_4",
    "node:",
    ":1",
    "node:65536",
    "no de:1",
    "a/b:1",
    "x" * 100_000,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_no_id_is_refused_with_a_short_message(kind, text):
    with pytest.raises(MalformedIdError) as caught:
        kind.parse(text)
    assert len(str(caught.value)) < 300


@given(st.text(max_size=60), st.sampled_from(KINDS))
def test_any_text_is_either_an_id_or_refused(text, kind):
    try:
        parsed = kind.parse(text)
    except MalformedIdError:
        return
    assert kind.parse(str(parsed)) == parsed


def test_negative_application_numbers_parse_as_in_hadoop():
    assert ApplicationId.parse("application_-1_-2") == ApplicationId(-1, -2)


def test_a_node_is_host_and_port():
    assert NodeId.parse("127.0.1.2:45454") == NodeId("127.0.1.2", 45454)


def test_a_container_number_is_read_up_to_the_largest_that_hadoop_can_hold():
    largest = ContainerId.parse(f"container_e{2**23 - 1}_1_0001_01_{2**40 - 1}")
    assert largest.number == 2**63 - 1
    with pytest.raises(MalformedIdError):
        ContainerId.parse(f"container_e{2**23}_1_0001_01_000000")


@pytest.mark.parametrize("host", ["node7.example.org", "198.18.5.3", "fe80::1", "[fe80::1]"])
def test_a_host_that_was_excluded_and_never_seen_has_no_port(host):
    node = NodeId.printed(f"{host}:-1")
    assert (node, str(node)) == (NodeId(host, -1), f"{host}:-1")


@pytest.mark.parametrize("text", ["a:-2", ":-1", "a b:-1", "a:-1:-1", "-1"])
def test_no_other_port_is_less_than_nothing(text):
    with pytest.raises(MalformedIdError):
        NodeId.printed(text)
