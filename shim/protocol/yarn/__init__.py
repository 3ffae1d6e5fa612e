"""YARN's client protocol in terms of the domain: ids, submissions, reports, and how answers of clusters become one.

Works on the messages of `shim.protocol.proto`; fields that nobody here knows are kept wherever a message is passed on.
"""

from shim.protocol.yarn.administration import ADMIN_MERGES, named_subcluster, split_by_node
from shim.protocol.yarn.merges import MERGES, Merge
from shim.protocol.yarn.reports import (
    filter_of,
    has_time_bounds,
    holds_token,
    report_of,
    tells_an_end,
    tells_of_running,
)
from shim.protocol.yarn.submissions import RPC_SUBMISSION, decode_submission
from shim.protocol.yarn.wire import (
    application_message,
    application_of,
    attempt_message,
    attempt_of,
    attempt_of_token,
    container_of,
    issued_id,
    reservation_of,
    resource_message,
    resource_of,
)

__all__ = [
    "ADMIN_MERGES",
    "MERGES",
    "RPC_SUBMISSION",
    "Merge",
    "application_message",
    "application_of",
    "attempt_message",
    "attempt_of",
    "attempt_of_token",
    "container_of",
    "decode_submission",
    "filter_of",
    "has_time_bounds",
    "holds_token",
    "issued_id",
    "named_subcluster",
    "report_of",
    "reservation_of",
    "resource_message",
    "resource_of",
    "split_by_node",
    "tells_an_end",
    "tells_of_running",
]
