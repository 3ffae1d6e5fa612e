"""Policy files: read whole, or refused whole with line and reason."""

from dataclasses import replace

import pytest

from shim.config.loader import parse
from shim.config.policy_files import parse_policy, policy_tables, policy_text
from shim.config.queues import PolicyConfig
from shim.domain.ids import SubClusterId
from shim.domain.placement_rules import NodeGroup
from shim.domain.queues import AUTOMATIC, FederatedQueue, QueueMapping, SharePolicy
from shim.errors import ConfigError

EAST, WEST = SubClusterId("east"), SubClusterId("west")

A_POLICY = """
[[queue]]
name = "root.prod"
weight = 3
submit = ["alice", "group:ops"]
names.east = "root.production"

[[queue]]
name = "root.dev"
weight = 1
guaranteed = 0.1
max_running = 5
order = "users"

[[mapping]]
queue = "root.prod"
user = "etl"

[[mapping]]
queue = "root.dev"
"""


def read(text: str) -> SharePolicy:
    return parse_policy(text, source="shares.toml", subclusters=["east", "west"])


def complaint(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return str(caught.value)


def test_a_policy_is_read_whole():
    policy = read(A_POLICY)
    assert [queue.path for queue in policy.sharing] == ["root.prod", "root.dev"]
    assert policy.queues[1] == FederatedQueue("root.dev", weight=1, guaranteed=0.1, max_running=5, order="users")
    assert policy.mappings == (QueueMapping("root.prod", user="etl"), QueueMapping("root.dev"))


def test_a_queue_is_found_by_its_path_its_last_part_and_its_other_names():
    policy = read(A_POLICY)
    assert policy.find("root.prod") is policy.find("prod") is policy.queues[0]
    assert policy.find_at(EAST, "production") is policy.find_at(WEST, "prod") is policy.queues[0]
    assert policy.find_at(EAST, "prod") is None
    assert policy.find("root.prod.etl") is policy.queues[0]
    assert policy.find("root.other") is None


def test_a_policy_is_written_as_it_was_read():
    config = parse(A_POLICY + '[[subcluster]]\nid = "east"\nweb = "http://east:1"\n', source="a", environment={})
    text = policy_text(config.policy)
    assert read(text) == read(A_POLICY)
    assert policy_text(PolicyConfig()) == ""


RULES = """\
[[constraint]]
name = "apart"
subject = ["hb", "eu"]
want = "0 hb in node or 1.. a+b in up"
weight = 2.5

[[constraint]]
name = "never"
subject = "db"
want = "..3 web in rack"
hard = true

[[node_group]]
name = "up"
sets.one = ["n1", "n2*"]
sets."two 2" = "n3"
"""


def test_operators_constraints_are_read_and_written():
    rules = read(RULES).rules
    apart, never = rules.constraints
    assert (apart.subject, apart.weight, apart.is_hard) == (frozenset({"hb", "eu"}), 2.5, False)
    assert [len(choice) for choice in apart.any_of] == [1, 1]
    assert (never.weight, never.is_hard) == (1.0, True)
    assert rules.node_groups == (NodeGroup("up", (("one", ("n1", "n2*")), ("two 2", ("n3",)))),)
    assert read(policy_text(policy_tables(RULES, source="a"))) == read(RULES)


def test_what_a_queue_does_not_say_is_by_the_defaults_and_what_it_says_is_an_order():
    text = '[[queue]]\nname = "root.a"\n[[queue]]\nname = "root.b"\norder = "fifo"\n'
    text += 'containers = "unordered"\nspan = false\n'
    text += '[[queue]]\nname = "root.c"\norder = "auto"\ncontainers = "auto"\nspan = "auto"\n'
    text += '[[queue]]\nname = "root.d"\nspan = true\n'
    assert read(text).queues[0] == FederatedQueue("root.a")
    silent, plain, automatic, ordered = parse_policy(text, source="a", defaults=AUTOMATIC).queues
    assert (silent.order, silent.containers, silent.span, silent.spans_by_need) == ("work", "learnt-work", False, True)
    assert plain == FederatedQueue("root.b", reads_asks=True)
    assert not plain.is_read, "without an order and a span its asks concern nobody"
    assert replace(automatic, path="root.a") == silent
    assert (ordered.span, ordered.spans_by_need) == (True, False)


def test_a_queue_without_weight_takes_no_part_in_the_shares():
    policy = read('[[queue]]\nname = "root.a"\nmax_running = 3\n')
    assert policy.sharing == ()
    assert policy.find("a") is policy.queues[0]


REFUSED = {
    "no TOML": ('[[queue]]\nname = "root.a"\nweight = = 3\n', "shares.toml:3: ", "not TOML"),
    "an unknown key": ('\n[[queue]]\nname = "root.a"\nwheight = 3\n', "shares.toml:4: ", "Did you mean weight?"),
    "a key that is missing": ('[[queue]]\nname = "root.a"\n\n[[queue]]\nweight = 1\n', "shares.toml:4: ", "is missing"),
    "a negative weight": ('[[queue]]\nname = "root.a"\nweight = -1\n', "shares.toml:3: ", "at least 0"),
    "a weight that is no number": ('[[queue]]\nname = "root.a"\nweight = nan\n', "shares.toml:3: ", "not a number"),
    "an endless weight": ('[[queue]]\nname = "root.a"\nweight = inf\n', "shares.toml:3: ", "at most"),
    "an unknown order": ('[[queue]]\nname = "root.a"\norder = "lifo"\n', "shares.toml:3: ", "fifo, users"),
    "a queue twice": ('[[queue]]\nname = "root.a"\n\n[[queue]]\nname = "root.a"\n', "shares.toml:5: ", "twice"),
    "guarantees above what there is": (
        (
            '[[queue]]\nname = "root.a"\nweight = 1\nguaranteed = 0.7\n\n'
            '[[queue]]\nname = "root.b"\nweight = 1\nguaranteed = 0.6\n'
        ),
        "shares.toml:9: ",
        "130%",
    ),
    "guarantees above the parent's maximum": (
        (
            '[[queue]]\nname = "root.a"\nweight = 1\nmaximum = 0.5\n\n'
            '[[queue]]\nname = "root.a.b"\nweight = 1\nguaranteed = 0.6\n'
        ),
        "shares.toml:9: ",
        "the 50% of root.a",
    ),
    "a guarantee above the maximum": (
        '[[queue]]\nname = "root.a"\nweight = 1\nguaranteed = 0.6\nmaximum = 0.5\n',
        "shares.toml:4: ",
        "maximum of 0.5",
    ),
    "a name on a sub-cluster that is none": (
        '[[queue]]\nname = "root.a"\nnames.esat = "root.b"\n',
        "shares.toml:3: ",
        "there are east, west",
    ),
    "a name on a sub-cluster that is no path": (
        '[[queue]]\nname = "root.a"\nnames.east = "b"\n',
        "shares.toml:3: ",
        "full path",
    ),
    "a place that is wanted less than never": (
        '[[queue]]\nname = "root.a"\nspan = true\nprefers.east = -2.0\n',
        "shares.toml:4: ",
        "at least 0",
    ),
    "a constraint without a wish": (
        '[[constraint]]\nname = "a"\nsubject = "hb"\nwant = "0 hb"\n',
        "shares.toml:4: ",
        "0 hb in node",
    ),
    "a constraint of an unknown node group": (
        '[[constraint]]\nname = "a"\nsubject = "hb"\nwant = "0 hb in upgrade"\n',
        "shares.toml:4: ",
        "there are cluster, node, rack",
    ),
    "a constraint twice": (
        2 * '[[constraint]]\nname = "a"\nsubject = "hb"\nwant = "0 hb in rack"\n',
        "shares.toml:6: ",
        "twice",
    ),
    "a constraint of nothing": (
        '[[constraint]]\nname = "a"\nsubject = []\nwant = "0 hb in rack"\n',
        "shares.toml:3: ",
        "no tag",
    ),
    "a constraint of a tag that is none": (
        '[[constraint]]\nname = "a"\nsubject = "h b"\nwant = "0 hb in rack"\n',
        "shares.toml:3: ",
        "not a tag",
    ),
    "a constraint that is hard and weighs": (
        '[[constraint]]\nname = "a"\nsubject = "hb"\nwant = "0 hb in rack"\nhard = true\nweight = 2.0\n',
        "shares.toml:6: ",
        "leave out",
    ),
    "a weight below nothing": (
        '[[constraint]]\nname = "a"\nsubject = "hb"\nwant = "0 hb in rack"\nweight = -1\n',
        "shares.toml:5: ",
        "at least 0",
    ),
    "a node group that needs no table": (
        '[[node_group]]\nname = "rack"\nsets.a = "n1"\n',
        "shares.toml:2: ",
        "known without a table",
    ),
    "a node group without sets": ('[[node_group]]\nname = "up"\n', "shares.toml:1: ", "has no sets"),
    "a set without hosts": ('[[node_group]]\nname = "up"\nsets.a = []\n', "shares.toml:3: ", "no hosts"),
    "a set of a host that is none": (
        '[[node_group]]\nname = "up"\nsets.a = ["n 1"]\n',
        "shares.toml:3: ",
        "not a host",
    ),
    "a mapping that hides others": (
        '[[mapping]]\nqueue = "root.a"\n\n[[mapping]]\nqueue = "root.b"\nuser = "etl"\n',
        "shares.toml:2: ",
        "put it last",
    ),
}


@pytest.mark.parametrize(("text", "where", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_wrong_is_told_with_its_line(text: str, where: str, why: str):
    told = complaint(text)
    assert told.startswith(where), told
    assert why in told


@pytest.mark.parametrize(
    "text",
    [
        '[[queue]]\nname = "root.{long}"\n',
        '[[queue]]\nname = "root.prod"\nnames.east = "root.{long}"\n',
        '[[mapping]]\nqueue = "root.{long}"\n',
    ],
)
def test_a_path_that_no_resource_manager_should_be_given_is_refused(text: str):
    for long in ("a" * 2000, ".".join("a" * 100)):
        with pytest.raises(ConfigError, match=r"is longer than|has more than"):
            parse_policy(text.format(long=long), source="p.toml", subclusters=("east",))


def test_parameters_of_a_queues_policy_are_keys_of_its_table_and_stay_when_it_is_written():
    text = '[[queue]]\nname = "root.etl"\nspan = true\ncontainers = "delay"\nshadow = "quincy"\nnode_s = 3\n'
    text += "wait_cost = 1.0\n"
    (queue,) = read(text).queues
    assert (queue.containers, queue.shadow) == ("delay:node_s=3.0", "quincy:wait_cost=1.0")
    subcluster = '[[subcluster]]\nid = "east"\nweb = "http://east:1"\n[security]\nsecret_file = "s"\n'
    parsed = parse(text + subcluster, source="a", environment={})
    assert read(policy_text(parsed)) == read(text)


_ONE = '[[subcluster]]\nid = "east"\nweb = "http://east:1"\n[security]\nsecret_file = "s"\n'
_TWO = '[[subcluster]]\nid = "west"\nweb = "http://west:1"\n' + _ONE


@pytest.mark.parametrize(
    ("lines", "others", "acts"),
    [
        ("", _ONE, False),
        ("", _TWO, True),
        ("", _TWO.partition("[security]")[0], False),
        ("", f"{_TWO}[scheduling]\nautomatic = false\n", False),
        ("span = false", _TWO, True),
        ("span = false", _ONE, False),
        ("span = true", _ONE, True),
        ("preemptable = true", _ONE, False),
        ("preemptable = true\nweight = 1.0", _ONE, True),
        ("altruism = 0.5", _ONE, True),
    ],
)
@pytest.mark.parametrize("policy", ["jockey", "fifo"])
def test_a_policy_that_would_act_on_nothing_is_refused(policy, lines, others, acts):
    text = f'[[queue]]\nname = "root.a"\ncontainers = "{policy}"\n{lines}\n{others}'
    if acts:
        assert parse(text, source="a.toml", environment={}).queues[0].containers == policy
        return
    with pytest.raises(ConfigError, match=f'a.toml:3: .*containers = "{policy}" of queue root.a would act on nothing'):
        parse(text, source="a.toml", environment={})


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('containers = "delay"\nnode_s = -1', "shares.toml:4: queue[0].node_s: node_s of policy delay: -1 is not"),
        ('containers = "fair"\nnode_s = 3', "queue[0].node_s: policy fair has no parameter 'node_s'"),
        ("node_s = 3", "queue[0].node_s: the queue has no policy (node_s is a parameter of delay)"),
        ('containers = "delay"\nnode_sec = 3', "queue[0].node_sec: unknown key. Did you mean node_s?"),
        ('containers = "delay"\nparameters = 3', "queue[0].parameters: unknown key."),
        ('containers = "delay"\nnode_s = {a = 1}', "is not a number, 0 s or more"),
        ('containers = "delay:node_s=3"', "unknown value 'delay:node_s=3'. Allowed: alsched, auto"),
    ],
)
def test_what_is_no_parameter_of_a_queues_policy_is_refused_with_what_is(lines, told):
    assert told in complaint(f'[[queue]]\nname = "root.etl"\n{lines}\n')
