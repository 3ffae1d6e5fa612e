"""The message classes, by their names in Hadoop; type checkers read `messages.pyi`.

Top-level enumerations are here as wrappers (`NodeStateProto.Name(2)`); fields of an enumeration hold plain integers.
"""

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message_factory import GetMessageClass

from shim.protocol.proto.descriptors import FILES

for _file in FILES:
    globals().update({name: GetMessageClass(message) for name, message in _file.message_types_by_name.items()})
    globals().update({name: EnumTypeWrapper(enum) for name, enum in _file.enum_types_by_name.items()})
