"""Nobody keeps others out of a server, or fills its memory."""

import tracemalloc

import pytest

from shim.server.connection_registry import ByteBudget, ConnectionRegistry


class Visitor:
    """Remembers whether it was turned out."""

    def __init__(self):
        self.is_out = False

    def turn_out(self):
        self.is_out = True


def visitors(count):
    return [Visitor() for _ in range(count)]


def out(many):
    return [visitor.is_out for visitor in many]


def test_s27_of_an_address_with_too_many_the_longest_silent_goes():
    book, other, many = ConnectionRegistry(10, 2), Visitor(), visitors(3)
    book.enter(other, "10.0.0.1")
    for visitor in many[:2]:
        book.enter(visitor, "10.0.0.2")
    book.heard_of(many[0])
    book.enter(many[2], "10.0.0.2")
    assert out([other, *many]) == [False, False, True, False]
    assert set(book) == {other, many[0], many[2]}


def test_addresses_of_those_who_have_left_fill_no_memory():
    book = ConnectionRegistry(10, 2)
    tracemalloc.start()
    for number in range(20_000):
        (visitor,) = visitors(1)
        book.enter(visitor, f"10.{number}")
        book.leave(visitor)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 256 * 1024


def test_s27_of_a_full_house_the_longest_silent_goes():
    book, many = ConnectionRegistry(3, 2), visitors(4)
    for number, visitor in enumerate(many):
        book.enter(visitor, f"10.0.0.{number}")
        book.heard_of(many[0])
    assert out(many) == [False, True, False, False]
    assert len(book) == 3


def test_whoever_has_gone_is_in_nobodys_way():
    book, many = ConnectionRegistry(2, 2), visitors(4)
    for visitor in many:
        book.enter(visitor, "10.0.0.1")
        book.leave(visitor)
        book.leave(visitor)
        book.heard_of(visitor)
    assert out(many) == [False] * 4
    assert len(book) == 0


def test_s27_whoever_has_bytes_kept_for_longest_goes():
    budget, many = ByteBudget(100), visitors(3)
    budget.hold(many[0], 40)
    budget.hold(many[1], 40)
    budget.hold(many[0], 50)
    assert out(many) == [False] * 3
    budget.hold(many[2], 30)
    assert out(many) == [True, False, False]
    assert len(budget) == 70


@pytest.mark.parametrize("count", [101, 1000])
def test_s27_nobody_has_more_kept_than_there_is_for_all(count):
    budget, visitor = ByteBudget(100), Visitor()
    budget.hold(visitor, count)
    assert visitor.is_out
    assert len(budget) == 0


def test_what_is_kept_no_more_counts_no_more():
    budget, visitor = ByteBudget(100), Visitor()
    for _ in range(5):
        budget.hold(visitor, 80)
        budget.hold(visitor, 0)
    assert not visitor.is_out
    assert len(budget) == 0
