"""The part of the configuration that policies may change while Heddle runs: queues, and who is put into which.

The same tables stand in `heddle.toml` and in the files of `heddle policy apply` (`policy_files`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from shim.config.tree import AUTO, Key, key, section
from shim.domain.ids import SubClusterId
from shim.domain.limits import TextKind, rejection
from shim.domain.placement_rules import (
    KNOWN_GROUPS,
    TAG,
    NodeGroup,
    OperatorConstraint,
    PlacementRules,
    read_wish,
)
from shim.domain.queues import (
    PLAIN,
    UNORDERED,
    FederatedQueue,
    QueueDefaults,
    QueueMapping,
    SharePolicy,
    parent_of,
)
from shim.domain.users import MalformedUserNameError, canonical_user
from shim.errors import BadRequestError, ConfigError
from shim.scheduling.queue_policies import (
    PARAMETERS,
    QUEUE_POLICIES,
    SHADOW_POLICIES,
    parameter_rejection,
    queue_rejection,
    shadow_rejection,
    with_parameters,
)

_PATH = r"root(\.[^\s.]+)*"
_PATH_FORM = 'the full path of a queue; write "root.prod"'
_NAME = r"[A-Za-z0-9_.-]{1,100}"
_NAME_FORM = "a name of letters, digits, `_`, `.` and `-`"
_ROUNDING = 1e-9
MOST_TABLES = {"queue": 1000, "mapping": 1000, "constraint": 200, "node_group": 50}
"""Tables of each kind in one policy."""
_SAME = (
    *("weight", "guaranteed", "maximum", "max_applications", "max_running", "max_user_applications"),
    *("max_user_running", "user_maximum", "deadline", "containers_up_to"),
    *("preemptable", "preempted_per_minute"),
    *("altruism", "altruism_order", "altruism_packer", "altruism_slack", "altruism_shadow"),
)
"""Keys of a queue that mean the same in the core."""
_QUEUE = FederatedQueue("root")
"""A queue of which no table tells. Its values are the defaults of a table's keys: the core goes by them, too."""


def _no_weights() -> Mapping[str, float]:
    return MappingProxyType({})


def _no_names() -> Mapping[str, str]:
    return MappingProxyType({})


