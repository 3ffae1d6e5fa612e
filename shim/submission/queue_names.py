"""A submission put into another queue: the field that says so is changed, everything else travels as it came."""

from dataclasses import replace

from shim.domain.submissions import Submission
from shim.protocol.rest import submission_context
from shim.protocol.yarn import submissions as rpc_context
from shim.protocol.yarn.submissions import RPC_SUBMISSION

__all__ = ["put_into"]


def put_into(submission: Submission, queue: str) -> Submission:
    """The submission for another queue, body and all."""
    if queue == submission.queue:
        return submission
    kind = submission.content_type
    if kind == RPC_SUBMISSION:
        body = rpc_context.with_queue(submission.body, queue)
    else:
        body = submission_context.with_queue(submission.body, media_type=kind, queue=queue)
    return replace(submission, queue=queue, body=body)
