"""A default stands in one place: what a key of the configuration sets has none where it is used."""

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import typing
from dataclasses import replace

import pytest

import shim.app
import shim.cli
import shim.config
from shim.app.settings import cycle_settings, poll_schedule, queue_defaults, reach
from shim.config import queues
from shim.config.loader import Config, parse
from shim.config.subclusters import PollConfig
from shim.config.tree import is_table, item_type
from shim.domain.ids import SubClusterId
from shim.domain.queues import PLAIN, FederatedQueue, QueueDefaults

READERS = (shim.app, shim.cli, shim.config)


def sections(cls):
    """A configuration class, and those of its tables."""
    yield cls
    for declared in typing.get_type_hints(cls).values():
        table = declared if is_table(declared) else item_type(declared)
        if is_table(table):
            yield from sections(table)


def key_names():
    """Attributes of sections that hold a value."""
    for cls in sections(Config):
        hints = typing.get_type_hints(cls)
        yield from (f.name for f in dataclasses.fields(cls) if not is_table(hints[f.name]))


KEYS = frozenset(key_names())


def modules():
    for package in READERS:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield importlib.import_module(found.name)


def meant(module, expression):
    """The object that a dotted name means in a module; None if that is known only when it runs."""
    if isinstance(expression, ast.Name):
        return vars(module).get(expression.id)
    if isinstance(expression, ast.Attribute):
        return getattr(meant(module, expression.value), expression.attr, None)
    return None


def says_something(default):
    """True if a default is a value that somebody chose, and not merely none."""
    return isinstance(default, bool | int | float | str | tuple) and bool(default)


def arguments(call, callee):
    """Parameters of a call that have a default which says something, each with what is passed."""
    try:
        parameters = inspect.signature(callee).parameters
    except (TypeError, ValueError):
        return
    passed = [*zip(parameters, call.args, strict=False), *((each.arg, each.value) for each in call.keywords)]
    for name, value in passed:
        if name in parameters and says_something(parameters[name].default):
            yield name, value


