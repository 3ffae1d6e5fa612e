"""What applications have used is written once, comes back, and is told to those who may know it."""

from dataclasses import replace
from typing import Any

import pytest

from shim.domain.ids import ApplicationId, SubClusterId
from shim.errors import BadRequestError
from shim.federation.core.federation_view import Applied
from shim.identity.service import Caller
from shim.ports.queue_stores import UsageQuestion, UsageTotal
from shim.protocol.rest.usage import UsageForm
from shim.queues import usage
from shim.queues.usage import UsageKeeping, UsageReports
from shim.simulation.stores import InMemoryCreditStore, InMemoryUsageStore
from tests.doubles.builders import FEDERATION_TIMESTAMP_MS
from tests.doubles.clock import FakeClock
from tests.doubles.federation import ScriptedFederation
from tests.doubles.reports import a_document, a_queue_report, a_report

EAST, WEST = SubClusterId("east"), SubClusterId("west")
ONE, TWO = ApplicationId(FEDERATION_TIMESTAMP_MS, 1), ApplicationId(FEDERATION_TIMESTAMP_MS, 2)
PART = {"applicationTags": "heddle-span", "applicationType": "HEDDLE"}


class Kept:
    """A Heddle that keeps usage, over two ResourceManagers and a store that outlives it."""

    def __init__(self):
        self.federation = ScriptedFederation()
        self.store = InMemoryUsageStore()
        self.others = ""
        self.ended: list[tuple[int, float]] = []

    async def start(self):
        self.heddle = await self.federation.start()
        view = self.heddle.view
        self.keeping = UsageKeeping(
            view,
            view.accounts,
            UsageForm(),
            self.store,
            self.federation.clock,
            lambda queue: queue != self.others,
            lambda document, mib_s: self.ended.append((document.summary.application_id.sequence, mib_s)),
        )
        await self.keeping.restore()
        return self

    async def polls(self, after_s=2.0):
        await self.federation.clock.advance(after_s)
        await self.federation.wait_for(self.heddle.poll())
        known = {each.summary.application_id: each for each in self.heddle.view.applications.newest_first()}
        report = a_report("east", 1, applications=known.values())
        self.keeping.reported(report, Applied(is_new=True))
        await self.keeping.turn()

    def memory(self):
        return {
            (name.sequence, at): row.part.spent.get("memory_mib_s")
            for (name, at), row in sorted(self.store.rows.items())
        }


@pytest.fixture
async def kept():
    return await Kept().start()


async def test_an_application_is_written_when_it_is_seen_now_and_then_and_at_its_end_once(kept):
    east = kept.federation["east"]
    east.add_application(ONE, memorySeconds=10)
    await kept.polls()
    assert kept.memory() == {(1, "east"): 10}
    assert kept.store.rows[ONE, EAST].ended_at_ms == 0
    east.applications[ONE]["memorySeconds"] = 20
    await kept.polls()
    assert kept.memory() == {(1, "east"): 10}, "not at every poll"
    await kept.polls(60.0)
    assert kept.memory() == {(1, "east"): 20}
    east.move(ONE, "FINISHED")
    east.applications[ONE]["memorySeconds"] = 25
    await kept.polls()
    row = kept.store.rows[ONE, EAST]
    assert (row.part.spent["memory_mib_s"], row.user, row.queue, row.is_home) == (25, "alice", "root.default", True)
    assert row.ended_at_ms == east.applications[ONE]["finishedTime"]
    await kept.polls()
    assert kept.ended == [(1, 25.0)], "told once, at its end"
    writes = kept.store.writes
    for _ in range(3):
        await kept.polls(60.0)
    assert kept.store.writes == writes


async def test_all_parts_of_an_application_are_written_and_come_back(kept):
    for name, told in (("east", {}), ("west", PART)):
        kept.federation[name].add_application(ONE, memorySeconds=10, **told)
        kept.federation[name].applications[ONE]["startedTime"] = 1_800_000_000_000
    await kept.polls()
    await kept.polls()
    assert kept.memory() == {(1, "east"): 10, (1, "west"): 10}
    kept.federation["east"].applications[ONE]["memorySeconds"] = 15
    del kept.federation["west"].applications[ONE]  # it remembers so many of those that have ended, and no more
    await kept.start()
    await kept.polls()
    document = kept.heddle.view.applications.find(ONE)
    assert b'"memorySeconds":25' in document.raw
    assert [each.summary.application_id for each in kept.heddle.view.applications.newest_first()] == [ONE]


async def test_what_the_store_does_not_take_is_written_later(kept):
    kept.federation["east"].add_application(ONE, "FINISHED")
    kept.store.is_away = True
    await kept.polls()
    kept.store.is_away = False
    await kept.keeping.turn()
    assert kept.memory() == {(1, "east"): 1024}
    kept.store.is_away = True
    await kept.start()  # and without it a Heddle starts


async def test_of_several_heddles_one_writes(kept):
    kept.others = "root.default"
    kept.federation["east"].add_application(ONE, "FINISHED")
    kept.federation["east"].add_application(TWO, "FINISHED", queue="root.prod")
    await kept.polls()
    assert kept.memory() == {(2, "east"): 1024}