def _no_parameters() -> Mapping[str, object]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """Settings of one queue's applications; a queue that is not named has the defaults."""

    name: str = key(about=Key("Its full path, `root.prod`.", pattern=_PATH, form=_PATH_FORM))
    placement: str = key(
        "home",
        about=Key(
            "Who decides where containers go: `home` leaves it to the scheduler of each sub-cluster.",
            choices=("home",),
        ),
    )
    span: bool | None = key(
        None,
        about=Key(
            "Whether one application may hold containers of several sub-clusters; `true` needs `security.secret_file`. "
            '`"auto"`, as without the key: one that waits at its home may, among sub-clusters that name one of '
            "`filesystems` or `reach` together, unless `scheduling.automatic` is off ([defaults.md](defaults.md)). "
            "Counts for those whose ApplicationMasters log in from then on."
        ),
    )
    prefers: Mapping[str, float] = section(
        _no_weights,
        Key(
            "How much its applications prefer a sub-cluster when they span: `prefers.east = 2.0`; 1 without a word, "
            "0 for never."
        ),
    )
    containers: str = key(
        AUTO,
        about=Key(
            "Which of its applications has containers first, also of those that stay at home: `auto` is "
            "`learnt-work`, or `unordered` where `scheduling.automatic` is off, there is one sub-cluster, or nothing "
            "is sealed; `unordered` leaves it to the scheduler of each sub-cluster; `fifo` who came first; "
            "`fewest-tasks` who has and wants the fewest containers; `learnt-work` whose containers that wait will "
            "take the least time, as far as is learnt from those that ended; `fair` who has the fewest; `drf` whose "
            "dominant share is least. `delay`, `tetris`, `jockey`, `quincy`, `alsched` and `tetrisched` decide also "
            "where, and so does `medea` for asks with tags; `sparrow` asks two sub-clusters that are drawn, and "
            '`omega` plans on random nodes (policies.md). Needs `span.placement = "heddle"`.',
            choices=(AUTO, UNORDERED, *QUEUE_POLICIES),
            rejection=queue_rejection,
        ),
    )
    shadow: str = key(
        _QUEUE.shadow,
        about=Key(
            "A policy that plans on the same snapshots as the one in `containers`; nothing of it is carried out, and "
            "`heddle policy shadow` shows where the two differ (docs/researchers/policies.md).",
            choices=("none", *SHADOW_POLICIES),
            rejection=shadow_rejection,
        ),
    )
    parameters: Mapping[str, object] = section(
        _no_parameters,
        Key(
            "Parameters of the policies in `containers` and `shadow`, whichever of them has one of that name; see "
            "below.",
            rest=frozenset(name for known in PARAMETERS.values() for name in known),
        ),
    )
    containers_up_to: int = key(
        _QUEUE.containers_up_to,
        about=Key(
            "Memory in MiB of the largest containers that its applications ask for. Clients are offered that size, "
            "and only sub-clusters that grant so much are homes. 0: clients are offered what every sub-cluster of "
            "their queue grants. The tag `heddle-containers-up-to=4096` sets it for one application; with "
            "`yarn.io/gpu:1` or `vcores:4` in the place of MiB, of another resource type.",
            least=0,
        ),
    )
    deadline: str = key(
        _QUEUE.deadline,
        about=Key(
            "What becomes of a submission whose deadline cannot be met, as far as is known: `warn` takes it and says "
            "so, `refuse` does not take it (docs/clients/deadlines.md).",
            choices=("warn", "refuse"),
        ),
    )
    weight: float | None = key(
        None,
        about=Key(
            "Its part of the federation, relative to the others that have one. A queue without it takes no part in "
            "the shares; one of weight 0 gets only what all others leave.",
            least=0,
            most=1_000_000,
        ),
    )
    guaranteed: float = key(
        0.0, about=Key("Part of the federation that it gets first, before weights count.", least=0, most=1)
    )
    maximum: float = key(_QUEUE.maximum, about=Key("Part of the federation that it never exceeds.", least=0, most=1))
    max_applications: int = key(
        0, about=Key("Applications that run and wait at most; more are refused. 0 for no limit.", least=0)
    )
    max_running: int = key(
        0, about=Key("Applications that are on sub-clusters at most; more wait. 0 for no limit.", least=0)
    )
    max_user_applications: int = key(
        0, about=Key("As `max_applications`, of one user in this queue. 0 for no limit.", least=0)
    )
    max_user_running: int = key(0, about=Key("As `max_running`, of one user in this queue. 0 for no limit.", least=0))
    user_maximum: float = key(
        _QUEUE.user_maximum,
        about=Key("Part of the federation that one user never exceeds in this queue.", least=0, most=1),
    )
    order: str = key(
        AUTO,
        about=Key(
            "Who of those that wait is next: `fifo` who came first, `users` whose user holds least, `work` who is "
            "expected to be the least work; `auto` is `work`, or `fifo` where `scheduling.automatic` is off or there "
            "is one sub-cluster.",
            choices=(AUTO, "fifo", "users", "work"),
        ),
    )
    submit: tuple[str, ...] = key(
        _QUEUE.submit,
        about=Key("Who may submit to it: users, `group:NAME`, or `*` for all; those who administer it always may."),
    )
    administer: tuple[str, ...] = key(
        (),
        about=Key(
            "Who may end applications of others that wait in it, beside `security.admins`; named as in `submit`."
        ),
    )
    preemptable: bool = key(
        default=False,
        about=Key(
            "Whether what it holds beyond its share is asked back, and its asks are held back, while another queue "
            "waits for its own; needs `weight` and `security.secret_file`. Heddle then reads what its "
            "ApplicationMasters call: those that log in from then on."
        ),
    )
    preempted_per_minute: int = key(
        _QUEUE.preempted_per_minute,
        about=Key("Containers of it that are taken in a minute at most.", least=0, most=100_000),
    )
    altruism: float = key(
        0.0,
        about=Key(
            "Probability with which a job of it puts off containers that it does not need now to end in time, looked "
            "at every second; 0 for never. Needs `security.secret_file`: Heddle reads what its ApplicationMasters "
            "call. A job of which too little is known puts nothing off.",
            least=0,
            most=1,
        ),
    )
    altruism_order: str = key(
        _QUEUE.altruism_order,
        about=Key(
            "Which of its jobs may use first what others put off: `srtf` the one with the least work left; `planned` "
            "the same, and of its stages the one that has to start first; `packing` what fits best.",
            choices=("srtf", "planned", "packing"),
        ),
    )
    altruism_packer: str = key(
        _QUEUE.altruism_packer,
        about=Key(
            "How plans order the stages of a job that could begin: `tetris` by what fits best into what is free, "
            "`graphene` by the order in which the whole job packs shortest, found once a job at a hundred times the "
            "cost of a plan.",
            choices=("tetris", "graphene"),
        ),
    )
    altruism_slack: float = key(
        0.0, about=Key("Part of its remaining time that a job gives up for others.", least=0, most=1)
    )
    altruism_shadow: bool = key(
        default=False, about=Key("Whether it is only shown what would be put off, and every ask goes out.")
    )
    names: Mapping[str, str] = section(
        _no_names, Key('Its name on sub-clusters that call it otherwise: `names.east = "root.production"`.')
    )


