"""The table of `shim.submission.reconciliation`: what its home says of an acknowledged application, and what then."""

from dataclasses import replace

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.domain.submissions import SubmissionState
from shim.ports.resource_manager import RestAnswer, RestRequest
from shim.submission.reconciliation import Reconciliation, ReconciliationSettings
from tests.doubles import rm_documents
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS, a_record, a_submission
from tests.doubles.federation import ScriptedFederation
from tests.doubles.resource_manager import BASE, ScriptedResourceManager, ok_answer
from tests.doubles.settings import usual

EAST = SubClusterId("east")
AN_ID = ApplicationId(FEDERATION_TIMESTAMP_MS, 1)
OLD_LIFE_MS = 77


class ListsNothing:
    """Answers each question for one application, and lists none: as if polls had not come to it yet."""

    async def __call__(
        self, manager: ScriptedResourceManager, request: RestRequest, timeout_s: float | None
    ) -> RestAnswer:
        del timeout_s
        if request.method == "GET" and request.path.split("?")[0].rstrip("/") == f"{BASE}/apps":
            return ok_answer(rm_documents.apps_document([]))
        return manager.take(request)


@pytest.mark.parametrize("is_listed", [True, False], ids=["told by a poll", "asked for"])
@pytest.mark.parametrize("is_same_life", [True, False], ids=["same life", "restarted since"])
@pytest.mark.parametrize("says", ["RUNNING", "FINISHED", "KILLED", "another's", None])
async def test_what_its_home_says_of_an_acknowledged_application_and_what_then(
    says: str | None, *, is_same_life: bool, is_listed: bool
) -> None:
    federation = ScriptedFederation()
    east, store = federation["east"], federation.store
    life_ms = east.started_on_ms
    record = a_record(
        started_on_ms=life_ms if is_same_life else OLD_LIFE_MS,
        intended_at_ms=round((federation.clock.now_s() - 60.0) * 1000),
    )
    await store.insert_intent(replace(record, submission=a_submission(), intent_id="i1"))
    await store.settle(AN_ID, SubmissionState.SUBMITTED)
    if says is not None:
        east.add_application(AN_ID, **({"name": "other"} if says == "another's" else {}))
        if says not in {"RUNNING", "another's"}:
            east.move(AN_ID, says)
    if not is_listed:
        east.behave(ListsNothing())
    heddle = await federation.start()
    ended: list[tuple[ApplicationId, SubClusterId, str, str]] = []
    reconciliation = Reconciliation(
        repair=heddle.repair,
        view=heddle.view,
        managers=heddle.managers,
        store=store,
        clock=federation.clock,
        settings=usual(ReconciliationSettings),
        ended=lambda *facts: ended.append(facts),
    )
    for _ in range(2):
        await federation.wait_for(reconciliation.sweep(EAST))
        await federation.clock.advance(8.0)
        await heddle.poll()
    await federation.wait_for(reconciliation.sweep(EAST))

    found = await store.find(AN_ID)
    assert found is not None
    is_final = says in {"FINISHED", "KILLED"} or (says is None and is_same_life)
    is_open = [progress.application_id for progress in await store.unfinished(EAST)] == [AN_ID]
    is_disputed = says == "another's" and not (is_same_life and is_listed)  # nothing to write down before it ends
    assert found.state is (SubmissionState.LOST if is_disputed else SubmissionState.SUBMITTED)
    assert is_open is (not is_final and not is_disputed)
    assert [(each, home) for each, home, *_ in ended] == [(AN_ID, EAST)] * is_final
    assert all(state == (says or "") for _, _, state, _ in ended) or not is_listed
    if is_open:
        assert found.home_started_on_ms == life_ms, "the life of its home that knows it"
    sends = sum(request.method == "POST" for request in east.requests)
    assert sends == (says is None and not is_same_life)