class EndedLongAgo:
    """A view in which every application has the same document."""

    def __init__(self):
        self.applications = self
        self.document = a_document(1, "east", "FINISHED")

    def find(self, _):
        return self.document

    def is_synthetic(self, _):
        return False


async def test_the_queue_is_its_path_though_older_versions_tell_the_last_part_alone(kept):
    queues = tuple(a_queue_report(f"root.{name}", is_leaf=name != "etl") for name in ("default", "prod", "etl"))
    told = ("default", "root.default", "prod", "gone", "")
    made = [a_document(number, "east", "FINISHED") for number in range(len(told))]
    summaries = [each.but(summary=replace(each.summary, queue=name)) for each, name in zip(made, told, strict=True)]
    report = a_report("east", 9, polled_at_s=kept.federation.clock.now_s(), applications=summaries, queues=queues)
    kept.heddle.view.apply(report)
    kept.others = "root.prod"
    kept.keeping.reported(report, Applied(is_new=True))
    await kept.keeping.turn()
    found = {name.sequence: row.queue for (name, _), row in sorted(kept.store.rows.items())}
    assert found == {0: "root.default", 1: "root.default", 3: "gone", 4: ""}


async def test_of_very_many_written_applications_the_newest_are_remembered(kept):
    most = 50_000
    view: Any = EndedLongAgo()
    keeping = UsageKeeping(view, kept.heddle.view.accounts, UsageForm(), kept.store, FakeClock(), lambda _: True)

    async def rows_written(*numbers):
        kept.store.rows.clear()
        report = a_report("east", 1, applications=())
        applications = {ApplicationId(1, number): view.document for number in numbers}
        keeping.reported(replace(report, applications=applications), Applied(is_new=True))
        await keeping.turn()
        return len(kept.store.rows)

    assert await rows_written(*range(1, most + 2)) == 1, "all have the same document"
    assert await rows_written(2, most + 1) == 0, "written before"
    assert await rows_written(1) == 1, "forgotten"


class LivesOn(EndedLongAgo):
    """A view in which every application lives."""

    def __init__(self):
        super().__init__()
        self.document = a_document(1, "east")

    def find(self, name):
        return self.document.but(summary=replace(self.document.summary, application_id=name))


async def test_of_more_live_applications_than_are_written_in_a_turn_each_has_its_turn(kept, monkeypatch):
    monkeypatch.setattr(usage, "_MOST_LIVE", 3)
    view: Any = LivesOn()
    clock = FakeClock()
    keeping = UsageKeeping(view, kept.heddle.view.accounts, UsageForm(), kept.store, clock, lambda _: True)
    applications = {ApplicationId(1, number): view.document for number in range(10)}
    report = replace(a_report("east", 1, applications=()), applications=applications)
    written = []
    for _ in range(4):
        kept.store.rows.clear()
        keeping.reported(report, Applied(is_new=True))
        await keeping.turn()
        written.append({name.sequence for name, _ in kept.store.rows})
        await clock.advance(60.0)
    assert written == [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 0, 1}]


async def test_very_many_that_live_are_not_written_again_with_each_turn(kept, monkeypatch):
    monkeypatch.setattr(usage, "_MOST_WRITTEN", 5)
    view: Any = LivesOn()
    keeping = UsageKeeping(view, kept.heddle.view.accounts, UsageForm(), kept.store, FakeClock(), lambda _: True)
    applications = {ApplicationId(1, number): view.document for number in range(10)}
    report = replace(a_report("east", 1, applications=()), applications=applications)
    for rows in (10, 0):
        kept.store.rows.clear()
        keeping.reported(report, Applied(is_new=True))
        await keeping.turn()
        assert len(kept.store.rows) == rows


def reports(store, now_s=2_000_000_000.0):
    clock = ScriptedFederation().clock
    clock.wall_s = now_s
    return UsageReports(store, InMemoryCreditStore(), clock, lambda caller: caller.user == "queen")


async def test_who_is_no_administrator_is_told_of_his_own(kept):
    kept.federation["east"].add_application(ONE, "FINISHED", user="ada", startedTime=1_800_000_000_000)
    kept.federation["east"].add_application(TWO, "FINISHED", user="bob", startedTime=1_800_000_000_000)
    await kept.polls()
    asked = reports(kept.store)
    found, question, is_cut = await asked.totals(Caller("queen", "queen"), ["user"], None, None)
    assert [each.group for each in found] == [("ada",), ("bob",)]
    assert question == UsageQuestion(("user",), 0, 2_000_000_000_000, 2_000_000_000_000)
    assert not is_cut
    found, question, _ = await asked.totals(Caller("ada", "ada"), ["queue"], None, None)
    assert found == [UsageTotal(("root.default",), 1, 1024, 1)]
    assert question.user == "ada"
    assert (await asked.totals(Caller("eve", "eve"), [], None, None))[0] == []


@pytest.mark.parametrize(
    ("by", "begin", "end"), [(["application"], None, None), (["user", "user"], None, None), (["queue"], 5, 4)]
)
async def test_a_question_that_is_none_is_refused(by, begin, end):
    with pytest.raises(BadRequestError):
        await reports(InMemoryUsageStore()).totals(Caller("queen", "queen"), by, begin, end)