@dataclass(frozen=True, slots=True)
class MappingConfig:
    """A rule that puts submissions into a queue. The first that fits counts; an empty member fits everybody."""

    queue: str = key(about=Key("Where to.", pattern=_PATH, form=_PATH_FORM))
    user: str = key("", about=Key("Name of the user."))
    group: str = key("", about=Key("A group of the user on this machine."))
    application: str = key("", about=Key("Name of the application; `*` stands for any characters, `?` for one."))
    overrides: bool = key(
        default=False,
        about=Key("Whether it counts also for submissions that name a queue; else only without one or for `default`."),
    )


def _no_sets() -> Mapping[str, tuple[str, ...]]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ConstraintConfig:
    """Where containers with some tags shall be, by an operator's word; see `medea` in docs/researchers."""

    name: str = key(about=Key("Its name, once.", pattern=_NAME, form=_NAME_FORM))
    subject: tuple[str, ...] = key(
        about=Key(
            "Tags that a container has, all of them, whose place it is about.", pattern=TAG, form="a tag", example="hb"
        )
    )
    want: str = key(
        about=Key(
            "Numbers of other containers, of all applications, in a set of the container's node: `0 hb in node`, "
            "`1.. hb+mem in rack`, `..2 web in node and 3..10 spark in rack or 0 hb in upgrade`. Behind `in`: `node`, "
            "`rack`, `cluster` or a `[[node_group]]`.",
            example="0 hb in node",
        )
    )
    weight: float = key(
        1.0,
        about=Key("How much it counts beside others where not all can hold; 0 for not at all.", least=0, most=1e6),
    )
    hard: bool = key(default=False, about=Key("Whether a container rather waits than breaks it; `weight` is 1 then."))


@dataclass(frozen=True, slots=True)
class NodeGroupConfig:
    """Sets of nodes that constraints may name: upgrade domains, fault domains, rooms. Sets may overlap."""

    name: str = key(about=Key("Its name, once; not `node`, `rack` or `cluster`.", pattern=_NAME, form=_NAME_FORM))
    sets: Mapping[str, tuple[str, ...]] = section(
        _no_sets,
        Key(
            'Hosts by the name of the set, `*` and `?` in them: `sets.fd1 = ["node-1.east", "node-2*"]`.',
            pattern=r"\S+",
            form="a host, or a pattern of hosts",
            example="node-1*",
        ),
    )


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """Contents of a policy file."""

    queues: tuple[QueueConfig, ...] = key((), about=Key("`[[queue]]`", name="queue"))
    mappings: tuple[MappingConfig, ...] = key((), about=Key("`[[mapping]]`", name="mapping"))
    constraints: tuple[ConstraintConfig, ...] = key((), about=Key("`[[constraint]]`", name="constraint"))
    node_groups: tuple[NodeGroupConfig, ...] = key((), about=Key("`[[node_group]]`", name="node_group"))


