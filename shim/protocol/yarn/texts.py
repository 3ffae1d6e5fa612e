"""The texts of a Hadoop RPC request: which of them no ResourceManager should be given."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from shim.domain.limits import TextKind, count_rejection

_KINDS: Mapping[str, TextKind] = {
    "queue": TextKind.QUEUE,
    "queues": TextKind.QUEUE,
    "queueName": TextKind.QUEUE,
    "target_queue": TextKind.QUEUE,
    "application_name": TextKind.APPLICATION_NAME,
    "applicationType": TextKind.APPLICATION_TYPE,
    "application_types": TextKind.APPLICATION_TYPE,
    "applicationTags": TextKind.TAG,
    "node_label_expression": TextKind.LABEL_EXPRESSION,
    "nodeLabels": TextKind.NODE_LABEL,
    "deprecatedNodeLabels": TextKind.NODE_LABEL,
    "reservation_name": TextKind.RESERVATION_NAME,
    "renewer": TextKind.RENEWER,
    "user": TextKind.USER,
    "users": TextKind.USER,
    "host": TextKind.NODE,
    "node": TextKind.NODE,
}
"""By the field's name; a text that is not here is of the kind TEXT."""

_NOT_LOOKED_AT = frozenset({"ContainerLaunchContextProto", "ResourceProto"})
"""Messages whose texts no ResourceManager decides on; a launch context may have thousands."""

_Path = tuple[str, ...]


def text_rejection(request_untrusted: Message) -> str:
    """Reason why a request's texts cannot be taken; empty if they can."""
    for path, kind in _texts_of(request_untrusted.DESCRIPTOR):
        if said := count_rejection(kind, _values(request_untrusted, path)):
            return said
    return ""


@lru_cache(maxsize=256)
def _texts_of(descriptor: Descriptor) -> tuple[tuple[_Path, TextKind], ...]:
    return tuple(_below(descriptor, (), frozenset()))


def _below(descriptor: Descriptor, path: _Path, above: frozenset[str]) -> Iterator[tuple[_Path, TextKind]]:
    for field in descriptor.fields:
        here = (*path, field.name)
        if field.type == FieldDescriptor.TYPE_STRING:
            yield here, _kind_of(field)
        elif field.message_type is not None and field.message_type.name not in above | _NOT_LOOKED_AT:
            yield from _below(field.message_type, here, above | {descriptor.name})


def _kind_of(field: FieldDescriptor) -> TextKind:
    is_label = field.name == "name" and field.containing_type is not None and "Label" in field.containing_type.name
    return TextKind.NODE_LABEL if is_label else _KINDS.get(field.name, TextKind.TEXT)


def _values(message: Message, path: _Path) -> Iterator[str | bytes]:
    """The texts of a field; protobuf hands out bytes where one is not UTF-8."""
    name, rest = path[0], path[1:]
    value = getattr(message, name)
    if isinstance(value, (str, bytes)):
        yield value
    elif isinstance(value, Message):
        if message.HasField(name):
            yield from _values(value, rest)
    else:
        for item in value:
            if rest:
                yield from _values(item, rest)
            else:
                yield item
