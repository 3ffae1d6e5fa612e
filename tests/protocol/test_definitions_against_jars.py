"""Our definitions hold every field, enumeration and method that the jars of each supported Hadoop hold."""

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto

from shim.lab.jars import ensure_jars
from shim.protocol.proto.descriptors import POOL
from tests.protocol.class_files import descriptors

VERSIONS = ["2.10.2", "3.1.1", "3.2.4", "3.3.6", "3.4.2", "3.5.0"]
COVERED = {
    "RpcHeader.proto",
    "IpcConnectionContext.proto",
    "ProtobufRpcEngine.proto",
    "ProtobufRpcEngine2.proto",
    "Security.proto",
    "HAServiceProtocol.proto",
    "ZKFCProtocol.proto",
    "yarn_protos.proto",
    "yarn_security_token.proto",
    "yarn_service_protos.proto",
    "server/yarn_server_resourcemanager_service_protos.proto",
    "server/resourcemanager_administration_protocol.proto",
    "applicationclient_protocol.proto",
    "applicationmaster_protocol.proto",
    "containermanagement_protocol.proto",
    "application_history_client.proto",
}
OTHERWISE = {("2.10.2", "ResourceRequestProto", "allocation_request_id")}
"""Hadoop 2.10 has another default; its clients always write the field."""

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module", params=VERSIONS)
def hadoop(request) -> tuple[str, dict[str, FileDescriptorProto]]:
    return request.param, descriptors(ensure_jars(request.param, lambda _line: None))


def shape(field: FieldDescriptorProto) -> tuple[object, ...]:
    return field.name, field.type, field.label, field.type_name, field.default_value


def differences(version: str, package: str, message: DescriptorProto) -> list[str]:
    ours = DescriptorProto()
    POOL.FindMessageTypeByName(f"{package}.{message.name}").CopyToProto(ours)
    by_number = {field.number: field for field in ours.field}
    return [
        f"{message.name}.{field.name}"
        for field in message.field
        if (field.number not in by_number or shape(by_number[field.number]) != shape(field))
        and (version, message.name, field.name) not in OTHERWISE
    ] + [
        f"{message.name}.{enum.name}.{value.name}"
        for enum in message.enum_type
        for value in enum.value
        if value.number
        != POOL.FindEnumTypeByName(f"{package}.{message.name}.{enum.name}").values_by_name[value.name].number
    ]


def test_every_field_is_there_with_its_number_type_and_default(hadoop):
    version, files = hadoop
    covered = [file for name, file in files.items() if name in COVERED]
    different = [
        difference
        for file in covered
        for message in file.message_type
        for difference in differences(version, file.package, message)
    ]

    assert different == []
    assert sum(len(file.message_type) for file in covered) > 150


def test_every_enumeration_is_there_with_its_numbers(hadoop):
    _, files = hadoop
    for file in (file for name, file in files.items() if name in COVERED):
        for enum in file.enum_type:
            ours = POOL.FindEnumTypeByName(f"{file.package}.{enum.name}").values_by_name
            assert {value.name: value.number for value in enum.value}.items() <= {
                name: value.number for name, value in ours.items()
            }.items()


def test_every_method_is_there_with_its_messages(hadoop):
    _, files = hadoop
    for file in (file for name, file in files.items() if name in COVERED):
        for service in file.service:
            ours = POOL.FindServiceByName(f"{file.package}.{service.name}").methods_by_name
            for method in service.method:
                assert f".{ours[method.name].input_type.full_name}" == method.input_type
                assert f".{ours[method.name].output_type.full_name}" == method.output_type


def test_both_protobuf_engines_write_the_same_envelope(hadoop):
    version, files = hadoop
    engines = [
        files[name].message_type[0] for name in ("ProtobufRpcEngine.proto", "ProtobufRpcEngine2.proto") if name in files
    ]

    assert len(engines) == (1 if version < "3.3" else 2)
    assert {engine.SerializeToString() for engine in engines} == {engines[0].SerializeToString()}
