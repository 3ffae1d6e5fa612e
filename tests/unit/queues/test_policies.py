"""Policies: validated, applied, followed, and rolled back."""

import threading

import pytest

from shim.config.policy_files import parse_policy
from shim.domain.queues import SharePolicy
from shim.errors import BadRequestError, ConflictError, NotFoundError
from shim.queues.policies import PolicyService
from shim.simulation.stores import InMemoryPolicyStore
from tests.doubles.clock import FakeClock

FIRST = '[[queue]]\nname = "root.prod"\nweight = 1\n'
SECOND = '[[queue]]\nname = "root.prod"\nweight = 3\n'
THIRD = '[[queue]]\nname = "root.prod"\nweight = 5\n'
WRONG = '[[queue]]\nname = "root.prod"\nweight = -3\n'


def a_service(store: InMemoryPolicyStore) -> PolicyService:
    return PolicyService(store, FIRST, lambda text, source: parse_policy(text, source=source), FakeClock())


def weight(service: PolicyService) -> float | None:
    return service.current.queues[0].weight


async def test_the_configuration_file_holds_until_a_policy_is_applied() -> None:
    service = a_service(InMemoryPolicyStore())
    await service.refresh()
    assert (weight(service), service.newest.version) == (1, 0)


async def test_a_policy_holds_at_once_here_and_soon_elsewhere() -> None:
    store = InMemoryPolicyStore()
    service, other = a_service(store), a_service(store)
    applied = await service.apply(SECOND, source="b.toml", by="ann", note="more")
    assert (applied.version, weight(service), weight(other)) == (1, 3, 1)
    await other.refresh()
    assert weight(other) == 3


async def test_after_a_restart_the_newest_holds_and_not_the_file() -> None:
    store = InMemoryPolicyStore()
    await a_service(store).apply(SECOND, source="b.toml", by="ann")
    heir = a_service(store)
    await heir.refresh()
    assert weight(heir) == 3


async def test_a_policy_with_an_error_is_refused_whole_with_its_line() -> None:
    service = a_service(InMemoryPolicyStore())
    with pytest.raises(BadRequestError, match=r"b\.toml:3: queue\[0\]\.weight: -3.0 is too small"):
        await service.apply(WRONG, source="b.toml", by="ann")
    with pytest.raises(BadRequestError, match="more than the"):
        await service.apply(f"#{'x' * 300_000}", source="b.toml", by="ann")
    assert (weight(service), service.newest.version) == (1, 0)


async def test_one_whose_orders_would_act_on_nothing_is_not_applied_and_one_that_was_applied_still_holds() -> None:
    store, idle = InMemoryPolicyStore(), f'{SECOND}containers = "jockey"\n'
    with pytest.raises(
        BadRequestError, match=r"b\.toml: containers = .jockey. of queue root\.prod would act on nothing"
    ):
        await a_service(store).apply(idle, source="b.toml", by="ann")
    await a_service(store).apply(f"{idle}span = true\n", source="b.toml", by="ann")
    await store.apply(2, idle, by="ann", note="by a version before")
    heir = a_service(store)
    await heir.refresh()
    assert weight(heir) == 3, "an upgrade loses no policy"


async def test_who_did_not_see_the_newest_is_told_to_look() -> None:
    service = a_service(InMemoryPolicyStore())
    await service.apply(SECOND, source="b.toml", by="ann", expected=0)
    with pytest.raises(ConflictError, match="version 1 holds, not 0"):
        await service.apply(FIRST, source="a.toml", by="bob", expected=0)


async def test_a_rollback_is_a_new_version() -> None:
    service = a_service(InMemoryPolicyStore())
    await service.apply(SECOND, source="b.toml", by="ann")
    await service.apply(THIRD, source="c.toml", by="ann")
    rolled = await service.roll_back(1, by="bob")
    assert (rolled.version, rolled.applied_by, rolled.note) == (3, "bob", "version 1 again")
    assert weight(service) == 3
    assert [each.version for each in await service.history()] == [3, 2, 1, 0]
    with pytest.raises(NotFoundError, match="the newest is 3"):
        await service.roll_back(7, by="bob")


@pytest.mark.parametrize("version", [None, 0, 2])
async def test_a_release_gives_control_back_to_the_file_of_each_heddle(version: int | None) -> None:
    store = InMemoryPolicyStore()
    service = a_service(store)
    await service.apply(SECOND, source="b.toml", by="ann")
    await service.release(by="ann")
    await service.apply(SECOND, source="b.toml", by="ann")
    back = await (service.release(by="bob") if version is None else service.roll_back(version, by="bob"))
    assert (back.version, back.applied_by, back.text, weight(service)) == (4, "bob", FIRST, 1)
    edited = PolicyService(store, THIRD, lambda text, source: parse_policy(text, source=source), FakeClock())
    await edited.refresh()
    assert weight(edited) == 5, "the file as it is at the start holds"
    assert edited.newest.text == THIRD
    assert edited.difference() is None
    assert (await service.history())[0].text == FIRST


async def test_how_the_policy_differs_from_the_file_is_told() -> None:
    service = a_service(InMemoryPolicyStore())
    assert service.difference() is None
    await service.apply(FIRST, source="a.toml", by="ann")
    assert service.difference() is None, "it says the same"
    await service.apply(SECOND + '[[queue]]\nname = "root.dev"\n', source="b.toml", by="ann")
    assert str(service.difference()) == (
        "version 2 of the policy holds, applied by ann, not the configuration file: queues root.dev, root.prod"
    )
    await service.apply(FIRST + '[[mapping]]\nqueue = "root.prod"\n', source="b.toml", by="ann")
    assert str(service.difference()).endswith("not the configuration file: [[mapping]]")


async def test_no_policy_is_read_on_the_event_loop_but_the_one_of_the_start() -> None:
    threads: list[threading.Thread] = []

    def parse(text: str, source: str) -> SharePolicy:
        threads.append(threading.current_thread())
        return parse_policy(text, source=source)

    store = InMemoryPolicyStore()
    service, other = PolicyService(store, FIRST, parse, FakeClock()), PolicyService(store, FIRST, parse, FakeClock())
    threads.clear()
    await service.apply(SECOND, source="b.toml", by="ann")
    await other.refresh()
    await service.roll_back(1, by="ann")
    assert len(threads) == 3
    assert threading.main_thread() not in threads
