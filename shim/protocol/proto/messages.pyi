"""The messages of Hadoop RPC and YARN, typed. Made by scripts/protos.py of the .proto files beside it."""

from collections.abc import Iterable
from typing import Literal

from google.protobuf.internal.containers import RepeatedCompositeFieldContainer, RepeatedScalarFieldContainer
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper
from google.protobuf.message import Message

class TokenProto(Message):
    identifier: bytes
    password: bytes
    kind: str
    service: str
    def __init__(
        self,
        *,
        identifier: bytes | None = ...,
        password: bytes | None = ...,
        kind: str | None = ...,
        service: str | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["identifier", "password", "kind", "service"]) -> bool: ...
    def ClearField(self, field_name: Literal["identifier", "password", "kind", "service"]) -> None: ...

class CredentialsKVProto(Message):
    alias: str
    @property
    def token(self) -> TokenProto: ...
    secret: bytes
    def __init__(
        self, *, alias: str | None = ..., token: TokenProto | None = ..., secret: bytes | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["alias", "token", "secret"]) -> bool: ...
    def ClearField(self, field_name: Literal["alias", "token", "secret"]) -> None: ...

class CredentialsProto(Message):
    @property
    def tokens(self) -> RepeatedCompositeFieldContainer[CredentialsKVProto]: ...
    @property
    def secrets(self) -> RepeatedCompositeFieldContainer[CredentialsKVProto]: ...
    def __init__(
        self, *, tokens: Iterable[CredentialsKVProto] | None = ..., secrets: Iterable[CredentialsKVProto] | None = ...
    ) -> None: ...
    def ClearField(self, field_name: Literal["tokens", "secrets"]) -> None: ...

class GetDelegationTokenRequestProto(Message):
    renewer: str
    def __init__(self, *, renewer: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["renewer"]) -> bool: ...
    def ClearField(self, field_name: Literal["renewer"]) -> None: ...

class GetDelegationTokenResponseProto(Message):
    @property
    def token(self) -> TokenProto: ...
    def __init__(self, *, token: TokenProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["token"]) -> bool: ...
    def ClearField(self, field_name: Literal["token"]) -> None: ...

class RenewDelegationTokenRequestProto(Message):
    @property
    def token(self) -> TokenProto: ...
    def __init__(self, *, token: TokenProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["token"]) -> bool: ...
    def ClearField(self, field_name: Literal["token"]) -> None: ...

class RenewDelegationTokenResponseProto(Message):
    newExpiryTime: int
    def __init__(self, *, newExpiryTime: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["newExpiryTime"]) -> bool: ...
    def ClearField(self, field_name: Literal["newExpiryTime"]) -> None: ...

class CancelDelegationTokenRequestProto(Message):
    @property
    def token(self) -> TokenProto: ...
    def __init__(self, *, token: TokenProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["token"]) -> bool: ...
    def ClearField(self, field_name: Literal["token"]) -> None: ...

class CancelDelegationTokenResponseProto(Message):
    def __init__(self) -> None: ...

class _ResourceTypesProto(EnumTypeWrapper):
    COUNTABLE: int

ResourceTypesProto: _ResourceTypesProto

class _ContainerStateProto(EnumTypeWrapper):
    C_NEW: int
    C_RUNNING: int
    C_COMPLETE: int

ContainerStateProto: _ContainerStateProto

class _ContainerSubStateProto(EnumTypeWrapper):
    CSS_SCHEDULED: int
    CSS_RUNNING: int
    CSS_PAUSED: int
    CSS_COMPLETING: int
    CSS_DONE: int

ContainerSubStateProto: _ContainerSubStateProto

class _YarnApplicationStateProto(EnumTypeWrapper):
    NEW: int
    NEW_SAVING: int
    SUBMITTED: int
    ACCEPTED: int
    RUNNING: int
    FINISHED: int
    FAILED: int
    KILLED: int

YarnApplicationStateProto: _YarnApplicationStateProto

class _YarnApplicationAttemptStateProto(EnumTypeWrapper):
    APP_ATTEMPT_NEW: int
    APP_ATTEMPT_SUBMITTED: int
    APP_ATTEMPT_SCHEDULED: int
    APP_ATTEMPT_ALLOCATED_SAVING: int
    APP_ATTEMPT_ALLOCATED: int
    APP_ATTEMPT_LAUNCHED: int
    APP_ATTEMPT_FAILED: int
    APP_ATTEMPT_RUNNING: int
    APP_ATTEMPT_FINISHING: int
    APP_ATTEMPT_FINISHED: int
    APP_ATTEMPT_KILLED: int

YarnApplicationAttemptStateProto: _YarnApplicationAttemptStateProto

class _FinalApplicationStatusProto(EnumTypeWrapper):
    APP_UNDEFINED: int
    APP_SUCCEEDED: int
    APP_FAILED: int
    APP_KILLED: int
    APP_ENDED: int

FinalApplicationStatusProto: _FinalApplicationStatusProto

class _LocalResourceVisibilityProto(EnumTypeWrapper):
    PUBLIC: int
    PRIVATE: int
    APPLICATION: int

LocalResourceVisibilityProto: _LocalResourceVisibilityProto

class _LocalResourceTypeProto(EnumTypeWrapper):
    ARCHIVE: int
    FILE: int
    PATTERN: int

LocalResourceTypeProto: _LocalResourceTypeProto

class _LogAggregationStatusProto(EnumTypeWrapper):
    LOG_DISABLED: int
    LOG_NOT_START: int
    LOG_RUNNING: int
    LOG_SUCCEEDED: int
    LOG_FAILED: int
    LOG_TIME_OUT: int
    LOG_RUNNING_WITH_FAILURE: int

LogAggregationStatusProto: _LogAggregationStatusProto

class _NodeStateProto(EnumTypeWrapper):
    NS_NEW: int
    NS_RUNNING: int
    NS_UNHEALTHY: int
    NS_DECOMMISSIONED: int
    NS_LOST: int
    NS_REBOOTED: int
    NS_DECOMMISSIONING: int
    NS_SHUTDOWN: int

NodeStateProto: _NodeStateProto

class _NodeUpdateTypeProto(EnumTypeWrapper):
    NODE_USABLE: int
    NODE_UNUSABLE: int
    NODE_DECOMMISSIONING: int

NodeUpdateTypeProto: _NodeUpdateTypeProto

class _NodeAttributeTypeProto(EnumTypeWrapper):
    STRING: int

NodeAttributeTypeProto: _NodeAttributeTypeProto

class _ContainerTypeProto(EnumTypeWrapper):
    APPLICATION_MASTER: int
    TASK: int

ContainerTypeProto: _ContainerTypeProto

class _ExecutionTypeProto(EnumTypeWrapper):
    GUARANTEED: int
    OPPORTUNISTIC: int

ExecutionTypeProto: _ExecutionTypeProto

class _AMCommandProto(EnumTypeWrapper):
    AM_RESYNC: int
    AM_SHUTDOWN: int

AMCommandProto: _AMCommandProto

class _RejectionReasonProto(EnumTypeWrapper):
    RRP_COULD_NOT_PLACE_ON_NODE: int
    RRP_COULD_NOT_SCHEDULE_ON_NODE: int

RejectionReasonProto: _RejectionReasonProto

class _ApplicationTimeoutTypeProto(EnumTypeWrapper):
    APP_TIMEOUT_LIFETIME: int

ApplicationTimeoutTypeProto: _ApplicationTimeoutTypeProto

class _ApplicationAccessTypeProto(EnumTypeWrapper):
    APPACCESS_VIEW_APP: int
    APPACCESS_MODIFY_APP: int

ApplicationAccessTypeProto: _ApplicationAccessTypeProto

class _QueueStateProto(EnumTypeWrapper):
    Q_STOPPED: int
    Q_RUNNING: int
    Q_DRAINING: int

QueueStateProto: _QueueStateProto

class _QueueACLProto(EnumTypeWrapper):
    QACL_SUBMIT_APPLICATIONS: int
    QACL_ADMINISTER_QUEUE: int

QueueACLProto: _QueueACLProto

class _SignalContainerCommandProto(EnumTypeWrapper):
    OUTPUT_THREAD_DUMP: int
    GRACEFUL_SHUTDOWN: int
    FORCEFUL_SHUTDOWN: int

SignalContainerCommandProto: _SignalContainerCommandProto

class _NodeAttributeOpCodeProto(EnumTypeWrapper):
    NO_OP: int
    EQ: int
    NE: int

NodeAttributeOpCodeProto: _NodeAttributeOpCodeProto

class _ReservationRequestInterpreterProto(EnumTypeWrapper):
    R_ANY: int
    R_ALL: int
    R_ORDER: int
    R_ORDER_NO_GAP: int

ReservationRequestInterpreterProto: _ReservationRequestInterpreterProto

class _ContainerExitStatusProto(EnumTypeWrapper):
    INVALID: int
    DISKS_FAILED: int
    ABORTED: int
    SUCCESS: int

ContainerExitStatusProto: _ContainerExitStatusProto

class _ContainerRetryPolicyProto(EnumTypeWrapper):
    NEVER_RETRY: int
    RETRY_ON_ALL_ERRORS: int
    RETRY_ON_SPECIFIC_ERROR_CODES: int

ContainerRetryPolicyProto: _ContainerRetryPolicyProto

class SerializedExceptionProto(Message):
    message: str
    trace: str
    class_name: str
    @property
    def cause(self) -> SerializedExceptionProto: ...
    def __init__(
        self,
        *,
        message: str | None = ...,
        trace: str | None = ...,
        class_name: str | None = ...,
        cause: SerializedExceptionProto | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["message", "trace", "class_name", "cause"]) -> bool: ...
    def ClearField(self, field_name: Literal["message", "trace", "class_name", "cause"]) -> None: ...

class ApplicationIdProto(Message):
    id: int
    cluster_timestamp: int
    def __init__(self, *, id: int | None = ..., cluster_timestamp: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["id", "cluster_timestamp"]) -> bool: ...
    def ClearField(self, field_name: Literal["id", "cluster_timestamp"]) -> None: ...

class ApplicationAttemptIdProto(Message):
    @property
    def application_id(self) -> ApplicationIdProto: ...
    attemptId: int
    def __init__(self, *, application_id: ApplicationIdProto | None = ..., attemptId: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_id", "attemptId"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_id", "attemptId"]) -> None: ...

class ContainerIdProto(Message):
    @property
    def app_id(self) -> ApplicationIdProto: ...
    @property
    def app_attempt_id(self) -> ApplicationAttemptIdProto: ...
    id: int
    def __init__(
        self,
        *,
        app_id: ApplicationIdProto | None = ...,
        app_attempt_id: ApplicationAttemptIdProto | None = ...,
        id: int | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["app_id", "app_attempt_id", "id"]) -> bool: ...
    def ClearField(self, field_name: Literal["app_id", "app_attempt_id", "id"]) -> None: ...

class ResourceInformationProto(Message):
    key: str
    value: int
    units: str
    type: int
    @property
    def tags(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def attributes(self) -> RepeatedCompositeFieldContainer[StringStringMapProto]: ...
    def __init__(
        self,
        *,
        key: str | None = ...,
        value: int | None = ...,
        units: str | None = ...,
        type: int | None = ...,
        tags: Iterable[str] | None = ...,
        attributes: Iterable[StringStringMapProto] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["key", "value", "units", "type"]) -> bool: ...
    def ClearField(self, field_name: Literal["key", "value", "units", "type", "tags", "attributes"]) -> None: ...

class ResourceTypeInfoProto(Message):
    name: str
    units: str
    type: int
    def __init__(self, *, name: str | None = ..., units: str | None = ..., type: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["name", "units", "type"]) -> bool: ...
    def ClearField(self, field_name: Literal["name", "units", "type"]) -> None: ...

class ResourceProto(Message):
    memory: int
    virtual_cores: int
    @property
    def resource_value_map(self) -> RepeatedCompositeFieldContainer[ResourceInformationProto]: ...
    def __init__(
        self,
        *,
        memory: int | None = ...,
        virtual_cores: int | None = ...,
        resource_value_map: Iterable[ResourceInformationProto] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["memory", "virtual_cores"]) -> bool: ...
    def ClearField(self, field_name: Literal["memory", "virtual_cores", "resource_value_map"]) -> None: ...

class ResourceUtilizationProto(Message):
    pmem: int
    vmem: int
    cpu: float
    @property
    def customResources(self) -> RepeatedCompositeFieldContainer[StringFloatMapProto]: ...
    def __init__(
        self,
        *,
        pmem: int | None = ...,
        vmem: int | None = ...,
        cpu: float | None = ...,
        customResources: Iterable[StringFloatMapProto] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["pmem", "vmem", "cpu"]) -> bool: ...
    def ClearField(self, field_name: Literal["pmem", "vmem", "cpu", "customResources"]) -> None: ...

class ResourceOptionProto(Message):
    @property
    def resource(self) -> ResourceProto: ...
    over_commit_timeout: int
    def __init__(self, *, resource: ResourceProto | None = ..., over_commit_timeout: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["resource", "over_commit_timeout"]) -> bool: ...
    def ClearField(self, field_name: Literal["resource", "over_commit_timeout"]) -> None: ...

class ResourceProfileEntry(Message):
    name: str
    @property
    def resources(self) -> ResourceProto: ...
    def __init__(self, *, name: str | None = ..., resources: ResourceProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["name", "resources"]) -> bool: ...
    def ClearField(self, field_name: Literal["name", "resources"]) -> None: ...

class ResourceProfilesProto(Message):
    @property
    def resource_profiles_map(self) -> RepeatedCompositeFieldContainer[ResourceProfileEntry]: ...
    def __init__(self, *, resource_profiles_map: Iterable[ResourceProfileEntry] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["resource_profiles_map"]) -> None: ...

class NodeResourceMapProto(Message):
    @property
    def node_id(self) -> NodeIdProto: ...
    @property
    def resource_option(self) -> ResourceOptionProto: ...
    def __init__(
        self, *, node_id: NodeIdProto | None = ..., resource_option: ResourceOptionProto | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["node_id", "resource_option"]) -> bool: ...
    def ClearField(self, field_name: Literal["node_id", "resource_option"]) -> None: ...

class PriorityProto(Message):
    priority: int
    def __init__(self, *, priority: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["priority"]) -> bool: ...
    def ClearField(self, field_name: Literal["priority"]) -> None: ...

class ContainerProto(Message):
    @property
    def id(self) -> ContainerIdProto: ...
    @property
    def nodeId(self) -> NodeIdProto: ...
    node_http_address: str
    @property
    def resource(self) -> ResourceProto: ...
    @property
    def priority(self) -> PriorityProto: ...
    @property
    def container_token(self) -> TokenProto: ...
    execution_type: int
    allocation_request_id: int
    version: int
    @property
    def allocation_tags(self) -> RepeatedScalarFieldContainer[str]: ...
    exposed_ports: str
    def __init__(
        self,
        *,
        id: ContainerIdProto | None = ...,
        nodeId: NodeIdProto | None = ...,
        node_http_address: str | None = ...,
        resource: ResourceProto | None = ...,
        priority: PriorityProto | None = ...,
        container_token: TokenProto | None = ...,
        execution_type: int | None = ...,
        allocation_request_id: int | None = ...,
        version: int | None = ...,
        allocation_tags: Iterable[str] | None = ...,
        exposed_ports: str | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "id",
            "nodeId",
            "node_http_address",
            "resource",
            "priority",
            "container_token",
            "execution_type",
            "allocation_request_id",
            "version",
            "exposed_ports",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "id",
            "nodeId",
            "node_http_address",
            "resource",
            "priority",
            "container_token",
            "execution_type",
            "allocation_request_id",
            "version",
            "allocation_tags",
            "exposed_ports",
        ],
    ) -> None: ...

class ContainerReportProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    @property
    def resource(self) -> ResourceProto: ...
    @property
    def node_id(self) -> NodeIdProto: ...
    @property
    def priority(self) -> PriorityProto: ...
    creation_time: int
    finish_time: int
    diagnostics_info: str
    log_url: str
    container_exit_status: int
    container_state: int
    node_http_address: str
    executionType: int
    exposed_ports: str
    def __init__(
        self,
        *,
        container_id: ContainerIdProto | None = ...,
        resource: ResourceProto | None = ...,
        node_id: NodeIdProto | None = ...,
        priority: PriorityProto | None = ...,
        creation_time: int | None = ...,
        finish_time: int | None = ...,
        diagnostics_info: str | None = ...,
        log_url: str | None = ...,
        container_exit_status: int | None = ...,
        container_state: int | None = ...,
        node_http_address: str | None = ...,
        executionType: int | None = ...,
        exposed_ports: str | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "container_id",
            "resource",
            "node_id",
            "priority",
            "creation_time",
            "finish_time",
            "diagnostics_info",
            "log_url",
            "container_exit_status",
            "container_state",
            "node_http_address",
            "executionType",
            "exposed_ports",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "container_id",
            "resource",
            "node_id",
            "priority",
            "creation_time",
            "finish_time",
            "diagnostics_info",
            "log_url",
            "container_exit_status",
            "container_state",
            "node_http_address",
            "executionType",
            "exposed_ports",
        ],
    ) -> None: ...

