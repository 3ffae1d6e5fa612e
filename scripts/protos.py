"""Make `yarn.desc` and `messages.pyi` of the `.proto` files: `python scripts/protos.py [--check]`.

`--check` writes nothing and fails when a file on disk is not what the definitions say.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorSet,
)

FOLDER = Path(__file__).resolve().parent.parent / "shim" / "protocol" / "proto"
_SCALARS = {
    FieldDescriptorProto.TYPE_DOUBLE: "float",
    FieldDescriptorProto.TYPE_FLOAT: "float",
    FieldDescriptorProto.TYPE_BOOL: "bool",
    FieldDescriptorProto.TYPE_STRING: "str",
    FieldDescriptorProto.TYPE_BYTES: "bytes",
}
_PACKAGES = (".hadoop.common.", ".hadoop.yarn.", ".hadoop.tez.")
_HEAD = '''"""The messages of Hadoop RPC and YARN, typed. Made by scripts/protos.py of the .proto files beside it."""

from collections.abc import Iterable
from typing import Literal

from google.protobuf.internal.containers import RepeatedCompositeFieldContainer, RepeatedScalarFieldContainer
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message
'''


def compile_definitions() -> bytes:
    """The serialized FileDescriptorSet of all `.proto` files, in the order of their names."""
    if importlib.util.find_spec("grpc_tools") is None:
        raise SystemExit("protoc is missing: install the dev group (grpcio-tools)")
    names = sorted(path.name for path in FOLDER.glob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "yarn.desc"
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{FOLDER}", f"--descriptor_set_out={out}", *names]
        subprocess.run(command, check=True)
        return out.read_bytes()


def _type_of(field: FieldDescriptorProto) -> str:
    if field.type == FieldDescriptorProto.TYPE_MESSAGE:
        package = next(each for each in _PACKAGES if field.type_name.startswith(each))
        return field.type_name.removeprefix(package)
    return _SCALARS.get(field.type, "int")


def _is_message(field: FieldDescriptorProto) -> bool:
    return field.type == FieldDescriptorProto.TYPE_MESSAGE


def _is_repeated(field: FieldDescriptorProto) -> bool:
    return field.label == FieldDescriptorProto.LABEL_REPEATED


def _attribute(field: FieldDescriptorProto) -> Iterator[str]:
    kind = _type_of(field)
    if not _is_repeated(field) and not _is_message(field):
        yield f"    {field.name}: {kind}"
        return
    if _is_repeated(field):
        container = "RepeatedCompositeFieldContainer" if _is_message(field) else "RepeatedScalarFieldContainer"
        kind = f"{container}[{kind}]"
    yield "    @property"
    yield f"    def {field.name}(self) -> {kind}: ..."


def _argument(field: FieldDescriptorProto) -> str:
    kind = _type_of(field)
    kind = f"Iterable[{kind}]" if _is_repeated(field) else kind
    return f"{field.name}: {kind} | None = ..."


def _literal(names: Iterable[str]) -> str:
    return f"Literal[{', '.join(repr(name) for name in names)}]"


def _message(message: DescriptorProto) -> Iterator[str]:
    yield f"class {message.name}(Message):"
    for enum in message.enum_type:
        yield from (f"    {line}" for line in _enum(enum))
        yield from (f"    {value.name}: int" for value in enum.value)
    for nested in message.nested_type:
        yield from (f"    {line}" for line in _message(nested))
    for field in message.field:
        yield from _attribute(field)
    if not message.field:
        yield "    def __init__(self) -> None: ..."
        return
    yield f"    def __init__(self, *, {', '.join(_argument(field) for field in message.field)}) -> None: ..."
    singular = [field.name for field in message.field if not _is_repeated(field)]
    if singular:
        yield f"    def HasField(self, field_name: {_literal(singular)}) -> bool: ..."
    every = [field.name for field in message.field]
    yield f"    def ClearField(self, field_name: {_literal(every)}) -> None: ..."


def _enum(enum: EnumDescriptorProto) -> Iterator[str]:
    yield f"class _{enum.name}(EnumTypeWrapper):"
    yield from (f"    {value.name}: int" for value in enum.value)
    yield f"{enum.name}: _{enum.name}"


def stub(descriptors: FileDescriptorSet) -> str:
    """The text of `messages.pyi`."""
    lines = [_HEAD]
    for file in descriptors.file:
        for enum in file.enum_type:
            lines += _enum(enum)
        for message in file.message_type:
            lines += _message(message)
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length=120", "--stdin-filename=x.pyi", "-"]
    text = "\n".join(lines)
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=FOLDER).stdout


def main(arguments: list[str] | None = None) -> int:
    """Write or check both files; 1 when a check fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    options = parser.parse_args(arguments)
    compiled = compile_definitions()
    made = {"yarn.desc": compiled, "messages.pyi": stub(FileDescriptorSet.FromString(compiled)).encode()}
    stale = [
        name
        for name, content in made.items()
        if not (FOLDER / name).exists() or (FOLDER / name).read_bytes() != content
    ]
    for name in stale:
        if not options.check:
            (FOLDER / name).write_bytes(made[name])
        print(f"{name}: {'out of date; run python scripts/protos.py' if options.check else 'written'}")
    return int(bool(stale) and options.check)


if __name__ == "__main__":
    raise SystemExit(main())
