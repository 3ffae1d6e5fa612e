"""A client of Heddle for programs: its own web services and a ResourceManager's, now (`Client`) or awaited.

    from heddle.client import Client, User

    with Client("http://127.0.0.1:8088", auth=User("ada")) as heddle:
        id_ = heddle.submit({"application-name": "hello", ...})
        heddle.wait(id_, progress=lambda app: print(app["state"], app["progress"]))

Answers of Heddle's own are models of `heddle.models` and `heddle.applications`, with units in their names; those of a
ResourceManager (`heddle.rm`) are its documents. Every error is a `ClientError`.
"""

from heddle.client.auth import Ticket, Token, User
from heddle.client.clients import AsyncClient, Client
from heddle.client.errors import (
    AddressError,
    ClientError,
    CredentialsError,
    ForeignAnswerError,
    NoAnswerError,
    NoSuchThingError,
    NotAllowedError,
    NotReachedError,
    NotSucceededError,
    OtherContentError,
    RefusedError,
    ServerFaultError,
    SubmissionUnknownError,
    TryLaterError,
    UntrustedServerError,
    WaitedTooLongError,
)
from heddle.client.events import Event
from heddle.client.exchange import Freshness, Patience

__all__ = [
    "AddressError",
    "AsyncClient",
    "Client",
    "ClientError",
    "CredentialsError",
    "Event",
    "ForeignAnswerError",
    "Freshness",
    "NoAnswerError",
    "NoSuchThingError",
    "NotAllowedError",
    "NotReachedError",
    "NotSucceededError",
    "OtherContentError",
    "Patience",
    "RefusedError",
    "ServerFaultError",
    "SubmissionUnknownError",
    "Ticket",
    "Token",
    "TryLaterError",
    "UntrustedServerError",
    "User",
    "WaitedTooLongError",
]
