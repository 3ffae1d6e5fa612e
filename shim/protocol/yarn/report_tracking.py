"""Tracking URLs in answers with application reports: a ResourceManager names its own web proxy.

Answers of `getApplicationReport` and of `getApplications` have one form: entries of field 1, a report each.
"""

import re
from collections.abc import Iterator

from google.protobuf.message import DecodeError

from shim.protocol.proto.messages import ApplicationReportProto
from shim.protocol.yarn.submit_times import reports_in, written_report

__all__ = ["tracked_reports"]

_MARK = b"/proxy/application_"
_PROXIED = re.compile(r"https?://[^/\s]{1,300}(/proxy/application_[0-9]{1,19}_[0-9]{1,10}/)")


def tracked_reports(url: str, payload: bytes) -> Iterator[bytes]:
    """An answer, entry by entry, with those tracking URLs in it that are a web proxy's at another one.

    Args:
        url: Of the other proxy, without a slash at its end.
        payload: The serialized answer.
    """
    for whole, report in reports_in(payload):
        yield _tracked(url, report) or whole if _MARK in report else whole


def _tracked(url: str, report: bytes) -> bytes:
    """The entry of a report with its tracking URL at another proxy; empty if it is at none."""
    try:
        told = ApplicationReportProto.FromString(report)
    except DecodeError:
        return b""
    found = _PROXIED.fullmatch(told.trackingUrl)
    if found is None:
        return b""
    told.trackingUrl = url + found[1]
    return written_report(told)
