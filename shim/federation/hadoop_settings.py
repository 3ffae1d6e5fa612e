"""Settings of a Hadoop daemon, as its `/conf` tells them."""

from collections.abc import Mapping

import msgspec

from shim.federation.doctor_facts import HadoopSetting

__all__ = ["decode_settings"]


class _Property(msgspec.Struct):
    key: str
    value: str | None = None
    isFinal: bool = False  # noqa: N815 - Hadoop's name


class _ConfDocument(msgspec.Struct):
    properties: list[_Property]


def decode_settings(body: bytes) -> Mapping[str, HadoopSetting] | None:
    """Read a `/conf` in JSON; None if it is none."""
    try:
        properties = msgspec.json.decode(body, type=_ConfDocument).properties
    except msgspec.DecodeError:
        return None
    return {each.key: HadoopSetting(each.value or "", each.isFinal) for each in properties}
