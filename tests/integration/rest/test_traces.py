"""One request, one trace: from the server to the store and the ResourceManager."""

from opentelemetry.trace import SpanKind, StatusCode

from shim.identity.service import IdentityRules
from shim.ports.clock import Clock
from shim.ports.resource_manager import ResourceManager
from shim.telemetry import Metrics, ObservedResourceManager
from tests.doubles.misbehaviours import IsNeverReached
from tests.doubles.settings import usual
from tests.support.scripted_server import ScriptedServer
from tests.support.traces import tracing

SUBMIT = "POST /ws/v1/cluster/apps"


def observed() -> ScriptedServer:
    def observe(manager: ResourceManager, clock: Clock) -> ResourceManager:
        metrics = Metrics(clock, version="test", subclusters=lambda: ())
        return ObservedResourceManager(manager, metrics, clock)

    return ScriptedServer(rules=usual(IdentityRules, allow_anonymous=True), observe=observe)


async def test_a_submission_is_one_trace():
    server = observed()
    await server.poll()
    with tracing() as traced:
        application = await server.submit()
    asked = traced.named(SUBMIT)
    assert asked.kind is SpanKind.SERVER
    assert asked.attributes is not None
    assert asked.attributes["http.response.status_code"] == 202
    assert asked.attributes["heddle.target"] == str(application)
    assert "ResourceManager submit" in traced.below(asked)
    told = traced.named("ResourceManager submit").attributes
    assert told is not None
    assert (told["heddle.application"], told["heddle.cluster"]) == (str(application), "east")


async def test_a_request_that_fails_says_why_and_goes_on_with_the_clients_trace():
    server = observed()
    await server.poll()
    for manager in server.federation.managers.values():
        manager.behave(IsNeverReached())
    with tracing() as traced:
        answer = await server.get(
            "/apps/application_1_1", traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        )
    assert answer.status == 503
    asked = traced.named("GET /ws/v1/cluster/apps/{application}")
    assert asked.status.status_code is StatusCode.ERROR
    assert asked.parent is not None
    assert f"{asked.parent.span_id:016x}" == "b7ad6b7169203331"
    assert traced.below(asked) == {"ResourceManager GET"}
