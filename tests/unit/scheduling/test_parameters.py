"""Parameters of policies: declared with the rules, read from TOML and from names of policies."""

import dataclasses
import math

import pytest

from shim.config.queues import QueueConfig
from shim.config.tree import declared_keys
from shim.errors import BadRequestError
from shim.scheduling.packing import TETRIS
from shim.scheduling.parameters import named_values, parameters_of, spec_of, with_values
from shim.scheduling.policies.delay import DELAY
from shim.scheduling.policies.jockey import JOCKEY
from shim.scheduling.policies.medea import MEDEA_IN_QUEUES
from shim.scheduling.policy import WORKLOAD_FACTS, World
from shim.scheduling.queue_policies import (
    PARAMETERS,
    QUEUE_POLICIES,
    container_ordering,
    parameter_rejection,
    queue_policy,
    with_parameters,
)
from shim.scheduling.registry import policy_for


def test_a_policy_with_other_values_is_the_same_policy_by_other_rules():
    changed = DELAY.with_parameters({"node_s": 3, "rack_skips": "7"})
    assert dataclasses.asdict(changed.rules) == dataclasses.asdict(DELAY.rules) | {"node_s": 3.0, "rack_skips": 7.0}
    assert changed.name == "delay"
    assert changed.placement.kernel.rules is changed.rules
    assert DELAY.with_parameters({}) is DELAY


def test_rules_within_rules_are_found_by_their_own_names():
    changed = JOCKEY.with_parameters({"hysteresis": 0.2, "uses_table": False})
    assert (changed.rules.control.hysteresis, changed.rules.uses_table) == (0.2, False)
    assert changed.rules.control.slack == JOCKEY.rules.control.slack
    queues = MEDEA_IN_QUEUES.with_parameters({"violated_weight": 0.5})
    assert queues.rules.weights.violated == 0.5
    assert (queues.is_solved_apart, queues.rules.is_hard) == (True, True)


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_takes_its_default_and_changes_the_policy_where_it_is_another(name):
    policy = QUEUE_POLICIES[name]
    for key, each in PARAMETERS[name].items():
        assert policy.with_parameters({key: each.default}).rules == policy.rules
        assert each.meaning.endswith(".")
        assert each.published is None or each.read(each.published) == each.published
        if isinstance(each.default, bool):
            other = not each.default
        elif math.isinf(each.default):
            other = each.least
        else:
            other = each.default + 1 if each.default + 1 <= each.most else (each.least + each.default) / 2
        changed = policy.with_parameters({key: other})
        assert changed.rules != policy.rules
        assert queue_policy(with_parameters(name, {key: other})).rules == changed.rules
        assert parameters_of(changed)[key].default == other


@pytest.mark.parametrize(
    ("policy", "key", "value", "told"),
    [
        (DELAY, "node_s", -1, "node_s of policy delay: -1 is not a number, 0 s or more"),
        (DELAY, "node_s", "soon", "'soon' is not a number, 0 s or more"),
        (DELAY, "node_s", True, "True is not a number, 0 s or more"),
        (DELAY, "node_s", math.nan, "nan is not a number, 0 s or more"),
        (DELAY, "node_s", [3], "[3] is not a number, 0 s or more"),
        (DELAY, "node", 3, "policy delay has no parameter 'node'. Did you mean node_s? It has node_s, rack_s"),
        (TETRIS, "fairness", 1.5, "1.5 is not a number between 0 and 1"),
        (JOCKEY, "adapts", 1, "1 is not true or false"),
        (JOCKEY, "periods", 2.5, "2.5 is not a whole number between 1 and 10000"),
        (JOCKEY, "periods", 10**400, "is not a whole number between 1 and 10000"),
        (QUEUE_POLICIES["fifo"], "node_s", 3, "policy fifo has no parameter 'node_s'. It has none"),
    ],
)
def test_what_is_not_allowed_is_told_with_what_is(policy, key, value, told):
    with pytest.raises(BadRequestError) as raised:
        policy.with_parameters({key: value})
    assert told in str(raised.value)


def test_a_queue_has_the_parameters_of_its_policy_and_of_its_shadow():
    assert parameter_rejection(("delay", "none"), "node_s", 3) == ""
    assert parameter_rejection(("fifo", "delay"), "node_s", 3) == ""
    assert "node_s of policy delay: -3 is not" in parameter_rejection(("fifo", "delay"), "node_s", -3)
    assert "(node_s is a parameter of delay)" in parameter_rejection(("fifo", "none"), "node_s", 3)
    assert "the queue has no policy" in parameter_rejection(("unordered", "none"), "node_s", 3)


def test_a_name_with_values_is_the_same_for_the_same_values():
    spec = with_parameters("delay", {"rack_s": 0, "node_s": 3, "slack": 2})
    assert spec == "delay:node_s=3.0:rack_s=0.0"
    assert with_parameters("delay", {"node_s": 5.0}) == "delay"
    assert with_parameters("unordered", {"node_s": 3}) == "unordered"
    assert spec_of(JOCKEY, {"adapts": False}) == "jockey:adapts=false"
    assert named_values(spec) == ("delay", {"node_s": "3.0", "rack_s": "0.0"})
    assert queue_policy(spec).rules.node_s == 3.0
    assert container_ordering(spec).learns_durations
    assert policy_for("delay:node_s=3", World.DIRECT, WORKLOAD_FACTS).rules.node_s == 3.0


@pytest.mark.parametrize("spec", ["delay:node_s", "delay:=3", "delay:node_s=1:node_s=2", "delay:node=1", "x:node_s=1"])
def test_what_is_no_policy_with_values_is_none(spec):
    assert queue_policy(spec) is None
    with pytest.raises(BadRequestError):
        policy_for(spec, World.DIRECT, WORKLOAD_FACTS)


def test_no_parameter_has_the_name_of_a_key_of_queues_and_one_name_means_one_kind_of_value():
    kinds = {}
    for known in PARAMETERS.values():
        for name, each in known.items():
            assert kinds.setdefault(name, type(each.default)) is type(each.default)
    assert not kinds.keys() & declared_keys(QueueConfig).keys()


def test_rules_without_a_change_are_the_same():
    assert with_values(JOCKEY.rules, {}) is JOCKEY.rules
