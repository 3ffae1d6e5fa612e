"""Failures as Hadoop RPC tells them: by the name of a Java class.

A Java client builds the exception of that class, if it has one with a String constructor, and its retry policies look
at the class alone; so the name is part of the protocol, the message is for people.

Source: `org.apache.hadoop.ipc.{Server,RemoteException}`, `org.apache.hadoop.yarn.ipc.RPCUtil`,
`org.apache.hadoop.io.retry.RetryPolicies`.
"""

from dataclasses import dataclass
from enum import StrEnum

from shim.errors import RemoteProtocolError
from shim.protocol.hrpc.headers import NO_CALL_ID, RPCErrorCode

_IPC = "org.apache.hadoop.ipc"
_SECURITY = "org.apache.hadoop.security"
_YARN = "org.apache.hadoop.yarn.exceptions"


class JavaClass(StrEnum):
    """The exceptions that matter to clients, by their binary names."""

    ACCESS_CONTROL = f"{_SECURITY}.AccessControlException"
    AUTHORIZATION = f"{_SECURITY}.authorize.AuthorizationException"
    INVALID_TOKEN = f"{_SECURITY}.token.SecretManager$InvalidToken"
    SASL = "javax.security.sasl.SaslException"

    IO = "java.io.IOException"
    ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
    UNSUPPORTED_OPERATION = "java.lang.UnsupportedOperationException"
    INVALID_PROTOCOL_BUFFER = "org.apache.hadoop.thirdparty.protobuf.InvalidProtocolBufferException"

    SERVICE_FAILED = "org.apache.hadoop.ha.ServiceFailedException"

    IPC = f"{_IPC}.IpcException"
    NO_SUCH_METHOD = f"{_IPC}.RpcNoSuchMethodException"
    NO_SUCH_PROTOCOL = f"{_IPC}.RpcNoSuchProtocolException"
    RETRIABLE = f"{_IPC}.RetriableException"
    RPC_SERVER = f"{_IPC}.RpcServerException"
    STANDBY = f"{_IPC}.StandbyException"
    VERSION_MISMATCH = f"{_IPC}.RPC$VersionMismatch"

    APPLICATION_ATTEMPT_NOT_FOUND = f"{_YARN}.ApplicationAttemptNotFoundException"
    APPLICATION_MASTER_NOT_REGISTERED = f"{_YARN}.ApplicationMasterNotRegisteredException"
    APPLICATION_NOT_FOUND = f"{_YARN}.ApplicationNotFoundException"
    CONTAINER_NOT_FOUND = f"{_YARN}.ContainerNotFoundException"
    FEATURE_NOT_ENABLED = f"{_YARN}.YARNFeatureNotEnabledException"
    INVALID_APPLICATION_MASTER_REQUEST = f"{_YARN}.InvalidApplicationMasterRequestException"
    INVALID_CONTAINER_RELEASE = f"{_YARN}.InvalidContainerReleaseException"
    INVALID_RESOURCE_BLACKLIST_REQUEST = f"{_YARN}.InvalidResourceBlacklistRequestException"
    INVALID_RESOURCE_REQUEST = f"{_YARN}.InvalidResourceRequestException"
    YARN = f"{_YARN}.YarnException"


@dataclass(frozen=True, slots=True)
class Failure:
    """Content of an answer that is no success.

    Attributes:
        java_class: Binary name of the exception's class.
        message: Its first line is the message; servers append a stack trace.
        code: None when the peer's code is none that we know.
    """

    java_class: str
    message: str
    code: RPCErrorCode | None = RPCErrorCode.APPLICATION

    @property
    def summary(self) -> str:
        """The message without the stack trace."""
        return self.message.partition("\n")[0]

    def __str__(self) -> str:
        return f"{self.java_class}: {self.summary}"


class FatalRPCError(RemoteProtocolError):
    """The peer broke the protocol; it is told why in one last answer, then the connection ends.

    Attributes:
        failure: What to tell; None where a Hadoop server says nothing.
        call_id: Which call the last answer belongs to.
    """

    def __init__(
        self, failure: Failure | None, *, call_id: int = NO_CALL_ID, retry_count: int = -1, story: str = ""
    ) -> None:
        super().__init__(story or str(failure))
        self.failure = failure
        self.call_id = call_id
        self.retry_count = retry_count


def fatal(message: str, code: RPCErrorCode, java_class: str = JavaClass.RPC_SERVER) -> Failure:
    """A failure that ends the connection."""
    return Failure(java_class, message, code)
