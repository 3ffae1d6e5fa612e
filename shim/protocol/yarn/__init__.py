"""YARN's client protocol in terms of the domain: ids, submissions, reports, and how answers of clusters become one.

Works on the messages of `shim.protocol.proto`; fields that nobody here knows are kept wherever a message is passed on.
"""

from shim.protocol.yarn.filters import shows
from shim.protocol.yarn.merges import MERGES, Merge
from shim.protocol.yarn.records import (
    application_message,
    application_of,
    attempt_of,
    container_of,
    reservation_of,
    resource_message,
    resource_of,
)
from shim.protocol.yarn.reports import report_of
from shim.protocol.yarn.submissions import RPC_SUBMISSION, decode_submission

__all__ = [
    "MERGES",
    "RPC_SUBMISSION",
    "Merge",
    "application_message",
    "application_of",
    "attempt_of",
    "container_of",
    "decode_submission",
    "report_of",
    "reservation_of",
    "resource_message",
    "resource_of",
    "shows",
]
