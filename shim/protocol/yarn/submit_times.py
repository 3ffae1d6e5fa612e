"""Times of submission in answers with application reports, without decoding thousands of them.

`GetApplicationsResponseProto` is one repeated field; each report begins with its application's id, as serializers write
fields in the order of their numbers. So only the reports that are concerned are decoded.
"""

from collections.abc import Iterator, Mapping

from shim.domain.ids import ApplicationId
from shim.protocol.proto.messages import ApplicationReportProto, GetApplicationReportResponseProto
from shim.protocol.yarn.wire import application_message

_FIRST_FIELD = 0x0A  # number 1, length-delimited: `applications`, and `applicationId` in a report
_MORE = 0x80


def report_with_submit_time(payload: bytes, at_ms: int) -> bytes:
    """An answer of `getApplicationReport` with the true time of submission."""
    answer = GetApplicationReportResponseProto.FromString(payload)
    _correct(answer.application_report, at_ms)
    return answer.SerializeToString()


def reports_with_submit_times(payload: bytes, times_ms: Mapping[ApplicationId, int]) -> bytes:
    """An answer of `getApplications` with true times; as it is where its form is not the usual one."""
    if not times_ms:
        return payload
    wanted = {application_message(each).SerializeToString(): at_ms for each, at_ms in times_ms.items()}
    parts: list[bytes] = []
    for whole, report in reports_in(payload):
        at_ms = wanted.get(_id_of(report))
        parts.append(whole if at_ms is None else _with_time(report, at_ms))
    return b"".join(parts)


def reports_in(payload: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each entry with its tag and length, and without; what follows something else comes as it is."""
    at = 0
    while at < len(payload) and payload[at] == _FIRST_FIELD:
        length, begins = _varint(payload, at + 1)
        yield payload[at : begins + length], payload[begins : begins + length]
        at = begins + length
    if at < len(payload):
        yield payload[at:], b""


def _id_of(report: bytes) -> bytes:
    """The serialized id that a report begins with; empty if it begins otherwise."""
    if not report or report[0] != _FIRST_FIELD:
        return b""
    length, begins = _varint(report, 1)
    return report[begins : begins + length]


def written_report(report: ApplicationReportProto) -> bytes:
    """An entry: the report with its tag and length."""
    body = report.SerializeToString()
    return bytes((_FIRST_FIELD,)) + _as_varint(len(body)) + body


def _with_time(report: bytes, at_ms: int) -> bytes:
    decoded = ApplicationReportProto.FromString(report)
    _correct(decoded, at_ms)
    return written_report(decoded)


def _correct(report: ApplicationReportProto, at_ms: int) -> None:
    report.startTime = at_ms
    if report.HasField("submitTime"):
        report.submitTime = at_ms


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A length, and where it ends; beyond the data where that is cut off."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value |= (byte & ~_MORE) << shift
        at, shift = at + 1, shift + 7
        if not byte & _MORE:
            break
    return value, at


def _as_varint(value: int) -> bytes:
    written = bytearray()
    while value >= _MORE:
        written.append((value & ~_MORE & 0xFF) | _MORE)
        value >>= 7
    written.append(value)
    return bytes(written)