def reads_a_key(expression, names):
    """Whether an expression, or what its names were given before, is made of an attribute called as a key is."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Attribute) and node.attr in KEYS:
            return True
        if isinstance(node, ast.Name) and node.id in names and reads_a_key(names[node.id], {}):
            return True
    return False


def given(function):
    """Names of a function, each with the last expression that it is given."""
    assigned = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assigned[node.targets[0].id] = node.value
    return assigned


def defaults_that_stand_twice(module):
    for function in ast.walk(ast.parse(inspect.getsource(module))):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        names = given(function)
        for call in ast.walk(function):
            callee = meant(module, call.func) if isinstance(call, ast.Call) else None
            if callee is None or callee is FederatedQueue:  # its values are the keys' defaults: see below
                continue
            if str(getattr(callee, "__module__", None)).startswith("heddle."):  # for programs outside, without a file
                continue
            for parameter, value in arguments(call, callee):
                if reads_a_key(value, names):
                    yield f"{module.__name__}:{call.lineno} {ast.unparse(call.func)}.{parameter}"


def test_what_a_key_sets_has_no_default_in_the_room_that_uses_it():
    twice = {found for module in modules() for found in defaults_that_stand_twice(module)}
    assert sorted(twice) == [], "take the default away: it stands in the section of the configuration"


def renamed_keys(module):
    """Settings of rooms that are made of a key and are called otherwise than it."""
    for call in ast.walk(ast.parse(inspect.getsource(module))):
        kind = meant(module, call.func) if isinstance(call, ast.Call) else None
        if not dataclasses.is_dataclass(kind) or not kind.__name__.endswith(
            ("Settings", "Limits", "Rules", "Schedule")
        ):
            continue
        names = [each.name for each in dataclasses.fields(kind)]
        for name, value in [*zip(names, call.args, strict=False), *((each.arg, each.value) for each in call.keywords)]:
            if isinstance(value, ast.Attribute) and value.attr in KEYS - {"name", name}:
                yield f"{kind.__name__}.{name} is {value.attr}"


def test_a_setting_of_a_room_is_called_as_its_key_is():
    assert sorted({found for module in modules() for found in renamed_keys(module)}) == []


def test_a_key_of_a_queue_has_the_default_of_a_queue_without_a_table():
    (table,) = (node for node in ast.parse(inspect.getsource(queues.QueueConfig)).body)
    chosen = {f.name for f in dataclasses.fields(FederatedQueue) if says_something(f.default)}
    twice = [
        declared.target.id
        for declared in table.body
        if isinstance(declared, ast.AnnAssign)
        and declared.target.id in chosen
        and not any(isinstance(node, ast.Name) and node.id in ("_QUEUE", "AUTO") for node in ast.walk(declared.value))
    ]
    assert twice == [], "take it from `_QUEUE`: the core goes by the defaults of FederatedQueue, too"


def test_costs_of_reading_are_those_of_pairs_and_else_the_usual_one():
    config = parse(
        "[scheduling]\nread_across_s = 10.0\n"
        '[[subcluster]]\nid = "east"\nweb = "http://east:8088"\nreads_from.west = 2.5\n'
        '[[subcluster]]\nid = "west"\nweb = "http://west:8088"\n',
        source="heddle.toml",
        environment={},
    )
    rules = cycle_settings(config).data
    names = (SubClusterId("east"), SubClusterId("west"))
    assert rules.costs_between(names).tolist() == [[0, 10_000], [2_500, 0]]  # by holder, then by reader


def defaults_of(*clusters: str, text: str = "") -> QueueDefaults:
    listed = (
        f'[[subcluster]]\nid = "c{number}"\nweb = "http://rm:1"\n{more}\n' for number, more in enumerate(clusters)
    )
    return queue_defaults(parse(text + "".join(listed), source="a", environment={}))


SHARED = 'filesystems = ["hdfs://one"]'


def test_with_one_cluster_nothing_is_held_spanned_or_ordered():
    assert defaults_of(SHARED) == PLAIN
    assert defaults_of(SHARED, SHARED, text="[scheduling]\nautomatic = false\n") == PLAIN


@pytest.mark.parametrize(
    ("clusters", "text", "spans", "reads"),
    [
        ((SHARED, SHARED), "", True, True),
        ((SHARED, 'filesystems = ["hdfs://other"]'), "", False, True),
        (("", ""), "", False, True),
        (("", ""), '[span]\nplacement = "capacity"\n', False, False),
        (('reach = ["dublin"]', 'reach = ["cork", "dublin"]'), "", True, True),
        (('reach = ["dublin"]', 'reach = ["cork"]'), "", False, True),
        (('reach = ["hdfs"]', 'filesystems = ["hdfs://hdfs"]'), "", False, True),
        ((SHARED, SHARED), '[store]\nurl = "postgresql+asyncpg://u@h/d"\n', False, False),
        ((SHARED, SHARED), '[security]\nsecret_file = "s"\n[store]\nurl = "postgresql+asyncpg://u@h/d"\n', True, True),
    ],
)
def test_with_several_what_pays_is_done_and_who_shares_files_spans_if_tokens_can_be_kept(clusters, text, spans, reads):
    found = defaults_of(*clusters, text=text)
    assert found == QueueDefaults("work", "learnt-work", spans_by_need=spans, reads_asks=reads)
    assert found.queue("root.default").is_read is reads
    assert not replace(found, containers="unordered", spans_by_need=False).queue("root.default").is_read


def test_applications_reach_what_names_a_file_system_or_a_reach_together_and_no_more():
    lines = [SHARED, f'{SHARED}\nreach = ["dublin"]', 'reach = ["dublin"]', ""]
    listed = "".join(
        f'[[subcluster]]\nid = "c{number}"\nweb = "http://rm:1"\n{more}\n' for number, more in enumerate(lines)
    )
    found = reach(parse(listed, source="a", environment={}))
    assert found == {"c0": {"c1"}, "c1": {"c0", "c2"}, "c2": {"c1"}, "c3": frozenset()}


@pytest.mark.parametrize(("workers", "share"), [(0, 1.0), (1, 1.0), (2, 0.5), (4, 0.25)])
def test_processes_that_poll_read_as_much_together_as_one_would(workers, share):
    alone, together = (poll_schedule(replace(PollConfig(), workers=count)).poll for count in (0, workers))
    assert together.rows_per_s == share * alone.rows_per_s


@pytest.mark.parametrize(("late_after_s", "given_up_s"), [(0.5, 0.5), (1.9, 1.9), (2.0, 2.0), (6.0, 2.0), (60.0, 2.0)])
def test_who_does_not_say_that_it_is_there_is_given_up_before_it_is_late_for_its_silence(late_after_s, given_up_s):
    assert poll_schedule(replace(PollConfig(), late_after_s=late_after_s)).poll.info_timeout_s == given_up_s