class URLProto(Message):
    scheme: str
    host: str
    port: int
    file: str
    userInfo: str
    def __init__(
        self,
        *,
        scheme: str | None = ...,
        host: str | None = ...,
        port: int | None = ...,
        file: str | None = ...,
        userInfo: str | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["scheme", "host", "port", "file", "userInfo"]) -> bool: ...
    def ClearField(self, field_name: Literal["scheme", "host", "port", "file", "userInfo"]) -> None: ...

class LocalResourceProto(Message):
    @property
    def resource(self) -> URLProto: ...
    size: int
    timestamp: int
    type: int
    visibility: int
    pattern: str
    should_be_uploaded_to_shared_cache: bool
    def __init__(
        self,
        *,
        resource: URLProto | None = ...,
        size: int | None = ...,
        timestamp: int | None = ...,
        type: int | None = ...,
        visibility: int | None = ...,
        pattern: str | None = ...,
        should_be_uploaded_to_shared_cache: bool | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "resource", "size", "timestamp", "type", "visibility", "pattern", "should_be_uploaded_to_shared_cache"
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "resource", "size", "timestamp", "type", "visibility", "pattern", "should_be_uploaded_to_shared_cache"
        ],
    ) -> None: ...

class StringLongMapProto(Message):
    key: str
    value: int
    def __init__(self, *, key: str | None = ..., value: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["key", "value"]) -> bool: ...
    def ClearField(self, field_name: Literal["key", "value"]) -> None: ...

class StringFloatMapProto(Message):
    key: str
    value: float
    def __init__(self, *, key: str | None = ..., value: float | None = ...) -> None: ...
    def HasField(self, field_name: Literal["key", "value"]) -> bool: ...
    def ClearField(self, field_name: Literal["key", "value"]) -> None: ...

class ApplicationResourceUsageReportProto(Message):
    num_used_containers: int
    num_reserved_containers: int
    @property
    def used_resources(self) -> ResourceProto: ...
    @property
    def reserved_resources(self) -> ResourceProto: ...
    @property
    def needed_resources(self) -> ResourceProto: ...
    memory_seconds: int
    vcore_seconds: int
    queue_usage_percentage: float
    cluster_usage_percentage: float
    preempted_memory_seconds: int
    preempted_vcore_seconds: int
    @property
    def application_resource_usage_map(self) -> RepeatedCompositeFieldContainer[StringLongMapProto]: ...
    @property
    def application_preempted_resource_usage_map(self) -> RepeatedCompositeFieldContainer[StringLongMapProto]: ...
    def __init__(
        self,
        *,
        num_used_containers: int | None = ...,
        num_reserved_containers: int | None = ...,
        used_resources: ResourceProto | None = ...,
        reserved_resources: ResourceProto | None = ...,
        needed_resources: ResourceProto | None = ...,
        memory_seconds: int | None = ...,
        vcore_seconds: int | None = ...,
        queue_usage_percentage: float | None = ...,
        cluster_usage_percentage: float | None = ...,
        preempted_memory_seconds: int | None = ...,
        preempted_vcore_seconds: int | None = ...,
        application_resource_usage_map: Iterable[StringLongMapProto] | None = ...,
        application_preempted_resource_usage_map: Iterable[StringLongMapProto] | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "num_used_containers",
            "num_reserved_containers",
            "used_resources",
            "reserved_resources",
            "needed_resources",
            "memory_seconds",
            "vcore_seconds",
            "queue_usage_percentage",
            "cluster_usage_percentage",
            "preempted_memory_seconds",
            "preempted_vcore_seconds",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "num_used_containers",
            "num_reserved_containers",
            "used_resources",
            "reserved_resources",
            "needed_resources",
            "memory_seconds",
            "vcore_seconds",
            "queue_usage_percentage",
            "cluster_usage_percentage",
            "preempted_memory_seconds",
            "preempted_vcore_seconds",
            "application_resource_usage_map",
            "application_preempted_resource_usage_map",
        ],
    ) -> None: ...

class ApplicationReportProto(Message):
    @property
    def applicationId(self) -> ApplicationIdProto: ...
    user: str
    queue: str
    name: str
    host: str
    rpc_port: int
    @property
    def client_to_am_token(self) -> TokenProto: ...
    yarn_application_state: int
    trackingUrl: str
    diagnostics: str
    startTime: int
    finishTime: int
    final_application_status: int
    @property
    def app_resource_Usage(self) -> ApplicationResourceUsageReportProto: ...
    originalTrackingUrl: str
    @property
    def currentApplicationAttemptId(self) -> ApplicationAttemptIdProto: ...
    progress: float
    applicationType: str
    @property
    def am_rm_token(self) -> TokenProto: ...
    @property
    def applicationTags(self) -> RepeatedScalarFieldContainer[str]: ...
    log_aggregation_status: int
    unmanaged_application: bool
    @property
    def priority(self) -> PriorityProto: ...
    appNodeLabelExpression: str
    amNodeLabelExpression: str
    @property
    def appTimeouts(self) -> RepeatedCompositeFieldContainer[AppTimeoutsMapProto]: ...
    launchTime: int
    submitTime: int
    rmClusterId: str
    def __init__(
        self,
        *,
        applicationId: ApplicationIdProto | None = ...,
        user: str | None = ...,
        queue: str | None = ...,
        name: str | None = ...,
        host: str | None = ...,
        rpc_port: int | None = ...,
        client_to_am_token: TokenProto | None = ...,
        yarn_application_state: int | None = ...,
        trackingUrl: str | None = ...,
        diagnostics: str | None = ...,
        startTime: int | None = ...,
        finishTime: int | None = ...,
        final_application_status: int | None = ...,
        app_resource_Usage: ApplicationResourceUsageReportProto | None = ...,
        originalTrackingUrl: str | None = ...,
        currentApplicationAttemptId: ApplicationAttemptIdProto | None = ...,
        progress: float | None = ...,
        applicationType: str | None = ...,
        am_rm_token: TokenProto | None = ...,
        applicationTags: Iterable[str] | None = ...,
        log_aggregation_status: int | None = ...,
        unmanaged_application: bool | None = ...,
        priority: PriorityProto | None = ...,
        appNodeLabelExpression: str | None = ...,
        amNodeLabelExpression: str | None = ...,
        appTimeouts: Iterable[AppTimeoutsMapProto] | None = ...,
        launchTime: int | None = ...,
        submitTime: int | None = ...,
        rmClusterId: str | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "applicationId",
            "user",
            "queue",
            "name",
            "host",
            "rpc_port",
            "client_to_am_token",
            "yarn_application_state",
            "trackingUrl",
            "diagnostics",
            "startTime",
            "finishTime",
            "final_application_status",
            "app_resource_Usage",
            "originalTrackingUrl",
            "currentApplicationAttemptId",
            "progress",
            "applicationType",
            "am_rm_token",
            "log_aggregation_status",
            "unmanaged_application",
            "priority",
            "appNodeLabelExpression",
            "amNodeLabelExpression",
            "launchTime",
            "submitTime",
            "rmClusterId",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "applicationId",
            "user",
            "queue",
            "name",
            "host",
            "rpc_port",
            "client_to_am_token",
            "yarn_application_state",
            "trackingUrl",
            "diagnostics",
            "startTime",
            "finishTime",
            "final_application_status",
            "app_resource_Usage",
            "originalTrackingUrl",
            "currentApplicationAttemptId",
            "progress",
            "applicationType",
            "am_rm_token",
            "applicationTags",
            "log_aggregation_status",
            "unmanaged_application",
            "priority",
            "appNodeLabelExpression",
            "amNodeLabelExpression",
            "appTimeouts",
            "launchTime",
            "submitTime",
            "rmClusterId",
        ],
    ) -> None: ...

