"""An audit line for each submission that another Global Master passed on to this one.

The line at the Global Master that the client talked to names the client; this one names that Global Master as the
caller, and the same user and application. What this one passed on itself is in the line of its own server.
"""

from shim.peers.passing_on import PassedOn
from shim.protocol.peers import OutcomeKind
from shim.telemetry import AuditEntry, AuditTrail

__all__ = ["ForwardedAuditObserver"]

_ENDINGS = {
    OutcomeKind.DELIVERED: ("allowed", 202),
    OutcomeKind.TAKEN: ("allowed", 202),
    OutcomeKind.REFUSED: ("refused", 400),
    OutcomeKind.CONFLICT: ("refused", 409),
    OutcomeKind.FORBIDDEN: ("refused", 403),
    OutcomeKind.BAD_REQUEST: ("refused", 400),
    OutcomeKind.TOO_LARGE: ("refused", 400),
    OutcomeKind.NO_HOME: ("failed", 503),
    OutcomeKind.UNAVAILABLE: ("failed", 503),
}


class ForwardedAuditObserver:
    """Writes audit lines.

    Args:
        audit: Where they go.
        me: Role of this Global Master, `gm/<id>`.
    """

    def __init__(self, audit: AuditTrail, me: str) -> None:
        self._audit = audit
        self._me = me

    def __call__(self, passed: PassedOn) -> None:
        """See `passing_on.ForwardingObserver`."""
        if passed.outcome is None or passed.owner != self._me:
            return
        result, status = _ENDINGS[passed.outcome]
        self._audit.record(
            AuditEntry(
                request_id=f"{passed.sender}#{passed.number}",
                operation="app.submit",
                call="submission passed on",
                real_user=passed.sender,
                effective_user=passed.user,
                address=passed.address,
                result=result,
                status=status,
                subcluster=passed.home_subcluster,
                target=str(passed.application_id),
                reason=passed.reason,
            )
        )
