"""The server of one sub-cluster: its ResourceManager's web services."""

from dataclasses import dataclass
from typing import Protocol

from shim.domain.ids import SubClusterId
from shim.domain.submissions import Submission, SubmitReply
from shim.protocol.rest.submission_context import read_reply

_ACCEPT_JSON = (("Accept", "application/json"),)

Headers = tuple[tuple[str, str], ...]
Parameters = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RestRequest:
    """A request to a ResourceManager.

    Attributes:
        path: Percent-encoded path, from `/`.
        parameters: Of the query, decoded, as names and values; the adapter puts the identity before them and encodes
            them, so that none can be read as two.
        user: On whose behalf; None for Heddle itself.
        headers: Those that travel (`Accept`, `Content-Type`, ...), nothing hop-by-hop, no cookies.
        is_page: Whether it is for an ApplicationMaster, at `/proxy/APPLICATION/`: what answers is then the
            application's word alone, redirects are answers, and it has less room.
        is_redirected: Whether the ApplicationMaster has sent its reader here: then the ResourceManager's web proxy is
            not asked, which it would send here, too.
    """

    method: str
    path: str
    parameters: Parameters = ()
    user: str | None = None
    headers: Headers = ()
    body: bytes = b""
    is_page: bool = False
    is_redirected: bool = False


@dataclass(frozen=True, slots=True)
class RestAnswer:
    """A ResourceManager's answer: a status of 200 to 599, no redirect but of a page, the body decompressed.

    Header names are as received.
    """

    status: int
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        """First value of a header, by name without regard to case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class ResourceManager(Protocol):
    """The active ResourceManager of one sub-cluster, wherever it is now."""

    @property
    def subcluster(self) -> SubClusterId:
        """Sub-cluster of this ResourceManager."""
        ...

    async def submit(
        self, submission: Submission, *, timeout_s: float | None = None, accept: str = "application/json"
    ) -> SubmitReply:
        """Send a submission as its user, by the server that its body was made for.

        Args:
            submission: What to send.
            timeout_s: As of `forward`.
            accept: In which representation the web services should refuse, if they do.

        Raises:
            ResourceManagerError: As of `forward`.
        """
        request = RestRequest(
            "POST",
            "/ws/v1/cluster/apps",
            user=submission.user,
            headers=(("Accept", accept), ("Content-Type", submission.content_type)),
            body=submission.body,
        )
        answer = await self.forward(request, timeout_s=timeout_s)
        return read_reply(answer.status, answer.headers, answer.body)

    async def query(
        self, path: str, parameters: Parameters = (), *, viewer: str | None = None, timeout_s: float | None = None
    ) -> RestAnswer:
        """Ask for a document in JSON: what Heddle wants to know itself.

        Args:
            path: As of `RestRequest`.
            parameters: As of `RestRequest`.
            viewer: As whom; None for Heddle itself.
            timeout_s: As of `forward`.

        Raises:
            ResourceManagerError: As of `forward`.
        """
        request = RestRequest("GET", path, parameters=parameters, user=viewer, headers=_ACCEPT_JSON)
        return await self.forward(request, timeout_s=timeout_s)

    async def forward(self, request: RestRequest, *, timeout_s: float | None = None) -> RestAnswer:
        """Pass a request on as it is, and return the answer, whatever its status.

        Args:
            request: What to send.
            timeout_s: Seconds for the whole exchange; None for the configured time-out.

        Raises:
            NeverReachedError: The request cannot have been seen.
            NoAnswerError: It may have been seen; no whole answer came in time.
            StandbyError: No active ResourceManager was found.
            MalformedAnswerError: The answer was too large or broken.
        """
        ...

    async def close(self) -> None:
        """Give up the connections."""
        ...
