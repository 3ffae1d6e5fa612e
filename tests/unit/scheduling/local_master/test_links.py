from shim.domain.messages import InconsistencyKind, LaunchRejected
from shim.scheduling.local_master.machine import GlobalMasterLink


def test_requests_may_come_in_any_order_but_each_counts_once():
    link = GlobalMasterLink()
    for sequence in (1, 3, 4):
        assert not link.has_seen(sequence)
        link.see(sequence)
    assert (link.seen_to, link.seen_beyond) == (1, {3, 4})
    assert link.has_seen(3)
    link.see(2)
    assert (link.seen_to, link.seen_beyond) == (4, set())


def test_what_was_heard_leaves_the_outbox_and_the_rest_stays():
    link = GlobalMasterLink()
    link.outbox.extend((sequence, LaunchRejected(sequence, InconsistencyKind.INTERNAL)) for sequence in (4, 5, 9))
    link.acknowledge(5)
    assert [sequence for sequence, _ in link.outbox] == [9]


def test_a_new_life_begins_with_nothing_seen():
    link = GlobalMasterLink()
    link.see(1)
    link.restart(2)
    assert not link.has_seen(1)
    assert link.incarnation == 2
