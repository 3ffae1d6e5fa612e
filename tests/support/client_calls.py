"""Every operation of the client, as a call with something for each of its parameters."""

import inspect
from collections.abc import Iterator
from typing import Any

from heddle.client.calls import Call
from heddle.client.manager_calls import ManagerOperations
from heddle.client.own_calls import HeddleOperations
from heddle.client.workflows import CALLS, MANAGER_CALLS
from shim.protocol.rest.filters import APPLICATION_PARAMETERS


def every_call() -> Iterator[Call[Any]]:
    """Yield each operation's call."""
    for calls, operations in ((CALLS, HeddleOperations), (MANAGER_CALLS, ManagerOperations)):
        for name in vars(operations):
            if name.startswith("_"):
                continue
            method = getattr(calls, name)
            _, *parameters = inspect.signature(method).parameters.values()
            named = {each.name: _something(each) for each in parameters if each.kind is not each.VAR_KEYWORD}
            if any(each.kind is each.VAR_KEYWORD for each in parameters):
                named |= dict.fromkeys(APPLICATION_PARAMETERS, "x")
            yield method(**named)


_VALUES: tuple[tuple[str, Any], ...] = (
    ("Mapping[str, Sequence", {"n:1": ["a"]}),
    ("Mapping[str, bool", {"a": True}),
    ("Mapping", {"a": "b"}),
    ("Sequence", ["a"]),
    ("bool", True),
    ("int", 1),
    ("float", 1.0),
    ("str", "a"),
)


def _something(parameter: inspect.Parameter) -> Any:
    return next(value for kind, value in _VALUES if kind in str(parameter.annotation))