class AppTimeoutsMapProto(Message):
    application_timeout_type: int
    @property
    def application_timeout(self) -> ApplicationTimeoutProto: ...
    def __init__(
        self, *, application_timeout_type: int | None = ..., application_timeout: ApplicationTimeoutProto | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["application_timeout_type", "application_timeout"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_timeout_type", "application_timeout"]) -> None: ...

class ApplicationTimeoutProto(Message):
    application_timeout_type: int
    expire_time: str
    remaining_time: int
    def __init__(
        self,
        *,
        application_timeout_type: int | None = ...,
        expire_time: str | None = ...,
        remaining_time: int | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["application_timeout_type", "expire_time", "remaining_time"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_timeout_type", "expire_time", "remaining_time"]) -> None: ...

class ApplicationAttemptReportProto(Message):
    @property
    def application_attempt_id(self) -> ApplicationAttemptIdProto: ...
    host: str
    rpc_port: int
    tracking_url: str
    diagnostics: str
    yarn_application_attempt_state: int
    @property
    def am_container_id(self) -> ContainerIdProto: ...
    original_tracking_url: str
    startTime: int
    finishTime: int
    def __init__(
        self,
        *,
        application_attempt_id: ApplicationAttemptIdProto | None = ...,
        host: str | None = ...,
        rpc_port: int | None = ...,
        tracking_url: str | None = ...,
        diagnostics: str | None = ...,
        yarn_application_attempt_state: int | None = ...,
        am_container_id: ContainerIdProto | None = ...,
        original_tracking_url: str | None = ...,
        startTime: int | None = ...,
        finishTime: int | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "application_attempt_id",
            "host",
            "rpc_port",
            "tracking_url",
            "diagnostics",
            "yarn_application_attempt_state",
            "am_container_id",
            "original_tracking_url",
            "startTime",
            "finishTime",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "application_attempt_id",
            "host",
            "rpc_port",
            "tracking_url",
            "diagnostics",
            "yarn_application_attempt_state",
            "am_container_id",
            "original_tracking_url",
            "startTime",
            "finishTime",
        ],
    ) -> None: ...

class NodeIdProto(Message):
    host: str
    port: int
    def __init__(self, *, host: str | None = ..., port: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["host", "port"]) -> bool: ...
    def ClearField(self, field_name: Literal["host", "port"]) -> None: ...

class NodeReportProto(Message):
    @property
    def nodeId(self) -> NodeIdProto: ...
    httpAddress: str
    rackName: str
    @property
    def used(self) -> ResourceProto: ...
    @property
    def capability(self) -> ResourceProto: ...
    numContainers: int
    node_state: int
    health_report: str
    last_health_report_time: int
    @property
    def node_labels(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def containers_utilization(self) -> ResourceUtilizationProto: ...
    @property
    def node_utilization(self) -> ResourceUtilizationProto: ...
    decommissioning_timeout: int
    node_update_type: int
    @property
    def node_attributes(self) -> RepeatedCompositeFieldContainer[NodeAttributeProto]: ...
    def __init__(
        self,
        *,
        nodeId: NodeIdProto | None = ...,
        httpAddress: str | None = ...,
        rackName: str | None = ...,
        used: ResourceProto | None = ...,
        capability: ResourceProto | None = ...,
        numContainers: int | None = ...,
        node_state: int | None = ...,
        health_report: str | None = ...,
        last_health_report_time: int | None = ...,
        node_labels: Iterable[str] | None = ...,
        containers_utilization: ResourceUtilizationProto | None = ...,
        node_utilization: ResourceUtilizationProto | None = ...,
        decommissioning_timeout: int | None = ...,
        node_update_type: int | None = ...,
        node_attributes: Iterable[NodeAttributeProto] | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "nodeId",
            "httpAddress",
            "rackName",
            "used",
            "capability",
            "numContainers",
            "node_state",
            "health_report",
            "last_health_report_time",
            "containers_utilization",
            "node_utilization",
            "decommissioning_timeout",
            "node_update_type",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "nodeId",
            "httpAddress",
            "rackName",
            "used",
            "capability",
            "numContainers",
            "node_state",
            "health_report",
            "last_health_report_time",
            "node_labels",
            "containers_utilization",
            "node_utilization",
            "decommissioning_timeout",
            "node_update_type",
            "node_attributes",
        ],
    ) -> None: ...

class NodeIdToLabelsProto(Message):
    @property
    def nodeId(self) -> NodeIdProto: ...
    @property
    def nodeLabels(self) -> RepeatedScalarFieldContainer[str]: ...
    def __init__(self, *, nodeId: NodeIdProto | None = ..., nodeLabels: Iterable[str] | None = ...) -> None: ...
    def HasField(self, field_name: Literal["nodeId"]) -> bool: ...
    def ClearField(self, field_name: Literal["nodeId", "nodeLabels"]) -> None: ...

class LabelsToNodeIdsProto(Message):
    nodeLabels: str
    @property
    def nodeId(self) -> RepeatedCompositeFieldContainer[NodeIdProto]: ...
    def __init__(self, *, nodeLabels: str | None = ..., nodeId: Iterable[NodeIdProto] | None = ...) -> None: ...
    def HasField(self, field_name: Literal["nodeLabels"]) -> bool: ...
    def ClearField(self, field_name: Literal["nodeLabels", "nodeId"]) -> None: ...

class NodeLabelProto(Message):
    name: str
    isExclusive: bool
    def __init__(self, *, name: str | None = ..., isExclusive: bool | None = ...) -> None: ...
    def HasField(self, field_name: Literal["name", "isExclusive"]) -> bool: ...
    def ClearField(self, field_name: Literal["name", "isExclusive"]) -> None: ...

class NodeAttributeKeyProto(Message):
    attributePrefix: str
    attributeName: str
    def __init__(self, *, attributePrefix: str | None = ..., attributeName: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["attributePrefix", "attributeName"]) -> bool: ...
    def ClearField(self, field_name: Literal["attributePrefix", "attributeName"]) -> None: ...

class NodeAttributeProto(Message):
    @property
    def attributeKey(self) -> NodeAttributeKeyProto: ...
    attributeType: int
    attributeValue: str
    def __init__(
        self,
        *,
        attributeKey: NodeAttributeKeyProto | None = ...,
        attributeType: int | None = ...,
        attributeValue: str | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["attributeKey", "attributeType", "attributeValue"]) -> bool: ...
    def ClearField(self, field_name: Literal["attributeKey", "attributeType", "attributeValue"]) -> None: ...

class NodeAttributeInfoProto(Message):
    @property
    def attributeKey(self) -> NodeAttributeKeyProto: ...
    attributeType: int
    def __init__(
        self, *, attributeKey: NodeAttributeKeyProto | None = ..., attributeType: int | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["attributeKey", "attributeType"]) -> bool: ...
    def ClearField(self, field_name: Literal["attributeKey", "attributeType"]) -> None: ...

class NodeToAttributeValueProto(Message):
    hostname: str
    attributeValue: str
    def __init__(self, *, hostname: str | None = ..., attributeValue: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["hostname", "attributeValue"]) -> bool: ...
    def ClearField(self, field_name: Literal["hostname", "attributeValue"]) -> None: ...

class AttributeToNodesProto(Message):
    @property
    def nodeAttribute(self) -> NodeAttributeKeyProto: ...
    @property
    def nodeValueMap(self) -> RepeatedCompositeFieldContainer[NodeToAttributeValueProto]: ...
    def __init__(
        self,
        *,
        nodeAttribute: NodeAttributeKeyProto | None = ...,
        nodeValueMap: Iterable[NodeToAttributeValueProto] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["nodeAttribute"]) -> bool: ...
    def ClearField(self, field_name: Literal["nodeAttribute", "nodeValueMap"]) -> None: ...

class NodeToAttributesProto(Message):
    node: str
    @property
    def nodeAttributes(self) -> RepeatedCompositeFieldContainer[NodeAttributeProto]: ...
    def __init__(
        self, *, node: str | None = ..., nodeAttributes: Iterable[NodeAttributeProto] | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["node"]) -> bool: ...
    def ClearField(self, field_name: Literal["node", "nodeAttributes"]) -> None: ...

class DeregisterSubClustersProto(Message):
    subClusterId: str
    deregisterState: str
    lastHeartBeatTime: str
    information: str
    subClusterState: str
    def __init__(
        self,
        *,
        subClusterId: str | None = ...,
        deregisterState: str | None = ...,
        lastHeartBeatTime: str | None = ...,
        information: str | None = ...,
        subClusterState: str | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal["subClusterId", "deregisterState", "lastHeartBeatTime", "information", "subClusterState"],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal["subClusterId", "deregisterState", "lastHeartBeatTime", "information", "subClusterState"],
    ) -> None: ...

class FederationQueueWeightProto(Message):
    routerWeight: str
    amrmWeight: str
    headRoomAlpha: str
    queue: str
    policyManagerClassName: str
    def __init__(
        self,
        *,
        routerWeight: str | None = ...,
        amrmWeight: str | None = ...,
        headRoomAlpha: str | None = ...,
        queue: str | None = ...,
        policyManagerClassName: str | None = ...,
    ) -> None: ...
    def HasField(
        self, field_name: Literal["routerWeight", "amrmWeight", "headRoomAlpha", "queue", "policyManagerClassName"]
    ) -> bool: ...
    def ClearField(
        self, field_name: Literal["routerWeight", "amrmWeight", "headRoomAlpha", "queue", "policyManagerClassName"]
    ) -> None: ...

class FederationSubClusterProto(Message):
    subClusterId: str
    lastHeartBeatTime: str
    subClusterState: str
    def __init__(
        self, *, subClusterId: str | None = ..., lastHeartBeatTime: str | None = ..., subClusterState: str | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["subClusterId", "lastHeartBeatTime", "subClusterState"]) -> bool: ...
    def ClearField(self, field_name: Literal["subClusterId", "lastHeartBeatTime", "subClusterState"]) -> None: ...

class ResourceRequestProto(Message):
    @property
    def priority(self) -> PriorityProto: ...
    resource_name: str
    @property
    def capability(self) -> ResourceProto: ...
    num_containers: int
    relax_locality: bool
    node_label_expression: str
    @property
    def execution_type_request(self) -> ExecutionTypeRequestProto: ...
    allocation_request_id: int
    def __init__(
        self,
        *,
        priority: PriorityProto | None = ...,
        resource_name: str | None = ...,
        capability: ResourceProto | None = ...,
        num_containers: int | None = ...,
        relax_locality: bool | None = ...,
        node_label_expression: str | None = ...,
        execution_type_request: ExecutionTypeRequestProto | None = ...,
        allocation_request_id: int | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "priority",
            "resource_name",
            "capability",
            "num_containers",
            "relax_locality",
            "node_label_expression",
            "execution_type_request",
            "allocation_request_id",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "priority",
            "resource_name",
            "capability",
            "num_containers",
            "relax_locality",
            "node_label_expression",
            "execution_type_request",
            "allocation_request_id",
        ],
    ) -> None: ...

class ExecutionTypeRequestProto(Message):
    execution_type: int
    enforce_execution_type: bool
    def __init__(self, *, execution_type: int | None = ..., enforce_execution_type: bool | None = ...) -> None: ...
    def HasField(self, field_name: Literal["execution_type", "enforce_execution_type"]) -> bool: ...
    def ClearField(self, field_name: Literal["execution_type", "enforce_execution_type"]) -> None: ...

class SchedulingRequestProto(Message):
    allocationRequestId: int
    @property
    def priority(self) -> PriorityProto: ...
    @property
    def executionType(self) -> ExecutionTypeRequestProto: ...
    @property
    def allocationTags(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def resourceSizing(self) -> ResourceSizingProto: ...
    @property
    def placementConstraint(self) -> PlacementConstraintProto: ...
    def __init__(
        self,
        *,
        allocationRequestId: int | None = ...,
        priority: PriorityProto | None = ...,
        executionType: ExecutionTypeRequestProto | None = ...,
        allocationTags: Iterable[str] | None = ...,
        resourceSizing: ResourceSizingProto | None = ...,
        placementConstraint: PlacementConstraintProto | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "allocationRequestId", "priority", "executionType", "resourceSizing", "placementConstraint"
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "allocationRequestId",
            "priority",
            "executionType",
            "allocationTags",
            "resourceSizing",
            "placementConstraint",
        ],
    ) -> None: ...

class ResourceSizingProto(Message):
    numAllocations: int
    @property
    def resources(self) -> ResourceProto: ...
    def __init__(self, *, numAllocations: int | None = ..., resources: ResourceProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["numAllocations", "resources"]) -> bool: ...
    def ClearField(self, field_name: Literal["numAllocations", "resources"]) -> None: ...

class RejectedSchedulingRequestProto(Message):
    reason: int
    @property
    def request(self) -> SchedulingRequestProto: ...
    def __init__(self, *, reason: int | None = ..., request: SchedulingRequestProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["reason", "request"]) -> bool: ...
    def ClearField(self, field_name: Literal["reason", "request"]) -> None: ...

class PreemptionMessageProto(Message):
    @property
    def strictContract(self) -> StrictPreemptionContractProto: ...
    @property
    def contract(self) -> PreemptionContractProto: ...
    def __init__(
        self,
        *,
        strictContract: StrictPreemptionContractProto | None = ...,
        contract: PreemptionContractProto | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["strictContract", "contract"]) -> bool: ...
    def ClearField(self, field_name: Literal["strictContract", "contract"]) -> None: ...

class StrictPreemptionContractProto(Message):
    @property
    def container(self) -> RepeatedCompositeFieldContainer[PreemptionContainerProto]: ...
    def __init__(self, *, container: Iterable[PreemptionContainerProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["container"]) -> None: ...

class PreemptionContractProto(Message):
    @property
    def resource(self) -> RepeatedCompositeFieldContainer[PreemptionResourceRequestProto]: ...
    @property
    def container(self) -> RepeatedCompositeFieldContainer[PreemptionContainerProto]: ...
    def __init__(
        self,
        *,
        resource: Iterable[PreemptionResourceRequestProto] | None = ...,
        container: Iterable[PreemptionContainerProto] | None = ...,
    ) -> None: ...
    def ClearField(self, field_name: Literal["resource", "container"]) -> None: ...

class PreemptionContainerProto(Message):
    @property
    def id(self) -> ContainerIdProto: ...
    def __init__(self, *, id: ContainerIdProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["id"]) -> bool: ...
    def ClearField(self, field_name: Literal["id"]) -> None: ...

class PreemptionResourceRequestProto(Message):
    @property
    def resource(self) -> ResourceRequestProto: ...
    def __init__(self, *, resource: ResourceRequestProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["resource"]) -> bool: ...
    def ClearField(self, field_name: Literal["resource"]) -> None: ...

class ResourceBlacklistRequestProto(Message):
    @property
    def blacklist_additions(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def blacklist_removals(self) -> RepeatedScalarFieldContainer[str]: ...
    def __init__(
        self, *, blacklist_additions: Iterable[str] | None = ..., blacklist_removals: Iterable[str] | None = ...
    ) -> None: ...
    def ClearField(self, field_name: Literal["blacklist_additions", "blacklist_removals"]) -> None: ...

class ApplicationSubmissionContextProto(Message):
    @property
    def application_id(self) -> ApplicationIdProto: ...
    application_name: str
    queue: str
    @property
    def priority(self) -> PriorityProto: ...
    @property
    def am_container_spec(self) -> ContainerLaunchContextProto: ...
    cancel_tokens_when_complete: bool
    unmanaged_am: bool
    maxAppAttempts: int
    @property
    def resource(self) -> ResourceProto: ...
    applicationType: str
    keep_containers_across_application_attempts: bool
    @property
    def applicationTags(self) -> RepeatedScalarFieldContainer[str]: ...
    attempt_failures_validity_interval: int
    @property
    def log_aggregation_context(self) -> LogAggregationContextProto: ...
    @property
    def reservation_id(self) -> ReservationIdProto: ...
    node_label_expression: str
    @property
    def am_container_resource_request(self) -> RepeatedCompositeFieldContainer[ResourceRequestProto]: ...
    @property
    def application_timeouts(self) -> RepeatedCompositeFieldContainer[ApplicationTimeoutMapProto]: ...
    @property
    def application_scheduling_properties(self) -> RepeatedCompositeFieldContainer[StringStringMapProto]: ...
    def __init__(
        self,
        *,
        application_id: ApplicationIdProto | None = ...,
        application_name: str | None = ...,
        queue: str | None = ...,
        priority: PriorityProto | None = ...,
        am_container_spec: ContainerLaunchContextProto | None = ...,
        cancel_tokens_when_complete: bool | None = ...,
        unmanaged_am: bool | None = ...,
        maxAppAttempts: int | None = ...,
        resource: ResourceProto | None = ...,
        applicationType: str | None = ...,
        keep_containers_across_application_attempts: bool | None = ...,
        applicationTags: Iterable[str] | None = ...,
        attempt_failures_validity_interval: int | None = ...,
        log_aggregation_context: LogAggregationContextProto | None = ...,
        reservation_id: ReservationIdProto | None = ...,
        node_label_expression: str | None = ...,
        am_container_resource_request: Iterable[ResourceRequestProto] | None = ...,
        application_timeouts: Iterable[ApplicationTimeoutMapProto] | None = ...,
        application_scheduling_properties: Iterable[StringStringMapProto] | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "application_id",
            "application_name",
            "queue",
            "priority",
            "am_container_spec",
            "cancel_tokens_when_complete",
            "unmanaged_am",
            "maxAppAttempts",
            "resource",
            "applicationType",
            "keep_containers_across_application_attempts",
            "attempt_failures_validity_interval",
            "log_aggregation_context",
            "reservation_id",
            "node_label_expression",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "application_id",
            "application_name",
            "queue",
            "priority",
            "am_container_spec",
            "cancel_tokens_when_complete",
            "unmanaged_am",
            "maxAppAttempts",
            "resource",
            "applicationType",
            "keep_containers_across_application_attempts",
            "applicationTags",
            "attempt_failures_validity_interval",
            "log_aggregation_context",
            "reservation_id",
            "node_label_expression",
            "am_container_resource_request",
            "application_timeouts",
            "application_scheduling_properties",
        ],
    ) -> None: ...

class ApplicationTimeoutMapProto(Message):
    application_timeout_type: int
    timeout: int
    def __init__(self, *, application_timeout_type: int | None = ..., timeout: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_timeout_type", "timeout"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_timeout_type", "timeout"]) -> None: ...

class ApplicationUpdateTimeoutMapProto(Message):
    application_timeout_type: int
    expire_time: str
    def __init__(self, *, application_timeout_type: int | None = ..., expire_time: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_timeout_type", "expire_time"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_timeout_type", "expire_time"]) -> None: ...

class LogAggregationContextProto(Message):
    include_pattern: str
    exclude_pattern: str
    rolled_logs_include_pattern: str
    rolled_logs_exclude_pattern: str
    log_aggregation_policy_class_name: str
    log_aggregation_policy_parameters: str
    def __init__(
        self,
        *,
        include_pattern: str | None = ...,
        exclude_pattern: str | None = ...,
        rolled_logs_include_pattern: str | None = ...,
        rolled_logs_exclude_pattern: str | None = ...,
        log_aggregation_policy_class_name: str | None = ...,
        log_aggregation_policy_parameters: str | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "include_pattern",
            "exclude_pattern",
            "rolled_logs_include_pattern",
            "rolled_logs_exclude_pattern",
            "log_aggregation_policy_class_name",
            "log_aggregation_policy_parameters",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "include_pattern",
            "exclude_pattern",
            "rolled_logs_include_pattern",
            "rolled_logs_exclude_pattern",
            "log_aggregation_policy_class_name",
            "log_aggregation_policy_parameters",
        ],
    ) -> None: ...

class ApplicationACLMapProto(Message):
    accessType: int
    acl: str
    def __init__(self, *, accessType: int | None = ..., acl: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["accessType", "acl"]) -> bool: ...
    def ClearField(self, field_name: Literal["accessType", "acl"]) -> None: ...

class YarnClusterMetricsProto(Message):
    num_node_managers: int
    num_decommissioned_nms: int
    num_active_nms: int
    num_lost_nms: int
    num_unhealthy_nms: int
    num_rebooted_nms: int
    num_decommissioning_nms: int
    num_shutdown_nms: int
    def __init__(
        self,
        *,
        num_node_managers: int | None = ...,
        num_decommissioned_nms: int | None = ...,
        num_active_nms: int | None = ...,
        num_lost_nms: int | None = ...,
        num_unhealthy_nms: int | None = ...,
        num_rebooted_nms: int | None = ...,
        num_decommissioning_nms: int | None = ...,
        num_shutdown_nms: int | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "num_node_managers",
            "num_decommissioned_nms",
            "num_active_nms",
            "num_lost_nms",
            "num_unhealthy_nms",
            "num_rebooted_nms",
            "num_decommissioning_nms",
            "num_shutdown_nms",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "num_node_managers",
            "num_decommissioned_nms",
            "num_active_nms",
            "num_lost_nms",
            "num_unhealthy_nms",
            "num_rebooted_nms",
            "num_decommissioning_nms",
            "num_shutdown_nms",
        ],
    ) -> None: ...

class QueueStatisticsProto(Message):
    numAppsSubmitted: int
    numAppsRunning: int
    numAppsPending: int
    numAppsCompleted: int
    numAppsKilled: int
    numAppsFailed: int
    numActiveUsers: int
    availableMemoryMB: int
    allocatedMemoryMB: int
    pendingMemoryMB: int
    reservedMemoryMB: int
    availableVCores: int
    allocatedVCores: int
    pendingVCores: int
    reservedVCores: int
    allocatedContainers: int
    pendingContainers: int
    reservedContainers: int
    def __init__(
        self,
        *,
        numAppsSubmitted: int | None = ...,
        numAppsRunning: int | None = ...,
        numAppsPending: int | None = ...,
        numAppsCompleted: int | None = ...,
        numAppsKilled: int | None = ...,
        numAppsFailed: int | None = ...,
        numActiveUsers: int | None = ...,
        availableMemoryMB: int | None = ...,
        allocatedMemoryMB: int | None = ...,
        pendingMemoryMB: int | None = ...,
        reservedMemoryMB: int | None = ...,
        availableVCores: int | None = ...,
        allocatedVCores: int | None = ...,
        pendingVCores: int | None = ...,
        reservedVCores: int | None = ...,
        allocatedContainers: int | None = ...,
        pendingContainers: int | None = ...,
        reservedContainers: int | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "numAppsSubmitted",
            "numAppsRunning",
            "numAppsPending",
            "numAppsCompleted",
            "numAppsKilled",
            "numAppsFailed",
            "numActiveUsers",
            "availableMemoryMB",
            "allocatedMemoryMB",
            "pendingMemoryMB",
            "reservedMemoryMB",
            "availableVCores",
            "allocatedVCores",
            "pendingVCores",
            "reservedVCores",
            "allocatedContainers",
            "pendingContainers",
            "reservedContainers",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "numAppsSubmitted",
            "numAppsRunning",
            "numAppsPending",
            "numAppsCompleted",
            "numAppsKilled",
            "numAppsFailed",
            "numActiveUsers",
            "availableMemoryMB",
            "allocatedMemoryMB",
            "pendingMemoryMB",
            "reservedMemoryMB",
            "availableVCores",
            "allocatedVCores",
            "pendingVCores",
            "reservedVCores",
            "allocatedContainers",
            "pendingContainers",
            "reservedContainers",
        ],
    ) -> None: ...

class QueueInfoProto(Message):
    queueName: str
    capacity: float
    maximumCapacity: float
    currentCapacity: float
    state: int
    @property
    def childQueues(self) -> RepeatedCompositeFieldContainer[QueueInfoProto]: ...
    @property
    def applications(self) -> RepeatedCompositeFieldContainer[ApplicationReportProto]: ...
    @property
    def accessibleNodeLabels(self) -> RepeatedScalarFieldContainer[str]: ...
    defaultNodeLabelExpression: str
    @property
    def queueStatistics(self) -> QueueStatisticsProto: ...
    preemptionDisabled: bool
    @property
    def queueConfigurationsMap(self) -> RepeatedCompositeFieldContainer[QueueConfigurationsMapProto]: ...
    intraQueuePreemptionDisabled: bool
    weight: float
    queuePath: str
    maxParallelApps: int
    schedulerType: str
    minResourceVCore: int
    minResourceMemory: int
    maxResourceVCore: int
    maxResourceMemory: int
    reservedResourceVCore: int
    reservedResourceMemory: int
    steadyFairShareVCore: int
    steadyFairShareMemory: int
    subClusterId: str
    maxRunningApp: int
    def __init__(
        self,
        *,
        queueName: str | None = ...,
        capacity: float | None = ...,
        maximumCapacity: float | None = ...,
        currentCapacity: float | None = ...,
        state: int | None = ...,
        childQueues: Iterable[QueueInfoProto] | None = ...,
        applications: Iterable[ApplicationReportProto] | None = ...,
        accessibleNodeLabels: Iterable[str] | None = ...,
        defaultNodeLabelExpression: str | None = ...,
        queueStatistics: QueueStatisticsProto | None = ...,
        preemptionDisabled: bool | None = ...,
        queueConfigurationsMap: Iterable[QueueConfigurationsMapProto] | None = ...,
        intraQueuePreemptionDisabled: bool | None = ...,
        weight: float | None = ...,
        queuePath: str | None = ...,
        maxParallelApps: int | None = ...,
        schedulerType: str | None = ...,
        minResourceVCore: int | None = ...,
        minResourceMemory: int | None = ...,
        maxResourceVCore: int | None = ...,
        maxResourceMemory: int | None = ...,
        reservedResourceVCore: int | None = ...,
        reservedResourceMemory: int | None = ...,
        steadyFairShareVCore: int | None = ...,
        steadyFairShareMemory: int | None = ...,
        subClusterId: str | None = ...,
        maxRunningApp: int | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "queueName",
            "capacity",
            "maximumCapacity",
            "currentCapacity",
            "state",
            "defaultNodeLabelExpression",
            "queueStatistics",
            "preemptionDisabled",
            "intraQueuePreemptionDisabled",
            "weight",
            "queuePath",
            "maxParallelApps",
            "schedulerType",
            "minResourceVCore",
            "minResourceMemory",
            "maxResourceVCore",
            "maxResourceMemory",
            "reservedResourceVCore",
            "reservedResourceMemory",
            "steadyFairShareVCore",
            "steadyFairShareMemory",
            "subClusterId",
            "maxRunningApp",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "queueName",
            "capacity",
            "maximumCapacity",
            "currentCapacity",
            "state",
            "childQueues",
            "applications",
            "accessibleNodeLabels",
            "defaultNodeLabelExpression",
            "queueStatistics",
            "preemptionDisabled",
            "queueConfigurationsMap",
            "intraQueuePreemptionDisabled",
            "weight",
            "queuePath",
            "maxParallelApps",
            "schedulerType",
            "minResourceVCore",
            "minResourceMemory",
            "maxResourceVCore",
            "maxResourceMemory",
            "reservedResourceVCore",
            "reservedResourceMemory",
            "steadyFairShareVCore",
            "steadyFairShareMemory",
            "subClusterId",
            "maxRunningApp",
        ],
    ) -> None: ...

