from hypothesis import given
from hypothesis import strategies as st

from shim.peers.core.queue_assignment import assign_queues, favourite

masters = st.sets(st.sampled_from([f"gm-{number}" for number in range(6)]), min_size=1)
queues = st.sets(st.sampled_from([f"root.q{number}" for number in range(30)]))


@given(masters, queues)
def test_every_queue_has_one_owner_after_each_acted_once_on_a_free_field(living, names):
    owners = dict.fromkeys(names)
    for master in sorted(living):
        for queue in assign_queues(master, living, owners).acquire:
            assert owners[queue] is None
            owners[queue] = master
    assert all(owner in living for owner in owners.values())


@given(masters, queues, st.data())
def test_only_the_queues_of_the_one_that_died_move(living, names, data):
    died = data.draw(st.sampled_from(sorted(living)))
    before = {queue: favourite(queue, living) for queue in names}
    after = {queue: favourite(queue, living - {died}) for queue in names}
    assert all(after[queue] == owner for queue, owner in before.items() if owner != died)


@given(masters, queues, st.data())
def test_nobody_takes_a_queue_from_a_living_owner(living, names, data):
    owners = {queue: data.draw(st.sampled_from(sorted(living))) for queue in sorted(names)}
    for master in living:
        decided = assign_queues(master, living, owners)
        assert all(owners[queue] == master for queue in decided.acquire)
        assert all(owners[queue] == master for queue in decided.release)


@given(masters, queues, st.data())
def test_after_a_release_and_an_acquisition_everybody_has_its_favourites(living, names, data):
    owners = {queue: data.draw(st.sampled_from(sorted(living))) for queue in sorted(names)}
    for master in living:
        owners.update(dict.fromkeys(assign_queues(master, living, owners).release))
    for master in living:
        owners.update(dict.fromkeys(assign_queues(master, living, owners).acquire, master))
    assert owners == {queue: favourite(queue, living) for queue in names}


def test_nobody_alive_owns_nothing():
    assert favourite("root.a", []) is None


def test_queues_are_spread():
    living = {f"gm-{number}" for number in range(4)}
    counts = [sum(favourite(f"root.q{n}", living) == master for n in range(400)) for master in sorted(living)]
    assert min(counts) > 60