def check_policy(tables: PolicyConfig, subclusters: Sequence[str], source: str) -> None:
    """Refuse what each key alone allows, but not together.

    Raises:
        ConfigError: A name twice, or for nothing; a mapping to none; guarantees above what there is; a wish that is
            none.
    """
    queues, seen = tables.queues, set[str]()
    for name, given in tables_of(tables):
        if len(given) > MOST_TABLES[name]:
            raise ConfigError(source, name, f"there are {len(given)}: at most {MOST_TABLES[name]} are allowed")
    for number, queue in enumerate(queues):
        where = f"queue[{number}]"
        _check_name(queue.name, f"{where}.name", source)
        if queue.name in seen:
            raise ConfigError(source, f"{where}.name", f"{queue.name!r} is there twice")
        seen.add(queue.name)
        if queue.guaranteed > queue.maximum:
            message = f"{queue.guaranteed:g} is above the queue's maximum of {queue.maximum:g}"
            raise ConfigError(source, f"{where}.guaranteed", message)
        for key_of_it, named in (("names", queue.names), ("prefers", queue.prefers)):
            unknown = sorted(set(named) - set(subclusters))
            if unknown and subclusters:
                message = f"there is no such sub-cluster; there are {', '.join(subclusters)}"
                raise ConfigError(source, f"{where}.{key_of_it}.{unknown[0]}", message)
        for name, value in queue.parameters.items():
            if said := parameter_rejection((queue.containers, queue.shadow), name, value):
                raise ConfigError(source, f"{where}.{name}", said)
        _check_places(queue, where, source)
    _check_guarantees(queues, source)
    _check_mappings(tables.mappings, source)
    _check_node_groups(tables.node_groups, source)
    _check_constraints(tables.constraints, tables.node_groups, source)


def tables_of(tables: PolicyConfig) -> Sequence[tuple[str, Sequence[object]]]:
    return (
        ("queue", tables.queues),
        ("mapping", tables.mappings),
        ("constraint", tables.constraints),
        ("node_group", tables.node_groups),
    )


def _check_node_groups(groups: Sequence[NodeGroupConfig], source: str) -> None:
    seen = set(KNOWN_GROUPS)
    for number, group in enumerate(groups):
        where = f"node_group[{number}]"
        if group.name in seen:
            message = f"{group.name!r} is {'known without a table' if group.name in KNOWN_GROUPS else 'there twice'}"
            raise ConfigError(source, f"{where}.name", message)
        seen.add(group.name)
        if not group.sets:
            raise ConfigError(source, f"{where}.sets", 'has no sets: write sets.fd1 = ["node-1", "node-2*"]')
        for name, hosts in group.sets.items():
            if not hosts:
                raise ConfigError(source, f"{where}.sets.{name}", "has no hosts")


def _check_constraints(constraints: Sequence[ConstraintConfig], groups: Sequence[NodeGroupConfig], source: str) -> None:
    seen, known = set[str](), {*KNOWN_GROUPS, *(group.name for group in groups)}
    for number, constraint in enumerate(constraints):
        where = f"constraint[{number}]"
        if constraint.name in seen:
            raise ConfigError(source, f"{where}.name", f"{constraint.name!r} is there twice")
        seen.add(constraint.name)
        if not constraint.subject:
            raise ConfigError(source, f"{where}.subject", 'names no tag: write subject = "hb"')
        if constraint.hard and constraint.weight != 1.0:
            raise ConfigError(source, f"{where}.weight", "says nothing beside hard = true: leave out one of them")
        try:
            wished = read_wish(constraint.want)
        except BadRequestError as exc:
            raise ConfigError(source, f"{where}.want", str(exc)) from exc
        for group in (wish.group for choice in wished for wish in choice):
            if group not in known:
                message = f"there is no node group {group!r}; there are {', '.join(sorted(known))}"
                raise ConfigError(source, f"{where}.want", message)


