"""Requests on their way to a ResourceManager, and addresses as clients write them."""

import re
from urllib.parse import quote

from shim.identity.service import Caller
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.protocol.rest.negotiation import Representation, negotiate
from shim.protocol.rest.queries import parse_query
from shim.server.rest.endpoints import BASE, Endpoint
from shim.server.rest.messages import Headers, Request

_TRAVELLING = ("accept", "content-type", "hadoop-yarn-rm-delegation-token")
_HOST = re.compile(r"[A-Za-z0-9._-]{1,255}(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:[0-9]{1,5})?")


def forwarded_request(
    request: Request, endpoint: Endpoint, parameters: dict[str, str], caller: Caller, *, accept: str | None = None
) -> RestRequest:
    """The request for a ResourceManager: built anew from the table and from what was understood.

    Its path is the row's, its parameters are those that the row knows; nothing else of the client's line travels.

    Args:
        request: As the client sent it.
        parameters: Of the path, as `canonical_parameters` writes them.
        accept: Another `Accept` than the client's.
    """
    segments = [quote(parameters[part[1:-1]], safe=":@,*") if part[0] == "{" else part for part in endpoint.segments]
    headers: Headers = tuple((name, value) for name in _TRAVELLING if (value := request.joined(name)))
    if accept is not None:
        headers = (("accept", accept), *(item for item in headers if item[0] != "accept"))
    return RestRequest(
        method="GET" if request.method == "HEAD" else request.method,
        path="/".join([BASE, *segments]),
        parameters=tuple(parse_query(request.query).pairs(endpoint.query)),
        user=caller.user,
        headers=headers,
        body=request.body,
    )


def public_url(request: Request, path: str) -> str:
    """A URL as the client would write it: by the `Host` that it asked for."""
    host = request.header("host") or ""
    return f"{'https' if request.is_secure else 'http'}://{host if _HOST.fullmatch(host) else 'localhost'}{path}"


def at_port(origin: str, port: int) -> str:
    scheme, _, host = origin.partition("://")
    name = re.sub(r":[0-9]{1,5}$", "", host)
    return f"{scheme}://{name}:{port}"


def hidden_not_found(answer: RestAnswer, request: Request) -> bool:
    """True if an empty or odd 500 may be a 404: what a ResourceManager makes of one for clients that prefer XML."""
    return answer.status == 500 and negotiate(request.joined("accept")) is Representation.XML  # noqa: PLR2004
