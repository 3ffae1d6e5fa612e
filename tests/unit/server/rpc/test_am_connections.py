"""Nobody at the scheduler server keeps others out for long."""

import tracemalloc

from shim.domain.ids import ApplicationAttemptId, ApplicationId
from shim.server.rpc.am_connections import AMConnectionLimits, AMConnectionRegistry

LIMITS = AMConnectionLimits(most=3, most_entering=4, most_entering_of_one=2, most_of_attempt=2)


class Visitor:
    """Remembers whether it was cut."""

    def __init__(self):
        self.is_cut = False

    def turn_out(self):
        self.is_cut = True


def attempt(number):
    return ApplicationAttemptId(ApplicationId(1_700_000_000_000, number), 1)


def visitors(count):
    return [Visitor() for _ in range(count)]


def test_the_oldest_of_an_address_with_too_many_goes():
    connections, other, many = AMConnectionRegistry(LIMITS), Visitor(), visitors(3)
    connections.enter(other, "10.0.0.1")
    for visitor in many:
        connections.enter(visitor, "10.0.0.2")
    assert [visitor.is_cut for visitor in (other, *many)] == [False, True, False, False]
    assert len(connections) == 3


def test_the_oldest_of_all_goes_when_the_entrance_is_full():
    connections, many = AMConnectionRegistry(LIMITS), visitors(5)
    for number, visitor in enumerate(many):
        connections.enter(visitor, f"10.0.0.{number}")
    assert [visitor.is_cut for visitor in many] == [True, False, False, False, False]


def test_whoever_logged_in_is_in_nobodys_way_at_the_entrance():
    connections, many = AMConnectionRegistry(LIMITS), visitors(4)
    for number, visitor in enumerate(many):
        connections.enter(visitor, "10.0.0.1")
        if number < 2:
            assert connections.settle(visitor, attempt(number))
    assert not any(visitor.is_cut for visitor in many)


def test_an_attempt_that_logs_in_again_and_again_ends_its_own_oldest():
    connections, other, many = AMConnectionRegistry(LIMITS), Visitor(), visitors(3)
    connections.enter(other, "10.0.0.1")
    connections.leave(other)
    for visitor in many:
        connections.enter(visitor, "10.0.0.1")
        connections.settle(visitor, attempt(1))
    assert [visitor.is_cut for visitor in many] == [True, False, False]
    assert len(connections) == 2


def test_a_full_house_takes_nobody_until_somebody_leaves():
    connections, many = AMConnectionRegistry(LIMITS), visitors(4)
    for number, visitor in enumerate(many):
        connections.enter(visitor, f"10.0.0.{number}")
        assert connections.settle(visitor, attempt(number)) is (number < 3)
    connections.leave(many[0])
    connections.enter(many[3], "10.0.0.3")
    assert connections.settle(many[3], attempt(3))
    assert set(connections.connections) == set(many[1:])


def test_leaving_twice_or_without_having_come_is_nothing():
    connections, visitor = AMConnectionRegistry(LIMITS), Visitor()
    connections.leave(visitor)
    connections.enter(visitor, "10.0.0.1")
    connections.leave(visitor)
    connections.leave(visitor)
    assert len(connections) == 0


def test_attempts_that_have_left_fill_no_memory():
    connections = AMConnectionRegistry(LIMITS)
    tracemalloc.start()
    for number in range(20_000):
        (visitor,) = visitors(1)
        connections.enter(visitor, "10.0.0.1")
        assert connections.settle(visitor, attempt(number))
        connections.leave(visitor)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 256 * 1024
