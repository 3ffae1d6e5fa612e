"""What schemathesis needs to know of a Heddle besides its description: who calls, and a few names of what is there."""

import json
import os
from typing import Any

import schemathesis  # type: ignore[import-not-found]  # of the environment that runs this

_KNOWN: dict[str, str] = json.loads(os.environ["HEDDLE_KNOWN"])


@schemathesis.hook
def map_path_parameters(_context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Name what is there in half of the requests: what is not there is answered by one line of 404 everywhere."""
    for name, value in (path_parameters or {}).items():
        if path_parameters is not None and name in _KNOWN and len(str(value)) % 2 == 0:
            path_parameters[name] = _KNOWN[name]
    return path_parameters


@schemathesis.hook
def before_call(_context: Any, case: Any, _options: dict[str, Any]) -> None:
    """Call as an administrator."""
    case.query = {**(case.query or {}), "user.name": "ops"}


@schemathesis.hook
def after_call(_context: Any, case: Any, response: Any) -> None:
    """Read the answer to an accepted submission, a ResourceManager's header of JSON with no byte, as an empty text."""
    is_submission = (case.method, case.path) == ("POST", "/ws/v1/cluster/apps")
    if is_submission and response.status_code == 202 and not response.content:
        response.content = b'""'
