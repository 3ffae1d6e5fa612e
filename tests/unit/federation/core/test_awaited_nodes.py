"""Nodes that are awaited after a ResourceManager has restarted."""

import pytest

from shim.domain.resources import ResourceVector
from shim.federation.core.awaited_nodes import AwaitedNodes

WHOLE = ResourceVector(1000, 10)


def restarted(*before: ResourceVector, at_s: float = 100.0) -> AwaitedNodes:
    awaited = AwaitedNodes()
    for each in before:
        awaited.restarted(each, at_s)
    return awaited


@pytest.mark.parametrize(("memory_mib", "are_missing"), [(0, True), (949, True), (950, False), (1000, False)])
def test_they_are_missing_until_nearly_all_are_back(memory_mib, are_missing):
    assert restarted(WHOLE).are_missing(ResourceVector(memory_mib, 1), 101.0) is are_missing


@pytest.mark.parametrize(("at_s", "are_missing"), [(159.9, True), (160.0, False)])
def test_what_never_comes_back_is_awaited_for_a_minute(at_s, are_missing):
    assert restarted(WHOLE).are_missing(ResourceVector(), at_s) is are_missing


def test_nothing_is_missing_that_was_never_there():
    assert not AwaitedNodes().are_missing(ResourceVector(), 0.0)
    assert not restarted(ResourceVector()).are_missing(ResourceVector(), 101.0)


def test_a_second_restart_awaits_what_there_was_before_the_first():
    awaited = restarted(WHOLE, ResourceVector(100, 1))
    assert awaited.are_missing(ResourceVector(500, 5), 101.0)
    awaited.restarted(ResourceVector(400, 4), 300.0)
    assert not awaited.are_missing(ResourceVector(500, 5), 301.0), "the first was long ago"


def test_the_minute_begins_when_it_is_active() -> None:
    awaited = restarted(ResourceVector(1000, 1))
    for at_s in (130.0, 159.0, 190.0):  # it recovers what it stored
        awaited.not_there_yet(at_s)
    assert awaited.are_missing(ResourceVector(), 249.0)
    assert not awaited.are_missing(ResourceVector(), 250.0)
    awaited.not_there_yet(300.0)
    assert not awaited.are_missing(ResourceVector(), 301.0), "long after a restart that is no reason"
