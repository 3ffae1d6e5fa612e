"""Parameters of policies as data: a rule of a policy declares its name, default, unit, range and place in the paper.

    node_s: float = parameter(5.0, unit="s", least=0.0, section="section 3.5", meaning="Seconds for a named node.")

From that one declaration come the keys of `[[queue]]`, the checks, the messages and the pages. A policy with other
values is named by its name and what differs, `delay:node_s=3.0:rack_s=0.0`, wherever policies are named.
"""

import dataclasses
import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from shim.errors import BadRequestError

ParameterValue = float | int | bool

_METADATA = "parameter"
_LONGEST_SHOWN = 80
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class PolicyParameter:
    """A parameter of a policy.

    Attributes:
        default: Value where nobody sets one; its type is the parameter's.
        published: The paper's, where the default is another; None where it is the same, or the paper has none.
        unit: `s`, `quanta`, ...; empty for a number of nothing in particular.
        least: Smallest value allowed; `most` is the largest, infinity included where there is none.
        section: Where the paper has it; empty for what is Heddle's own.
    """

    name: str
    default: ParameterValue
    published: ParameterValue | None
    unit: str
    least: float
    most: float
    section: str
    meaning: str

    @property
    def range(self) -> str:
        if isinstance(self.default, bool):
            return "true or false"
        what = "a whole number" if isinstance(self.default, int) else "a number"
        unit = f" {self.unit}" if self.unit else ""
        if math.isinf(self.most):
            return f"{what}, {self.least:g}{unit} or more"
        return f"{what} between {self.least:g} and {self.most:g}{unit}"

    def read(self, raw: object) -> ParameterValue:
        """Take a value, of TOML or as text.

        Raises:
            BadRequestError: It is not allowed; the message says what is.
        """
        value = self._converted(raw)
        if value is None or (not isinstance(value, bool) and not self.least <= value <= self.most):
            raise BadRequestError(f"{repr(raw)[:_LONGEST_SHOWN]} is not {self.range}")
        return value

    def _converted(self, raw: object) -> ParameterValue | None:
        if isinstance(self.default, bool):
            return raw if isinstance(raw, bool) else _TRUTHS.get(raw.lower()) if isinstance(raw, str) else None
        if isinstance(raw, bool) or not isinstance(raw, int | float | str):
            return None
        try:
            value = float(raw)
        except (ValueError, OverflowError):
            return None
        if math.isnan(value) or (isinstance(self.default, int) and not value.is_integer()):
            return None
        return int(value) if isinstance(self.default, int) else value


def parameter(
    default: Any,
    *,
    meaning: str,
    unit: str = "",
    least: float = 0.0,
    most: float = math.inf,
    section: str = "",
    published: ParameterValue | None = None,
    name: str = "",
) -> Any:
    """Declare a field of a policy's rules that may be set; see `PolicyParameter`. Without a name it has the field's."""
    told = PolicyParameter(name, default, published, unit, least, most, section, meaning)
    return dataclasses.field(default=default, metadata={_METADATA: told})


class Parametrised(Protocol):
    """What has a name, and rules as a dataclass."""

    @property
    def name(self) -> str: ...

    @property
    def rules(self) -> Any:
        """A frozen dataclass, with others in it; None for a policy that has none."""
        ...


def parameters_of(policy: Parametrised) -> Mapping[str, PolicyParameter]:
    """Parameters of a policy by their names, in the order in which its rules declare them, with its own defaults."""
    return {} if policy.rules is None else _declared(policy.rules)


def _declared(rules: Any) -> dict[str, PolicyParameter]:
    found: dict[str, PolicyParameter] = {}
    for field in dataclasses.fields(rules):
        value = getattr(rules, field.name)
        if _METADATA in field.metadata:
            name = _name(field)
            found[name] = dataclasses.replace(field.metadata[_METADATA], name=name, default=value)
        elif dataclasses.is_dataclass(value):
            found |= _declared(value)
    return found


def _name(field: "dataclasses.Field[Any]") -> str:
    declared: PolicyParameter = field.metadata[_METADATA]
    return declared.name or field.name


def checked_values(policy: Parametrised, raw: Mapping[str, object]) -> Mapping[str, ParameterValue]:
    """Take values of a policy's parameters.

    Raises:
        BadRequestError: One is no parameter of it, or a value is not allowed; the message says what is.
    """
    known, found = parameters_of(policy), dict[str, ParameterValue]()
    for name, value in raw.items():
        if name not in known:
            near = difflib.get_close_matches(name[:_LONGEST_SHOWN], known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            told = f"It has {', '.join(known)}" if known else "It has none"
            raise BadRequestError(f"policy {policy.name} has no parameter {name[:_LONGEST_SHOWN]!r}.{hint} {told}")
        try:
            found[name] = known[name].read(value)
        except BadRequestError as exc:
            raise BadRequestError(f"{name} of policy {policy.name}: {exc}") from exc
    return found


def with_values(rules: Any, values: Mapping[str, ParameterValue]) -> Any:
    """Rules with other values of their parameters, which were checked."""
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(rules):
        value = getattr(rules, field.name)
        if _METADATA in field.metadata:
            if _name(field) in values:
                changed[field.name] = values[_name(field)]
        elif dataclasses.is_dataclass(value) and (own := with_values(value, values)) != value:
            changed[field.name] = own
    return dataclasses.replace(rules, **changed) if changed else rules


def spec_of(policy: Parametrised, values: Mapping[str, ParameterValue]) -> str:
    """Name a policy with other values: the same for the same values; its bare name where nothing differs."""
    known = parameters_of(policy)
    changed = [name for name in known if name in values and values[name] != known[name].default]
    return ":".join((policy.name, *(f"{name}={str(values[name]).lower()}" for name in changed)))


def named_values(spec: str) -> tuple[str, Mapping[str, str]]:
    """Divide a name of a policy into its bare name, and the values as they stand there.

    Raises:
        BadRequestError: A part of it is no `name=value`.
    """
    name, *parts = spec.split(":")
    values: dict[str, str] = {}
    for part in parts:
        key, sign, value = part.partition("=")
        if not sign or not key or key in values:
            raise BadRequestError(f"{spec[:_LONGEST_SHOWN]!r} is not a policy: write {name}:name=value:name=value")
        values[key] = value
    return name, values