class QueueConfigurationsProto(Message):
    capacity: float
    absoluteCapacity: float
    maxCapacity: float
    absoluteMaxCapacity: float
    maxAMPercentage: float
    @property
    def effectiveMinCapacity(self) -> ResourceProto: ...
    @property
    def effectiveMaxCapacity(self) -> ResourceProto: ...
    @property
    def configuredMinCapacity(self) -> ResourceProto: ...
    @property
    def configuredMaxCapacity(self) -> ResourceProto: ...
    def __init__(
        self,
        *,
        capacity: float | None = ...,
        absoluteCapacity: float | None = ...,
        maxCapacity: float | None = ...,
        absoluteMaxCapacity: float | None = ...,
        maxAMPercentage: float | None = ...,
        effectiveMinCapacity: ResourceProto | None = ...,
        effectiveMaxCapacity: ResourceProto | None = ...,
        configuredMinCapacity: ResourceProto | None = ...,
        configuredMaxCapacity: ResourceProto | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "capacity",
            "absoluteCapacity",
            "maxCapacity",
            "absoluteMaxCapacity",
            "maxAMPercentage",
            "effectiveMinCapacity",
            "effectiveMaxCapacity",
            "configuredMinCapacity",
            "configuredMaxCapacity",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "capacity",
            "absoluteCapacity",
            "maxCapacity",
            "absoluteMaxCapacity",
            "maxAMPercentage",
            "effectiveMinCapacity",
            "effectiveMaxCapacity",
            "configuredMinCapacity",
            "configuredMaxCapacity",
        ],
    ) -> None: ...

class QueueConfigurationsMapProto(Message):
    partitionName: str
    @property
    def queueConfigurations(self) -> QueueConfigurationsProto: ...
    def __init__(
        self, *, partitionName: str | None = ..., queueConfigurations: QueueConfigurationsProto | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["partitionName", "queueConfigurations"]) -> bool: ...
    def ClearField(self, field_name: Literal["partitionName", "queueConfigurations"]) -> None: ...

class QueueUserACLInfoProto(Message):
    queueName: str
    @property
    def userAcls(self) -> RepeatedScalarFieldContainer[int]: ...
    def __init__(self, *, queueName: str | None = ..., userAcls: Iterable[int] | None = ...) -> None: ...
    def HasField(self, field_name: Literal["queueName"]) -> bool: ...
    def ClearField(self, field_name: Literal["queueName", "userAcls"]) -> None: ...

class PlacementConstraintProto(Message):
    @property
    def simpleConstraint(self) -> SimplePlacementConstraintProto: ...
    @property
    def compositeConstraint(self) -> CompositePlacementConstraintProto: ...
    def __init__(
        self,
        *,
        simpleConstraint: SimplePlacementConstraintProto | None = ...,
        compositeConstraint: CompositePlacementConstraintProto | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["simpleConstraint", "compositeConstraint"]) -> bool: ...
    def ClearField(self, field_name: Literal["simpleConstraint", "compositeConstraint"]) -> None: ...

class SimplePlacementConstraintProto(Message):
    scope: str
    @property
    def targetExpressions(self) -> RepeatedCompositeFieldContainer[PlacementConstraintTargetProto]: ...
    minCardinality: int
    maxCardinality: int
    attributeOpCode: int
    def __init__(
        self,
        *,
        scope: str | None = ...,
        targetExpressions: Iterable[PlacementConstraintTargetProto] | None = ...,
        minCardinality: int | None = ...,
        maxCardinality: int | None = ...,
        attributeOpCode: int | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["scope", "minCardinality", "maxCardinality", "attributeOpCode"]) -> bool: ...
    def ClearField(
        self, field_name: Literal["scope", "targetExpressions", "minCardinality", "maxCardinality", "attributeOpCode"]
    ) -> None: ...

class PlacementConstraintTargetProto(Message):
    class _TargetType(EnumTypeWrapper):
        NODE_ATTRIBUTE: int
        ALLOCATION_TAG: int
        SELF: int

    TargetType: _TargetType
    NODE_ATTRIBUTE: int
    ALLOCATION_TAG: int
    SELF: int
    targetType: int
    targetKey: str
    @property
    def targetValues(self) -> RepeatedScalarFieldContainer[str]: ...
    def __init__(
        self, *, targetType: int | None = ..., targetKey: str | None = ..., targetValues: Iterable[str] | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["targetType", "targetKey"]) -> bool: ...
    def ClearField(self, field_name: Literal["targetType", "targetKey", "targetValues"]) -> None: ...

class TimedPlacementConstraintProto(Message):
    class _DelayUnit(EnumTypeWrapper):
        MILLISECONDS: int
        OPPORTUNITIES: int

    DelayUnit: _DelayUnit
    MILLISECONDS: int
    OPPORTUNITIES: int
    @property
    def placementConstraint(self) -> PlacementConstraintProto: ...
    schedulingDelay: int
    delayUnit: int
    def __init__(
        self,
        *,
        placementConstraint: PlacementConstraintProto | None = ...,
        schedulingDelay: int | None = ...,
        delayUnit: int | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["placementConstraint", "schedulingDelay", "delayUnit"]) -> bool: ...
    def ClearField(self, field_name: Literal["placementConstraint", "schedulingDelay", "delayUnit"]) -> None: ...

class CompositePlacementConstraintProto(Message):
    class _CompositeType(EnumTypeWrapper):
        AND: int
        OR: int
        DELAYED_OR: int

    CompositeType: _CompositeType
    AND: int
    OR: int
    DELAYED_OR: int
    compositeType: int
    @property
    def childConstraints(self) -> RepeatedCompositeFieldContainer[PlacementConstraintProto]: ...
    @property
    def timedChildConstraints(self) -> RepeatedCompositeFieldContainer[TimedPlacementConstraintProto]: ...
    def __init__(
        self,
        *,
        compositeType: int | None = ...,
        childConstraints: Iterable[PlacementConstraintProto] | None = ...,
        timedChildConstraints: Iterable[TimedPlacementConstraintProto] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["compositeType"]) -> bool: ...
    def ClearField(self, field_name: Literal["compositeType", "childConstraints", "timedChildConstraints"]) -> None: ...

class PlacementConstraintMapEntryProto(Message):
    @property
    def allocation_tags(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def placement_constraint(self) -> PlacementConstraintProto: ...
    def __init__(
        self,
        *,
        allocation_tags: Iterable[str] | None = ...,
        placement_constraint: PlacementConstraintProto | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["placement_constraint"]) -> bool: ...
    def ClearField(self, field_name: Literal["allocation_tags", "placement_constraint"]) -> None: ...

class ReservationIdProto(Message):
    id: int
    cluster_timestamp: int
    def __init__(self, *, id: int | None = ..., cluster_timestamp: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["id", "cluster_timestamp"]) -> bool: ...
    def ClearField(self, field_name: Literal["id", "cluster_timestamp"]) -> None: ...

class ReservationRequestProto(Message):
    @property
    def capability(self) -> ResourceProto: ...
    num_containers: int
    concurrency: int
    duration: int
    def __init__(
        self,
        *,
        capability: ResourceProto | None = ...,
        num_containers: int | None = ...,
        concurrency: int | None = ...,
        duration: int | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["capability", "num_containers", "concurrency", "duration"]) -> bool: ...
    def ClearField(self, field_name: Literal["capability", "num_containers", "concurrency", "duration"]) -> None: ...

class ReservationRequestsProto(Message):
    @property
    def reservation_resources(self) -> RepeatedCompositeFieldContainer[ReservationRequestProto]: ...
    interpreter: int
    def __init__(
        self, *, reservation_resources: Iterable[ReservationRequestProto] | None = ..., interpreter: int | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["interpreter"]) -> bool: ...
    def ClearField(self, field_name: Literal["reservation_resources", "interpreter"]) -> None: ...

class ReservationDefinitionProto(Message):
    @property
    def reservation_requests(self) -> ReservationRequestsProto: ...
    arrival: int
    deadline: int
    reservation_name: str
    recurrence_expression: str
    @property
    def priority(self) -> PriorityProto: ...
    def __init__(
        self,
        *,
        reservation_requests: ReservationRequestsProto | None = ...,
        arrival: int | None = ...,
        deadline: int | None = ...,
        reservation_name: str | None = ...,
        recurrence_expression: str | None = ...,
        priority: PriorityProto | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "reservation_requests", "arrival", "deadline", "reservation_name", "recurrence_expression", "priority"
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "reservation_requests", "arrival", "deadline", "reservation_name", "recurrence_expression", "priority"
        ],
    ) -> None: ...

class ResourceAllocationRequestProto(Message):
    start_time: int
    end_time: int
    @property
    def resource(self) -> ResourceProto: ...
    def __init__(
        self, *, start_time: int | None = ..., end_time: int | None = ..., resource: ResourceProto | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["start_time", "end_time", "resource"]) -> bool: ...
    def ClearField(self, field_name: Literal["start_time", "end_time", "resource"]) -> None: ...

class ReservationAllocationStateProto(Message):
    @property
    def reservation_definition(self) -> ReservationDefinitionProto: ...
    @property
    def allocation_requests(self) -> RepeatedCompositeFieldContainer[ResourceAllocationRequestProto]: ...
    start_time: int
    end_time: int
    user: str
    contains_gangs: bool
    acceptance_time: int
    @property
    def reservation_id(self) -> ReservationIdProto: ...
    def __init__(
        self,
        *,
        reservation_definition: ReservationDefinitionProto | None = ...,
        allocation_requests: Iterable[ResourceAllocationRequestProto] | None = ...,
        start_time: int | None = ...,
        end_time: int | None = ...,
        user: str | None = ...,
        contains_gangs: bool | None = ...,
        acceptance_time: int | None = ...,
        reservation_id: ReservationIdProto | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "reservation_definition",
            "start_time",
            "end_time",
            "user",
            "contains_gangs",
            "acceptance_time",
            "reservation_id",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "reservation_definition",
            "allocation_requests",
            "start_time",
            "end_time",
            "user",
            "contains_gangs",
            "acceptance_time",
            "reservation_id",
        ],
    ) -> None: ...

class ContainerLaunchContextProto(Message):
    @property
    def localResources(self) -> RepeatedCompositeFieldContainer[StringLocalResourceMapProto]: ...
    tokens: bytes
    @property
    def service_data(self) -> RepeatedCompositeFieldContainer[StringBytesMapProto]: ...
    @property
    def environment(self) -> RepeatedCompositeFieldContainer[StringStringMapProto]: ...
    @property
    def command(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def application_ACLs(self) -> RepeatedCompositeFieldContainer[ApplicationACLMapProto]: ...
    @property
    def container_retry_context(self) -> ContainerRetryContextProto: ...
    tokens_conf: bytes
    def __init__(
        self,
        *,
        localResources: Iterable[StringLocalResourceMapProto] | None = ...,
        tokens: bytes | None = ...,
        service_data: Iterable[StringBytesMapProto] | None = ...,
        environment: Iterable[StringStringMapProto] | None = ...,
        command: Iterable[str] | None = ...,
        application_ACLs: Iterable[ApplicationACLMapProto] | None = ...,
        container_retry_context: ContainerRetryContextProto | None = ...,
        tokens_conf: bytes | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["tokens", "container_retry_context", "tokens_conf"]) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "localResources",
            "tokens",
            "service_data",
            "environment",
            "command",
            "application_ACLs",
            "container_retry_context",
            "tokens_conf",
        ],
    ) -> None: ...

class ContainerStatusProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    state: int
    diagnostics: str
    exit_status: int
    @property
    def capability(self) -> ResourceProto: ...
    executionType: int
    @property
    def container_attributes(self) -> RepeatedCompositeFieldContainer[StringStringMapProto]: ...
    container_sub_state: int
    def __init__(
        self,
        *,
        container_id: ContainerIdProto | None = ...,
        state: int | None = ...,
        diagnostics: str | None = ...,
        exit_status: int | None = ...,
        capability: ResourceProto | None = ...,
        executionType: int | None = ...,
        container_attributes: Iterable[StringStringMapProto] | None = ...,
        container_sub_state: int | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "container_id", "state", "diagnostics", "exit_status", "capability", "executionType", "container_sub_state"
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "container_id",
            "state",
            "diagnostics",
            "exit_status",
            "capability",
            "executionType",
            "container_attributes",
            "container_sub_state",
        ],
    ) -> None: ...

class ContainerRetryContextProto(Message):
    retry_policy: int
    @property
    def error_codes(self) -> RepeatedScalarFieldContainer[int]: ...
    max_retries: int
    retry_interval: int
    failures_validity_interval: int
    def __init__(
        self,
        *,
        retry_policy: int | None = ...,
        error_codes: Iterable[int] | None = ...,
        max_retries: int | None = ...,
        retry_interval: int | None = ...,
        failures_validity_interval: int | None = ...,
    ) -> None: ...
    def HasField(
        self, field_name: Literal["retry_policy", "max_retries", "retry_interval", "failures_validity_interval"]
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "retry_policy", "error_codes", "max_retries", "retry_interval", "failures_validity_interval"
        ],
    ) -> None: ...

class StringLocalResourceMapProto(Message):
    key: str
    @property
    def value(self) -> LocalResourceProto: ...
    def __init__(self, *, key: str | None = ..., value: LocalResourceProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["key", "value"]) -> bool: ...
    def ClearField(self, field_name: Literal["key", "value"]) -> None: ...

class StringStringMapProto(Message):
    key: str
    value: str
    def __init__(self, *, key: str | None = ..., value: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["key", "value"]) -> bool: ...
    def ClearField(self, field_name: Literal["key", "value"]) -> None: ...

class StringBytesMapProto(Message):
    key: str
    value: bytes
    def __init__(self, *, key: str | None = ..., value: bytes | None = ...) -> None: ...
    def HasField(self, field_name: Literal["key", "value"]) -> bool: ...
    def ClearField(self, field_name: Literal["key", "value"]) -> None: ...

class CollectorInfoProto(Message):
    collector_addr: str
    @property
    def collector_token(self) -> TokenProto: ...
    def __init__(self, *, collector_addr: str | None = ..., collector_token: TokenProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["collector_addr", "collector_token"]) -> bool: ...
    def ClearField(self, field_name: Literal["collector_addr", "collector_token"]) -> None: ...

class AMBlackListingRequestProto(Message):
    blacklisting_enabled: bool
    blacklisting_failure_threshold: float
    def __init__(
        self, *, blacklisting_enabled: bool | None = ..., blacklisting_failure_threshold: float | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["blacklisting_enabled", "blacklisting_failure_threshold"]) -> bool: ...
    def ClearField(self, field_name: Literal["blacklisting_enabled", "blacklisting_failure_threshold"]) -> None: ...

class ContainerResourceIncreaseRequestProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    @property
    def capability(self) -> ResourceProto: ...
    def __init__(
        self, *, container_id: ContainerIdProto | None = ..., capability: ResourceProto | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["container_id", "capability"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_id", "capability"]) -> None: ...

class ContainerResourceIncreaseProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    @property
    def capability(self) -> ResourceProto: ...
    @property
    def container_token(self) -> TokenProto: ...
    def __init__(
        self,
        *,
        container_id: ContainerIdProto | None = ...,
        capability: ResourceProto | None = ...,
        container_token: TokenProto | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["container_id", "capability", "container_token"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_id", "capability", "container_token"]) -> None: ...

class ContainerResourceDecreaseProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    @property
    def capability(self) -> ResourceProto: ...
    def __init__(
        self, *, container_id: ContainerIdProto | None = ..., capability: ResourceProto | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["container_id", "capability"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_id", "capability"]) -> None: ...

class _DecommissionTypeProto(EnumTypeWrapper):
    NORMAL: int
    GRACEFUL: int
    FORCEFUL: int

DecommissionTypeProto: _DecommissionTypeProto

class _AttributeMappingOperationTypeProto(EnumTypeWrapper):
    REPLACE: int
    ADD: int
    REMOVE: int

AttributeMappingOperationTypeProto: _AttributeMappingOperationTypeProto

class RefreshQueuesRequestProto(Message):
    sub_cluster_id: str
    def __init__(self, *, sub_cluster_id: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["sub_cluster_id"]) -> None: ...

class RefreshQueuesResponseProto(Message):
    def __init__(self) -> None: ...

class RefreshNodesRequestProto(Message):
    decommissionType: int
    decommissionTimeout: int
    sub_cluster_id: str
    def __init__(
        self,
        *,
        decommissionType: int | None = ...,
        decommissionTimeout: int | None = ...,
        sub_cluster_id: str | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["decommissionType", "decommissionTimeout", "sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["decommissionType", "decommissionTimeout", "sub_cluster_id"]) -> None: ...

class RefreshNodesResponseProto(Message):
    def __init__(self) -> None: ...

class RefreshSuperUserGroupsConfigurationRequestProto(Message):
    sub_cluster_id: str
    def __init__(self, *, sub_cluster_id: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["sub_cluster_id"]) -> None: ...

class RefreshSuperUserGroupsConfigurationResponseProto(Message):
    def __init__(self) -> None: ...

class RefreshUserToGroupsMappingsRequestProto(Message):
    sub_cluster_id: str
    def __init__(self, *, sub_cluster_id: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["sub_cluster_id"]) -> None: ...

class RefreshUserToGroupsMappingsResponseProto(Message):
    def __init__(self) -> None: ...

class RefreshAdminAclsRequestProto(Message):
    sub_cluster_id: str
    def __init__(self, *, sub_cluster_id: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["sub_cluster_id"]) -> None: ...

class RefreshAdminAclsResponseProto(Message):
    def __init__(self) -> None: ...

class RefreshServiceAclsRequestProto(Message):
    sub_cluster_id: str
    def __init__(self, *, sub_cluster_id: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["sub_cluster_id"]) -> None: ...

class RefreshServiceAclsResponseProto(Message):
    def __init__(self) -> None: ...

class GetGroupsForUserRequestProto(Message):
    user: str
    def __init__(self, *, user: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["user"]) -> bool: ...
    def ClearField(self, field_name: Literal["user"]) -> None: ...

class GetGroupsForUserResponseProto(Message):
    @property
    def groups(self) -> RepeatedScalarFieldContainer[str]: ...
    def __init__(self, *, groups: Iterable[str] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["groups"]) -> None: ...

class UpdateNodeResourceRequestProto(Message):
    @property
    def node_resource_map(self) -> RepeatedCompositeFieldContainer[NodeResourceMapProto]: ...
    sub_cluster_id: str
    def __init__(
        self, *, node_resource_map: Iterable[NodeResourceMapProto] | None = ..., sub_cluster_id: str | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["node_resource_map", "sub_cluster_id"]) -> None: ...

class UpdateNodeResourceResponseProto(Message):
    def __init__(self) -> None: ...

class RefreshNodesResourcesRequestProto(Message):
    sub_cluster_id: str
    def __init__(self, *, sub_cluster_id: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["sub_cluster_id"]) -> None: ...

class RefreshNodesResourcesResponseProto(Message):
    def __init__(self) -> None: ...

class AddToClusterNodeLabelsRequestProto(Message):
    @property
    def deprecatedNodeLabels(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def nodeLabels(self) -> RepeatedCompositeFieldContainer[NodeLabelProto]: ...
    sub_cluster_id: str
    def __init__(
        self,
        *,
        deprecatedNodeLabels: Iterable[str] | None = ...,
        nodeLabels: Iterable[NodeLabelProto] | None = ...,
        sub_cluster_id: str | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["deprecatedNodeLabels", "nodeLabels", "sub_cluster_id"]) -> None: ...

class AddToClusterNodeLabelsResponseProto(Message):
    def __init__(self) -> None: ...

class RemoveFromClusterNodeLabelsRequestProto(Message):
    @property
    def nodeLabels(self) -> RepeatedScalarFieldContainer[str]: ...
    sub_cluster_id: str
    def __init__(self, *, nodeLabels: Iterable[str] | None = ..., sub_cluster_id: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["nodeLabels", "sub_cluster_id"]) -> None: ...

class RemoveFromClusterNodeLabelsResponseProto(Message):
    def __init__(self) -> None: ...

class ReplaceLabelsOnNodeRequestProto(Message):
    @property
    def nodeToLabels(self) -> RepeatedCompositeFieldContainer[NodeIdToLabelsProto]: ...
    failOnUnknownNodes: bool
    sub_cluster_id: str
    def __init__(
        self,
        *,
        nodeToLabels: Iterable[NodeIdToLabelsProto] | None = ...,
        failOnUnknownNodes: bool | None = ...,
        sub_cluster_id: str | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["failOnUnknownNodes", "sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["nodeToLabels", "failOnUnknownNodes", "sub_cluster_id"]) -> None: ...

class ReplaceLabelsOnNodeResponseProto(Message):
    def __init__(self) -> None: ...

class UpdateNodeLabelsResponseProto(Message):
    def __init__(self) -> None: ...

class CheckForDecommissioningNodesRequestProto(Message):
    sub_cluster_id: str
    def __init__(self, *, sub_cluster_id: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["sub_cluster_id"]) -> None: ...

class CheckForDecommissioningNodesResponseProto(Message):
    @property
    def decommissioningNodes(self) -> RepeatedCompositeFieldContainer[NodeIdProto]: ...
    def __init__(self, *, decommissioningNodes: Iterable[NodeIdProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["decommissioningNodes"]) -> None: ...

class RefreshClusterMaxPriorityRequestProto(Message):
    sub_cluster_id: str
    def __init__(self, *, sub_cluster_id: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["sub_cluster_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["sub_cluster_id"]) -> None: ...

class RefreshClusterMaxPriorityResponseProto(Message):
    def __init__(self) -> None: ...

class NodeIdToLabelsNameProto(Message):
    @property
    def nodeId(self) -> NodeIdProto: ...
    @property
    def nodeLabels(self) -> RepeatedScalarFieldContainer[str]: ...
    def __init__(self, *, nodeId: NodeIdProto | None = ..., nodeLabels: Iterable[str] | None = ...) -> None: ...
    def HasField(self, field_name: Literal["nodeId"]) -> bool: ...
    def ClearField(self, field_name: Literal["nodeId", "nodeLabels"]) -> None: ...

class NodesToAttributesMappingRequestProto(Message):
    operation: int
    @property
    def nodeToAttributes(self) -> RepeatedCompositeFieldContainer[NodeToAttributesProto]: ...
    failOnUnknownNodes: bool
    sub_cluster_id: str
    def __init__(
        self,
        *,
        operation: int | None = ...,
        nodeToAttributes: Iterable[NodeToAttributesProto] | None = ...,
        failOnUnknownNodes: bool | None = ...,
        sub_cluster_id: str | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["operation", "failOnUnknownNodes", "sub_cluster_id"]) -> bool: ...
    def ClearField(
        self, field_name: Literal["operation", "nodeToAttributes", "failOnUnknownNodes", "sub_cluster_id"]
    ) -> None: ...

class NodesToAttributesMappingResponseProto(Message):
    def __init__(self) -> None: ...

class DeregisterSubClusterRequestProto(Message):
    subClusterId: str
    def __init__(self, *, subClusterId: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["subClusterId"]) -> bool: ...
    def ClearField(self, field_name: Literal["subClusterId"]) -> None: ...

class DeregisterSubClusterResponseProto(Message):
    @property
    def deregisterSubClusters(self) -> RepeatedCompositeFieldContainer[DeregisterSubClustersProto]: ...
    def __init__(self, *, deregisterSubClusters: Iterable[DeregisterSubClustersProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["deregisterSubClusters"]) -> None: ...

class SaveFederationQueuePolicyRequestProto(Message):
    queue: str
    @property
    def federationQueueWeight(self) -> FederationQueueWeightProto: ...
    policyManagerClassName: str
    def __init__(
        self,
        *,
        queue: str | None = ...,
        federationQueueWeight: FederationQueueWeightProto | None = ...,
        policyManagerClassName: str | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["queue", "federationQueueWeight", "policyManagerClassName"]) -> bool: ...
    def ClearField(self, field_name: Literal["queue", "federationQueueWeight", "policyManagerClassName"]) -> None: ...

class SaveFederationQueuePolicyResponseProto(Message):
    message: str
    def __init__(self, *, message: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["message"]) -> bool: ...
    def ClearField(self, field_name: Literal["message"]) -> None: ...

class BatchSaveFederationQueuePoliciesRequestProto(Message):
    @property
    def federationQueueWeights(self) -> RepeatedCompositeFieldContainer[FederationQueueWeightProto]: ...
    def __init__(self, *, federationQueueWeights: Iterable[FederationQueueWeightProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["federationQueueWeights"]) -> None: ...

class BatchSaveFederationQueuePoliciesResponseProto(Message):
    message: str
    def __init__(self, *, message: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["message"]) -> bool: ...
    def ClearField(self, field_name: Literal["message"]) -> None: ...

class QueryFederationQueuePoliciesRequestProto(Message):
    pageSize: int
    currentPage: int
    queue: str
    @property
    def queues(self) -> RepeatedScalarFieldContainer[str]: ...
    def __init__(
        self,
        *,
        pageSize: int | None = ...,
        currentPage: int | None = ...,
        queue: str | None = ...,
        queues: Iterable[str] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["pageSize", "currentPage", "queue"]) -> bool: ...
    def ClearField(self, field_name: Literal["pageSize", "currentPage", "queue", "queues"]) -> None: ...

class QueryFederationQueuePoliciesResponseProto(Message):
    totalSize: int
    totalPage: int
    currentPage: int
    pageSize: int
    @property
    def federationQueueWeights(self) -> RepeatedCompositeFieldContainer[FederationQueueWeightProto]: ...
    def __init__(
        self,
        *,
        totalSize: int | None = ...,
        totalPage: int | None = ...,
        currentPage: int | None = ...,
        pageSize: int | None = ...,
        federationQueueWeights: Iterable[FederationQueueWeightProto] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["totalSize", "totalPage", "currentPage", "pageSize"]) -> bool: ...
    def ClearField(
        self, field_name: Literal["totalSize", "totalPage", "currentPage", "pageSize", "federationQueueWeights"]
    ) -> None: ...

class DeleteFederationApplicationRequestProto(Message):
    application: str
    def __init__(self, *, application: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application"]) -> bool: ...
    def ClearField(self, field_name: Literal["application"]) -> None: ...

class DeleteFederationApplicationResponseProto(Message):
    message: str
    def __init__(self, *, message: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["message"]) -> bool: ...
    def ClearField(self, field_name: Literal["message"]) -> None: ...

class GetSubClustersRequestProto(Message):
    def __init__(self) -> None: ...

class GetSubClustersResponseProto(Message):
    @property
    def subClusters(self) -> RepeatedCompositeFieldContainer[FederationSubClusterProto]: ...
    def __init__(self, *, subClusters: Iterable[FederationSubClusterProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["subClusters"]) -> None: ...

class DeleteFederationQueuePoliciesRequestProto(Message):
    @property
    def queues(self) -> RepeatedScalarFieldContainer[str]: ...
    def __init__(self, *, queues: Iterable[str] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["queues"]) -> None: ...

class DeleteFederationQueuePoliciesResponseProto(Message):
    message: str
    def __init__(self, *, message: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["message"]) -> bool: ...
    def ClearField(self, field_name: Literal["message"]) -> None: ...

class ActiveRMInfoProto(Message):
    clusterId: str
    rmId: str
    def __init__(self, *, clusterId: str | None = ..., rmId: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["clusterId", "rmId"]) -> bool: ...
    def ClearField(self, field_name: Literal["clusterId", "rmId"]) -> None: ...

class _HAServiceStateProto(EnumTypeWrapper):
    INITIALIZING: int
    ACTIVE: int
    STANDBY: int
    OBSERVER: int

HAServiceStateProto: _HAServiceStateProto

class _HARequestSource(EnumTypeWrapper):
    REQUEST_BY_USER: int
    REQUEST_BY_USER_FORCED: int
    REQUEST_BY_ZKFC: int

HARequestSource: _HARequestSource

class HAStateChangeRequestInfoProto(Message):
    reqSource: int
    def __init__(self, *, reqSource: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["reqSource"]) -> bool: ...
    def ClearField(self, field_name: Literal["reqSource"]) -> None: ...

class MonitorHealthRequestProto(Message):
    def __init__(self) -> None: ...

class MonitorHealthResponseProto(Message):
    def __init__(self) -> None: ...

class TransitionToActiveRequestProto(Message):
    @property
    def reqInfo(self) -> HAStateChangeRequestInfoProto: ...
    def __init__(self, *, reqInfo: HAStateChangeRequestInfoProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["reqInfo"]) -> bool: ...
    def ClearField(self, field_name: Literal["reqInfo"]) -> None: ...

class TransitionToActiveResponseProto(Message):
    def __init__(self) -> None: ...

class TransitionToStandbyRequestProto(Message):
    @property
    def reqInfo(self) -> HAStateChangeRequestInfoProto: ...
    def __init__(self, *, reqInfo: HAStateChangeRequestInfoProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["reqInfo"]) -> bool: ...
    def ClearField(self, field_name: Literal["reqInfo"]) -> None: ...

class TransitionToStandbyResponseProto(Message):
    def __init__(self) -> None: ...

class TransitionToObserverRequestProto(Message):
    @property
    def reqInfo(self) -> HAStateChangeRequestInfoProto: ...
    def __init__(self, *, reqInfo: HAStateChangeRequestInfoProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["reqInfo"]) -> bool: ...
    def ClearField(self, field_name: Literal["reqInfo"]) -> None: ...

class TransitionToObserverResponseProto(Message):
    def __init__(self) -> None: ...

class GetServiceStatusRequestProto(Message):
    def __init__(self) -> None: ...

class GetServiceStatusResponseProto(Message):
    state: int
    readyToBecomeActive: bool
    notReadyReason: str
    def __init__(
        self, *, state: int | None = ..., readyToBecomeActive: bool | None = ..., notReadyReason: str | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["state", "readyToBecomeActive", "notReadyReason"]) -> bool: ...
    def ClearField(self, field_name: Literal["state", "readyToBecomeActive", "notReadyReason"]) -> None: ...

class CedeActiveRequestProto(Message):
    millisToCede: int
    def __init__(self, *, millisToCede: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["millisToCede"]) -> bool: ...
    def ClearField(self, field_name: Literal["millisToCede"]) -> None: ...

class CedeActiveResponseProto(Message):
    def __init__(self) -> None: ...

class GracefulFailoverRequestProto(Message):
    def __init__(self) -> None: ...

class GracefulFailoverResponseProto(Message):
    def __init__(self) -> None: ...

class _ContainerUpdateTypeProto(EnumTypeWrapper):
    INCREASE_RESOURCE: int
    DECREASE_RESOURCE: int
    PROMOTE_EXECUTION_TYPE: int
    DEMOTE_EXECUTION_TYPE: int

ContainerUpdateTypeProto: _ContainerUpdateTypeProto

class _SchedulerResourceTypes(EnumTypeWrapper):
    MEMORY: int
    CPU: int

SchedulerResourceTypes: _SchedulerResourceTypes

class _ApplicationsRequestScopeProto(EnumTypeWrapper):
    ALL: int
    VIEWABLE: int
    OWN: int

ApplicationsRequestScopeProto: _ApplicationsRequestScopeProto

class _LocalizationStateProto(EnumTypeWrapper):
    L_PENDING: int
    L_COMPLETED: int
    L_FAILED: int

LocalizationStateProto: _LocalizationStateProto

class RegisterApplicationMasterRequestProto(Message):
    host: str
    rpc_port: int
    tracking_url: str
    @property
    def placement_constraints(self) -> RepeatedCompositeFieldContainer[PlacementConstraintMapEntryProto]: ...
    def __init__(
        self,
        *,
        host: str | None = ...,
        rpc_port: int | None = ...,
        tracking_url: str | None = ...,
        placement_constraints: Iterable[PlacementConstraintMapEntryProto] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["host", "rpc_port", "tracking_url"]) -> bool: ...
    def ClearField(self, field_name: Literal["host", "rpc_port", "tracking_url", "placement_constraints"]) -> None: ...

class RegisterApplicationMasterResponseProto(Message):
    @property
    def maximumCapability(self) -> ResourceProto: ...
    client_to_am_token_master_key: bytes
    @property
    def application_ACLs(self) -> RepeatedCompositeFieldContainer[ApplicationACLMapProto]: ...
    @property
    def containers_from_previous_attempts(self) -> RepeatedCompositeFieldContainer[ContainerProto]: ...
    queue: str
    @property
    def nm_tokens_from_previous_attempts(self) -> RepeatedCompositeFieldContainer[NMTokenProto]: ...
    @property
    def scheduler_resource_types(self) -> RepeatedScalarFieldContainer[int]: ...
    @property
    def resource_profiles(self) -> ResourceProfilesProto: ...
    @property
    def resource_types(self) -> RepeatedCompositeFieldContainer[ResourceTypeInfoProto]: ...
    def __init__(
        self,
        *,
        maximumCapability: ResourceProto | None = ...,
        client_to_am_token_master_key: bytes | None = ...,
        application_ACLs: Iterable[ApplicationACLMapProto] | None = ...,
        containers_from_previous_attempts: Iterable[ContainerProto] | None = ...,
        queue: str | None = ...,
        nm_tokens_from_previous_attempts: Iterable[NMTokenProto] | None = ...,
        scheduler_resource_types: Iterable[int] | None = ...,
        resource_profiles: ResourceProfilesProto | None = ...,
        resource_types: Iterable[ResourceTypeInfoProto] | None = ...,
    ) -> None: ...
    def HasField(
        self, field_name: Literal["maximumCapability", "client_to_am_token_master_key", "queue", "resource_profiles"]
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "maximumCapability",
            "client_to_am_token_master_key",
            "application_ACLs",
            "containers_from_previous_attempts",
            "queue",
            "nm_tokens_from_previous_attempts",
            "scheduler_resource_types",
            "resource_profiles",
            "resource_types",
        ],
    ) -> None: ...

class FinishApplicationMasterRequestProto(Message):
    diagnostics: str
    tracking_url: str
    final_application_status: int
    def __init__(
        self,
        *,
        diagnostics: str | None = ...,
        tracking_url: str | None = ...,
        final_application_status: int | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["diagnostics", "tracking_url", "final_application_status"]) -> bool: ...
    def ClearField(self, field_name: Literal["diagnostics", "tracking_url", "final_application_status"]) -> None: ...

class FinishApplicationMasterResponseProto(Message):
    isUnregistered: bool
    def __init__(self, *, isUnregistered: bool | None = ...) -> None: ...
    def HasField(self, field_name: Literal["isUnregistered"]) -> bool: ...
    def ClearField(self, field_name: Literal["isUnregistered"]) -> None: ...

class UpdateContainerRequestProto(Message):
    container_version: int
    @property
    def container_id(self) -> ContainerIdProto: ...
    update_type: int
    @property
    def capability(self) -> ResourceProto: ...
    execution_type: int
    def __init__(
        self,
        *,
        container_version: int | None = ...,
        container_id: ContainerIdProto | None = ...,
        update_type: int | None = ...,
        capability: ResourceProto | None = ...,
        execution_type: int | None = ...,
    ) -> None: ...
    def HasField(
        self, field_name: Literal["container_version", "container_id", "update_type", "capability", "execution_type"]
    ) -> bool: ...
    def ClearField(
        self, field_name: Literal["container_version", "container_id", "update_type", "capability", "execution_type"]
    ) -> None: ...

class UpdateContainerErrorProto(Message):
    reason: str
    @property
    def update_request(self) -> UpdateContainerRequestProto: ...
    current_container_version: int
    def __init__(
        self,
        *,
        reason: str | None = ...,
        update_request: UpdateContainerRequestProto | None = ...,
        current_container_version: int | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["reason", "update_request", "current_container_version"]) -> bool: ...
    def ClearField(self, field_name: Literal["reason", "update_request", "current_container_version"]) -> None: ...

class AllocateRequestProto(Message):
    @property
    def ask(self) -> RepeatedCompositeFieldContainer[ResourceRequestProto]: ...
    @property
    def release(self) -> RepeatedCompositeFieldContainer[ContainerIdProto]: ...
    @property
    def blacklist_request(self) -> ResourceBlacklistRequestProto: ...
    response_id: int
    progress: float
    @property
    def increase_request(self) -> RepeatedCompositeFieldContainer[ContainerResourceIncreaseRequestProto]: ...
    @property
    def update_requests(self) -> RepeatedCompositeFieldContainer[UpdateContainerRequestProto]: ...
    @property
    def scheduling_requests(self) -> RepeatedCompositeFieldContainer[SchedulingRequestProto]: ...
    tracking_url: str
    def __init__(
        self,
        *,
        ask: Iterable[ResourceRequestProto] | None = ...,
        release: Iterable[ContainerIdProto] | None = ...,
        blacklist_request: ResourceBlacklistRequestProto | None = ...,
        response_id: int | None = ...,
        progress: float | None = ...,
        increase_request: Iterable[ContainerResourceIncreaseRequestProto] | None = ...,
        update_requests: Iterable[UpdateContainerRequestProto] | None = ...,
        scheduling_requests: Iterable[SchedulingRequestProto] | None = ...,
        tracking_url: str | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["blacklist_request", "response_id", "progress", "tracking_url"]) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "ask",
            "release",
            "blacklist_request",
            "response_id",
            "progress",
            "increase_request",
            "update_requests",
            "scheduling_requests",
            "tracking_url",
        ],
    ) -> None: ...

class NMTokenProto(Message):
    @property
    def nodeId(self) -> NodeIdProto: ...
    @property
    def token(self) -> TokenProto: ...
    def __init__(self, *, nodeId: NodeIdProto | None = ..., token: TokenProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["nodeId", "token"]) -> bool: ...
    def ClearField(self, field_name: Literal["nodeId", "token"]) -> None: ...

class UpdatedContainerProto(Message):
    update_type: int
    @property
    def container(self) -> ContainerProto: ...
    def __init__(self, *, update_type: int | None = ..., container: ContainerProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["update_type", "container"]) -> bool: ...
    def ClearField(self, field_name: Literal["update_type", "container"]) -> None: ...

class EnhancedHeadroomProto(Message):
    total_pending_count: int
    total_active_cores: int
    def __init__(self, *, total_pending_count: int | None = ..., total_active_cores: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["total_pending_count", "total_active_cores"]) -> bool: ...
    def ClearField(self, field_name: Literal["total_pending_count", "total_active_cores"]) -> None: ...

class AllocateResponseProto(Message):
    a_m_command: int
    response_id: int
    @property
    def allocated_containers(self) -> RepeatedCompositeFieldContainer[ContainerProto]: ...
    @property
    def completed_container_statuses(self) -> RepeatedCompositeFieldContainer[ContainerStatusProto]: ...
    @property
    def limit(self) -> ResourceProto: ...
    @property
    def updated_nodes(self) -> RepeatedCompositeFieldContainer[NodeReportProto]: ...
    num_cluster_nodes: int
    @property
    def preempt(self) -> PreemptionMessageProto: ...
    @property
    def nm_tokens(self) -> RepeatedCompositeFieldContainer[NMTokenProto]: ...
    @property
    def increased_containers(self) -> RepeatedCompositeFieldContainer[ContainerResourceIncreaseProto]: ...
    @property
    def decreased_containers(self) -> RepeatedCompositeFieldContainer[ContainerResourceDecreaseProto]: ...
    @property
    def am_rm_token(self) -> TokenProto: ...
    @property
    def application_priority(self) -> PriorityProto: ...
    @property
    def collector_info(self) -> CollectorInfoProto: ...
    @property
    def update_errors(self) -> RepeatedCompositeFieldContainer[UpdateContainerErrorProto]: ...
    @property
    def updated_containers(self) -> RepeatedCompositeFieldContainer[UpdatedContainerProto]: ...
    @property
    def containers_from_previous_attempts(self) -> RepeatedCompositeFieldContainer[ContainerProto]: ...
    @property
    def rejected_scheduling_requests(self) -> RepeatedCompositeFieldContainer[RejectedSchedulingRequestProto]: ...
    @property
    def enhanced_headroom(self) -> EnhancedHeadroomProto: ...
    def __init__(
        self,
        *,
        a_m_command: int | None = ...,
        response_id: int | None = ...,
        allocated_containers: Iterable[ContainerProto] | None = ...,
        completed_container_statuses: Iterable[ContainerStatusProto] | None = ...,
        limit: ResourceProto | None = ...,
        updated_nodes: Iterable[NodeReportProto] | None = ...,
        num_cluster_nodes: int | None = ...,
        preempt: PreemptionMessageProto | None = ...,
        nm_tokens: Iterable[NMTokenProto] | None = ...,
        increased_containers: Iterable[ContainerResourceIncreaseProto] | None = ...,
        decreased_containers: Iterable[ContainerResourceDecreaseProto] | None = ...,
        am_rm_token: TokenProto | None = ...,
        application_priority: PriorityProto | None = ...,
        collector_info: CollectorInfoProto | None = ...,
        update_errors: Iterable[UpdateContainerErrorProto] | None = ...,
        updated_containers: Iterable[UpdatedContainerProto] | None = ...,
        containers_from_previous_attempts: Iterable[ContainerProto] | None = ...,
        rejected_scheduling_requests: Iterable[RejectedSchedulingRequestProto] | None = ...,
        enhanced_headroom: EnhancedHeadroomProto | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "a_m_command",
            "response_id",
            "limit",
            "num_cluster_nodes",
            "preempt",
            "am_rm_token",
            "application_priority",
            "collector_info",
            "enhanced_headroom",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "a_m_command",
            "response_id",
            "allocated_containers",
            "completed_container_statuses",
            "limit",
            "updated_nodes",
            "num_cluster_nodes",
            "preempt",
            "nm_tokens",
            "increased_containers",
            "decreased_containers",
            "am_rm_token",
            "application_priority",
            "collector_info",
            "update_errors",
            "updated_containers",
            "containers_from_previous_attempts",
            "rejected_scheduling_requests",
            "enhanced_headroom",
        ],
    ) -> None: ...

class GetNewApplicationRequestProto(Message):
    def __init__(self) -> None: ...

class GetNewApplicationResponseProto(Message):
    @property
    def application_id(self) -> ApplicationIdProto: ...
    @property
    def maximumCapability(self) -> ResourceProto: ...
    def __init__(
        self, *, application_id: ApplicationIdProto | None = ..., maximumCapability: ResourceProto | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["application_id", "maximumCapability"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_id", "maximumCapability"]) -> None: ...

class GetApplicationReportRequestProto(Message):
    @property
    def application_id(self) -> ApplicationIdProto: ...
    def __init__(self, *, application_id: ApplicationIdProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_id"]) -> None: ...

class GetApplicationReportResponseProto(Message):
    @property
    def application_report(self) -> ApplicationReportProto: ...
    def __init__(self, *, application_report: ApplicationReportProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_report"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_report"]) -> None: ...

class SubmitApplicationRequestProto(Message):
    @property
    def application_submission_context(self) -> ApplicationSubmissionContextProto: ...
    def __init__(self, *, application_submission_context: ApplicationSubmissionContextProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_submission_context"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_submission_context"]) -> None: ...

class SubmitApplicationResponseProto(Message):
    def __init__(self) -> None: ...

class FailApplicationAttemptRequestProto(Message):
    @property
    def application_attempt_id(self) -> ApplicationAttemptIdProto: ...
    def __init__(self, *, application_attempt_id: ApplicationAttemptIdProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_attempt_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_attempt_id"]) -> None: ...

class FailApplicationAttemptResponseProto(Message):
    def __init__(self) -> None: ...

class KillApplicationRequestProto(Message):
    @property
    def application_id(self) -> ApplicationIdProto: ...
    diagnostics: str
    def __init__(self, *, application_id: ApplicationIdProto | None = ..., diagnostics: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_id", "diagnostics"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_id", "diagnostics"]) -> None: ...

class KillApplicationResponseProto(Message):
    is_kill_completed: bool
    def __init__(self, *, is_kill_completed: bool | None = ...) -> None: ...
    def HasField(self, field_name: Literal["is_kill_completed"]) -> bool: ...
    def ClearField(self, field_name: Literal["is_kill_completed"]) -> None: ...

class GetClusterMetricsRequestProto(Message):
    def __init__(self) -> None: ...

class GetClusterMetricsResponseProto(Message):
    @property
    def cluster_metrics(self) -> YarnClusterMetricsProto: ...
    def __init__(self, *, cluster_metrics: YarnClusterMetricsProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["cluster_metrics"]) -> bool: ...
    def ClearField(self, field_name: Literal["cluster_metrics"]) -> None: ...

class MoveApplicationAcrossQueuesRequestProto(Message):
    @property
    def application_id(self) -> ApplicationIdProto: ...
    target_queue: str
    def __init__(self, *, application_id: ApplicationIdProto | None = ..., target_queue: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_id", "target_queue"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_id", "target_queue"]) -> None: ...

class MoveApplicationAcrossQueuesResponseProto(Message):
    def __init__(self) -> None: ...

class GetApplicationsRequestProto(Message):
    @property
    def application_types(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def application_states(self) -> RepeatedScalarFieldContainer[int]: ...
    @property
    def users(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def queues(self) -> RepeatedScalarFieldContainer[str]: ...
    limit: int
    start_begin: int
    start_end: int
    finish_begin: int
    finish_end: int
    @property
    def applicationTags(self) -> RepeatedScalarFieldContainer[str]: ...
    scope: int
    name: str
    def __init__(
        self,
        *,
        application_types: Iterable[str] | None = ...,
        application_states: Iterable[int] | None = ...,
        users: Iterable[str] | None = ...,
        queues: Iterable[str] | None = ...,
        limit: int | None = ...,
        start_begin: int | None = ...,
        start_end: int | None = ...,
        finish_begin: int | None = ...,
        finish_end: int | None = ...,
        applicationTags: Iterable[str] | None = ...,
        scope: int | None = ...,
        name: str | None = ...,
    ) -> None: ...
    def HasField(
        self, field_name: Literal["limit", "start_begin", "start_end", "finish_begin", "finish_end", "scope", "name"]
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "application_types",
            "application_states",
            "users",
            "queues",
            "limit",
            "start_begin",
            "start_end",
            "finish_begin",
            "finish_end",
            "applicationTags",
            "scope",
            "name",
        ],
    ) -> None: ...

class GetApplicationsResponseProto(Message):
    @property
    def applications(self) -> RepeatedCompositeFieldContainer[ApplicationReportProto]: ...
    def __init__(self, *, applications: Iterable[ApplicationReportProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["applications"]) -> None: ...

class GetClusterNodesRequestProto(Message):
    @property
    def nodeStates(self) -> RepeatedScalarFieldContainer[int]: ...
    def __init__(self, *, nodeStates: Iterable[int] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["nodeStates"]) -> None: ...

class GetClusterNodesResponseProto(Message):
    @property
    def nodeReports(self) -> RepeatedCompositeFieldContainer[NodeReportProto]: ...
    def __init__(self, *, nodeReports: Iterable[NodeReportProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["nodeReports"]) -> None: ...

class GetQueueInfoRequestProto(Message):
    queueName: str
    includeApplications: bool
    includeChildQueues: bool
    recursive: bool
    subClusterId: str
    def __init__(
        self,
        *,
        queueName: str | None = ...,
        includeApplications: bool | None = ...,
        includeChildQueues: bool | None = ...,
        recursive: bool | None = ...,
        subClusterId: str | None = ...,
    ) -> None: ...
    def HasField(
        self, field_name: Literal["queueName", "includeApplications", "includeChildQueues", "recursive", "subClusterId"]
    ) -> bool: ...
    def ClearField(
        self, field_name: Literal["queueName", "includeApplications", "includeChildQueues", "recursive", "subClusterId"]
    ) -> None: ...

class GetQueueInfoResponseProto(Message):
    @property
    def queueInfo(self) -> QueueInfoProto: ...
    def __init__(self, *, queueInfo: QueueInfoProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["queueInfo"]) -> bool: ...
    def ClearField(self, field_name: Literal["queueInfo"]) -> None: ...

class GetQueueUserAclsInfoRequestProto(Message):
    def __init__(self) -> None: ...

class GetQueueUserAclsInfoResponseProto(Message):
    @property
    def queueUserAcls(self) -> RepeatedCompositeFieldContainer[QueueUserACLInfoProto]: ...
    def __init__(self, *, queueUserAcls: Iterable[QueueUserACLInfoProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["queueUserAcls"]) -> None: ...

class GetNodesToLabelsRequestProto(Message):
    def __init__(self) -> None: ...

class GetNodesToLabelsResponseProto(Message):
    @property
    def nodeToLabels(self) -> RepeatedCompositeFieldContainer[NodeIdToLabelsProto]: ...
    def __init__(self, *, nodeToLabels: Iterable[NodeIdToLabelsProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["nodeToLabels"]) -> None: ...

class GetLabelsToNodesRequestProto(Message):
    @property
    def nodeLabels(self) -> RepeatedScalarFieldContainer[str]: ...
    def __init__(self, *, nodeLabels: Iterable[str] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["nodeLabels"]) -> None: ...

class GetLabelsToNodesResponseProto(Message):
    @property
    def labelsToNodes(self) -> RepeatedCompositeFieldContainer[LabelsToNodeIdsProto]: ...
    def __init__(self, *, labelsToNodes: Iterable[LabelsToNodeIdsProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["labelsToNodes"]) -> None: ...

class GetClusterNodeLabelsRequestProto(Message):
    def __init__(self) -> None: ...

class GetClusterNodeLabelsResponseProto(Message):
    @property
    def deprecatedNodeLabels(self) -> RepeatedScalarFieldContainer[str]: ...
    @property
    def nodeLabels(self) -> RepeatedCompositeFieldContainer[NodeLabelProto]: ...
    def __init__(
        self, *, deprecatedNodeLabels: Iterable[str] | None = ..., nodeLabels: Iterable[NodeLabelProto] | None = ...
    ) -> None: ...
    def ClearField(self, field_name: Literal["deprecatedNodeLabels", "nodeLabels"]) -> None: ...

class GetClusterNodeAttributesRequestProto(Message):
    def __init__(self) -> None: ...

class GetClusterNodeAttributesResponseProto(Message):
    @property
    def nodeAttributes(self) -> RepeatedCompositeFieldContainer[NodeAttributeInfoProto]: ...
    def __init__(self, *, nodeAttributes: Iterable[NodeAttributeInfoProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["nodeAttributes"]) -> None: ...

class GetAttributesToNodesRequestProto(Message):
    @property
    def nodeAttributes(self) -> RepeatedCompositeFieldContainer[NodeAttributeKeyProto]: ...
    def __init__(self, *, nodeAttributes: Iterable[NodeAttributeKeyProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["nodeAttributes"]) -> None: ...

class GetAttributesToNodesResponseProto(Message):
    @property
    def attributesToNodes(self) -> RepeatedCompositeFieldContainer[AttributeToNodesProto]: ...
    def __init__(self, *, attributesToNodes: Iterable[AttributeToNodesProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["attributesToNodes"]) -> None: ...

class GetNodesToAttributesRequestProto(Message):
    @property
    def hostnames(self) -> RepeatedScalarFieldContainer[str]: ...
    def __init__(self, *, hostnames: Iterable[str] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["hostnames"]) -> None: ...

class GetNodesToAttributesResponseProto(Message):
    @property
    def nodesToAttributes(self) -> RepeatedCompositeFieldContainer[NodeToAttributesProto]: ...
    def __init__(self, *, nodesToAttributes: Iterable[NodeToAttributesProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["nodesToAttributes"]) -> None: ...

class UpdateApplicationPriorityRequestProto(Message):
    @property
    def applicationId(self) -> ApplicationIdProto: ...
    @property
    def applicationPriority(self) -> PriorityProto: ...
    def __init__(
        self, *, applicationId: ApplicationIdProto | None = ..., applicationPriority: PriorityProto | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["applicationId", "applicationPriority"]) -> bool: ...
    def ClearField(self, field_name: Literal["applicationId", "applicationPriority"]) -> None: ...

class UpdateApplicationPriorityResponseProto(Message):
    @property
    def applicationPriority(self) -> PriorityProto: ...
    def __init__(self, *, applicationPriority: PriorityProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["applicationPriority"]) -> bool: ...
    def ClearField(self, field_name: Literal["applicationPriority"]) -> None: ...

class SignalContainerRequestProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    command: int
    def __init__(self, *, container_id: ContainerIdProto | None = ..., command: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["container_id", "command"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_id", "command"]) -> None: ...

class SignalContainerResponseProto(Message):
    def __init__(self) -> None: ...

class UpdateApplicationTimeoutsRequestProto(Message):
    @property
    def applicationId(self) -> ApplicationIdProto: ...
    @property
    def application_timeouts(self) -> RepeatedCompositeFieldContainer[ApplicationUpdateTimeoutMapProto]: ...
    def __init__(
        self,
        *,
        applicationId: ApplicationIdProto | None = ...,
        application_timeouts: Iterable[ApplicationUpdateTimeoutMapProto] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["applicationId"]) -> bool: ...
    def ClearField(self, field_name: Literal["applicationId", "application_timeouts"]) -> None: ...

class UpdateApplicationTimeoutsResponseProto(Message):
    @property
    def application_timeouts(self) -> RepeatedCompositeFieldContainer[ApplicationUpdateTimeoutMapProto]: ...
    def __init__(self, *, application_timeouts: Iterable[ApplicationUpdateTimeoutMapProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["application_timeouts"]) -> None: ...

class GetAllResourceProfilesRequestProto(Message):
    def __init__(self) -> None: ...

class GetAllResourceProfilesResponseProto(Message):
    @property
    def resource_profiles(self) -> ResourceProfilesProto: ...
    def __init__(self, *, resource_profiles: ResourceProfilesProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["resource_profiles"]) -> bool: ...
    def ClearField(self, field_name: Literal["resource_profiles"]) -> None: ...

class GetResourceProfileRequestProto(Message):
    profile: str
    def __init__(self, *, profile: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["profile"]) -> bool: ...
    def ClearField(self, field_name: Literal["profile"]) -> None: ...

class GetResourceProfileResponseProto(Message):
    @property
    def resources(self) -> ResourceProto: ...
    def __init__(self, *, resources: ResourceProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["resources"]) -> bool: ...
    def ClearField(self, field_name: Literal["resources"]) -> None: ...

class GetAllResourceTypeInfoRequestProto(Message):
    def __init__(self) -> None: ...

class GetAllResourceTypeInfoResponseProto(Message):
    @property
    def resource_type_info(self) -> RepeatedCompositeFieldContainer[ResourceTypeInfoProto]: ...
    def __init__(self, *, resource_type_info: Iterable[ResourceTypeInfoProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["resource_type_info"]) -> None: ...

class StartContainerRequestProto(Message):
    @property
    def container_launch_context(self) -> ContainerLaunchContextProto: ...
    @property
    def container_token(self) -> TokenProto: ...
    def __init__(
        self,
        *,
        container_launch_context: ContainerLaunchContextProto | None = ...,
        container_token: TokenProto | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["container_launch_context", "container_token"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_launch_context", "container_token"]) -> None: ...

class StartContainerResponseProto(Message):
    @property
    def services_meta_data(self) -> RepeatedCompositeFieldContainer[StringBytesMapProto]: ...
    def __init__(self, *, services_meta_data: Iterable[StringBytesMapProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["services_meta_data"]) -> None: ...

class StopContainerRequestProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    def __init__(self, *, container_id: ContainerIdProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["container_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_id"]) -> None: ...

class StopContainerResponseProto(Message):
    def __init__(self) -> None: ...

class ResourceLocalizationRequestProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    @property
    def local_resources(self) -> RepeatedCompositeFieldContainer[StringLocalResourceMapProto]: ...
    def __init__(
        self,
        *,
        container_id: ContainerIdProto | None = ...,
        local_resources: Iterable[StringLocalResourceMapProto] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["container_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_id", "local_resources"]) -> None: ...

class ResourceLocalizationResponseProto(Message):
    def __init__(self) -> None: ...

class ReInitializeContainerRequestProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    @property
    def container_launch_context(self) -> ContainerLaunchContextProto: ...
    auto_commit: bool
    def __init__(
        self,
        *,
        container_id: ContainerIdProto | None = ...,
        container_launch_context: ContainerLaunchContextProto | None = ...,
        auto_commit: bool | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["container_id", "container_launch_context", "auto_commit"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_id", "container_launch_context", "auto_commit"]) -> None: ...

class ReInitializeContainerResponseProto(Message):
    def __init__(self) -> None: ...

class RestartContainerResponseProto(Message):
    def __init__(self) -> None: ...

class RollbackResponseProto(Message):
    def __init__(self) -> None: ...

class CommitResponseProto(Message):
    def __init__(self) -> None: ...

class StartContainersRequestProto(Message):
    @property
    def start_container_request(self) -> RepeatedCompositeFieldContainer[StartContainerRequestProto]: ...
    def __init__(self, *, start_container_request: Iterable[StartContainerRequestProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["start_container_request"]) -> None: ...

class ContainerExceptionMapProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    @property
    def exception(self) -> SerializedExceptionProto: ...
    def __init__(
        self, *, container_id: ContainerIdProto | None = ..., exception: SerializedExceptionProto | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["container_id", "exception"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_id", "exception"]) -> None: ...

class StartContainersResponseProto(Message):
    @property
    def services_meta_data(self) -> RepeatedCompositeFieldContainer[StringBytesMapProto]: ...
    @property
    def succeeded_requests(self) -> RepeatedCompositeFieldContainer[ContainerIdProto]: ...
    @property
    def failed_requests(self) -> RepeatedCompositeFieldContainer[ContainerExceptionMapProto]: ...
    def __init__(
        self,
        *,
        services_meta_data: Iterable[StringBytesMapProto] | None = ...,
        succeeded_requests: Iterable[ContainerIdProto] | None = ...,
        failed_requests: Iterable[ContainerExceptionMapProto] | None = ...,
    ) -> None: ...
    def ClearField(
        self, field_name: Literal["services_meta_data", "succeeded_requests", "failed_requests"]
    ) -> None: ...

class StopContainersRequestProto(Message):
    @property
    def container_id(self) -> RepeatedCompositeFieldContainer[ContainerIdProto]: ...
    def __init__(self, *, container_id: Iterable[ContainerIdProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["container_id"]) -> None: ...

class StopContainersResponseProto(Message):
    @property
    def succeeded_requests(self) -> RepeatedCompositeFieldContainer[ContainerIdProto]: ...
    @property
    def failed_requests(self) -> RepeatedCompositeFieldContainer[ContainerExceptionMapProto]: ...
    def __init__(
        self,
        *,
        succeeded_requests: Iterable[ContainerIdProto] | None = ...,
        failed_requests: Iterable[ContainerExceptionMapProto] | None = ...,
    ) -> None: ...
    def ClearField(self, field_name: Literal["succeeded_requests", "failed_requests"]) -> None: ...

class GetContainerStatusesRequestProto(Message):
    @property
    def container_id(self) -> RepeatedCompositeFieldContainer[ContainerIdProto]: ...
    def __init__(self, *, container_id: Iterable[ContainerIdProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["container_id"]) -> None: ...

class GetContainerStatusesResponseProto(Message):
    @property
    def status(self) -> RepeatedCompositeFieldContainer[ContainerStatusProto]: ...
    @property
    def failed_requests(self) -> RepeatedCompositeFieldContainer[ContainerExceptionMapProto]: ...
    def __init__(
        self,
        *,
        status: Iterable[ContainerStatusProto] | None = ...,
        failed_requests: Iterable[ContainerExceptionMapProto] | None = ...,
    ) -> None: ...
    def ClearField(self, field_name: Literal["status", "failed_requests"]) -> None: ...

class IncreaseContainersResourceRequestProto(Message):
    @property
    def increase_containers(self) -> RepeatedCompositeFieldContainer[TokenProto]: ...
    def __init__(self, *, increase_containers: Iterable[TokenProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["increase_containers"]) -> None: ...

class IncreaseContainersResourceResponseProto(Message):
    @property
    def succeeded_requests(self) -> RepeatedCompositeFieldContainer[ContainerIdProto]: ...
    @property
    def failed_requests(self) -> RepeatedCompositeFieldContainer[ContainerExceptionMapProto]: ...
    def __init__(
        self,
        *,
        succeeded_requests: Iterable[ContainerIdProto] | None = ...,
        failed_requests: Iterable[ContainerExceptionMapProto] | None = ...,
    ) -> None: ...
    def ClearField(self, field_name: Literal["succeeded_requests", "failed_requests"]) -> None: ...

class ContainerUpdateRequestProto(Message):
    @property
    def update_container_token(self) -> RepeatedCompositeFieldContainer[TokenProto]: ...
    def __init__(self, *, update_container_token: Iterable[TokenProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["update_container_token"]) -> None: ...

class ContainerUpdateResponseProto(Message):
    @property
    def succeeded_requests(self) -> RepeatedCompositeFieldContainer[ContainerIdProto]: ...
    @property
    def failed_requests(self) -> RepeatedCompositeFieldContainer[ContainerExceptionMapProto]: ...
    def __init__(
        self,
        *,
        succeeded_requests: Iterable[ContainerIdProto] | None = ...,
        failed_requests: Iterable[ContainerExceptionMapProto] | None = ...,
    ) -> None: ...
    def ClearField(self, field_name: Literal["succeeded_requests", "failed_requests"]) -> None: ...

class GetApplicationAttemptReportRequestProto(Message):
    @property
    def application_attempt_id(self) -> ApplicationAttemptIdProto: ...
    def __init__(self, *, application_attempt_id: ApplicationAttemptIdProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_attempt_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_attempt_id"]) -> None: ...

class GetApplicationAttemptReportResponseProto(Message):
    @property
    def application_attempt_report(self) -> ApplicationAttemptReportProto: ...
    def __init__(self, *, application_attempt_report: ApplicationAttemptReportProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_attempt_report"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_attempt_report"]) -> None: ...

class GetApplicationAttemptsRequestProto(Message):
    @property
    def application_id(self) -> ApplicationIdProto: ...
    def __init__(self, *, application_id: ApplicationIdProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_id"]) -> None: ...

class GetApplicationAttemptsResponseProto(Message):
    @property
    def application_attempts(self) -> RepeatedCompositeFieldContainer[ApplicationAttemptReportProto]: ...
    def __init__(self, *, application_attempts: Iterable[ApplicationAttemptReportProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["application_attempts"]) -> None: ...

class GetContainerReportRequestProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    def __init__(self, *, container_id: ContainerIdProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["container_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_id"]) -> None: ...

class GetContainerReportResponseProto(Message):
    @property
    def container_report(self) -> ContainerReportProto: ...
    def __init__(self, *, container_report: ContainerReportProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["container_report"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_report"]) -> None: ...

class GetContainersRequestProto(Message):
    @property
    def application_attempt_id(self) -> ApplicationAttemptIdProto: ...
    def __init__(self, *, application_attempt_id: ApplicationAttemptIdProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["application_attempt_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["application_attempt_id"]) -> None: ...

class GetContainersResponseProto(Message):
    @property
    def containers(self) -> RepeatedCompositeFieldContainer[ContainerReportProto]: ...
    def __init__(self, *, containers: Iterable[ContainerReportProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["containers"]) -> None: ...

class UseSharedCacheResourceRequestProto(Message):
    @property
    def applicationId(self) -> ApplicationIdProto: ...
    resourceKey: str
    def __init__(self, *, applicationId: ApplicationIdProto | None = ..., resourceKey: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["applicationId", "resourceKey"]) -> bool: ...
    def ClearField(self, field_name: Literal["applicationId", "resourceKey"]) -> None: ...

class UseSharedCacheResourceResponseProto(Message):
    path: str
    def __init__(self, *, path: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["path"]) -> bool: ...
    def ClearField(self, field_name: Literal["path"]) -> None: ...

class ReleaseSharedCacheResourceRequestProto(Message):
    @property
    def applicationId(self) -> ApplicationIdProto: ...
    resourceKey: str
    def __init__(self, *, applicationId: ApplicationIdProto | None = ..., resourceKey: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["applicationId", "resourceKey"]) -> bool: ...
    def ClearField(self, field_name: Literal["applicationId", "resourceKey"]) -> None: ...

class ReleaseSharedCacheResourceResponseProto(Message):
    def __init__(self) -> None: ...

class GetNewReservationRequestProto(Message):
    def __init__(self) -> None: ...

class GetNewReservationResponseProto(Message):
    @property
    def reservation_id(self) -> ReservationIdProto: ...
    def __init__(self, *, reservation_id: ReservationIdProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["reservation_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["reservation_id"]) -> None: ...

class ReservationSubmissionRequestProto(Message):
    queue: str
    @property
    def reservation_definition(self) -> ReservationDefinitionProto: ...
    @property
    def reservation_id(self) -> ReservationIdProto: ...
    def __init__(
        self,
        *,
        queue: str | None = ...,
        reservation_definition: ReservationDefinitionProto | None = ...,
        reservation_id: ReservationIdProto | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["queue", "reservation_definition", "reservation_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["queue", "reservation_definition", "reservation_id"]) -> None: ...

class ReservationSubmissionResponseProto(Message):
    def __init__(self) -> None: ...

class ReservationUpdateRequestProto(Message):
    @property
    def reservation_definition(self) -> ReservationDefinitionProto: ...
    @property
    def reservation_id(self) -> ReservationIdProto: ...
    def __init__(
        self,
        *,
        reservation_definition: ReservationDefinitionProto | None = ...,
        reservation_id: ReservationIdProto | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["reservation_definition", "reservation_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["reservation_definition", "reservation_id"]) -> None: ...

class ReservationUpdateResponseProto(Message):
    def __init__(self) -> None: ...

class ReservationDeleteRequestProto(Message):
    @property
    def reservation_id(self) -> ReservationIdProto: ...
    def __init__(self, *, reservation_id: ReservationIdProto | None = ...) -> None: ...
    def HasField(self, field_name: Literal["reservation_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["reservation_id"]) -> None: ...

class ReservationDeleteResponseProto(Message):
    def __init__(self) -> None: ...

class ReservationListRequestProto(Message):
    queue: str
    reservation_id: str
    start_time: int
    end_time: int
    include_resource_allocations: bool
    def __init__(
        self,
        *,
        queue: str | None = ...,
        reservation_id: str | None = ...,
        start_time: int | None = ...,
        end_time: int | None = ...,
        include_resource_allocations: bool | None = ...,
    ) -> None: ...
    def HasField(
        self, field_name: Literal["queue", "reservation_id", "start_time", "end_time", "include_resource_allocations"]
    ) -> bool: ...
    def ClearField(
        self, field_name: Literal["queue", "reservation_id", "start_time", "end_time", "include_resource_allocations"]
    ) -> None: ...

class ReservationListResponseProto(Message):
    @property
    def reservations(self) -> RepeatedCompositeFieldContainer[ReservationAllocationStateProto]: ...
    def __init__(self, *, reservations: Iterable[ReservationAllocationStateProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["reservations"]) -> None: ...

class RunSharedCacheCleanerTaskRequestProto(Message):
    def __init__(self) -> None: ...

class RunSharedCacheCleanerTaskResponseProto(Message):
    accepted: bool
    def __init__(self, *, accepted: bool | None = ...) -> None: ...
    def HasField(self, field_name: Literal["accepted"]) -> bool: ...
    def ClearField(self, field_name: Literal["accepted"]) -> None: ...

class GetLocalizationStatusesRequestProto(Message):
    @property
    def container_id(self) -> RepeatedCompositeFieldContainer[ContainerIdProto]: ...
    def __init__(self, *, container_id: Iterable[ContainerIdProto] | None = ...) -> None: ...
    def ClearField(self, field_name: Literal["container_id"]) -> None: ...

class GetLocalizationStatusesResponseProto(Message):
    @property
    def cntn_localization_statuses(self) -> RepeatedCompositeFieldContainer[ContainerLocalizationStatusesProto]: ...
    @property
    def failed_requests(self) -> RepeatedCompositeFieldContainer[ContainerExceptionMapProto]: ...
    def __init__(
        self,
        *,
        cntn_localization_statuses: Iterable[ContainerLocalizationStatusesProto] | None = ...,
        failed_requests: Iterable[ContainerExceptionMapProto] | None = ...,
    ) -> None: ...
    def ClearField(self, field_name: Literal["cntn_localization_statuses", "failed_requests"]) -> None: ...

class LocalizationStatusProto(Message):
    resource_key: str
    localization_state: int
    diagnostics: str
    def __init__(
        self, *, resource_key: str | None = ..., localization_state: int | None = ..., diagnostics: str | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["resource_key", "localization_state", "diagnostics"]) -> bool: ...
    def ClearField(self, field_name: Literal["resource_key", "localization_state", "diagnostics"]) -> None: ...

class ContainerLocalizationStatusesProto(Message):
    @property
    def container_id(self) -> ContainerIdProto: ...
    @property
    def localization_statuses(self) -> RepeatedCompositeFieldContainer[LocalizationStatusProto]: ...
    def __init__(
        self,
        *,
        container_id: ContainerIdProto | None = ...,
        localization_statuses: Iterable[LocalizationStatusProto] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["container_id"]) -> bool: ...
    def ClearField(self, field_name: Literal["container_id", "localization_statuses"]) -> None: ...

class _RpcKindProto(EnumTypeWrapper):
    RPC_BUILTIN: int
    RPC_WRITABLE: int
    RPC_PROTOCOL_BUFFER: int

RpcKindProto: _RpcKindProto

class RPCTraceInfoProto(Message):
    traceId: int
    parentId: int
    spanContext: bytes
    def __init__(
        self, *, traceId: int | None = ..., parentId: int | None = ..., spanContext: bytes | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["traceId", "parentId", "spanContext"]) -> bool: ...
    def ClearField(self, field_name: Literal["traceId", "parentId", "spanContext"]) -> None: ...

class RPCCallerContextProto(Message):
    context: str
    signature: bytes
    def __init__(self, *, context: str | None = ..., signature: bytes | None = ...) -> None: ...
    def HasField(self, field_name: Literal["context", "signature"]) -> bool: ...
    def ClearField(self, field_name: Literal["context", "signature"]) -> None: ...

class RpcRequestHeaderProto(Message):
    class _OperationProto(EnumTypeWrapper):
        RPC_FINAL_PACKET: int
        RPC_CONTINUATION_PACKET: int
        RPC_CLOSE_CONNECTION: int

    OperationProto: _OperationProto
    RPC_FINAL_PACKET: int
    RPC_CONTINUATION_PACKET: int
    RPC_CLOSE_CONNECTION: int
    rpcKind: int
    rpcOp: int
    callId: int
    clientId: bytes
    retryCount: int
    @property
    def traceInfo(self) -> RPCTraceInfoProto: ...
    @property
    def callerContext(self) -> RPCCallerContextProto: ...
    stateId: int
    routerFederatedState: bytes
    authorizationHeader: bytes
    def __init__(
        self,
        *,
        rpcKind: int | None = ...,
        rpcOp: int | None = ...,
        callId: int | None = ...,
        clientId: bytes | None = ...,
        retryCount: int | None = ...,
        traceInfo: RPCTraceInfoProto | None = ...,
        callerContext: RPCCallerContextProto | None = ...,
        stateId: int | None = ...,
        routerFederatedState: bytes | None = ...,
        authorizationHeader: bytes | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "rpcKind",
            "rpcOp",
            "callId",
            "clientId",
            "retryCount",
            "traceInfo",
            "callerContext",
            "stateId",
            "routerFederatedState",
            "authorizationHeader",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "rpcKind",
            "rpcOp",
            "callId",
            "clientId",
            "retryCount",
            "traceInfo",
            "callerContext",
            "stateId",
            "routerFederatedState",
            "authorizationHeader",
        ],
    ) -> None: ...

class RpcResponseHeaderProto(Message):
    class _RpcErrorCodeProto(EnumTypeWrapper):
        ERROR_APPLICATION: int
        ERROR_NO_SUCH_METHOD: int
        ERROR_NO_SUCH_PROTOCOL: int
        ERROR_RPC_SERVER: int
        ERROR_SERIALIZING_RESPONSE: int
        ERROR_RPC_VERSION_MISMATCH: int
        FATAL_UNKNOWN: int
        FATAL_UNSUPPORTED_SERIALIZATION: int
        FATAL_INVALID_RPC_HEADER: int
        FATAL_DESERIALIZING_REQUEST: int
        FATAL_VERSION_MISMATCH: int
        FATAL_UNAUTHORIZED: int

    RpcErrorCodeProto: _RpcErrorCodeProto
    ERROR_APPLICATION: int
    ERROR_NO_SUCH_METHOD: int
    ERROR_NO_SUCH_PROTOCOL: int
    ERROR_RPC_SERVER: int
    ERROR_SERIALIZING_RESPONSE: int
    ERROR_RPC_VERSION_MISMATCH: int
    FATAL_UNKNOWN: int
    FATAL_UNSUPPORTED_SERIALIZATION: int
    FATAL_INVALID_RPC_HEADER: int
    FATAL_DESERIALIZING_REQUEST: int
    FATAL_VERSION_MISMATCH: int
    FATAL_UNAUTHORIZED: int
    class _RpcStatusProto(EnumTypeWrapper):
        SUCCESS: int
        ERROR: int
        FATAL: int

    RpcStatusProto: _RpcStatusProto
    SUCCESS: int
    ERROR: int
    FATAL: int
    callId: int
    status: int
    serverIpcVersionNum: int
    exceptionClassName: str
    errorMsg: str
    errorDetail: int
    clientId: bytes
    retryCount: int
    stateId: int
    routerFederatedState: bytes
    def __init__(
        self,
        *,
        callId: int | None = ...,
        status: int | None = ...,
        serverIpcVersionNum: int | None = ...,
        exceptionClassName: str | None = ...,
        errorMsg: str | None = ...,
        errorDetail: int | None = ...,
        clientId: bytes | None = ...,
        retryCount: int | None = ...,
        stateId: int | None = ...,
        routerFederatedState: bytes | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "callId",
            "status",
            "serverIpcVersionNum",
            "exceptionClassName",
            "errorMsg",
            "errorDetail",
            "clientId",
            "retryCount",
            "stateId",
            "routerFederatedState",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "callId",
            "status",
            "serverIpcVersionNum",
            "exceptionClassName",
            "errorMsg",
            "errorDetail",
            "clientId",
            "retryCount",
            "stateId",
            "routerFederatedState",
        ],
    ) -> None: ...

class RpcSaslProto(Message):
    class _SaslState(EnumTypeWrapper):
        SUCCESS: int
        NEGOTIATE: int
        INITIATE: int
        CHALLENGE: int
        RESPONSE: int
        WRAP: int

    SaslState: _SaslState
    SUCCESS: int
    NEGOTIATE: int
    INITIATE: int
    CHALLENGE: int
    RESPONSE: int
    WRAP: int
    class SaslAuth(Message):
        method: str
        mechanism: str
        protocol: str
        serverId: str
        challenge: bytes
        def __init__(
            self,
            *,
            method: str | None = ...,
            mechanism: str | None = ...,
            protocol: str | None = ...,
            serverId: str | None = ...,
            challenge: bytes | None = ...,
        ) -> None: ...
        def HasField(self, field_name: Literal["method", "mechanism", "protocol", "serverId", "challenge"]) -> bool: ...
        def ClearField(
            self, field_name: Literal["method", "mechanism", "protocol", "serverId", "challenge"]
        ) -> None: ...

    version: int
    state: int
    token: bytes
    @property
    def auths(self) -> RepeatedCompositeFieldContainer[RpcSaslProto.SaslAuth]: ...
    def __init__(
        self,
        *,
        version: int | None = ...,
        state: int | None = ...,
        token: bytes | None = ...,
        auths: Iterable[RpcSaslProto.SaslAuth] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["version", "state", "token"]) -> bool: ...
    def ClearField(self, field_name: Literal["version", "state", "token", "auths"]) -> None: ...

class UserInformationProto(Message):
    effectiveUser: str
    realUser: str
    def __init__(self, *, effectiveUser: str | None = ..., realUser: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["effectiveUser", "realUser"]) -> bool: ...
    def ClearField(self, field_name: Literal["effectiveUser", "realUser"]) -> None: ...

class IpcConnectionContextProto(Message):
    @property
    def userInfo(self) -> UserInformationProto: ...
    protocol: str
    def __init__(self, *, userInfo: UserInformationProto | None = ..., protocol: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["userInfo", "protocol"]) -> bool: ...
    def ClearField(self, field_name: Literal["userInfo", "protocol"]) -> None: ...

class RequestHeaderProto(Message):
    methodName: str
    declaringClassProtocolName: str
    clientProtocolVersion: int
    def __init__(
        self,
        *,
        methodName: str | None = ...,
        declaringClassProtocolName: str | None = ...,
        clientProtocolVersion: int | None = ...,
    ) -> None: ...
    def HasField(
        self, field_name: Literal["methodName", "declaringClassProtocolName", "clientProtocolVersion"]
    ) -> bool: ...
    def ClearField(
        self, field_name: Literal["methodName", "declaringClassProtocolName", "clientProtocolVersion"]
    ) -> None: ...

class _PlanEdgeDataMovementType(EnumTypeWrapper):
    ONE_TO_ONE: int
    BROADCAST: int
    SCATTER_GATHER: int
    CUSTOM: int

PlanEdgeDataMovementType: _PlanEdgeDataMovementType

class _PlanEdgeSchedulingType(EnumTypeWrapper):
    SEQUENTIAL: int
    CONCURRENT: int

PlanEdgeSchedulingType: _PlanEdgeSchedulingType

class PlanTaskConfiguration(Message):
    numTasks: int
    memoryMb: int
    virtualCores: int
    def __init__(
        self, *, numTasks: int | None = ..., memoryMb: int | None = ..., virtualCores: int | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["numTasks", "memoryMb", "virtualCores"]) -> bool: ...
    def ClearField(self, field_name: Literal["numTasks", "memoryMb", "virtualCores"]) -> None: ...

class VertexPlan(Message):
    name: str
    @property
    def taskConfig(self) -> PlanTaskConfiguration: ...
    def __init__(self, *, name: str | None = ..., taskConfig: PlanTaskConfiguration | None = ...) -> None: ...
    def HasField(self, field_name: Literal["name", "taskConfig"]) -> bool: ...
    def ClearField(self, field_name: Literal["name", "taskConfig"]) -> None: ...

class EdgePlan(Message):
    id: str
    inputVertexName: str
    outputVertexName: str
    dataMovementType: int
    schedulingType: int
    def __init__(
        self,
        *,
        id: str | None = ...,
        inputVertexName: str | None = ...,
        outputVertexName: str | None = ...,
        dataMovementType: int | None = ...,
        schedulingType: int | None = ...,
    ) -> None: ...
    def HasField(
        self, field_name: Literal["id", "inputVertexName", "outputVertexName", "dataMovementType", "schedulingType"]
    ) -> bool: ...
    def ClearField(
        self, field_name: Literal["id", "inputVertexName", "outputVertexName", "dataMovementType", "schedulingType"]
    ) -> None: ...

class DAGPlan(Message):
    name: str
    @property
    def vertex(self) -> RepeatedCompositeFieldContainer[VertexPlan]: ...
    @property
    def edge(self) -> RepeatedCompositeFieldContainer[EdgePlan]: ...
    def __init__(
        self,
        *,
        name: str | None = ...,
        vertex: Iterable[VertexPlan] | None = ...,
        edge: Iterable[EdgePlan] | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["name"]) -> bool: ...
    def ClearField(self, field_name: Literal["name", "vertex", "edge"]) -> None: ...

class DAGSubmittedProto(Message):
    dag_id: str
    dag_plan: bytes
    def __init__(self, *, dag_id: str | None = ..., dag_plan: bytes | None = ...) -> None: ...
    def HasField(self, field_name: Literal["dag_id", "dag_plan"]) -> bool: ...
    def ClearField(self, field_name: Literal["dag_id", "dag_plan"]) -> None: ...

class NMTokenIdentifierProto(Message):
    @property
    def appAttemptId(self) -> ApplicationAttemptIdProto: ...
    @property
    def nodeId(self) -> NodeIdProto: ...
    appSubmitter: str
    keyId: int
    def __init__(
        self,
        *,
        appAttemptId: ApplicationAttemptIdProto | None = ...,
        nodeId: NodeIdProto | None = ...,
        appSubmitter: str | None = ...,
        keyId: int | None = ...,
    ) -> None: ...
    def HasField(self, field_name: Literal["appAttemptId", "nodeId", "appSubmitter", "keyId"]) -> bool: ...
    def ClearField(self, field_name: Literal["appAttemptId", "nodeId", "appSubmitter", "keyId"]) -> None: ...

class AMRMTokenIdentifierProto(Message):
    @property
    def appAttemptId(self) -> ApplicationAttemptIdProto: ...
    keyId: int
    def __init__(self, *, appAttemptId: ApplicationAttemptIdProto | None = ..., keyId: int | None = ...) -> None: ...
    def HasField(self, field_name: Literal["appAttemptId", "keyId"]) -> bool: ...
    def ClearField(self, field_name: Literal["appAttemptId", "keyId"]) -> None: ...

class ContainerTokenIdentifierProto(Message):
    @property
    def containerId(self) -> ContainerIdProto: ...
    nmHostAddr: str
    appSubmitter: str
    @property
    def resource(self) -> ResourceProto: ...
    expiryTimeStamp: int
    masterKeyId: int
    rmIdentifier: int
    @property
    def priority(self) -> PriorityProto: ...
    creationTime: int
    @property
    def logAggregationContext(self) -> LogAggregationContextProto: ...
    nodeLabelExpression: str
    containerType: int
    executionType: int
    version: int
    allocation_request_id: int
    @property
    def allocation_tags(self) -> RepeatedScalarFieldContainer[str]: ...
    def __init__(
        self,
        *,
        containerId: ContainerIdProto | None = ...,
        nmHostAddr: str | None = ...,
        appSubmitter: str | None = ...,
        resource: ResourceProto | None = ...,
        expiryTimeStamp: int | None = ...,
        masterKeyId: int | None = ...,
        rmIdentifier: int | None = ...,
        priority: PriorityProto | None = ...,
        creationTime: int | None = ...,
        logAggregationContext: LogAggregationContextProto | None = ...,
        nodeLabelExpression: str | None = ...,
        containerType: int | None = ...,
        executionType: int | None = ...,
        version: int | None = ...,
        allocation_request_id: int | None = ...,
        allocation_tags: Iterable[str] | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal[
            "containerId",
            "nmHostAddr",
            "appSubmitter",
            "resource",
            "expiryTimeStamp",
            "masterKeyId",
            "rmIdentifier",
            "priority",
            "creationTime",
            "logAggregationContext",
            "nodeLabelExpression",
            "containerType",
            "executionType",
            "version",
            "allocation_request_id",
        ],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal[
            "containerId",
            "nmHostAddr",
            "appSubmitter",
            "resource",
            "expiryTimeStamp",
            "masterKeyId",
            "rmIdentifier",
            "priority",
            "creationTime",
            "logAggregationContext",
            "nodeLabelExpression",
            "containerType",
            "executionType",
            "version",
            "allocation_request_id",
            "allocation_tags",
        ],
    ) -> None: ...

class ClientToAMTokenIdentifierProto(Message):
    @property
    def appAttemptId(self) -> ApplicationAttemptIdProto: ...
    clientName: str
    def __init__(
        self, *, appAttemptId: ApplicationAttemptIdProto | None = ..., clientName: str | None = ...
    ) -> None: ...
    def HasField(self, field_name: Literal["appAttemptId", "clientName"]) -> bool: ...
    def ClearField(self, field_name: Literal["appAttemptId", "clientName"]) -> None: ...

class YARNDelegationTokenIdentifierProto(Message):
    owner: str
    renewer: str
    realUser: str
    issueDate: int
    maxDate: int
    sequenceNumber: int
    masterKeyId: int
    def __init__(
        self,
        *,
        owner: str | None = ...,
        renewer: str | None = ...,
        realUser: str | None = ...,
        issueDate: int | None = ...,
        maxDate: int | None = ...,
        sequenceNumber: int | None = ...,
        masterKeyId: int | None = ...,
    ) -> None: ...
    def HasField(
        self,
        field_name: Literal["owner", "renewer", "realUser", "issueDate", "maxDate", "sequenceNumber", "masterKeyId"],
    ) -> bool: ...
    def ClearField(
        self,
        field_name: Literal["owner", "renewer", "realUser", "issueDate", "maxDate", "sequenceNumber", "masterKeyId"],
    ) -> None: ...

class DockerCredentialTokenIdentifierProto(Message):
    registryUrl: str
    applicationId: str
    def __init__(self, *, registryUrl: str | None = ..., applicationId: str | None = ...) -> None: ...
    def HasField(self, field_name: Literal["registryUrl", "applicationId"]) -> bool: ...
    def ClearField(self, field_name: Literal["registryUrl", "applicationId"]) -> None: ...
