"""Error answers of the web services: `RemoteException` bodies, and those that Jetty writes below them.

Source: `org.apache.hadoop.yarn.webapp.GenericExceptionHandler`, `RemoteExceptionData`, and recorded answers of 3.4.2.
"""

import json
from dataclasses import dataclass
from html import escape

from shim.errors import TooManyCallsError, UnavailableError, UserError
from shim.protocol.rest.xml_writer import json_to_xml

_WEBAPP = "org.apache.hadoop.yarn.webapp"


@dataclass(frozen=True, slots=True)
class RemoteException:
    """The body of an error.

    Attributes:
        message: None if the exception had none: the member is then left out.
        java_class: Fully qualified; its last part is the member `exception`.
        retry_after_s: Seconds for the header `Retry-After`; None for errors that repeating does not mend.
    """

    status: int
    java_class: str
    message: str | None
    retry_after_s: int | None = None

    def to_json(self) -> bytes:
        """The body for `application/json`."""
        members = {"exception": self.java_class.rpartition(".")[2]}
        if self.message is not None:
            members["message"] = self.message
        members["javaClassName"] = self.java_class
        return json.dumps({"RemoteException": members}, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "replace"
        )

    def to_xml(self) -> bytes:
        """The body for `application/xml`."""
        return json_to_xml(self.to_json())


class JavaError(UserError):
    """A mistake of the caller for which the ResourceManager names a Java class of its own and an exact text."""

    def __init__(self, status: int, java_class: str, message: str | None) -> None:
        super().__init__(message or java_class)
        self.exception = RemoteException(status, java_class, message)

    @classmethod
    def bad_request(cls, message: str) -> "JavaError":
        """A `BadRequestException` of the web layer, with the prefix that its wrapping gives it."""
        return cls(400, f"{_WEBAPP}.BadRequestException", f"java.lang.Exception: {message}")

    @classmethod
    def illegal_argument(cls, message: str) -> "JavaError":
        """An `IllegalArgumentException` that reached the exception handler itself: no prefix."""
        return cls(400, "java.lang.IllegalArgumentException", message)

    @classmethod
    def not_found(cls, message: str) -> "JavaError":
        """A `NotFoundException` of the web layer."""
        return cls(404, f"{_WEBAPP}.NotFoundException", f"java.lang.Exception: {message}")

    @classmethod
    def invalid_id(cls, error: str) -> "JavaError":
        """A malformed identifier: the converter's IllegalArgumentException, wrapped by the web layer."""
        return cls(400, f"{_WEBAPP}.BadRequestException", f"java.lang.IllegalArgumentException: {error}")

    @classmethod
    def not_negotiated(cls) -> "JavaError":
        """A method, content type or path parameter that no resource method takes: JAX-RS's own exception."""
        return cls(503, "javax.ws.rs.WebApplicationException", None)


_PREFIX = "java.lang.Exception: "


def remote_exception_of(error: Exception) -> RemoteException:
    """The answer to an error that a use case raised."""
    match error:
        case JavaError():
            return error.exception
        case TooManyCallsError():
            return RemoteException(error.http_status, error.java_class, f"{_PREFIX}{error}", error.retry_after_s)
        case UserError():
            return RemoteException(error.http_status, error.java_class, f"{_PREFIX}{error}")
        case UnavailableError():
            return RemoteException(
                503, "org.apache.hadoop.yarn.exceptions.YarnException", str(error), error.retry_after_s
            )
        case _:
            return RemoteException(500, "java.lang.RuntimeException", "internal error; the log names it by request id")


def jetty_page(status: int, reason: str, *, path: str, media_type: str) -> bytes:
    """The page that the servlet container writes when no resource does, in a form that it has."""
    if media_type.endswith("/json"):
        members = {
            "servlet": "org.apache.hadoop.http.WebServlet-0",
            "message": reason,
            "url": path,
            "status": str(status),
        }
        return json.dumps(members, indent=0, separators=(",", ":")).encode()
    if media_type == "text/plain":
        return f"HTTP ERROR {status} {reason}\nURI: {path}\nSTATUS: {status}\nMESSAGE: {reason}\n".encode()
    title, shown = escape(f"{status} {reason}"), escape(path)
    return (
        "<html>\n<head>\n"
        '<meta http-equiv="Content-Type" content="text/html;charset=ISO-8859-1"/>\n'
        f"<title>Error {title}</title>\n</head>\n<body><h2>HTTP ERROR {title}</h2>\n<table>\n"
        f"<tr><th>URI:</th><td>{shown}</td></tr>\n<tr><th>STATUS:</th><td>{status}</td></tr>\n"
        f"<tr><th>MESSAGE:</th><td>{escape(reason)}</td></tr>\n</table>\n\n</body>\n</html>\n"
    ).encode("latin-1", "xmlcharrefreplace")


def not_found_page(path: str) -> bytes:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Sorry, got error 404</title></head>\n'
        f"<body><h1>Sorry, got error 404</h1>\n<p>There is nothing at <code>{escape(path)}</code>.</p>\n"
        '<p><a href="/cluster">All applications</a></p></body>\n</html>\n'
    ).encode()
