"""Rows of a call, key by key."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from shim.domain.allocations import ANY, Ask, AskKey
from shim.domain.resources import ResourceVector
from shim.multicluster.core.ask_group import AskGroup, new_rows, rows_by_key

keys = st.builds(
    AskKey,
    priority=st.integers(0, 1),
    allocation_request_id=st.just(-1),
    is_opportunistic=st.booleans(),
    resource=st.builds(ResourceVector, st.integers(1, 2), st.just(1)),
)
rows = st.builds(Ask, keys, st.sampled_from([ANY, "/rack", "h1", "h2"]), st.integers(0, 2))


@given(st.lists(rows))
def test_rows_of_each_key_keep_the_order_of_the_call(asks):
    found = rows_by_key(asks)
    assert list(found) == list(dict.fromkeys(ask.key for ask in asks))
    for key, group in found.items():
        assert list(group) == [ask for ask in asks if ask.key == key]


@given(st.lists(rows))
def test_neighbours_that_share_their_key_are_told_apart_as_others_are(asks):
    shared = {key: key for key in (ask.key for ask in asks)}
    assert rows_by_key([replace(ask, key=shared[ask.key]) for ask in asks]) == rows_by_key(asks)


@given(st.lists(rows), st.lists(rows))
def test_as_many_rows_are_new_as_a_group_would_have_more(before, asks):
    group = AskGroup(AskKey(0, -1, is_opportunistic=False, resource=ResourceVector(1, 1)))
    for ask in before:
        group.put(ask)
    had = set(group.rows)
    counted = new_rows(group, asks)
    assert set(group.rows) == had, "nothing was taken in"
    for ask in asks:
        if ask.count:
            group.put(ask)
    assert counted == len(set(group.rows) - had)
    assert new_rows(None, asks) == len({ask.place for ask in asks if ask.count})


@given(keys, keys)
def test_equal_keys_have_one_hash_and_changed_ones_another(one, other):
    assert (one == other) == (hash(one) == hash(other))
    assert hash(replace(one, label="gpu")) == hash(replace(one, label="gpu")) != hash(one)
