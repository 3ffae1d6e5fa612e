"""The descriptor set, loaded once into a pool of its own: another library's descriptors cannot clash with it."""

from importlib import resources

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool


def _load(pool: DescriptorPool) -> tuple[FileDescriptor, ...]:
    packed = resources.files("shim.protocol.proto").joinpath("yarn.desc").read_bytes()
    files = FileDescriptorSet.FromString(packed).file
    for file in files:
        pool.Add(file)
    return tuple(pool.FindFileByName(file.name) for file in files)


POOL = DescriptorPool()
"""Holds every message, enumeration and service of the `.proto` files."""

FILES = _load(POOL)
"""The files, in the order of their names."""