def _check_name(path: str, where: str, source: str) -> None:
    """Refuse a name of a queue that a ResourceManager cannot take."""
    if said := rejection(TextKind.QUEUE, path):
        raise ConfigError(source, where, said)


def _check_mappings(mappings: Sequence[MappingConfig], source: str) -> None:
    for number, mapping in enumerate(mappings):
        where = f"mapping[{number}].queue"
        _check_name(mapping.queue, where, source)
        if not mapping.user and not mapping.group and not mapping.application and number < len(mappings) - 1:
            raise ConfigError(source, where, "fits everybody, so that those below it never count: put it last")


def _check_places(queue: QueueConfig, where: str, source: str) -> None:
    """Check a queue's names and weights at single sub-clusters."""
    for place, name in queue.names.items():
        _check_name(name, f"{where}.names.{place}", source)
        if re.fullmatch(_PATH, name) is None:
            raise ConfigError(source, f"{where}.names.{place}", f"{name!r} is not {_PATH_FORM}")
    for place, weight in queue.prefers.items():
        if weight < 0:
            message = f"{weight:g} is too small: at least 0 is allowed, which is never"
            raise ConfigError(source, f"{where}.prefers.{place}", message)


def _check_guarantees(queues: Sequence[QueueConfig], source: str) -> None:
    """Guarantees of siblings sum to at most the whole federation, and to at most their parent's maximum."""
    sharing = {queue.name: queue for queue in queues if queue.weight is not None}
    sums: dict[str, float] = {}
    for number, queue in enumerate(queues):
        if queue.weight is None:
            continue
        parent = parent_of(queue.name, sharing)
        most = sharing[parent].maximum if parent else 1.0
        sums[parent] = sums.get(parent, 0.0) + queue.guaranteed
        if sums[parent] > most + _ROUNDING:
            whose = f"the {most:.0%} of {parent}" if parent else "the federation"
            message = f"with it the guarantees sum to {sums[parent]:.0%}, which is more than {whose}"
            raise ConfigError(source, f"queue[{number}].guaranteed", message)


def share_policy(tables: PolicyConfig, defaults: QueueDefaults = PLAIN) -> SharePolicy:
    """The values of the core; `defaults` are what `auto` stands for."""
    return SharePolicy(
        queues=tuple(
            FederatedQueue(
                path=queue.name,
                names=MappingProxyType({SubClusterId(name): known_as for name, known_as in queue.names.items()}),
                prefers=MappingProxyType({SubClusterId(name): weight for name, weight in queue.prefers.items()}),
                submit=tuple(map(_canonical, queue.submit)),
                administer=tuple(map(_canonical, queue.administer)),
                order=defaults.order if queue.order == AUTO else queue.order,
                containers=with_parameters(
                    defaults.containers if queue.containers == AUTO else queue.containers, queue.parameters
                ),
                shadow=with_parameters(queue.shadow, queue.parameters),
                span=bool(queue.span),
                spans_by_need=queue.span is None and defaults.spans_by_need,
                reads_asks=defaults.reads_asks,
                **{name: getattr(queue, name) for name in _SAME},
            )
            for queue in tables.queues
        ),
        mappings=tuple(
            QueueMapping(one.queue, _canonical(one.user), one.group, one.application, one.overrides)
            for one in tables.mappings
        ),
        rules=PlacementRules(
            tuple(
                OperatorConstraint(
                    each.name, frozenset(each.subject), read_wish(each.want), each.weight, is_hard=each.hard
                )
                for each in tables.constraints
            ),
            tuple(NodeGroup(each.name, tuple(each.sets.items())) for each in tables.node_groups),
        ),
    )


def _canonical(listed: str) -> str:
    """A listed user as callers are named; `*` and groups as they stand."""
    try:
        return canonical_user(listed)
    except MalformedUserNameError:
        return listed
