"""Several Global and Local Masters over real clusters: they share the work, and take over from each other."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from shim.lab import Lab
from tests.support.masters import Masters, Nursery, fresh_database, masters_over, names_that_share, told, until

pytestmark = pytest.mark.lab

QUEUES = ("root.default", "root.prod")
TAKES_OVER_S = 5.0


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as started:
        yield started


@pytest.fixture
async def masters(nursery: Nursery, fault_lab: Lab, postgres_url: str, tmp_path: Path) -> AsyncIterator[Masters]:
    store = await fresh_database(postgres_url, "masters")
    clusters = {id_: (each.conf_dir, each.url) for id_, each in fault_lab.clusters.items()}
    async with masters_over(nursery, tmp_path, store, clusters) as started:
        yield started


async def owners(masters: Masters, master: Any) -> dict[str, str]:
    """Which Global Master owns which queue, as one of them sees it."""
    told = await masters.get(master, "/heddle/v1/masters")
    return {queue["queue"]: queue["owner"] for queue in told["queues"]}


async def started(masters: Masters, names: tuple[str, ...]) -> list[Any]:
    """A Local Master for each cluster, and Global Masters that see all of them and share the queues."""
    await asyncio.gather(*(masters.start_lm(subcluster) for subcluster in masters.managers))
    gms = await asyncio.gather(*(masters.start_gm(name) for name in names))
    for gm in gms:

        async def sees_everything(gm: Any = gm) -> bool:
            clusters = (await masters.get(gm, "/heddle/v1/clusters"))["clusters"]
            return all(cluster["state"] == "RUNNING" for cluster in clusters)

        await until(sees_everything)

    async def is_shared() -> bool:
        wanted = dict(zip(QUEUES, names, strict=False))
        seen = [await owners(masters, gm) for gm in gms]
        return all(each.get(queue) == name for each in seen for queue, name in wanted.items())

    await until(is_shared)
    return list(gms)


async def test_two_fill_two_clusters_at_once_and_nothing_is_lost_or_doubled(masters: Masters) -> None:
    one, two = await started(masters, names_that_share(QUEUES))
    tried = [(one, QUEUES[0]), (two, QUEUES[1])] * 12
    statuses = await asyncio.gather(*(masters.submit(gm, queue, seconds=300) for gm, queue in tried))
    assert set(statuses) == {202}
    where = await masters.everything_runs_once()
    spread = Counter(where.values())
    assert min(spread["east"], spread["west"]) >= 8, spread
    records = [await masters.why(one, application_id) for application_id in masters.acknowledged]
    rejected = [verdict for record in records for verdict in record["verdicts"] if verdict["verdict"] == "rejected"]
    assert rejected, "two that do not know of each other's choices never collided"
    told = await masters.get(one, "/heddle/v1/masters"), await masters.get(two, "/heddle/v1/masters")
    assert sum(each["inconsistencies"] for each in told) == len(rejected)
    await masters.kill_applications(one)


async def test_a_submission_at_the_wrong_door_is_passed_on_and_answered_alike(masters: Masters) -> None:
    one, two = await started(masters, names_that_share(QUEUES))
    assert await masters.submit(one, QUEUES[1]) == 202
    (application_id,) = masters.acknowledged
    assert (await masters.get(one, f"/heddle/v1/apps/{application_id}"))["app"]["id"] == application_id
    assert (await masters.get(two, "/heddle/v1/masters"))["passed_on"]["taken"] == 1
    assert (await masters.get(one, "/heddle/v1/masters"))["passed_on"]["sent"] == 1
    await masters.everything_runs_once()


async def test_a_killed_gms_queues_move_within_seconds_and_its_applications_go_on(masters: Masters) -> None:
    one, two = await started(masters, names_that_share(QUEUES))
    assert [await masters.submit(one, QUEUES[0], seconds=300) for _ in range(4)] == [202] * 4
    ids = [await masters.new_id(one) for _ in range(8)]
    flying = [asyncio.create_task(masters.submit(one, QUEUES[0], application_id=id_)) for id_ in ids]
    await asyncio.wait(flying, return_when=asyncio.FIRST_COMPLETED)
    one.kill()
    await asyncio.wait(flying)
    for task in flying:
        task.exception()  # a client whose connection broke repeats what it asked for

    async def has_moved() -> bool:
        return bool((await owners(masters, two)).get(QUEUES[0]) == two.name)

    assert await until(has_moved) < TAKES_OVER_S
    assert await masters.submit(two, QUEUES[0]) == 202
    for id_ in ids:
        if id_ not in masters.acknowledged:
            assert await masters.submit(two, QUEUES[0], application_id=id_) == 202
    await masters.everything_runs_once()
    await masters.kill_applications(two)


async def test_a_killed_lms_standby_takes_over_within_seconds(masters: Masters) -> None:
    (one,) = await started(masters, names_that_share(QUEUES)[:1])
    standby = await masters.start_lm("east", 2)
    masters.running["lm-east-1"].kill()

    async def reports_again() -> bool:
        return '"followed"' in told(standby)

    assert await until(reports_again) < TAKES_OVER_S

    async def is_verified() -> bool:
        assert await masters.submit(one, QUEUES[0]) == 202, masters.refusals
        record = await masters.why(one, masters.acknowledged[-1])
        return bool(record["verdicts"]) and record["home"] == "east"

    await until(is_verified)
    await masters.everything_runs_once()


async def test_a_frozen_lm_is_told_by_its_age_and_replaced_and_what_it_says_later_is_not_heard(
    masters: Masters,
) -> None:
    (one,) = await started(masters, names_that_share(QUEUES)[:1])
    first = masters.running["lm-east-1"]
    first.freeze()
    assert await masters.submit(one, QUEUES[0]) == 202  # nobody waits for it
    await masters.start_lm("east", 2)

    async def is_fresh() -> bool:
        told = await masters.get(one, "/heddle/v1/masters")
        (link,) = [each for each in told["links"] if each["cluster"] == "east"]
        clusters = (await masters.get(one, "/heddle/v1/clusters"))["clusters"]
        return bool(link["is_linked"] and clusters[0]["age_s"] < 2.0 and link["address"] != before)

    before = (await masters.get(one, "/heddle/v1/masters"))["links"][0]["address"]
    await until(is_fresh)
    first.thaw()

    async def stands_by() -> bool:
        return '"standing by"' in told(first)

    await until(stands_by)
    assert await is_fresh()
    await masters.everything_runs_once()
