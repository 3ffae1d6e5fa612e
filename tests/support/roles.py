"""Users of each role, for tests of what a role may do."""

from types import MappingProxyType

from google.protobuf.message import Message

from shim.domain.roles import NEEDED, Right, Role
from shim.identity.roles import RoleRules
from shim.identity.service import IdentityRules
from tests.doubles.settings import usual

ROLES = usual(
    IdentityRules,
    roles=RoleRules(
        MappingProxyType(
            {
                Role.VIEWER: ("a-viewer",),
                Role.USER: ("a-user",),
                Role.OPERATOR: ("a-operator",),
                Role.ADMINISTRATOR: ("a-administrator",),
            }
        )
    ),
)


def user_of(role: Role) -> str:
    """A user who has a role; `a-nobody` has none."""
    return f"a-{role.told}"


def may(role: Role, right: Right) -> bool:
    """Whether a role has a right, by the order of roles."""
    return role >= NEEDED[right]


def with_required(request: Message) -> Message:
    """A request with all that has to be in it, so that it can be sent."""
    for field in request.DESCRIPTOR.fields:
        if not field.is_required:
            continue
        if field.message_type is not None:
            inner = getattr(request, field.name)
            inner.SetInParent()
            with_required(inner)
        elif field.enum_type is not None:
            setattr(request, field.name, field.enum_type.values[0].number)
        else:
            setattr(request, field.name, type(field.default_value)(1))
    return request
